/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program's own unwinder learns of trampolines.  Behind each module's trampolines lies the
 * object file that describes them (engine/calls/trampoline/cfi.h); an entry of the agent's leads to
 * it, and to the holes: one may lie in the dead bytes of another function's patch, which that
 * function's own call frame information covers. */
#include "engine/calls/private.h"

#include <string.h>

#define MAP_OFFSET 8 /* of r_map in struct r_debug */

_Static_assert(sizeof(struct mt_calls_entry) == 96, "MT_AGENT_BYTES counts on it");
_Static_assert(offsetof(struct mt_calls_entry, code) == 8, "agent_code.S knows it");
_Static_assert(offsetof(struct mt_calls_entry, hole_count) == 64, "agent_code.S knows it");

struct description {
	MT_ARRAY(struct mt_cfi_part) parts;
	MT_ARRAY(struct mt_cfi_hole) holes;
	MT_ARRAY(uint64_t) hole_addresses;
	struct mt_cfi_image image;
};

static void description_cleanup(struct description *description)
{
	mt_array_deinit(&description->parts);
	mt_array_deinit(&description->holes);
	mt_array_deinit(&description->hole_addresses);
	mt_cfi_image_deinit(&description->image);
}

static const char *name_of(const struct mt_calls_module *module, const struct mt_patch *patch)
{
	size_t count = 0, symbol = module->file->plan->functions.items[patch->function].symbol;
	const struct mt_symbol *symbols = mt_objfile_symbols(module->file->objfile, &count);

	return symbol < count ? symbols[symbol].raw_name : NULL;
}

static int compare(const void *left, const void *right)
{
	const struct mt_cfi_hole *one = left, *other = right;

	return one->address < other->address ? -1 : one->address > other->address;
}

static int collect(const struct mt_calls_module *module, struct description *out)
{
	const struct mt_plan *plan = module->file->plan;

	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		struct mt_cfi_part part = {module->offsets[i], name_of(module, patch)};
		struct mt_cfi_hole hole = {patch->hole + module->bias,
					   patch->address + module->bias};

		if (part.offset == MT_CALLS_NONE)
			continue;
		if (mt_array_push(&out->parts, part))
			return -1;
		if (patch->hole && mt_array_push(&out->holes, hole))
			return -1;
	}
	if (out->holes.count)
		qsort(out->holes.items, out->holes.count, sizeof(*out->holes.items), compare);
	mt_array_each (hole, &out->holes)
		if (mt_array_push(&out->hole_addresses, hole->address))
			return -1;
	return 0;
}

static int describe(const struct mt_calls_module *module, uint64_t address, struct description *out)
{
	if (collect(module, out))
		return -1;
	const struct mt_cfi_config config = {
	    .code = module->room,
	    .address = address,
	    .parts = out->parts.items,
	    .part_count = out->parts.count,
	    .holes = out->holes.items,
	    .hole_count = out->holes.count,
	};
	return mt_cfi_build(&module->trampolines, &config, &out->image);
}

struct mt_error *mt_calls_cfi_write(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    struct mt_calls_module *module, uint64_t address)
{
	__attribute__((cleanup(description_cleanup))) struct description one = {0};
	uint64_t room = module->room + module->room_bytes - address;

	if (describe(module, address, &one))
		return mt_error_no_memory();
	uint64_t file_bytes = one.image.bytes.count, holes = address + file_bytes;
	uint64_t hole_bytes = one.hole_addresses.count * sizeof(uint64_t);
	if (file_bytes + hole_bytes > room)
		return NULL;
	mt_try(engine->target->ops->write(engine->target, space->pid, address,
					  one.image.bytes.items, file_bytes));
	if (hole_bytes)
		mt_try(engine->target->ops->write(engine->target, space->pid, holes,
						  one.hole_addresses.items, hole_bytes));
	module->cfi_bytes = file_bytes + hole_bytes;
	module->entry = (struct mt_calls_entry){
	    .code = module->room,
	    .code_bytes = module->trampolines.code.count,
	    .module = module->start,
	    .module_bytes = module->end - module->start,
	    .search_table = one.image.search_table,
	    .holes = holes,
	    .hole_count = one.hole_addresses.count,
	};
	return NULL;
}

static bool read_word(struct mt_calls_engine *engine, const struct mt_calls_space *space,
		      uint64_t address, uint64_t *word)
{
	return engine->target->ops->read(engine->target, space->pid, address, word,
					 sizeof(*word)) == sizeof(*word);
}

static struct mt_error *write_word(struct mt_calls_engine *engine,
				   const struct mt_calls_space *space, uint64_t address,
				   uint64_t word)
{
	return engine->target->ops->write(engine->target, space->pid, address, &word, sizeof(word));
}

/* The first that is unused; 0: none.  One that leads to nothing stays on the way of those who
 * stand there. */
static uint64_t find_free(struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	uint64_t at = space->agent + MT_AGENT_ENTRIES;
	struct mt_calls_entry entries[64];

	for (unsigned i = 0; i < MT_AGENT_ENTRY_COUNT; i++, at += sizeof(entries[0])) {
		if (i % 64 == 0 &&
		    engine->target->ops->read(engine->target, space->pid, at, entries,
					      sizeof(entries)) != sizeof(entries))
			return 0;
		if (!entries[i % 64].code_bytes)
			return at;
	}
	return 0;
}

struct mt_error *mt_calls_cfi_link(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   struct mt_calls_place *place)
{
	struct mt_calls_entry entry = place->module->entry;
	uint64_t list = space->agent + MT_AGENT_LIST;
	uint64_t at = entry.code_bytes && space->agent ? find_free(engine, space) : 0;

	if (!at || !read_word(engine, space, list, &entry.next))
		return NULL;
	if (!space->debug || !read_word(engine, space, space->debug + MAP_OFFSET, &entry.object))
		entry.object = 0;
	mt_try(engine->target->ops->write(engine->target, space->pid, at, &entry, sizeof(entry)));
	place->entry = at;
	return write_word(engine, space, list, at);
}

/* The word that leads to the entry at AT; 0: none. */
static uint64_t find_link(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			  uint64_t at)
{
	uint64_t link = space->agent + MT_AGENT_LIST, to = 0;

	for (unsigned i = 0; i < MT_AGENT_ENTRY_COUNT && read_word(engine, space, link, &to); i++) {
		if (to == at)
			return link;
		if (!to)
			return 0;
		link = to + offsetof(struct mt_calls_entry, next);
	}
	return 0;
}

struct mt_error *mt_calls_cfi_unlink(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_place *place)
{
	const struct mt_calls_entry nothing = {0};
	uint64_t at = place->entry, next = 0;
	uint64_t link = at ? find_link(engine, space, at) : 0;

	place->entry = 0;
	if (!link || !read_word(engine, space, at, &next))
		return NULL;
	mt_try(write_word(engine, space, link, next));
	/* `next` stays. */
	return engine->target->ops->write(engine->target, space->pid, at + sizeof(next),
					  (const char *)&nothing + sizeof(next),
					  sizeof(nothing) - sizeof(next));
}
