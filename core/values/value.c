/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: where they lie, and their bytes. */
#include "values/variable.h"

#include <dwarf.h>
#include <inttypes.h>

#include <string.h>

void mt_expr_reads_deinit(struct mt_expr_reads *reads)
{
	mt_array_deinit(&reads->memory);
	reads->registers = false;
}

struct mt_error *mt_note_memory(struct mt_eval *eval, uint64_t address, uint64_t size)
{
	const struct mt_expr_read read = {address, size};

	if (!eval->reads || !size)
		return NULL;
	mt_array_each (known, &eval->reads->memory)
		if (known->address == address && known->size >= size)
			return NULL;
	return mt_array_push(&eval->reads->memory, read) ? mt_error_no_memory() : NULL;
}

void mt_note_register(struct mt_eval *eval)
{
	if (eval->reads)
		eval->reads->registers = true;
}

struct mt_value mt_value_zero(struct mt_type *type)
{
	return (struct mt_value){.type = type};
}

struct mt_value mt_value_integer(struct mt_type *type, uint64_t bits)
{
	struct mt_value value = {.type = type};

	memcpy(value.small, &bits, sizeof(bits));
	if (mt_type_size(type) == 16 && type->is_signed && (int64_t)bits < 0)
		memset(value.small + 8, 0xff, 8);
	return value;
}

struct mt_value mt_value_at(struct mt_type *type, uint64_t address)
{
	return (struct mt_value){
	    .type = type, .lval = MT_LVAL_MEMORY, .address = address, .is_lazy = true};
}

struct mt_error *mt_value_optimized_out(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "value has been optimized out");
}

struct mt_error *mt_value_room(struct mt_eval *eval, struct mt_value *value, uint64_t size)
{
	if (size > MT_VALUE_MOST)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "value requires %llu bytes, which is more than max-value-size",
				    (unsigned long long)size);
	memset(value->small, 0, sizeof(value->small));
	value->big = NULL;
	if (size <= MT_VALUE_INLINE)
		return NULL;
	value->big = mt_arena_zalloc(eval->arena, size);
	return value->big ? NULL : mt_error_no_memory();
}

struct mt_error *mt_value_read(struct mt_eval *eval, uint64_t address, void *bytes, uint64_t size)
{
	const struct mt_expr_frame *frame = eval->frame;
	size_t got = 0;

	if (!size)
		return NULL;
	if (frame->ops)
		got = frame->ops->read(frame->context, address, bytes, size);
	if (got < size)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "Cannot access memory at address 0x%" PRIx64, address + got);
	return NULL;
}

static bool is_signed_kind(struct mt_type *type)
{
	type = mt_type_strip(type);
	mt_type_expand(type);
	return type->is_signed;
}

void mt_value_unpack(struct mt_value *value, const uint8_t *bytes, size_t count)
{
	unsigned __int128 bits = 0;
	uint64_t number;

	for (size_t i = 0; i < count; i++)
		bits |= (unsigned __int128)bytes[i] << 8 * i;
	number = mt_extend((uint64_t)(bits >> value->bit_offset), value->bit_size,
			   is_signed_kind(value->type));
	memset(value->small, 0, sizeof(value->small));
	memcpy(value->small, &number, sizeof(number));
	value->big = NULL;
}

size_t mt_value_field_bytes(const struct mt_value *value)
{
	return ((size_t)value->bit_offset + value->bit_size + 7) / 8;
}

struct mt_error *mt_value_fetch(struct mt_eval *eval, struct mt_value *value)
{
	uint8_t field[16];
	uint64_t size;

	if (!value->is_lazy)
		return NULL;
	if (value->bit_size) {
		mt_try(mt_note_memory(eval, value->address, mt_value_field_bytes(value)));
		mt_try(mt_value_read(eval, value->address, field, mt_value_field_bytes(value)));
		mt_value_unpack(value, field, mt_value_field_bytes(value));
	} else {
		size = mt_type_size(value->type);
		mt_try(mt_note_memory(eval, value->address, size));
		mt_try(mt_value_room(eval, value, size));
		mt_try(mt_value_read(eval, value->address, mt_value_bytes(value), size));
	}
	value->is_lazy = false;
	return NULL;
}

bool mt_value_hole(const struct mt_value *value, uint64_t offset, uint64_t size)
{
	if (value->is_optimized_out)
		return true;
	for (uint64_t i = 0; value->holes && i < size; i++)
		if (value->holes[offset + i])
			return true;
	return false;
}

bool mt_value_bit_hole(const struct mt_value *value, uint64_t offset, unsigned bit_offset,
		       unsigned bit_size)
{
	if (value->is_optimized_out)
		return true;
	for (unsigned bit = bit_offset; value->holes && bit < bit_offset + bit_size; bit++)
		if (value->holes[offset + bit / 8] >> bit % 8 & 1)
			return true;
	return false;
}

struct mt_error *mt_value_need(struct mt_eval *eval, struct mt_value *value)
{
	if (value->is_implicit_pointer)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "Cannot access memory at address 0x0 (a synthetic pointer)");
	if (mt_value_hole(value, 0, value->holes ? mt_type_size(value->type) : 0))
		return mt_value_optimized_out();
	return mt_value_fetch(eval, value);
}

/* As GDB has it: what is beyond the whole numbers is the last one, and so is what is no number. */
static int64_t to_whole(long double number)
{
	if (number < -0x1p63L)
		return INT64_MIN;
	return number < 0x1p63L ? (int64_t)number : INT64_MAX;
}

