/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversions between types, and assignment. */
#include "values/user.h"
#include "values/variable.h"

#include <string.h>

static bool is_scalar(const struct mt_type *type)
{
	return mt_type_is_integer_kind(type) || type->kind == MT_TYPE_FLOAT ||
	       type->kind == MT_TYPE_POINTER || type->kind == MT_TYPE_MEMBER_POINTER;
}

#define DEEPEST_BASE 32

/* The one of DERIVED's own bases that is BASE, or that has it as a base; NULL: none.  *IS_VIRTUAL:
 * where BASE lies is known to an object alone. */
static const struct mt_member *way_to_base(struct mt_type *derived, struct mt_type *base,
					   unsigned depth, bool *is_virtual)
{
	derived = mt_type_strip(derived);
	if (depth > DEEPEST_BASE || derived->kind != MT_TYPE_STRUCT)
		return NULL;
	mt_type_expand(derived);
	for (size_t i = 0; i < derived->member_count; i++) {
		const struct mt_member *member = &derived->members[i];

		if (member->kind != MT_MEMBER_BASE)
			continue;
		*is_virtual = false;
		if (mt_type_same(member->type, base) ||
		    way_to_base(member->type, base, depth + 1, is_virtual)) {
			*is_virtual |= member->is_virtual;
			return member;
		}
	}
	return NULL;
}

/* WHOLE's part BASE, to which a way leads. */
static struct mt_error *go_to_base(struct mt_eval *eval, struct mt_value *whole,
				   struct mt_type *base, struct mt_value *out)
{
	struct mt_value at = *whole;
	const struct mt_member *way;
	bool is_virtual;

	while ((way = way_to_base(at.type, base, 0, &is_virtual))) {
		struct mt_value part;

		mt_try(mt_value_member(eval, &at, way, &part));
		at = part;
	}
	*out = at;
	return NULL;
}

/* Offset of BASE within DERIVED.  False: it is none of its bases, or a virtual one. */
static bool base_offset(struct mt_type *derived, struct mt_type *base, unsigned depth,
			uint64_t *offset)
{
	derived = mt_type_strip(derived);
	if (depth > DEEPEST_BASE || derived->kind != MT_TYPE_STRUCT)
		return false;
	mt_type_expand(derived);
	for (size_t i = 0; i < derived->member_count; i++) {
		const struct mt_member *member = &derived->members[i];

		if (member->kind != MT_MEMBER_BASE || member->is_virtual)
			continue;
		*offset = 0;
		if (mt_type_same(member->type, base) ||
		    base_offset(member->type, base, depth + 1, offset)) {
			*offset += member->offset;
			return true;
		}
	}
	return false;
}

static struct mt_error *from_virtual_base(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "cannot cast a virtual base to a class that is derived from it");
}

struct mt_error *mt_class_adjust(struct mt_eval *eval, struct mt_type *from, struct mt_type *to,
				 uint64_t *address)
{
	struct mt_value whole, part;
	uint64_t offset = 0;
	bool is_virtual = false;

	if (!*address || mt_type_same(from, to))
		return NULL;
	if (way_to_base(from, to, 0, &is_virtual)) {
		whole = mt_value_at(from, *address);
		mt_try(go_to_base(eval, &whole, to, &part));
		*address = part.address;
	} else if (base_offset(to, from, 0, &offset)) {
		*address -= offset;
	} else if (way_to_base(to, from, 0, &is_virtual)) {
		return from_virtual_base();
	}
	return NULL;
}

static struct mt_error *cast_scalar(struct mt_eval *eval, struct mt_value *value,
				    struct mt_type *to, struct mt_type *type, struct mt_value *out)
{
	struct mt_type *from = mt_type_strip(value->type);
	long double number;
	uint64_t bits;

	if (value->is_implicit_pointer && to->kind == MT_TYPE_POINTER) {
		*out = *value;
		out->type = type;
		return NULL;
	}
	if (to->kind == MT_TYPE_FLOAT) {
		mt_try(mt_value_get_float(eval, value, &number));
		*out = mt_value_float(type, number);
		return NULL;
	}
	if (mt_type_size(to) == 16 && mt_type_size(from) == 16 && from->kind == MT_TYPE_INT) {
		mt_try(mt_value_need(eval, value));
		*out = *value;
		out->type = type;
		out->lval = MT_LVAL_NONE;
		return NULL;
	}
	mt_try(mt_value_get(eval, value, &bits));
	if (to->kind == MT_TYPE_BOOL)
		bits = bits != 0;
	if (to->kind == MT_TYPE_POINTER && from->kind == MT_TYPE_POINTER)
		mt_try(mt_class_adjust(eval, mt_type_target(from), mt_type_target(to), &bits));
	mt_type_expand(to);
	*out =
	    mt_value_integer(type, mt_extend(bits, (unsigned)mt_type_size(to) * 8, to->is_signed));
	return NULL;
}

struct mt_error *mt_value_cast(struct mt_eval *eval, struct mt_value *value, struct mt_type *type,
			       struct mt_value *out)
{
	struct mt_type *to = mt_type_strip(type), *from;

