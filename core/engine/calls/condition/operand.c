/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the values of a condition come into registers. */
#include "engine/calls/condition/code.h"

#include <stdarg.h>

struct mt_error *mt_cannot_compile(const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_str_vappendf(&text, format, args);
	va_end(args);
	return text.failed ? mt_error_no_memory()
			   : mt_error_new(MT_ERROR_UNSUPPORTED, "%s", text.text);
}

struct mt_operand mt_operand_in_rax(struct mt_type *type)
{
	return (struct mt_operand){.kind = MT_OPERAND_RAX, .value = mt_value_zero(type)};
}

struct mt_operand mt_operand_at_rax(struct mt_type *type)
{
	return (struct mt_operand){
	    .kind = MT_OPERAND_MEMORY, .base = MT_BASE_RAX, .value = mt_value_at(type, 0)};
}

struct mt_error *mt_operand_of_register(const struct mt_register_name *reg, struct mt_value *value,
					struct mt_operand *out)
{
	const bool is_vector = reg->shape == MT_SHAPE_VECTOR;

	if (!is_vector && reg->number >= MT_REGISTER_COUNT)
		return mt_cannot_compile("$%s is neither a general register nor a vector",
					 reg->name);
	*out = (struct mt_operand){.kind = MT_OPERAND_REGISTERS,
				   .value = mt_value_zero(value->type),
				   .registers = {reg->number, reg->number | MT_ASM_UPPER},
				   .register_count = is_vector ? 2 : 1};
	out->value.address = reg->offset;
	return NULL;
}

bool mt_operand_is_at_hand(const struct mt_operand *operand)
{
	return operand->kind == MT_OPERAND_CONSTANT ||
	       (operand->kind == MT_OPERAND_REGISTERS && !operand->value.bit_size &&
		!(operand->value.address % 8));
}

void mt_operand_address(struct mt_compiler *compiler, const struct mt_operand *operand)
{
	struct mt_asm *code = &compiler->code;
	uint64_t offset = operand->value.address;

	if (operand->base == MT_BASE_NONE) {
		mt_asm_set(code, MT_ASM_RAX, offset);
	} else if (operand->base == MT_BASE_STACK) {
		mt_asm_stack_address(code, offset);
	} else if ((uint64_t)(int64_t)(int32_t)offset == offset) {
		if (!offset)
			return;
		mt_asm(code, 0x48, 0x05); /* add rax, offset */
		mt_asm_imm32(code, (uint32_t)offset);
	} else {
		mt_asm_set(code, MT_ASM_RCX, offset);
		mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	}
}

static bool is_signed(struct mt_type *type)
{
	type = mt_type_strip(type);
	mt_type_expand(type);
	return type->is_signed;
}

/* A part of a register, or what begins with one. */
static struct mt_error *load_part(struct mt_compiler *compiler, const struct mt_operand *operand,
				  enum mt_asm_register reg, uint64_t bytes)
{
	const struct mt_value *value = &operand->value;
	const unsigned index = (unsigned)(value->address / 8), shift = value->address % 8 * 8;

	if (index >= operand->register_count || shift + bytes * 8 > 64)
		return mt_cannot_compile("a value lies in parts of two registers");
	mt_asm_get_register(&compiler->code, reg, operand->registers[index]);
	if (shift && reg == MT_ASM_RAX)
		mt_asm(&compiler->code, 0x48, 0xc1, 0xe8, (uint8_t)shift); /* shr rax, shift */
	return NULL;
}

/* Whole numbers, as mt_value_get() knows them. */
static struct mt_error *check_whole(struct mt_type *type)
{
	if (type->kind == MT_TYPE_FLOAT || type->kind == MT_TYPE_COMPLEX)
		return mt_cannot_compile("it computes with floating-point numbers");
	if (type->kind == MT_TYPE_UNION || type->kind == MT_TYPE_ARRAY)
		return mt_cannot_compile("it compares whole objects");
	if (!mt_type_is_integer_kind(type) && type->kind != MT_TYPE_POINTER &&
	    !mt_type_is_reference(type) && type->kind != MT_TYPE_MEMBER_POINTER)
		return mt_error_new(MT_ERROR_USAGE, "Value can't be converted to integer.");
	if (mt_type_size(type) > 8 || (mt_type_size(type) & (mt_type_size(type) - 1)) ||
	    !mt_type_size(type))
		return mt_cannot_compile("it computes with integers of %llu bytes",
					 (unsigned long long)mt_type_size(type));
	return NULL;
}

struct mt_error *mt_operand_load(struct mt_compiler *compiler, const struct mt_operand *operand,
				 enum mt_asm_register reg)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *type = mt_type_strip(operand->value.type);
	struct mt_value value = operand->value;
	uint64_t bits, size;

	mt_try(check_whole(type));
	size = value.bit_size ? mt_value_field_bytes(&value) : mt_type_size(type);
	if (size > 8)
		return mt_cannot_compile("it reads a bit field of nine bytes");
	switch (operand->kind) {
	case MT_OPERAND_CONSTANT:
		mt_try(mt_value_get(&compiler->eval, &value, &bits));
		mt_asm_set(code, reg, bits);
		return NULL;
	case MT_OPERAND_RAX:
		return NULL;
	case MT_OPERAND_REGISTERS:
		mt_try(load_part(compiler, operand, reg, size));
		break;
	case MT_OPERAND_MEMORY:
		mt_operand_address(compiler, operand);
		mt_asm_read(code, (uint8_t)size, operand->base == MT_BASE_STACK);
		break;
	}
	if (value.bit_size)
		mt_asm_extract(code, value.bit_offset, value.bit_size, is_signed(value.type));
	else
		mt_asm_extend(code, reg, size, is_signed(value.type));
	return NULL;
}

struct mt_error *mt_operand_unreference(struct mt_compiler *compiler, struct mt_operand *operand)
{
	struct mt_type *type = mt_type_strip(operand->value.type);

	if (!mt_type_is_reference(type))
		return NULL;
	mt_try(mt_operand_load(compiler, operand, MT_ASM_RAX));
	*operand = mt_operand_at_rax(mt_type_target(type));
	return NULL;
}

struct mt_error *mt_operand_decay(struct mt_compiler *compiler, struct mt_operand *operand)
{
	struct mt_type *type, *target;

	mt_try(mt_operand_unreference(compiler, operand));
	type = mt_type_strip(operand->value.type);
	if (type->kind != MT_TYPE_FUNCTION && (type->kind != MT_TYPE_ARRAY || type->is_vector))
		return NULL;
	if (operand->kind != MT_OPERAND_MEMORY)
		return mt_cannot_compile("it needs the address of what lies in a register");
	target = type->kind == MT_TYPE_FUNCTION ? operand->value.type : mt_type_target(type);
	type = mt_type_pointer_to(target);
	if (!type)
		return mt_error_no_memory();
	mt_operand_address(compiler, operand);
	*operand = mt_operand_in_rax(type);
	return NULL;
}
