/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the variables of a condition lie: at an entry by the ABI, at a line by DWARF's locations,
 * of which those are known that compilers write most often. */
#include "engine/calls/condition/code.h"
#include "space/unwind.h"
#include "values/libraries.h"

#include <dwarf.h>

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
				   .registers = {entry->registers[0], entry->registers[1],
						 entry->registers[2], entry->registers[3]},
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

static void load_from_thread(struct mt_asm *code, uint32_t offset)
{
	mt_asm(code, 0x64, 0x48, 0x8b, 0x04, 0x25); /* mov rax, fs:[offset] */
	mt_asm_imm32(code, offset);
}

/* rax: where the thread's block of the library begins. */
static void find_block(struct mt_asm *code, const struct mt_tls_library *library)
{
	load_from_thread(code, 8);
	mt_asm(code, 0x48, 0x83, 0xe8, (uint8_t)library->count_before); /* sub rax, … */
	mt_asm_read(code, sizeof(uint64_t), false);
	mt_asm_set(code, MT_ASM_RCX, library->number);
	mt_asm(code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(code, MT_ASM_BELOW, &code->unset);
	load_from_thread(code, 8);
	mt_asm(code, 0x48, 0x05); /* add rax, … */
	mt_asm_imm32(code, (uint32_t)library->number * library->entry_bytes);
	mt_asm_read(code, sizeof(uint64_t), false);
	mt_asm(code, 0x48, 0x8d, 0x48, 0x01); /* lea rcx, [rax+1] */
	mt_asm(code, 0x48, 0x83, 0xf9, 0x01); /* cmp rcx, 1 */
	mt_asm_jump(code, MT_ASM_BELOW_EQUAL, &code->unset);
}

/* OFFSET bytes into a library's. */
static struct mt_error *in_library(struct mt_compiler *compiler, const struct mt_variable *variable,
				   uint64_t offset, struct mt_operand *out)
{
	const struct mt_expr_frame *memory = compiler->code.place.memory;
	struct mt_eval eval = compiler->eval;
	struct mt_tls_library library;

	eval.frame = memory;
	if (!memory || !mt_tls_of_library(&eval, variable->module, &library))
		return mt_cannot_compile("%s is a thread-local variable of a library, and where "
					 "that has it is not known",
					 variable->name);
	if (library.is_static)
		load_from_thread(&compiler->code, 0);
	else
		find_block(&compiler->code, &library);
	*out = mt_operand_at_rax(variable->type);
	out->value.address = offset - library.below;
	return NULL;
}

/* OFFSET bytes into the thread-local storage of the variable's file.  The word at FS:0 is the FS
 * base. */
static struct mt_error *in_thread(struct mt_compiler *compiler, const struct mt_variable *variable,
				  uint64_t offset, struct mt_operand *out)
{
	uint64_t below = 0;

	if (!mt_tls_of_program(variable->module, &below))
		return in_library(compiler, variable, offset, out);
	load_from_thread(&compiler->code, 0);
	*out = mt_operand_at_rax(variable->type);
	out->value.address = offset - below;
	return NULL;
}

/* OFFSET bytes from where a register leads to. */
static void from_register(struct mt_compiler *compiler, struct mt_type *type, unsigned number,
			  int64_t offset, struct mt_operand *out)
{
	if (number == MT_REGISTER_RSP) {
		*out = at_address(type, (uint64_t)offset);
		out->base = MT_BASE_STACK;
		return;
	}
	mt_asm_get_register(&compiler->code, MT_ASM_RAX, number);
	*out = mt_operand_at_rax(type);
	out->value.address = (uint64_t)offset;
}

static bool is_based(const Dwarf_Op *operation)
{
	return operation->atom >= DW_OP_breg0 && operation->atom < DW_OP_breg0 + MT_REGISTER_COUNT;
}

bool mt_frame_base(const struct mt_compiler *compiler, const struct mt_variable *variable,
		   unsigned *number, int64_t *offset)
{
	const Dwarf_Op *base = variable->frame_base;

	*offset = 0;
	if (variable->frame_base_count != 1)
		return false;
	if (base->atom == DW_OP_call_frame_cfa)
		return mt_unwind_cfa_rule(compiler->eval.program->space, compiler->code.place.entry,
					  number, offset) &&
		       *number < MT_REGISTER_COUNT;
	if (is_based(base)) {
		*number = base->atom - DW_OP_breg0;
		*offset = (int64_t)base->number;
		return true;
	}
	*number = base->atom - DW_OP_reg0;
	return base->atom >= DW_OP_reg0 && *number < MT_REGISTER_COUNT;
}

static bool in_frame(struct mt_compiler *compiler, const struct mt_variable *variable,
		     struct mt_operand *out)
{
	unsigned number;
	int64_t offset;

	if (variable->count != 1 || variable->operations[0].atom != DW_OP_fbreg ||
	    !mt_frame_base(compiler, variable, &number, &offset))
		return false;
	from_register(compiler, variable->type, number,
		      (int64_t)variable->operations[0].number + offset, out);
	return true;
}

/* A register, or several with a part of eight bytes each; or in memory that one leads to.  Where
 * the parameters are by no ABI that we know, DWARF tells it at the entry, if anything does. */
static bool in_registers(struct mt_compiler *compiler, const struct mt_variable *variable,
			 struct mt_operand *out)
{
	const Dwarf_Op *operations = variable->operations;
	struct mt_operand found = {.kind = MT_OPERAND_REGISTERS,
				   .value = mt_value_zero(variable->type)};

	if (variable->count == 1 && is_based(operations)) {
		from_register(compiler, variable->type, operations->atom - DW_OP_breg0,
			      (int64_t)operations->number, out);
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
		return in_thread(compiler, variable, variable->address, out);
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
		return in_thread(compiler, variable, variable->operations[0].number, out);
	const bool at_line = compiler->code.place.at_line;
	if (variable->kind == MT_VARIABLE_LOCATION && (at_line || variable->is_parameter) &&
	    in_registers(compiler, variable, out))
		return NULL;
	if (variable->kind == MT_VARIABLE_LOCATION && at_line)
		return in_frame(compiler, variable, out)
			   ? NULL
			   : mt_compile_location(compiler, variable, out);
	return mt_cannot_compile(variable->is_parameter
				     ? "how %s is passed is not known"
				     : "%s has no known place at the function's entry",
				 name);
}
