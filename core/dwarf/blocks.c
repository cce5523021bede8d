/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks of a function that have names of their own: for a line that begins several times in
 * one of them people mean the first (DWARF 5, section 3.5). */
#include "dwarf/units.h"

#include <dwarf.h>

enum { DEEPEST = 256, MOST_DIES = 1 << 22 };

static bool holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_module;
}

static bool is_block(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
	       tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block;
}

static bool find_child(Dwarf_Die *parent, uint64_t address, unsigned depth, size_t *budget,
		       Dwarf_Die *out)
{
	Dwarf_Die child;

	if (depth > DEEPEST || dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (holds_functions(tag) && find_child(&child, address, depth + 1, budget, out))
			return true;
		if (is_block(tag) && dwarf_haspc(&child, address) > 0) {
			*out = child;
			return true;
		}
	} while (*budget && --*budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool has_names(Dwarf_Die *block)
{
	Dwarf_Die child;
	size_t budget = MOST_DIES;

	if (dwarf_tag(block) != DW_TAG_lexical_block)
		return true;
	if (dwarf_child(block, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag != DW_TAG_lexical_block && tag != DW_TAG_call_site &&
		    tag != DW_TAG_GNU_call_site)
			return true;
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

const void *mt_block_at(struct mt_unit *unit, uint64_t address)
{
	const void *innermost = NULL;
	size_t budget = MOST_DIES;
	Dwarf_Die block = mt_unit_tree(unit);

	for (unsigned depth = 0; depth < DEEPEST; depth++) {
		if (!find_child(&block, address, 0, &budget, &block))
			break;
		if (has_names(&block))
			innermost = block.addr;
	}
	return innermost;
}

static bool is_list(Dwarf_Die *variable)
{
	Dwarf_Attribute attribute;

	if (!dwarf_attr(variable, DW_AT_location, &attribute))
		return false;
	switch (dwarf_whatform(&attribute)) {
	case DW_FORM_sec_offset:
	case DW_FORM_loclistx:
	case DW_FORM_data4:
	case DW_FORM_data8:
		return true;
	default:
		return false;
	}
}

static bool has_list(Dwarf_Die *parent, unsigned depth, size_t *budget)
{
	Dwarf_Die child;

	if (depth > DEEPEST || dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && is_list(&child))
			return true;
		if ((is_block(tag) || holds_functions(tag)) && has_list(&child, depth + 1, budget))
			return true;
	} while (*budget && --*budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

bool mt_unit_has_lists(struct mt_unit *unit)
{
	size_t budget = MOST_DIES;

	if (!unit->lists_sought) {
		Dwarf_Die die = mt_unit_tree(unit);

		unit->lists_sought = true;
		unit->has_lists = has_list(&die, 0, &budget);
	}
	return unit->has_lists;
}
