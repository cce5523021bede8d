/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pages with something of ours alone, as the rest is the file's already; and piece by piece, so
 * that the bytes lie in the processor's cache until the system has copied them. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/modules/modules.h"
#include "process/proc.h"

#include <string.h>
#include <unistd.h>

#define PAGE 4096u

struct look {
	const struct mt_calls_engine *engine;
	const struct mt_calls_space *space;
	const struct mt_calls_module *module;
};

static bool is_page_of_file(void *context, uint64_t page)
{
	const struct look *look = context;
	struct mt_target *target = look->engine->target;
	uint8_t bytes[PAGE], clean[PAGE];
	const struct mt_calls_piece piece = {page, PAGE, bytes};

	if (!mt_calls_clean_bytes(look->module, page, clean, PAGE) ||
	    target->ops->read(target, look->space->pid, page, bytes, PAGE) != PAGE)
		return false;
	mt_calls_undo_breaks(look->space, &piece);
	return memcmp(bytes, clean, PAGE) == 0;
}

bool mt_calls_is_text_of_file(const struct mt_calls_engine *engine,
			      const struct mt_calls_space *space,
			      const struct mt_calls_module *module)
{
	struct look look = {engine, space, module};

	if (!module->is_mapped_file || space->inherited)
		return false;
	const int pagemap = mt_proc_open_pagemap(space->pid);
	bool is_of_file =
	    mt_proc_each_written(pagemap, module->start, module->end, is_page_of_file, &look);
	if (pagemap >= 0)
		close(pagemap);
	return is_of_file;
}

static void mark(bool *pages, size_t at, size_t length)
{
	pages[at / PAGE] = pages[(at + length - 1) / PAGE] = true;
}

static void mark_all(const struct mt_calls_space *space, const struct mt_calls_place *place,
		     bool *pages)
{
	const struct mt_calls_module *module = place->module;

	for (size_t i = 0; i < module->file->plan->patches.count; i++) {
		const struct mt_patch *patch = &module->file->plan->patches.items[i];

		if (!mt_calls_is_on(place, i))
			continue;
		mark(pages, patch->address + module->bias - module->start, patch->length);
		if (patch->hole)
			mark(pages, patch->hole + module->bias - module->start,
			     MT_PATCH_JUMP_BYTES);
	}
	mt_array_each (one, &space->breaks)
		if (one->length && one->address - module->start < module->end - module->start)
			mark(pages, one->address - module->start, one->length);
}

static struct mt_error *write_piece(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place,
				    const struct mt_calls_piece *piece)
{
	struct mt_calls_module *module = place->module;

	if (!mt_calls_clean_bytes(module, piece->start, piece->bytes, piece->size)) {
		if (mt_calls_module_find_clean(module))
			return mt_error_no_memory();
		mt_calls_clean_bytes(module, piece->start, piece->bytes, piece->size);
	}
	mt_calls_compose(space, place, piece);
	return engine->target->ops->write(engine->target, space->pid, piece->start, piece->bytes,
					  piece->size);
}

struct mt_error *mt_calls_text_begin(struct mt_calls_engine *engine,
				     const struct mt_calls_space *space,
				     const struct mt_calls_place *place)
{
	const struct mt_calls_module *module = place->module;
	const size_t size = module->end - module->start, count = (size + PAGE - 1) / PAGE;
	uint8_t *scratch = mt_calls_scratch(engine);
	bool *pages = calloc(count + 1, sizeof(*pages));
	struct mt_error *error = scratch && pages ? NULL : mt_error_no_memory();

	if (!error)
		mark_all(space, place, pages);
	for (size_t i = 0; i < count && !error; i++) {
		size_t first = i;

		while (i < count && pages[i] && i - first < MT_CALLS_SCRATCH_BYTES / PAGE)
			i++;
		if (i == first)
			continue;
		const size_t end = i * PAGE < size ? i * PAGE : size;
		const struct mt_calls_piece piece = {module->start + first * PAGE,
						     end - first * PAGE, scratch};
		error = write_piece(engine, space, place, &piece);
		i--;
	}
	free(pages);
	return error;
}
