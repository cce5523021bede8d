/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dwarf/die.h"

#include <dwarf.h>

const char *mt_die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute)
								 : NULL;
}

const char *mt_die_linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

bool mt_die_child(Dwarf_Die *parent, int tag, Dwarf_Die *out)
{
	if (dwarf_child(parent, out))
		return false;
	do
		if (dwarf_tag(out) == tag)
			return true;
	while (dwarf_siblingof(out, out) == 0);
	return false;
}

/* Go writes DWARF 3's short blocks, which libdw takes for no location where the unit is of DWARF 4.
 * They look the same. */
bool mt_die_location(Dwarf_Die *die, unsigned which, Dwarf_Attribute *out)
{
	if (!dwarf_attr_integrate(die, which, out))
		return false;
	if (out->form == DW_FORM_block1 && out->valp && *out->valp < 0x80)
		out->form = DW_FORM_exprloc;
	return true;
}

bool mt_die_flag(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr_integrate(die, which, &attribute) &&
	       dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

bool mt_die_entry(Dwarf_Die *block, uint64_t *entry)
{
	ptrdiff_t offset = 0;
	Dwarf_Addr base, end;

	if (dwarf_lowpc(block, entry) == 0 && dwarf_hasattr(block, DW_AT_high_pc))
		return true;
	while ((offset = dwarf_ranges(block, offset, &base, entry, &end)) > 0)
		if (*entry < end)
			return true;
	return false;
}

Dwarf_Die mt_die_origin(const Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin = *die;

	for (unsigned i = 0; i < 8; i++) {
		Dwarf_Die next;

		if (!dwarf_attr(&origin, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&origin, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		origin = next;
	}
	return origin;
}
