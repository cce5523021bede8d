/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables: bound to an address in the code, where DWARF's location lists are read once, and then
 * read as often as wanted. */
#include "space/unwind.h"
#include "values/libraries.h"
#include "values/lookup.h"

#include <dwarf.h>
#include <string.h>

static void bind_frame_base(const struct mt_scope *scope, struct mt_variable *variable)
{
	Dwarf_Die function = scope->blocks[scope->count - 1];
	Dwarf_Op *operations;
	size_t count;

	if (!mt_die_location(&function, DW_AT_frame_base, &variable->frame_base_attribute) ||
	    dwarf_getlocation_addr(&variable->frame_base_attribute, scope->pc, &operations, &count,
				   1) <= 0)
		return;
	variable->frame_base = operations;
	variable->frame_base_count = count;
}

static void bind_location(const struct mt_scope *scope, struct mt_variable *variable)
{
	Dwarf_Op *operations;
	size_t count = 0;
	int found =
	    scope ? dwarf_getlocation_addr(&variable->attribute, scope->pc, &operations, &count, 1)
		  : dwarf_getlocation(&variable->attribute, &operations, &count) == 0;

	if (found <= 0 || !count)
		return;
	variable->kind = MT_VARIABLE_LOCATION;
	variable->operations = operations;
	variable->count = count;
}

/* A fixed size says nothing of the sign: 0x81 in a byte is 129 of a wider type. */
static bool constant_of(Dwarf_Attribute *attribute, int64_t *number)
{
	unsigned form = dwarf_whatform(attribute);
	Dwarf_Word bits;
	Dwarf_Sword value;

	if (form == DW_FORM_data1 || form == DW_FORM_data2 || form == DW_FORM_data4) {
		if (dwarf_formudata(attribute, &bits))
			return false;
		*number = (int64_t)bits;
		return true;
	}
	if (dwarf_formsdata(attribute, &value))
		return false;
	*number = value;
	return true;
}

static void bind_constant(Dwarf_Attribute *attribute, struct mt_variable *variable)
{
	Dwarf_Block block;
	int64_t number;
	const char *text;
	int64_t *copy;

	variable->kind = MT_VARIABLE_BYTES;
	if (dwarf_formblock(attribute, &block) == 0) {
		variable->bytes = block.data;
		variable->byte_count = block.length;
	} else if (constant_of(attribute, &number)) {
		copy = mt_arena_alloc(&variable->module->program->arena, sizeof(*copy));
		if (copy)
			*copy = number;
		variable->bytes = (const uint8_t *)copy;
		variable->byte_count = copy ? sizeof(*copy) : 0;
	} else if ((text = dwarf_formstring(attribute))) {
		variable->bytes = (const uint8_t *)text;
		variable->byte_count = strlen(text) + 1;
	}
}

/* Parameters that are nowhere there, because the optimizer took them away, are not passed.  Of
 * those of Rust's that are somewhere DWARF tells nothing before the end of the prologue. */
static bool tells_everywhere(const struct mt_scope *scope, bool has_location)
{
	Dwarf_Die cu = scope->unit;

	if (has_location && mt_unit_language(&cu) == MT_LANGUAGE_RUST)
		return false;
	const struct mt_dwarf *dwarf = mt_dwarf(scope->module->objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, scope->pc) : NULL;

	return unit && mt_unit_has_lists(unit);
}

void mt_variable_bind(struct mt_module *module, const struct mt_scope *scope,
		      const struct mt_expr_frame *frame, Dwarf_Die *die, struct mt_variable *out)
{
	Dwarf_Attribute constant;

	*out = (struct mt_variable){
	    .name = mt_die_name(die),
	    .module = module,
	    .die = *die,
	    .kind = MT_VARIABLE_OPTIMIZED_OUT,
	    .is_parameter = dwarf_tag(die) == DW_TAG_formal_parameter,
	};
	out->type = mt_type_of(module, die);
	if (!out->type)
		out->type = module->program->builtins[MT_BUILTIN_ERROR];
	if (scope && scope->count)
		bind_frame_base(scope, out);
	bool has_location = mt_die_location(die, DW_AT_location, &out->attribute);
	if (has_location)
		bind_location(scope, out);
	if (scope && out->is_parameter && frame->at_entry && !frame->inner &&
	    scope->function + 1 == scope->count &&
	    (out->kind == MT_VARIABLE_LOCATION || !tells_everywhere(scope, has_location))) {
		Dwarf_Die function = scope->blocks[scope->count - 1];

		if (mt_entry_location(module, &function, die, &out->entry)) {
			out->kind = MT_VARIABLE_ABI;
			return;
		}
	}
	if (!has_location && dwarf_attr_integrate(die, DW_AT_const_value, &constant))
		bind_constant(&constant, out);
}

static struct mt_type *resolve_array(struct mt_eval *eval, const struct mt_variable *variable,
				     struct mt_type *array)
{
	Dwarf_Attribute attribute;
	Dwarf_Die die;
	uint64_t number = 0;
	bool is_count = dwarf_hasattr(&array->count_die, DW_AT_count);
	struct mt_error *error = NULL;
	struct mt_type *element = mt_variable_resolve(eval, variable, mt_type_target(array));

