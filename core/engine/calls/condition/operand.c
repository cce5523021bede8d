/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the values of a condition lie, and how they come into registers. */
#include "engine/calls/condition/code.h"
#include "values/libraries.h"

#include <dwarf.h>
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

static struct mt_operand at_address(struct mt_type *type, uint64_t address)
{
	return (struct mt_operand){.kind = MT_OPERAND_MEMORY, .value = mt_value_at(type, address)};
}

/* A parameter, by the ABI. */
static struct mt_error *parameter(struct mt_compiler *compiler, const struct mt_variable *variable,
				  struct mt_operand *out)
{
	const struct mt_entry_location *entry = &variable->entry;

	if (entry->by_reference && entry->piece_count) {
		mt_asm_get_register(&compiler->code, MT_ASM_RAX, entry->registers[0]);
		*out = mt_operand_at_rax(variable->type);
		return NULL;
	}
	if (entry->by_reference)
		return mt_cannot_compile("%s is passed by a reference on the stack",
					 variable->name);
	if (!entry->piece_count) {
		*out = at_address(variable->type, entry->stack);
		out->base = MT_BASE_STACK;
		return NULL;
	}
	*out = (struct mt_operand){.kind = MT_OPERAND_REGISTERS,
				   .value = mt_value_zero(variable->type),
				   .registers = {entry->registers[0], entry->registers[1]},
				   .register_count = entry->piece_count};
	return NULL;
}

/* Of the file; in it, or in the table that clang makes. */
static bool static_address(const struct mt_variable *variable, Dwarf_Addr *address)
{
	const Dwarf_Op *operation = &variable->operations[0];
	Dwarf_Attribute attribute = variable->attribute, found;

	*address = operation->number;
	if (operation->atom == DW_OP_addr)
		return true;
	return (operation->atom == DW_OP_addrx || operation->atom == DW_OP_GNU_addr_index) &&
	       !dwarf_getlocation_attr(&attribute, operation, &found) &&
	       !dwarf_formaddr(&found, address);
}

/* What is before it is an offset. */
static bool is_thread_local(const Dwarf_Op *operation)
{
	return operation->atom == DW_OP_form_tls_address ||
	       operation->atom == DW_OP_GNU_push_tls_address;
}

/* OFFSET bytes into the thread-local storage of the variable's file.  The word at FS:0 is the FS
 * base. */
static struct mt_error *thread_local(struct mt_compiler *compiler,
				     const struct mt_variable *variable, uint64_t offset,
				     struct mt_operand *out)
{
	uint64_t below = 0;

	if (!mt_tls_of_program(variable->module, &below))
		return mt_cannot_compile("%s is a thread-local variable of a library",
					 variable->name);
	mt_asm(&compiler->code, 0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0); /* mov rax, fs:[0] */
	*out = mt_operand_at_rax(variable->type);
	out->value.address = offset - below;
	return NULL;
}

/* A register, or several with a part of eight bytes each; or in memory that one leads to.  Where
 * the parameters are by no ABI that we know, DWARF tells it at the entry, if anything does. */
static bool in_registers(struct mt_compiler *compiler, const struct mt_variable *variable,
			 struct mt_operand *out)
{
	const Dwarf_Op *operations = variable->operations;
	struct mt_operand found = {.kind = MT_OPERAND_REGISTERS,
				   .value = mt_value_zero(variable->type)};

	if (variable->count == 1 && operations->atom >= DW_OP_breg0 &&
	    operations->atom < DW_OP_breg0 + MT_REGISTER_COUNT) {
		mt_asm_get_register(&compiler->code, MT_ASM_RAX, operations->atom - DW_OP_breg0);
		*out = mt_operand_at_rax(variable->type);
		out->value.address = operations->number;
		return true;
	}
	for (size_t i = 0; i < variable->count; i++) {
		const unsigned atom = operations[i].atom;

		if (i % 2 && (atom != DW_OP_piece || operations[i].number != sizeof(uint64_t)))
			return false;
		if (i % 2)
			continue;
		if (atom < DW_OP_reg0 || atom > DW_OP_reg31 ||
		    found.register_count == sizeof(found.registers))
			return false;
		found.registers[found.register_count++] = (uint8_t)(atom - DW_OP_reg0);
	}
	*out = found;
	return found.register_count && (variable->count == 1 || variable->count % 2 == 0);
}

struct mt_error *mt_operand_of_variable(struct mt_compiler *compiler,
					const struct mt_variable *variable, struct mt_operand *out)
{
	const char *name = variable->name ? variable->name : "this";
	struct mt_type *type = mt_type_strip(variable->type);
	Dwarf_Addr address;

	if (type->kind == MT_TYPE_ARRAY && type->count_die.addr)
		return mt_cannot_compile("%s is an array of variable length", name);
	switch (variable->kind) {
	case MT_VARIABLE_ABI:
		return parameter(compiler, variable, out);
	case MT_VARIABLE_ADDRESS:
		*out = at_address(variable->type, variable->address + variable->module->bias);
		return NULL;
	case MT_VARIABLE_BYTES:
		*out = (struct mt_operand){.kind = MT_OPERAND_CONSTANT};
		return mt_variable_value(&compiler->eval, variable, &out->value);
	case MT_VARIABLE_TLS:
		return thread_local(compiler, variable, variable->address, out);
	case MT_VARIABLE_OPTIMIZED_OUT:
		return mt_cannot_compile("%s is optimized out", name);
	default:
		break;
	}
	if (variable->count == 1 && static_address(variable, &address)) {
		*out = at_address(variable->type, address + variable->module->bias);
		return NULL;
	}
	if (variable->count == 2 && is_thread_local(&variable->operations[1]))
		return thread_local(compiler, variable, variable->operations[0].number, out);
	if (variable->is_parameter && variable->kind == MT_VARIABLE_LOCATION &&
	    in_registers(compiler, variable, out))
		return NULL;
	return mt_cannot_compile(variable->is_parameter
				     ? "how %s is passed is not known"
				     : "%s has no known place at the function's entry",
				 name);
}

struct mt_error *mt_operand_of_register(const struct mt_register_name *reg, struct mt_value *value,
					struct mt_operand *out)
{
	if (reg->number >= MT_REGISTER_COUNT)
		return mt_cannot_compile("$%s is no general register", reg->name);
	*out = (struct mt_operand){.kind = MT_OPERAND_REGISTERS,
				   .value = mt_value_zero(value->type),
				   .registers = {reg->number},
				   .register_count = 1};
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
