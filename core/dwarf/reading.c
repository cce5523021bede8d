/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Of a debug image, what libdw is about to look at is read here before: line tables, and units,
 * beside their headers and own DIEs, which are read as it begins. */
#include "dwarf/units.h"

#include "elf/eh_reader.h"

#include <dwarf.h>
#include <string.h>

enum {
	DIE_BYTES = 1024, /* in which a unit's header and DIE have room */
	LEB_BYTES = 10,
};

static void read_info(struct mt_dwarf *dwarf, Dwarf_Off start, Dwarf_Off end)
{
	mt_debug_image_read(&dwarf->image, MT_DEBUG_INFO, start, end);
}

/* A line table begins with its length, as other things of DWARF do (DWARF 5, section 7.2.2). */
static void read_table(struct mt_dwarf *dwarf, Dwarf_Die *unit)
{
	const struct mt_debug_section *section = &dwarf->image.parts[MT_DEBUG_LINE];
	Dwarf_Attribute attribute;
	Dwarf_Word start;
	uint32_t length;
	uint64_t whole;

	if (!section->bytes || unit->cu == dwarf->lines_of)
		return;
	dwarf->lines_of = unit->cu;
	if (!dwarf_attr(unit, DW_AT_stmt_list, &attribute) || dwarf_formudata(&attribute, &start) ||
	    start >= section->size || section->size - start < sizeof(length))
		return;
	mt_debug_image_read(&dwarf->image, MT_DEBUG_LINE, start,
			    start + sizeof(length) + sizeof(whole));
	memcpy(&length, section->bytes + start, sizeof(length));
	start += sizeof(length);
	whole = length;
	if (length == UINT32_MAX) {
		if (section->size - start < sizeof(whole))
			return;
		memcpy(&whole, section->bytes + start, sizeof(whole));
		start += sizeof(whole);
	}
	if (whole <= section->size - start)
		mt_debug_image_read(&dwarf->image, MT_DEBUG_LINE, start, start + whole);
}

int mt_dwarf_lines(struct mt_dwarf *dwarf, Dwarf_Die *unit, Dwarf_Lines **lines, size_t *count)
{
	read_table(dwarf, unit);
	return dwarf_getsrclines(unit, lines, count);
}

int mt_dwarf_files(struct mt_dwarf *dwarf, Dwarf_Die *unit, Dwarf_Files **files, size_t *count)
{
	read_table(dwarf, unit);
	return dwarf_getsrcfiles(unit, files, count);
}

/* The file is one of those of the unit that has the attribute. */
const char *mt_dwarf_decl_file(struct mt_dwarf *dwarf, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die unit;

	if (dwarf_attr_integrate(die, DW_AT_decl_file, &attribute) &&
	    attribute.cu != dwarf->lines_of &&
	    dwarf_cu_die(attribute.cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL))
		read_table(dwarf, &unit);
	return dwarf_decl_file(die);
}

Dwarf_Die mt_unit_tree(struct mt_unit *unit)
{
	struct mt_dwarf *dwarf = unit->dwarf;
	const Dwarf_Off start = dwarf_dieoffset(&unit->die) - dwarf_cuoffset(&unit->die);
	Dwarf_Off end;
	size_t header_size;

	if (dwarf->image.parts[MT_DEBUG_INFO].bytes &&
	    dwarf_next_unit(dwarf->dwarf, start, &end, &header_size, NULL, NULL, NULL, NULL, NULL,
			    NULL) == 0)
		read_info(dwarf, start, end);
	return unit->die;
}

static uint64_t read_leb(struct mt_eh_reader *reader, bool is_signed)
{
	const uint8_t *before = reader->at;
	const uint64_t value = mt_eh_read_leb(reader, is_signed);

	/* libdw takes them for something else. */
	if (reader->at - before > LEB_BYTES || (!is_signed && value > UINT32_MAX))
		reader->failed = true;
	return value;
}

/* Whether DIEs by the abbreviations of a unit, which end with a 0, may refer to other units (DWARF
 * 5, sections 7.5.3 and 7.5.5). */
static bool may_lead_elsewhere(struct mt_eh_reader *reader)
{
	while (read_leb(reader, false) && !reader->failed) {
		uint64_t name, form;

		read_leb(reader, false);
		mt_eh_read_bytes(reader, 1);
		do {
			name = read_leb(reader, false);
			form = read_leb(reader, false);
			if (form == DW_FORM_ref_addr || form == DW_FORM_ref_sig8 ||
			    form == DW_FORM_indirect)
				return true;
			if (form == DW_FORM_implicit_const)
				read_leb(reader, true);
		} while ((name || form) && !reader->failed);
	}
	return reader->failed;
}

/* As it has its header, and its DIE if that had room in what was read. */
static bool has_own_die(struct mt_dwarf *dwarf, Dwarf_Off start, Dwarf_Off end, size_t header_size)
{
	Dwarf_Die die, child;

	if (end - start <= DIE_BYTES)
		return true;
	return dwarf_offdie(dwarf->dwarf, start + header_size, &die) &&
	       dwarf_child(&die, &child) == 0 && dwarf_dieoffset(&child) < start + DIE_BYTES;
}

bool mt_dwarf_is_by_unit(struct mt_dwarf *dwarf)
{
	const struct mt_debug_image *image = &dwarf->image;
	const uint8_t *limit = image->abbreviations + image->abbreviations_size;
	/* In a garbled file many units share long tables. */
	uint64_t budget = 4 * image->abbreviations_size;
	Dwarf_Off start = 0, end, table, last = UINT64_MAX;
	size_t header_size;
	Dwarf_Half version;
	int result;

	if (!image->parts[MT_DEBUG_INFO].bytes)
		return true;
	for (;; start = end) {
		read_info(dwarf, start, start + DIE_BYTES);
		result = dwarf_next_unit(dwarf->dwarf, start, &end, &header_size, &version, &table,
					 NULL, NULL, NULL, NULL);
		if (result)
			return result > 0;
		if (version < 2 || version > 5 || end <= start ||
		    table >= image->abbreviations_size ||
		    !has_own_die(dwarf, start, end, header_size))
			return false;
		struct mt_eh_reader reader = {.at = image->abbreviations + table, .end = limit};

		if (table == last)
			continue;
		if (may_lead_elsewhere(&reader))
			return false;
		last = table;
		const uint64_t scanned = (uint64_t)(reader.at - image->abbreviations) - table;
		if (scanned > budget)
			return false;
		budget -= scanned;
	}
}