	if (!element ||
	    !dwarf_attr(&array->count_die, is_count ? DW_AT_count : DW_AT_upper_bound, &attribute))
		return array;
	if (dwarf_formref_die(&attribute, &die)) {
		struct mt_variable bound;
		struct mt_value value;
		struct mt_lookup lookup;

		error = mt_lookup_init(&lookup, eval->program, eval->frame);
		if (!error) {
			mt_variable_bind(variable->module, lookup.has_scope ? &lookup.scope : NULL,
					 eval->frame, &die, &bound);
			error = mt_variable_value(eval, &bound, &value);
		}
		if (!error)
			error = mt_value_get(eval, &value, &number);
	} else {
		error = mt_variable_attribute(eval, variable, &attribute, &number);
	}
	if (error) {
		mt_error_destroy(error);
		return array;
	}
	if (!is_count)
		number = number - (uint64_t)array->low + 1;
	return mt_type_array_of(element, array->low, (int64_t)number < 0 ? 0 : (int64_t)number);
}

struct mt_type *mt_variable_resolve(struct mt_eval *eval, const struct mt_variable *variable,
				    struct mt_type *type)
{
	struct mt_type *array = mt_type_strip(type);

	if (array->kind != MT_TYPE_ARRAY || eval->depth > 16)
		return type;
	if (array->count_die.addr) {
		eval->depth++;
		array = resolve_array(eval, variable, array);
		eval->depth--;
		return array ? array : type;
	}
	return type;
}

static bool cfa_by_rule(struct mt_eval *eval, uint64_t *cfa)
{
	const struct mt_expr_frame *frame = eval->frame;
	struct mt_cfa_rule *rule = eval->cfa_rule;

	if (rule && !rule->is_sought) {
		rule->is_sought = true;
		rule->is_found = mt_unwind_cfa_rule(eval->program->space, frame->pc, &rule->number,
						    &rule->offset);
	}
	if (!rule || !rule->is_found || !frame->ops->get_register ||
	    !frame->ops->get_register(frame->context, rule->number, cfa, sizeof(*cfa)))
		return false;
	*cfa += (uint64_t)rule->offset;
	return true;
}

bool mt_frame_cfa(struct mt_eval *eval, uint64_t *cfa)
{
	const struct mt_expr_frame *frame = eval->frame;

	if (!frame->ops)
		return false;
	return cfa_by_rule(eval, cfa) ||
	       (frame->ops->get_cfa && frame->ops->get_cfa(frame->context, cfa));
}

/* The locations that compilers write most often need no machine: a slot in the frame, a fixed
 * address. */
static bool simple_value(struct mt_eval *eval, const struct mt_variable *variable,
			 struct mt_type *type, struct mt_value *out)
{
	const Dwarf_Op *operation = &variable->operations[0];
	uint64_t cfa;

	if (variable->count != 1)
		return false;
	if (operation->atom == DW_OP_addr) {
		*out = mt_value_at(type, operation->number + variable->module->bias);
		return true;
	}
	if (operation->atom != DW_OP_fbreg || variable->frame_base_count != 1 ||
	    variable->frame_base[0].atom != DW_OP_call_frame_cfa || !mt_frame_cfa(eval, &cfa))
		return false;
	*out = mt_value_at(type, cfa + operation->number);
	return true;
}

struct mt_error *mt_variable_value(struct mt_eval *eval, const struct mt_variable *variable,
				   struct mt_value *out)
{
	struct mt_type *type = mt_variable_resolve(eval, variable, variable->type);
	uint64_t address;

	*out = mt_value_zero(type);
	switch (variable->kind) {
	case MT_VARIABLE_BYTES: {
		uint64_t size = mt_type_size(out->type);

		mt_try(mt_value_room(eval, out, size));
		if (variable->bytes)
			memcpy(mt_value_bytes(out), variable->bytes,
			       variable->byte_count < size ? variable->byte_count : size);
		return NULL;
	}
	case MT_VARIABLE_ADDRESS:
		*out = mt_value_at(type, variable->address + variable->module->bias);
		return NULL;
	case MT_VARIABLE_TLS:
		mt_try(mt_tls_address(eval, variable->module, variable->address, &address));
		*out = mt_value_at(type, address);
		return NULL;
	case MT_VARIABLE_LOCATION: {
		struct mt_pieces pieces;
		struct mt_error *error;

		if (simple_value(eval, variable, type, out))
			return NULL;
		error = mt_variable_location(eval, variable, &pieces);
		if (error && mt_error_code(error) == MT_ERROR_UNSUPPORTED &&
		    strcmp(mt_error_message(error), "value has been optimized out") == 0) {
			mt_error_destroy(error);
			pieces.count = 1;
			pieces.items[0] = (struct mt_piece){.kind = MT_PIECE_NOWHERE};
			error = NULL;
		}
		return error ? error : mt_pieces_value(eval, &pieces, variable->module, type, out);
	}
	case MT_VARIABLE_ABI:
		return mt_entry_value(eval, variable, out);
	default:
		out->is_optimized_out = true;
		return mt_value_room(eval, out, mt_type_size(type));
	}
}
