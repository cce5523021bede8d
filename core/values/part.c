/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of values: members, elements, what pointers lead to, and the way back: addresses. */
#include "values/lookup.h"
#include "values/value.h"

#include <dwarf.h>
#include <string.h>

struct mt_error *mt_value_part(struct mt_eval *eval, struct mt_value *value, struct mt_type *type,
			       uint64_t offset, struct mt_value *out)
{
	uint64_t size = mt_type_size(type), whole;

	(void)eval;
	*out = *value;
	out->type = type;
	out->bit_size = 0;
	out->address = value->address + offset;
	if (value->is_lazy || value->is_optimized_out)
		return NULL;
	whole = mt_type_size(value->type);
	if (offset > whole || size > whole - offset) {
		/* Beyond its end, which only memory has. */
		if (value->lval != MT_LVAL_MEMORY)
			return mt_error_new(MT_ERROR_USAGE, "no such vector element");
		*out = mt_value_at(type, value->address + offset);
		return NULL;
	}
	memset(out->small, 0, sizeof(out->small));
	out->big = out->holes = NULL;
	uint8_t *bytes = mt_value_bytes(value) + offset;

	if (size > MT_VALUE_INLINE)
		out->big = bytes; /* of the arena: nobody changes them */
	else
		memcpy(out->small, bytes, size);
	if (mt_value_hole(value, offset, size))
		out->holes = value->holes + offset;
	return NULL;
}

/* Where a virtual base lies stands in the vtable, before its functions (Itanium C++ ABI, 2.5.2). */
static struct mt_error *find_virtual_base(struct mt_eval *eval, const struct mt_value *value,
					  const struct mt_member *member, uint64_t *address)
{
	Dwarf_Die die = member->die;
	Dwarf_Attribute attribute;
	Dwarf_Op *operations;
	size_t count;
	uint64_t vtable;
	int64_t at = 0, found;

	/* dup, deref, constu N, minus, deref, plus. */
	if (!dwarf_attr(&die, DW_AT_data_member_location, &attribute) ||
	    dwarf_getlocation(&attribute, &operations, &count))
		return mt_error_new(MT_ERROR_FORMAT, "unknown location of a virtual base");
	for (size_t i = 0; i < count; i++)
		if (operations[i].atom == DW_OP_constu || operations[i].atom == DW_OP_const1u)
			at = (int64_t)operations[i].number;
		else if (operations[i].atom >= DW_OP_lit0 && operations[i].atom <= DW_OP_lit31)
			at = operations[i].atom - DW_OP_lit0;
	if (eval->no_side_effects) { /* anywhere, but one place for each class */
		*address = (uintptr_t)mt_type_strip(member->type);
		return NULL;
	}
	if (eval->virtual_base)
		return eval->virtual_base(eval, value, member, at, address);
	mt_try(mt_value_read(eval, value->address, &vtable, sizeof(vtable)));
	mt_try(mt_value_read(eval, vtable - (uint64_t)at, &found, sizeof(found)));
	*address = value->address + (uint64_t)found;
	return NULL;
}

struct mt_error *mt_value_member(struct mt_eval *eval, struct mt_value *value,
				 const struct mt_member *member, struct mt_value *out)
{
	struct mt_found found;

	if (member->kind == MT_MEMBER_STATIC) {
		if (!mt_lookup_static_member(eval->program, mt_type_strip(value->type), member,
					     &found))
			return mt_no_symbol(member->name ? member->name : "");
		return mt_variable_value(eval, &found.variable, out);
	}
	if (member->bit_size) {
		uint64_t whole = mt_type_size(value->type);
		size_t count;

		*out = *value;
		out->type = member->type;
		out->address = value->address + member->offset;
		out->bit_offset = member->bit_offset;
		out->bit_size = member->bit_size;
		if (value->is_lazy || value->is_optimized_out)
			return NULL;
		count = mt_value_field_bytes(out);
		if (member->offset > whole || count > whole - member->offset)
			return mt_error_new(MT_ERROR_FORMAT,
					    "a bit field is outside of its structure");
		out->is_optimized_out =
		    mt_value_bit_hole(value, member->offset, member->bit_offset, member->bit_size);
		out->holes = NULL;
		mt_value_unpack(out, mt_value_bytes(value) + member->offset, count);
		return NULL;
	}
	if (member->is_virtual) {
		if (value->lval != MT_LVAL_MEMORY)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "a virtual base that is not in memory");
		uint64_t address = 0;

		mt_try(find_virtual_base(eval, value, member, &address));
		*out = mt_value_at(member->type, address);
		return NULL;
	}
	return mt_value_part(eval, value, member->type, member->offset, out);
}

