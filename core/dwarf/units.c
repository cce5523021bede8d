/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dwarf/units.h"
#include "base/search.h"

#include "elf/section.h"

#include <dwarf.h>
#include <string.h>
#include <uthash.h>

struct mt_absolute_path {
	const char *relative; /* libdw's own string */
	const char *absolute;
	UT_hash_handle hh;
};

static int add_range(struct mt_dwarf *dwarf, const struct mt_objfile *objfile, uint64_t start,
		     uint64_t end, uint32_t unit)
{
	const struct mt_load_segment *segment = mt_objfile_segment_at(objfile, start);

	/* Code that the linker dropped is left at address 0 or 1. */
	if (start >= end || !segment || !segment->executable)
		return 0;
	if (end > segment->address + segment->size)
		end = segment->address + segment->size;
	if (mt_array_grow((void **)&dwarf->ranges, &dwarf->range_capacity, sizeof(*dwarf->ranges),
			  dwarf->range_count + 1))
		return -1;
	dwarf->ranges[dwarf->range_count++] = (struct mt_unit_range){start, end, unit};
	return 0;
}

/* Assembly by an old assembler has no ranges but lines. */
static int add_ranges_of_lines(struct mt_dwarf *dwarf, const struct mt_objfile *objfile,
			       Dwarf_Die *die, uint32_t unit)
{
	Dwarf_Lines *lines;
	size_t count;
	Dwarf_Addr start = 0;
	bool in_sequence = false;

	if (mt_dwarf_lines(dwarf, die, &lines, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		Dwarf_Addr address;
		bool ends = false;
		if (dwarf_lineaddr(line, &address) || dwarf_lineendsequence(line, &ends))
			continue;
		if (ends && in_sequence && add_range(dwarf, objfile, start, address, unit))
			return -1;
		if (!ends && !in_sequence)
			start = address;
		in_sequence = !ends;
	}
	return 0;
}

static int add_ranges(struct mt_dwarf *dwarf, const struct mt_objfile *objfile, Dwarf_Die *die,
		      uint32_t unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;
	size_t before = dwarf->range_count;

	while (dwarf->budget && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		dwarf->budget--;
		if (add_range(dwarf, objfile, start, end, unit))
			return -1;
	}
	return dwarf->range_count > before ? 0 : add_ranges_of_lines(dwarf, objfile, die, unit);
}

static int add_unit(struct mt_dwarf *dwarf, const struct mt_objfile *objfile, Dwarf_Die *die,
		    Dwarf_Die *split)
{
	struct mt_unit unit = {.dwarf = dwarf, .die = split->addr ? *split : *die, .lines = *die};

	if (mt_array_grow((void **)&dwarf->units, &dwarf->unit_capacity, sizeof(unit),
			  dwarf->unit_count + 1))
		return -1;
	dwarf->units[dwarf->unit_count] = unit;
	return add_ranges(dwarf, objfile, die, (uint32_t)dwarf->unit_count++);
}

static int add_units(struct mt_dwarf *dwarf, const struct mt_objfile *objfile)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	while (dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (add_unit(dwarf, objfile, &die, &split))
			return -1;
	}
	return 0;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct mt_unit_range *a = left, *b = right;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void make_disjoint(struct mt_dwarf *dwarf)
{
	size_t kept = 0;

	if (dwarf->range_count)
		qsort(dwarf->ranges, dwarf->range_count, sizeof(*dwarf->ranges), compare_ranges);
	for (size_t i = 0; i < dwarf->range_count; i++) {
		struct mt_unit_range range = dwarf->ranges[i];

		if (kept && range.start < dwarf->ranges[kept - 1].end)
			range.start = dwarf->ranges[kept - 1].end;
		if (range.start < range.end)
			dwarf->ranges[kept++] = range;
	}
	dwarf->range_count = kept;
}

/* libdw reads all that it finds as it begins, and in a large program the lists of locations are a
 * third of that. */
static void leave_out_locations(Elf *elf)
{
	struct mt_section section = {0};

	while (mt_section_next(elf, &section)) {
		if (strcmp(section.name, ".debug_loclists") != 0 &&
		    strcmp(section.name, ".debug_loc") != 0)
			continue;
		section.header.sh_type = SHT_NOBITS;
		gelf_update_shdr(section.scn, &section.header);
	}
}

/* libdw finds split files from where this one is. */
static bool has_split_units(Dwarf *begun)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	while (dwarf_get_units(begun, cu, &cu, NULL, &type, &die, NULL) == 0)
		if (type != DW_UT_compile && type != DW_UT_partial && type != DW_UT_type)
			return true;
	return false;
}

