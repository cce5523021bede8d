/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The types that Go's runtime knows at run time, by what their DIEs say of where the runtime has
 * them: the address in the file, or an offset from the beginning of all types.  Source: Go's
 * cmd/internal/dwarf (DW_AT_go_runtime_type), cmd/link/internal/ld/dwarf.go. */
#include "types/go_types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

enum { DW_AT_GO_KIND = 0x2900, DW_AT_GO_RUNTIME_TYPE = 0x2904 };

static bool number_of(Dwarf_Die *die, unsigned which, uint64_t *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word word;
	Dwarf_Addr address;

	if (!dwarf_attr(die, which, &attribute))
		return false;
	if (dwarf_whatform(&attribute) == DW_FORM_addr) {
		*out = dwarf_formaddr(&attribute, &address) == 0 ? address : 0;
		return *out != 0;
	}
	*out = dwarf_formudata(&attribute, &word) == 0 ? word : 0;
	return *out != 0;
}

static void note_types(struct mt_module *module, Dwarf_Die *unit)
{
	Dwarf_Die die;

	if (mt_unit_language(unit) != MT_LANGUAGE_GO || dwarf_child(unit, &die))
		return;
	do {
		struct mt_go_type type = {.die = die};
		uint64_t kind;

		if (dwarf_tag(&die) == DW_TAG_subprogram ||
		    !number_of(&die, DW_AT_GO_RUNTIME_TYPE, &type.at) ||
		    !number_of(&die, DW_AT_GO_KIND, &kind))
			continue;
		type.kind = (uint8_t)kind;
		mt_array_push(&module->go_types, type);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int by_place(const void *a, const void *b)
{
	const uint64_t left = ((const struct mt_go_type *)a)->at;
	const uint64_t right = ((const struct mt_go_type *)b)->at;

	return left < right ? -1 : left > right;
}

static void read_types(struct mt_module *module)
{
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, split;
	uint8_t type;

	module->has_go_types = true;
	while (dwarf && dwarf->dwarf &&
	       dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, &type, &die, &split) == 0)
		note_types(module, &die);
	if (module->go_types.count)
		qsort(module->go_types.items, module->go_types.count,
		      sizeof(*module->go_types.items), by_place);
}

static struct mt_type *type_at(struct mt_module *module, uint64_t at, uint8_t kind)
{
	const struct mt_go_type key = {.at = at};
	struct mt_go_type *found =
	    module->go_types.count ? bsearch(&key, module->go_types.items, module->go_types.count,
					     sizeof(*module->go_types.items), by_place)
				   : NULL;

	return found && found->kind == kind ? mt_type_of_die(module, &found->die) : NULL;
}

struct mt_type *mt_go_type_at(struct mt_expr_program *program, uint64_t address, uint8_t kind)
{
	static const char types[] = "runtime.types";
	struct mt_module *module = mt_program_module_at(program, address);
	const struct mt_msymbol *start;
	struct mt_type *type = NULL;

	if (!module)
		return NULL;
	if (!module->has_go_types)
		read_types(module);
	address -= module->bias;
	start = mt_msymbol_named(module, types, strlen(types));
	if (start && address >= start->address)
		type = type_at(module, address - start->address, kind);
	return type ? type : type_at(module, address, kind);
}
