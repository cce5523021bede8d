/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Look-ups by process address: first the object file's symbols, then the symbols that came as text,
 * then the hole between what is known. */
#include "dwarf/source.h"
#include "space/private.h"

#include "elf/objfile_private.h"
#include "elf/symbols.h"

#include <stdio.h>
#include <string.h>

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

static void narrow(struct mt_hole_key *hole, uint64_t start, uint64_t end)
{
	hole->start = hole->start > start ? hole->start : start;
	hole->end = hole->end < end ? hole->end : end;
}

static const struct mt_function *find_in_image(struct mt_space *space, struct mt_space_entry *entry,
					       uint64_t address, struct mt_hole_key *hole)
{
	struct mt_image *image = entry->image;
	struct mt_symbol_index *index = mt_symbol_index(image->key.objfile);
	uint64_t bias = image->key.bias;

	if (!index)
		return NULL;
	image->symbols = index->symbols;
	image->symbol_count = index->count;
	size_t behind = mt_symbol_index_search(index, address - bias);
	if (behind && address - bias < index->symbols[behind - 1].end)
		return mt_space_pool_image_function(space->pool, image, behind - 1);
	narrow(hole, behind ? index->symbols[behind - 1].end + bias : 0,
	       behind < index->count ? index->symbols[behind].start + bias : UINT64_MAX);
	return NULL;
}

static const struct mt_function *find_in_text(struct mt_space *space, struct mt_text_symbols *table,
					      uint64_t address, struct mt_hole_key *hole)
{
	size_t behind = mt_text_symbols_search(table, address);

	if (behind && address < table->items[behind - 1].end)
		return mt_space_pool_text_function(space->pool, table, behind - 1);
	narrow(hole, behind ? table->items[behind - 1].end : 0,
	       behind < table->count ? table->items[behind].start : UINT64_MAX);
	return NULL;
}

/* The stretch around an address that no mapping holds. */
static void narrow_to_gap(const struct mt_space *space, uint64_t address, struct mt_hole_key *hole)
{
	size_t behind = mt_space_search(space, address);

	narrow(hole, behind ? space->entries[behind - 1].mapping.end : 0,
	       behind < space->count ? space->entries[behind].mapping.start : UINT64_MAX);
}

static const struct mt_function *find_hole(struct mt_space *space, struct mt_space_entry *entry,
					   uint64_t address, struct mt_hole_key *hole)
{
	char name[512];

	if (entry)
		narrow(hole, entry->mapping.start, entry->mapping.end);
	else if (!is_kernel(address))
		narrow_to_gap(space, address, hole);
	hole->path = entry ? entry->mapping.path : NULL;
	if (entry && entry->mapping.problem && mt_space_is_file(entry->mapping.path))
		entry->mapping.is_nameless = true;
	const char *path = entry ? entry->mapping.path : "";

	if (is_kernel(address))
		snprintf(name, sizeof(name), "[kernel]");
	else if (!entry)
		snprintf(name, sizeof(name), "[unknown]");
	else if (path[0] == '[')
		snprintf(name, sizeof(name), "%s", path);
	else if (path[0] == '\0' || strncmp(path, "//", 2) == 0)
		snprintf(name, sizeof(name), "[anon]");
	else
		snprintf(name, sizeof(name), "[%s]", mt_path_name(path));
	return mt_space_pool_hole(space->pool, hole, name);
}

static const struct mt_function *find(struct mt_space *space, struct mt_space_entry *entry,
				      uint64_t address)
{
	const uint64_t middle = 1ULL << 63;
	bool kernel = is_kernel(address);
	struct mt_hole_key hole = {.start = kernel ? middle : 0,
				   .end = kernel ? UINT64_MAX : middle};
	const struct mt_function *function = NULL;

	if (entry && entry->image)
		function = find_in_image(space, entry, address, &hole);
	else if (kernel && space->kernel)
		function = find_in_text(space, space->kernel, address, &hole);
	for (size_t i = 0;
	     !kernel && !(entry && entry->image) && !function && i < space->made.count; i++)
		function = find_in_text(space, space->made.items[i], address, &hole);
	return function ? function : find_hole(space, entry, address, &hole);
}

const struct mt_function *mt_space_function_at(struct mt_space *space, uint64_t address)
{
	if (address >= space->last.start && address < space->last.end)
		return space->last.function;
	struct mt_space_entry *entry =
	    is_kernel(address) ? NULL : mt_space_entry_at(space, address);
	const struct mt_function *function = find(space, entry, address);
	if (!function)
		return NULL;
	struct mt_hole_key valid = {.start = function->start, .end = function->end};
	if (entry)
		narrow(&valid, entry->mapping.start, entry->mapping.end);
	space->last.start = valid.start;
	space->last.end = valid.end;
	space->last.function = function;
	return function;
}

bool mt_space_source_at(struct mt_space *space, uint64_t address, struct mt_source *out)
{
	const struct mt_mapping *mapping = mt_space_find(space, address);

	*out = (struct mt_source){0};
	if (mapping && mapping->objfile)
		return mt_objfile_source_at(mapping->objfile, address - mapping->bias, out);
	mt_array_each (table, &space->made)
		if (mt_text_symbols_source_at(*table, address, out))
			return true;
	return false;
}

void mt_space_inlines_at(struct mt_space *space, uint64_t address, struct mt_inline_span *out)
{
	const struct mt_mapping *mapping = mt_space_find(space, address);

	if (!mapping) {
		struct mt_hole_key gap = {.start = 0, .end = UINT64_MAX};
		narrow_to_gap(space, address, &gap);
		*out = (struct mt_inline_span){.start = gap.start, .end = gap.end};
		return;
	}
	*out = (struct mt_inline_span){.start = mapping->start, .end = mapping->end};
	if (!mapping->objfile)
		return;
	struct mt_inline_span span;
	mt_objfile_inlines_at(mapping->objfile, address - mapping->bias, &span);
	/* The span in process addresses, cut to the mapping; one that begins at 0 or has no end
	 * would wrap. */
	uint64_t low = mapping->start - mapping->bias, high = mapping->end - mapping->bias;
	out->start = (span.start > low ? span.start : low) + mapping->bias;
	out->end = (span.end < high ? span.end : high) + mapping->bias;
	out->depth = span.depth;
	out->chain = span.chain;
}