/* False: libdw is to read the file itself. */
static bool begin_image(struct mt_dwarf *dwarf, const struct mt_elf_file *file)
{
	if (!mt_debug_image_open(file, &dwarf->image))
		return false;
	dwarf->dwarf = dwarf_begin_elf(dwarf->image.file.elf, DWARF_C_READ, NULL);
	if (dwarf->dwarf && !mt_dwarf_is_by_unit(dwarf)) {
		dwarf_end(dwarf->dwarf);
		mt_debug_image_read(&dwarf->image, MT_DEBUG_INFO, 0, UINT64_MAX);
		dwarf->dwarf = dwarf_begin_elf(dwarf->image.file.elf, DWARF_C_READ, NULL);
	}
	if (dwarf->dwarf && !has_split_units(dwarf->dwarf))
		return true;
	dwarf_end(dwarf->dwarf);
	mt_debug_image_close(&dwarf->image);
	return false;
}

static void begin(struct mt_dwarf *dwarf, struct mt_objfile *objfile)
{
	const struct mt_elf_file *file = &objfile->main;

	mt_objfile_seek_debug(objfile);
	if (objfile->debug.elf && mt_section_exists(objfile->debug.elf, ".debug_info"))
		file = &objfile->debug;
	if (objfile->without_locations)
		leave_out_locations(file->elf);
	if (!begin_image(dwarf, file))
		dwarf->dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
}

static size_t budget_for(Elf *elf)
{
	struct mt_section section = {0};
	size_t budget = 1 << 20;

	while (mt_section_next(elf, &section))
		if (strstr(section.name, "debug_") && section.header.sh_type != SHT_NOBITS)
			budget += section.header.sh_size;
	return budget;
}

static void destroy(void *data)
{
	struct mt_dwarf *dwarf = data;

	for (size_t i = 0; i < dwarf->unit_count; i++) {
		mt_inlines_destroy(dwarf->units[i].inlines);
		mt_unit_functions_destroy(dwarf->units[i].functions);
	}
	HASH_CLEAR(hh, dwarf->paths);
	mt_inline_names_destroy(dwarf->inline_names);
	if (dwarf->dwarf)
		dwarf_end(dwarf->dwarf);
	mt_debug_image_close(&dwarf->image);
	free(dwarf->units);
	free(dwarf->ranges);
	free(dwarf);
}

struct mt_dwarf *mt_dwarf_by_unit(struct mt_objfile *objfile)
{
	struct mt_dwarf *dwarf = objfile->dwarf.data;

	if (dwarf)
		return dwarf;
	dwarf = calloc(1, sizeof(*dwarf));
	if (!dwarf)
		return NULL;
	begin(dwarf, objfile);
	dwarf->budget = dwarf->dwarf ? budget_for(dwarf_getelf(dwarf->dwarf)) : 0;
	if (dwarf->dwarf && add_units(dwarf, objfile)) {
		destroy(dwarf);
		return NULL;
	}
	make_disjoint(dwarf);
	objfile->dwarf = (struct mt_objfile_attachment){dwarf, destroy};
	return dwarf;
}

struct mt_dwarf *mt_dwarf(struct mt_objfile *objfile)
{
	struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);

	if (dwarf && !dwarf->is_all_there) {
		mt_debug_image_read(&dwarf->image, MT_DEBUG_INFO, 0, UINT64_MAX);
		mt_debug_image_read(&dwarf->image, MT_DEBUG_LOC, 0, UINT64_MAX);
		mt_debug_image_read(&dwarf->image, MT_DEBUG_LOCLISTS, 0, UINT64_MAX);
		dwarf->is_all_there = true;
	}
	return dwarf;
}

bool mt_objfile_is_rust(struct mt_objfile *objfile)
{
	struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);

	return dwarf && dwarf->unit_count && dwarf_srclang(&dwarf->units[0].die) == DW_LANG_Rust;
}

size_t mt_dwarf_search(const struct mt_dwarf *dwarf, uint64_t address)
{
	return mt_partition_point(i, 0, dwarf->range_count, dwarf->ranges[i].start <= address);
}

struct mt_unit *mt_dwarf_unit_at(const struct mt_dwarf *dwarf, uint64_t address)
{
	size_t behind = mt_dwarf_search(dwarf, address);

	if (!behind || address >= dwarf->ranges[behind - 1].end)
		return NULL;
	return &dwarf->units[dwarf->ranges[behind - 1].unit];
}

static const char *join_path(struct mt_objfile *objfile, Dwarf_Die *unit, const char *file)
{
	Dwarf_Attribute attribute;
	const char *directory = NULL;

	if (dwarf_attr(unit, DW_AT_comp_dir, &attribute))
		directory = dwarf_formstring(&attribute);
	if (!directory)
		return file;
	return mt_arena_format(&objfile->arena, "%s/%s", directory, file);
}

const char *mt_dwarf_path(struct mt_objfile *objfile, Dwarf_Die *unit, const char *file)
{
	struct mt_dwarf *dwarf = objfile->dwarf.data;
	struct mt_absolute_path *path;

	if (!file || file[0] == '/')
		return file;
	HASH_FIND_PTR(dwarf->paths, &file, path);
	if (path)
		return path->absolute;
	path = mt_arena_zalloc(&objfile->arena, sizeof(*path));
	if (!path || !(path->absolute = join_path(objfile, unit, file)))
		return NULL;
	path->relative = file;
	HASH_ADD_PTR(dwarf->paths, relative, path);
	return path->absolute;
}