struct mt_error *mt_value_get(struct mt_eval *eval, struct mt_value *value, uint64_t *bits)
{
	struct mt_type *type = mt_type_strip(value->type);
	long double number = 0;

	if (type->kind == MT_TYPE_FLOAT) {
		mt_try(mt_value_get_float(eval, value, &number));
		*bits = (uint64_t)to_whole(number);
		return NULL;
	}
	if (!mt_type_is_integer_kind(type) && type->kind != MT_TYPE_POINTER &&
	    !mt_type_is_reference(type) && type->kind != MT_TYPE_MEMBER_POINTER)
		return mt_error_new(MT_ERROR_USAGE, "Value can't be converted to integer.");
	mt_try(mt_value_need(eval, value));
	memcpy(bits, mt_value_bytes(value), sizeof(*bits));
	if (mt_type_size(type) < 8)
		*bits = mt_extend(*bits, (unsigned)mt_type_size(type) * 8, is_signed_kind(type));
	return NULL;
}

struct mt_error *mt_value_get_float(struct mt_eval *eval, struct mt_value *value,
				    long double *number)
{
	struct mt_type *type = mt_type_strip(value->type);
	uint64_t bits = 0;
	float single;
	double twice;

	if (type->kind != MT_TYPE_FLOAT) {
		mt_try(mt_value_get(eval, value, &bits));
		*number = type->is_signed ? (long double)(int64_t)bits : (long double)bits;
		return NULL;
	}
	mt_try(mt_value_need(eval, value));
	switch (mt_type_size(type)) {
	case 4:
		memcpy(&single, mt_value_bytes(value), sizeof(single));
		*number = (long double)single;
		return NULL;
	case 8:
		memcpy(&twice, mt_value_bytes(value), sizeof(twice));
		*number = (long double)twice;
		return NULL;
	case 16:
		*number = 0;
		memcpy(number, mt_value_bytes(value), 10);
		return NULL;
	default:
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "Invalid floating value found in program.");
	}
}

struct mt_value mt_value_float(struct mt_type *type, long double number)
{
	struct mt_value value = {.type = type};
	float single = (float)number;
	double twice = (double)number;

	switch (mt_type_size(type)) {
	case 4:
		memcpy(value.small, &single, sizeof(single));
		break;
	case 8:
		memcpy(value.small, &twice, sizeof(twice));
		break;
	default:
		memcpy(value.small, &number, 10);
	}
	return value;
}

struct mt_error *mt_value_keep(struct mt_arena *arena, const struct mt_value *value,
			       struct mt_value *out)
{
	uint64_t size = value->is_lazy || value->bit_size ? 0 : mt_type_size(value->type);

	*out = *value;
	out->owned = NULL;
	if (value->big && size) {
		out->big = mt_arena_copy(arena, value->big, size);
		if (!out->big)
			return mt_error_no_memory();
	}
	if (value->holes && size) {
		out->holes = mt_arena_copy(arena, value->holes, size);
		if (!out->holes)
			return mt_error_no_memory();
	}
	if (value->implicit) {
		out->implicit = mt_arena_copy(arena, value->implicit, sizeof(*value->implicit));
		if (!out->implicit)
			return mt_error_no_memory();
	}
	return NULL;
}

struct mt_error *mt_value_hand_out(const struct mt_value *value, struct mt_value **out)
{
	struct mt_value *copy = calloc(1, sizeof(*copy));
	struct mt_arena *arena = calloc(1, sizeof(*arena));
	struct mt_error *error =
	    copy && arena ? mt_value_keep(arena, value, copy) : mt_error_no_memory();

	if (error) {
		if (arena)
			mt_arena_deinit(arena);
		free(arena);
		free(copy);
		return error;
	}
	copy->owned = arena;
	*out = copy;
	return NULL;
}

void mt_value_destroy(struct mt_value *value)
{
	if (!value)
		return;
	if (value->owned) {
		mt_arena_deinit(value->owned);
		free(value->owned);
	}
	free(value);
}

struct mt_error *mt_value_to_integer(const struct mt_value *value, int64_t *out)
{
	struct mt_value copy = *value;
	struct mt_expr_frame nowhere = {0};
	struct mt_eval eval = {.program = value->type->program, .frame = &nowhere};
	uint64_t bits = 0;

	mt_try(mt_value_get(&eval, &copy, &bits));
	*out = (int64_t)bits;
	return NULL;
}

bool mt_value_is_function(const struct mt_value *value, uint64_t *address)
{
	if (mt_type_strip(value->type)->kind != MT_TYPE_FUNCTION || value->lval != MT_LVAL_MEMORY)
		return false;
	*address = value->address;
	return true;
}

bool mt_value_location(const struct mt_value *value, uint64_t *address, size_t *size)
{
	if (value->lval != MT_LVAL_MEMORY || value->is_optimized_out)
		return false;
	*address = value->address;
	*size = value->bit_size ? mt_value_field_bytes(value) : (size_t)mt_type_size(value->type);
	return true;
}

bool mt_value_equal(const struct mt_value *a, const struct mt_value *b)
{
	struct mt_value left = *a, right = *b;
	uint64_t size = mt_type_size(a->type);

	return size == mt_type_size(b->type) && !a->is_lazy && !b->is_lazy &&
	       a->is_optimized_out == b->is_optimized_out &&
	       memcmp(mt_value_bytes(&left), mt_value_bytes(&right), size) == 0;
}
