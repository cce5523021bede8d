/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/private.h"

#include <string.h>

/* No trampoline is longer, and behind each module's stands room for copies of instructions. */
#define MOST_TRAMPOLINE_BYTES 1024ull
#define SPARE_BYTES           4096ull
/* Of a trampoline, as a rule: for a first guess. */
#define USUAL_BYTES 128
#define USUAL_ROWS  15
#define WRITE_CHUNK (1u << 20)
#define PAGE        4096u

void mt_calls_module_destroy(struct mt_calls_module *module)
{
	if (!module)
		return;
	mt_trampolines_deinit(&module->trampolines);
	free(module->levels);
	free(module->offsets);
	free(module->clean);
	free(module);
}

static struct mt_error *generate(struct mt_calls_engine *engine, struct mt_calls_space *space,
				 struct mt_calls_module *module)
{
	const struct mt_plan *plan = module->file->plan;
	struct mt_trampoline_config config = {
	    .address = module->room,
	    .bias = module->bias,
	    .ring_bytes = (uint32_t)engine->options.ring_bytes,
	    .stamps = engine->options.stamps,
	    .alive = space->attached ? mt_calls_alive_word(space->rings) : 0,
	};

	if (mt_array_reserve(&module->trampolines.code, plan->patches.count * USUAL_BYTES) ||
	    mt_array_reserve(&module->trampolines.rows, plan->patches.count * USUAL_ROWS))
		return mt_error_no_memory();
	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		uint64_t at = patch->address + module->bias;
		size_t before = module->trampolines.code.count;

		module->offsets[i] = MT_CALLS_NONE;
		if (at < module->start || at + patch->length > module->end ||
		    before + MOST_TRAMPOLINE_BYTES > module->room_bytes - SPARE_BYTES)
			continue;
		switch (mt_trampoline_append(&module->trampolines, &config, patch,
					     module->clean + (at - module->start),
					     module->site_base + patch->site)) {
		case 0:
			module->offsets[i] = (uint32_t)before;
			break;
		case -1:
			return mt_error_no_memory();
		}
	}
	mt_trampolines_link(&module->trampolines, &config, plan, module->offsets);
	return NULL;
}

/* A mapping begins with a page, and its segment anywhere in that (lld). */
static void read_clean(struct mt_calls_module *module)
{
	const uint64_t address = module->start - module->bias, size = module->end - module->start;
	size_t at = 0, got;

	while ((got = mt_objfile_read(module->file->objfile, address + at, module->clean + at,
				      size - at)) == 0 &&
	       ++at < PAGE)
		;
	memset(module->clean, 0, at);
	memset(module->clean + at + got, 0, size - at - got);
}

static struct mt_error *fill(struct mt_calls_engine *engine, struct mt_calls_space *space,
			     pid_t lwp, struct mt_calls_module *module)
{
	size_t patches = module->file->plan->patches.count;

	module->clean = malloc(module->end - module->start);
	module->offsets = malloc((patches + 1) * sizeof(*module->offsets));
	if (!module->clean || !module->offsets ||
	    mt_calls_order_levels(module->file->plan, &module->levels))
		return mt_error_no_memory();
	read_clean(module);
	module->room_bytes = (patches * MOST_TRAMPOLINE_BYTES + 2 * SPARE_BYTES + 4095) & ~4095ull;
	mt_try(mt_calls_room_map(engine, space, lwp, module->start, module->end, module->room_bytes,
				 &module->room));
	mt_try(generate(engine, space, module));
	size_t count = module->trampolines.code.count;
	for (size_t at = 0; at < count; at += WRITE_CHUNK)
		mt_try(engine->target->ops->write(engine->target, space->pid, module->room + at,
						  module->trampolines.code.items + at,
						  count - at < WRITE_CHUNK ? count - at
									   : WRITE_CHUNK));
	/* Behind the trampolines comes some room, then what unwinders read; the rest of what was
	 * reserved is given back. */
	uint64_t used = (module->trampolines.code.count + 4095) & ~4095ull;
	uint64_t cfi = used + SPARE_BYTES, keep = cfi;
	struct mt_calls_room spare = {
	    .start = module->room + used, .used = module->room + used, .end = module->room + cfi};
	if (mt_array_push(&space->rooms, spare))
		return mt_error_no_memory();
	mt_try(mt_calls_cfi_write(engine, space, module, module->room + cfi));
	keep += (module->cfi_bytes + 4095) & ~4095ull;
	if (keep < module->room_bytes)
		mt_try(mt_calls_room_unmap(engine, lwp, module->room + keep,
					   module->room_bytes - keep));
	module->room_bytes = keep;
	return NULL;
}