struct mt_error *mt_value_element(struct mt_eval *eval, struct mt_value *value, int64_t index,
				  struct mt_value *out)
{
	struct mt_type *array = mt_type_strip(value->type);
	struct mt_type *element = mt_type_target(array);
	uint64_t offset = (uint64_t)(index - array->low) * mt_type_size(element);

	if (value->lval == MT_LVAL_MEMORY) {
		bool inside = index >= array->low && index - array->low < array->count;

		if (!value->is_lazy && inside)
			return mt_value_part(eval, value, element, offset, out);
		*out = mt_value_at(element, value->address + offset);
		return NULL;
	}
	if (index < array->low || (array->count >= 0 && index - array->low >= array->count))
		return mt_error_new(MT_ERROR_USAGE, "no such vector element");
	return mt_value_part(eval, value, element, offset, out);
}

static struct mt_error *follow_implicit(struct mt_eval *eval, struct mt_value *value,
					struct mt_value *out)
{
	struct mt_implicit *implicit = value->implicit;
	struct mt_type *target = mt_type_target(mt_type_strip(value->type));
	struct mt_value whole;
	struct mt_variable variable;
	struct mt_lookup lookup;

	mt_try(mt_lookup_init(&lookup, eval->program, eval->frame));
	mt_variable_bind(implicit->module, lookup.has_scope ? &lookup.scope : NULL, eval->frame,
			 &implicit->die, &variable);
	mt_try(mt_variable_value(eval, &variable, &whole));
	if (!implicit->offset && mt_type_size(variable.type) == mt_type_size(target)) {
		*out = whole;
		return NULL;
	}
	mt_try(mt_value_fetch(eval, &whole));
	return mt_value_part(eval, &whole, target, (uint64_t)implicit->offset, out);
}

struct mt_error *mt_value_dereference(struct mt_eval *eval, struct mt_value *value,
				      struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(value->type);
	uint64_t address;

	if (value->is_implicit_pointer)
		return follow_implicit(eval, value, out);
	mt_try(mt_value_need(eval, value));
	memcpy(&address, mt_value_bytes(value), sizeof(address));
	*out = mt_value_at(mt_type_target(type), address);
	return NULL;
}

struct mt_error *mt_value_unreference(struct mt_eval *eval, struct mt_value *value)
{
	struct mt_value target;

	if (!mt_type_is_reference(mt_type_strip(value->type)))
		return NULL;
	mt_try(mt_value_dereference(eval, value, &target));
	*value = target;
	return NULL;
}

struct mt_error *mt_value_address(struct mt_eval *eval, struct mt_value *value,
				  struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(value->type), *pointer;

	if (mt_type_is_reference(type)) {
		pointer = mt_type_pointer_to(mt_type_target(type));
		mt_try(mt_value_need(eval, value));
		*out = *value;
		out->type = pointer;
		out->lval = MT_LVAL_NONE;
		return pointer ? NULL : mt_error_no_memory();
	}
	if (value->lval != MT_LVAL_MEMORY)
		return mt_error_new(MT_ERROR_USAGE,
				    "Attempt to take address of value not located in memory.");
	pointer = mt_type_pointer_to(value->type);
	if (!pointer)
		return mt_error_no_memory();
	*out = mt_value_integer(pointer, value->address);
	return NULL;
}

struct mt_error *mt_value_decay(struct mt_eval *eval, struct mt_value *value)
{
	struct mt_type *type, *pointer;

	mt_try(mt_value_unreference(eval, value));
	type = mt_type_strip(value->type);
	if (type->kind == MT_TYPE_FUNCTION)
		return mt_value_address(eval, value, value);
	if (type->kind != MT_TYPE_ARRAY || type->is_vector)
		return NULL;
	if (value->lval != MT_LVAL_MEMORY)
		return mt_error_new(MT_ERROR_USAGE,
				    "Attempt to take address of value not located in memory.");
	pointer = mt_type_pointer_to(mt_type_target(type));
	if (!pointer)
		return mt_error_no_memory();
	*value = mt_value_integer(pointer, value->address);
	return NULL;
}
