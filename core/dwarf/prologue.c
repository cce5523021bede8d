/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a function's prologue ends.  Up to there its parameters are not where DWARF says, unless
 * the compiler optimized, and has locations for each instruction.  The rules are GDB's, so that
 * breakpoints are where people expect them: the frame pointer's making, then the end of the line it
 * is in. */
#include "dwarf/units.h"

#include <dwarf.h>

#include <string.h>

#define MOST_BYTES 16

static const char *unit_text(struct mt_objfile *objfile, uint64_t address, unsigned name)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;
	Dwarf_Attribute attribute;

	if (!unit)
		return NULL;
	/* Of a split unit each half has some of them. */
	if (dwarf_attr(&unit->lines, name, &attribute) || dwarf_attr(&unit->die, name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

const char *mt_objfile_directory_at(struct mt_objfile *objfile, uint64_t address)
{
	const char *name = unit_text(objfile, address, DW_AT_name);
	const char *directory = unit_text(objfile, address, DW_AT_comp_dir);
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;
	/* Of Rust's units only the whole is named in full. */
	bool is_rust = unit && dwarf_srclang(&unit->die) == DW_LANG_Rust;

	return name && (name[0] != '/' || is_rust) ? directory : NULL;
}

const char *mt_objfile_unit_at(struct mt_objfile *objfile, uint64_t address)
{
	return unit_text(objfile, address, DW_AT_name);
}

const char *mt_objfile_own_name_at(struct mt_objfile *objfile, uint64_t address)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;
	Dwarf_Attribute attribute;
	Dwarf_Die function;

	return unit && mt_dwarf_function_at(unit, address, &function) &&
		       dwarf_attr_integrate(&function, DW_AT_name, &attribute)
		   ? dwarf_formstring(&attribute)
		   : NULL;
}

static const char *producer_of(struct mt_objfile *objfile, uint64_t address)
{
	const char *text = unit_text(objfile, address, DW_AT_producer);

	return text ? text : "";
}

/* gcc's location lists, which it writes when it optimises, hold in prologues too. */
static bool tells_everywhere(struct mt_objfile *objfile, uint64_t address, const char *producer)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;

	return unit && strncmp(producer, "GNU ", 4) == 0 && mt_unit_has_lists(unit);
}

static size_t skip(const uint8_t *bytes, size_t size, size_t at, const char *wanted, size_t length)
{
	return size - at >= length && memcmp(bytes + at, wanted, length) == 0 ? length : 0;
}

/* Behind push %rbp; mov %rsp,%rbp.  0: it makes no frame pointer. */
static size_t frame_pointer_made(const uint8_t *bytes, size_t size)
{
	size_t at = skip(bytes, size, 0, "\xf3\x0f\x1e\xfa", 4); /* endbr64 */
	size_t push = skip(bytes, size, at, "\x55", 1);
	size_t move;

	if (!push)
		return 0;
	at += push;
	move = skip(bytes, size, at, "\x48\x89\xe5", 3);
	if (!move)
		move = skip(bytes, size, at, "\x48\x8b\xec", 3);
	return move ? at + move : 0;
}

static bool is_inlined(struct mt_objfile *objfile, uint64_t address)
{
	struct mt_inline_span span;

	mt_objfile_inlines_at(objfile, address, &span);
	return span.depth > 0;
}

/* By clang's line tables, which mark the prologue: behind the function's first line, and what of
 * lines before that was moved into it.  0: it is all one line. */
static uint64_t behind_first_line(struct mt_objfile *objfile, uint64_t start, uint64_t end)
{
	struct mt_line_range range, next;

	if (!mt_objfile_line_at(objfile, start, &range))
		return start;
	if (mt_objfile_lines_begin_at(objfile, start))
		return start;
	if (range.end >= end)
		return 0;
	while (range.end < end && mt_objfile_line_at(objfile, range.end, &next) &&
	       next.source.line < range.source.line && next.source.file == range.source.file &&
	       !is_inlined(objfile, range.end))
		range = next;
	return range.end < end ? range.end : range.start;
}

uint64_t mt_objfile_frame_made(struct mt_objfile *objfile, uint64_t start)
{
	const char *producer = producer_of(objfile, start);
	const struct mt_symbol *symbol = mt_objfile_symbol_at(objfile, start);
	uint8_t bytes[MOST_BYTES];
	struct mt_line_range range;
	uint64_t pc;

	if (strncmp(producer, "clang ", 6) == 0 &&
	    (pc = behind_first_line(objfile, start, symbol ? symbol->end : UINT64_MAX)))
		return pc;
	pc = start +
	     frame_pointer_made(bytes, mt_objfile_read(objfile, start, bytes, sizeof(bytes)));
	if (!mt_objfile_line_at(objfile, pc, &range) || range.start == pc)
		return pc;
	return symbol && range.end < symbol->end ? range.end : pc;
}

uint64_t mt_objfile_skip_prologue(struct mt_objfile *objfile, uint64_t start)
{
	const struct mt_symbol *symbol = mt_objfile_symbol_at(objfile, start);
	uint64_t pc;

	if (tells_everywhere(objfile, start, producer_of(objfile, start)))
		return start;
	if (symbol && mt_prologue_end(objfile, start, symbol->end, &pc))
		return pc;
	return mt_objfile_frame_made(objfile, start);
}