static struct mt_error *add_module(struct mt_calls_engine *engine, struct mt_calls_module *module)
{
	size_t sites = module->file->plan->sites.count;

	if (sites >= MT_RING_SITE_END - engine->next_site)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "too many functions in one session");
	module->site_base = engine->next_site;
	if (mt_array_push(&engine->modules, module))
		return mt_error_no_memory();
	engine->next_site += (uint32_t)sites;
	return NULL;
}

struct mt_error *mt_calls_module_create(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t lwp,
					const struct mt_map *map, struct mt_calls_module **out)
{
	struct mt_calls_file *file = NULL;
	struct mt_calls_module *module;
	uint64_t address = 0;

	*out = NULL;
	if (!mt_calls_is_wanted(engine, map->path))
		return NULL;
	mt_try(mt_calls_file_get(engine, map->path, &file));
	/* Without symbols and unwind tables nothing tells where functions begin. */
	if (file->plan && !file->plan->functions.count && !file->unknown_told)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "calls in %s are not recorded: it has neither symbols nor unwind tables "
		       "(.eh_frame), which show where functions begin",
		       file->path);
	file->unknown_told = true;
	if (!file->plan || !file->plan->patches.count ||
	    !mt_objfile_offset_to_address(file->objfile, map->offset, &address))
		return NULL;
	module = calloc(1, sizeof(*module));
	if (!module)
		return mt_error_no_memory();
	*module = (struct mt_calls_module){
	    .file = file, .bias = map->start - address, .start = map->start, .end = map->end};
	struct mt_error *error = add_module(engine, module);
	if (error) {
		mt_calls_module_destroy(module);
		return error;
	}
	error = fill(engine, space, lwp, module);
	if (error && mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
		mt_log(engine->options.log, MT_LOG_WARNING, "calls in %s are not recorded: %s",
		       map->path, mt_error_message(error));
		mt_error_destroy(error);
		return NULL;
	}
	*out = error ? NULL : module;
	return error;
}

/* Where the next patch's trampoline begins. */
static uint32_t trampoline_end(const struct mt_calls_module *module, size_t patch)
{
	for (size_t i = patch + 1; i < module->file->plan->patches.count; i++)
		if (module->offsets[i] != MT_CALLS_NONE)
			return module->offsets[i];
	return (uint32_t)module->trampolines.code.count;
}

uint64_t mt_calls_module_copy_of(const struct mt_calls_module *module, size_t patch,
				 uint64_t address)
{
	uint32_t copy;

	if (module->offsets[patch] == MT_CALLS_NONE)
		return 0;
	copy = mt_trampoline_copy_of(&module->trampolines, module->offsets[patch],
				     trampoline_end(module, patch), address);
	return copy == MT_TRAMPOLINE_NONE ? 0 : module->room + copy;
}

const struct mt_calls_module *mt_calls_module_of_site(const struct mt_calls_engine *engine,
						      uint32_t site)
{
	size_t low = 0, high = engine->modules.count;
	const struct mt_calls_module *module;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (engine->modules.items[middle]->site_base <= site)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	module = engine->modules.items[low - 1];
	return site - module->site_base < module->file->plan->sites.count ? module : NULL;
}
