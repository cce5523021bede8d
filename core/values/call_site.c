/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values at a function's entry, which the caller's call site gives (DWARF 5, sections 3.4 and
 * 2.5.1.7): the register is overwritten long since, but what was put into it can be computed in the
 * caller's frame. */
#include "values/call_site.h"

#include <dwarf.h>

static bool is_call_site(int tag)
{
	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

bool mt_call_site_pc(Dwarf_Die *site, uint64_t *pc)
{
	Dwarf_Attribute attribute;

	return (dwarf_attr(site, DW_AT_call_return_pc, &attribute) ||
		dwarf_attr(site, DW_AT_low_pc, &attribute)) &&
	       dwarf_formaddr(&attribute, pc) == 0;
}

static bool returns_to(Dwarf_Die *site, uint64_t pc)
{
	uint64_t address;

	return mt_call_site_pc(site, &address) && address == pc;
}

static bool find_in(Dwarf_Die *block, uint64_t pc, unsigned depth, Dwarf_Die *out)
{
	Dwarf_Die child;
	size_t budget = 1 << 20;

	if (depth > MT_SCOPE_MOST || dwarf_child(block, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (is_call_site(tag) && returns_to(&child, pc)) {
			*out = child;
			return true;
		}
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    find_in(&child, pc, depth + 1, out))
			return true;
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
	return false;
}

static bool is_register(Dwarf_Die *parameter, unsigned number)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;

	return dwarf_attr(parameter, DW_AT_location, &attribute) &&
	       dwarf_getlocation(&attribute, &operations, &count) == 0 && count == 1 &&
	       ((operations[0].atom == DW_OP_regx && operations[0].number == number) ||
		(operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31 &&
		 (unsigned)(operations[0].atom - DW_OP_reg0) == number));
}

static bool find_parameter(Dwarf_Die *site, unsigned number, Dwarf_Attribute *value)
{
	Dwarf_Die child;

	if (dwarf_child(site, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter) &&
		    is_register(&child, number))
			return dwarf_attr(&child, DW_AT_call_value, value) ||
			       dwarf_attr(&child, DW_AT_GNU_call_site_value, value);
	} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

bool mt_call_site_find(Dwarf_Die *function, uint64_t pc, Dwarf_Die *out)
{
	return find_in(function, pc, 0, out);
}

/* Which function it called follows from registers of the caller's frame. */
static bool calls_computed(struct mt_eval *at_caller, const struct mt_variable *site,
			   uint64_t function)
{
	Dwarf_Die die = site->die;
	Dwarf_Attribute attribute;
	uint64_t target;
	struct mt_error *error;

	if (!dwarf_attr(&die, DW_AT_call_target, &attribute) &&
	    !dwarf_attr(&die, DW_AT_GNU_call_site_target, &attribute))
		return false;
	error = mt_variable_attribute(at_caller, site, &attribute, &target);
	mt_error_destroy(error);
	return !error && target == function;
}

/* Whether the call site is of the function that the frame is in. */
static bool calls(struct mt_eval *at_caller, const struct mt_variable *site, uint64_t function)
{
	struct mt_call_targets targets;
	Dwarf_Die die = site->die;

	if (!mt_call_site_targets(site->module, &die, &targets))
		return calls_computed(at_caller, site, function);
	for (size_t i = 0; i < targets.count; i++)
		if (targets.items[i] == function)
			return true;
	return false;
}

static struct mt_error *unknown(void)
{
	return mt_value_optimized_out();
}

struct mt_error *mt_call_site_register(struct mt_eval *eval, const struct mt_variable *variable,
				       unsigned number, uint64_t *value)
{
	const struct mt_expr_frame *frame = eval->frame;
	struct mt_expr_frame caller;
	struct mt_eval at_caller = *eval;
	struct mt_scope here, there;
	Dwarf_Die site;
	Dwarf_Attribute attribute;
	struct mt_variable parameter = {.module = variable->module};

	if (!frame->ops || !frame->ops->get_caller || eval->depth > 8 ||
	    !mt_scope_find(eval->program, frame->pc, frame->inner, &here) ||
	    !frame->ops->get_caller(frame->context, &caller) ||
	    !mt_scope_find(eval->program, caller.pc, caller.inner, &there))
		return unknown();
	uint64_t returns = caller.next_pc ? caller.next_pc : caller.pc + 1, entry;
	if (!mt_die_entry(&here.blocks[here.count - 1], &entry) ||
	    !find_in(&there.blocks[there.count - 1], returns - there.module->bias, 0, &site))
		return unknown();
	entry += here.module->bias;
	mt_variable_bind(there.module, &there, &caller, &site, &parameter);
	at_caller.frame = &caller;
	at_caller.depth++;
	at_caller.cfa_rule = NULL;
	if (!calls(&at_caller, &parameter, entry) || mt_tail_calls_itself(eval->program, entry) ||
	    !find_parameter(&site, number, &attribute))
		return unknown();
	return mt_variable_attribute(&at_caller, &parameter, &attribute, value);
}

/* The register that a parameter came in: its location at the function's first instruction, where
 * an inlined one's may begin, too. */
static bool entry_register(const struct mt_variable *variable, uint64_t entry_pc, unsigned *number)
{
	Dwarf_Attribute attribute = variable->attribute;
	Dwarf_Op *operations;
	size_t count;

	if (!attribute.valp ||
	    dwarf_getlocation_addr(&attribute, entry_pc, &operations, &count, 1) <= 0 || count != 1)
		return false;
	if (operations[0].atom == DW_OP_regx)
		*number = (unsigned)operations[0].number;
	else if (operations[0].atom >= DW_OP_reg0 && operations[0].atom <= DW_OP_reg31)
		*number = (unsigned)(operations[0].atom - DW_OP_reg0);
	else
		return false;
	return true;
}

struct mt_error *mt_call_site_parameter(struct mt_eval *eval, const struct mt_variable *variable,
					struct mt_value *out)
{
	struct mt_scope scope;
	Dwarf_Addr entry;
	unsigned number;
	uint64_t bits = 0;
	struct mt_type *type = mt_type_strip(variable->type);

	if (!mt_scope_find(eval->program, eval->frame->pc, eval->frame->inner, &scope) ||
	    !mt_die_entry(&scope.blocks[scope.count - 1], &entry) ||
	    !entry_register(variable, entry, &number) || mt_type_size(type) > sizeof(bits) ||
	    mt_type_is_aggregate(type))
		return unknown();
	mt_try(mt_call_site_register(eval, variable, number, &bits));
	*out = mt_value_zero(variable->type);
	mt_try(mt_value_room(eval, out, mt_type_size(type)));
	for (uint64_t i = 0; i < mt_type_size(type); i++)
		mt_value_bytes(out)[i] = (uint8_t)(bits >> 8 * i);
	return NULL;
}