	if (mt_type_is_reference(to)) {
		struct mt_value address;

		mt_try(mt_value_unreference(eval, value));
		mt_try(mt_value_address(eval, value, &address));
		memcpy(out, &address, sizeof(*out));
		out->type = type;
		if (value->lval != MT_LVAL_MEMORY)
			return NULL;
		uint64_t moved = value->address;

		mt_try(mt_class_adjust(eval, value->type, mt_type_target(to), &moved));
		*out = mt_value_integer(type, moved);
		return NULL;
	}
	mt_try(mt_value_unreference(eval, value));
	from = mt_type_strip(value->type);
	/* A symbol that only the linker knows is taken as whatever type it is cast to. */
	if (from->kind == MT_TYPE_ERROR && value->lval == MT_LVAL_MEMORY) {
		*out = mt_value_at(type, value->address);
		return NULL;
	}
	if (to->kind == MT_TYPE_VOID) {
		*out = mt_value_zero(type);
		return NULL;
	}
	if (is_scalar(to)) {
		mt_try(mt_value_decay(eval, value));
		if (!is_scalar(mt_type_strip(value->type)))
			return mt_error_new(MT_ERROR_USAGE, "Invalid cast.");
		return cast_scalar(eval, value, to, type, out);
	}
	if (mt_type_is_aggregate(to) && mt_type_is_aggregate(from)) {
		uint64_t offset = 0;
		bool is_virtual = false;

		if (mt_type_same(value->type, to)) {
			*out = *value;
			out->type = type;
			return NULL;
		}
		if (way_to_base(value->type, to, 0, &is_virtual)) {
			mt_try(go_to_base(eval, value, to, out));
			out->type = type;
			return NULL;
		}
		if (value->lval == MT_LVAL_MEMORY && base_offset(to, value->type, 0, &offset)) {
			*out = mt_value_at(type, value->address - offset);
			return NULL;
		}
		if (way_to_base(to, value->type, 0, &is_virtual))
			return from_virtual_base();
		return mt_error_new(MT_ERROR_USAGE, "Invalid cast.");
	}
	if (mt_type_size(to) == mt_type_size(from)) {
		*out = *value;
		out->type = type;
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "Invalid cast.");
}

static struct mt_error *write_memory(struct mt_eval *eval, uint64_t address, const void *bytes,
				     uint64_t size)
{
	const struct mt_expr_frame *frame = eval->frame;

	if (!frame->ops || !frame->ops->write)
		return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
				    (unsigned long long)address);
	return frame->ops->write(frame->context, address, bytes, size);
}

static struct mt_error *write_field(struct mt_eval *eval, const struct mt_value *to, uint64_t bits)
{
	uint8_t bytes[16] = {0};
	size_t count = ((size_t)to->bit_offset + to->bit_size + 7) / 8;
	const struct mt_expr_frame *frame = eval->frame;

	if (!frame->ops || frame->ops->read(frame->context, to->address, bytes, count) != count)
		return mt_error_new(MT_ERROR_NOT_FOUND, "Cannot access memory at address 0x%llx",
				    (unsigned long long)to->address);
	for (unsigned i = 0; i < to->bit_size; i++) {
		unsigned at = to->bit_offset + i;
		uint8_t mask = (uint8_t)(1u << at % 8);

		bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~mask) | (bits >> i & 1 ? mask : 0));
	}
	return write_memory(eval, to->address, bytes, count);
}

static struct mt_error *write_value(struct mt_eval *eval, struct mt_value *to,
				    struct mt_value *with)
{
	const struct mt_expr_frame *frame = eval->frame;
	uint64_t size = mt_type_size(with->type), bits;

	switch (to->lval) {
	case MT_LVAL_MEMORY:
		if (to->bit_size) {
			mt_try(mt_value_get(eval, with, &bits));
			return write_field(eval, to, bits);
		}
		return write_memory(eval, to->address, mt_value_bytes(with), size);
	case MT_LVAL_REGISTER:
		if (!frame->ops || !frame->ops->set_register)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "cannot write a register without a process");
		return frame->ops->set_register(frame->context, to->register_number,
						mt_value_bytes(with), size);
	default:
		return mt_error_new(MT_ERROR_USAGE, "Left operand of assignment is not an lvalue.");
	}
}

struct mt_error *mt_value_assign(struct mt_eval *eval, struct mt_value *to, struct mt_value *from,
				 struct mt_value *out)
{
	struct mt_value with;

	if (to->lval == MT_LVAL_CONVENIENCE) {
		mt_try(mt_value_unreference(eval, from));
		mt_try(mt_value_fetch(eval, from));
		mt_try(mt_convenience_set(eval->program, to->convenience, from));
		*out = *from;
		out->lval = MT_LVAL_CONVENIENCE;
		out->convenience = to->convenience;
		return NULL;
	}
	mt_try(mt_value_unreference(eval, to));
	if (to->is_optimized_out)
		return mt_value_optimized_out();
	mt_try(mt_value_cast(eval, from, to->type, &with));
	mt_try(mt_value_need(eval, &with));
	if (!eval->no_side_effects)
		mt_try(write_value(eval, to, &with));
	*out = with;
	out->lval = to->lval;
	out->address = to->address;
	out->register_number = to->register_number;
	out->bit_size = to->bit_size;
	out->bit_offset = to->bit_offset;
	if (to->bit_size && to->lval == MT_LVAL_MEMORY && !eval->no_side_effects)
		out->is_lazy = true;
	return NULL;
}
