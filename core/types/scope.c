/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks around an address. */
#include "types/scope.h"

#include <dwarf.h>

#define MOST_SIBLINGS (1u << 22)

/* The block with the address. */
static bool find_child(Dwarf_Die *parent, uint64_t pc, Dwarf_Die *out)
{
	Dwarf_Die child;
	size_t budget = MOST_SIBLINGS;

	if (dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
		     tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block ||
		     tag == DW_TAG_catch_block) &&
		    dwarf_haspc(&child, pc) > 0) {
			*out = child;
			return true;
		}
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

/* Functions of a class that a function declares, a lambda's, stand within that function. */
static bool find_nested(Dwarf_Die *parent, uint64_t pc, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die child;
	size_t budget = MOST_SIBLINGS;

	if (depth > MT_SCOPE_MOST || dwarf_child(parent, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram && dwarf_haspc(&child, pc) > 0) {
			*out = child;
			return true;
		}
		if ((tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block ||
		     mt_dwarf_holds_functions(tag)) &&
		    find_nested(&child, pc, depth + 1, out))
			return true;
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

static void reverse(struct mt_scope *scope)
{
	for (size_t i = 0; i < scope->count / 2; i++) {
		Dwarf_Die other = scope->blocks[i];

		scope->blocks[i] = scope->blocks[scope->count - 1 - i];
		scope->blocks[scope->count - 1 - i] = other;
	}
}

/* Without what is inner to the selected frame. */
static void drop_inner(struct mt_scope *scope, unsigned inner)
{
	size_t first = 0;

	for (size_t i = 0; i < scope->count && inner; i++) {
		if (dwarf_tag(&scope->blocks[i]) != DW_TAG_inlined_subroutine)
			continue;
		first = i + 1;
		inner--;
	}
	for (size_t i = first; i < scope->count; i++)
		scope->blocks[i - first] = scope->blocks[i];
	scope->count -= first;
}

static bool find(struct mt_module *module, uint64_t file_pc, unsigned inner, struct mt_scope *scope)
{
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, file_pc) : NULL;
	Dwarf_Die block;

	if (!unit)
		return false;
	*scope = (struct mt_scope){.module = module, .pc = file_pc, .unit = unit->die};
	if (!mt_dwarf_function_at(unit, file_pc, &block) &&
	    !find_nested(&scope->unit, file_pc, 0, &block))
		return false;
	scope->blocks[scope->count++] = block;
	while (scope->count < MT_SCOPE_MOST && find_child(&block, file_pc, &block))
		scope->blocks[scope->count++] = block;
	reverse(scope);
	drop_inner(scope, inner);
	for (scope->function = 0; scope->function + 1 < scope->count; scope->function++)
		if (dwarf_tag(&scope->blocks[scope->function]) == DW_TAG_inlined_subroutine)
			break;
	return scope->count > 0;
}

bool mt_scope_find(struct mt_expr_program *program, uint64_t pc, unsigned inner,
		   struct mt_scope *scope)
{
	struct mt_module *module = pc ? mt_program_module_at(program, pc) : NULL;

	return module && find(module, pc - module->bias, inner, scope);
}

bool mt_scope_function(struct mt_module *module, uint64_t file_pc, Dwarf_Die *function)
{
	struct mt_scope scope;

	if (!find(module, file_pc, 0, &scope))
		return false;
	*function = scope.blocks[scope.count - 1];
	return true;
}

const char *mt_scope_namespace(const struct mt_scope *scope)
{
	Dwarf_Die function = mt_die_origin(&scope->blocks[scope->function]);

	return mt_index_scope_of(scope->module, &function);
}

static bool is_variable(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_variable || tag == DW_TAG_formal_parameter || tag == DW_TAG_constant;
}

static bool is_instance_of(const mt_dies *known, const Dwarf_Die *origin)
{
	mt_array_each (die, known) {
		Dwarf_Attribute attribute;
		Dwarf_Die of;

		if (dwarf_attr(die, DW_AT_abstract_origin, &attribute) &&
		    dwarf_formref_die(&attribute, &of) && of.addr == origin->addr)
			return true;
	}
	return false;
}

static int add_children(Dwarf_Die *block, const mt_dies *instances, mt_dies *out)
{
	Dwarf_Die child;
	size_t budget = MOST_SIBLINGS;

	if (dwarf_child(block, &child))
		return 0;
	do
		if (is_variable(&child) && (!instances || !is_instance_of(instances, &child)) &&
		    mt_array_push(out, child))
			return -1;
	while (--budget && dwarf_siblingof(&child, &child) == 0);
	return 0;
}

int mt_block_variables(Dwarf_Die *block, mt_dies *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (add_children(block, NULL, out))
		return -1;
	if (!dwarf_attr(block, DW_AT_abstract_origin, &attribute) ||
	    !dwarf_formref_die(&attribute, &origin))
		return 0;
	return add_children(&origin, out, out);
}
