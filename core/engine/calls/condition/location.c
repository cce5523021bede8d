/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Locations of variables that DWARF has computed by its stack machine, as optimized code needs it:
 * the operations as code, with the machine's stack in slots of the frame.  What needs the caller's
 * registers, jumps, or types is left out.  Source: DWARF 5, chapter 2.5. */
#include "engine/calls/condition/code.h"

#include <dwarf.h>

struct machine {
	struct mt_compiler *compiler;
	const struct mt_variable *variable;
	unsigned depth;
};

static struct mt_error *push(struct machine *machine)
{
	unsigned slot;

	machine->depth++;
	return mt_asm_save(&machine->compiler->code, &slot);
}

/* The value at INDEX from the top; false: there is none. */
static bool peek(const struct machine *machine, unsigned index)
{
	struct mt_asm *code = &machine->compiler->code;

	if (index >= machine->depth)
		return false;
	mt_asm_peek(code, MT_ASM_RAX, code->slots - 1 - index);
	return true;
}

static bool pop(struct machine *machine, enum mt_asm_register reg)
{
	struct mt_asm *code = &machine->compiler->code;

	if (!machine->depth)
		return false;
	machine->depth--;
	mt_asm_restore(code, reg, code->slots - 1);
	return true;
}

static void add(struct mt_asm *code, uint64_t number)
{
	if (!number)
		return;
	mt_asm_set(code, MT_ASM_RCX, number);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
}

/* rax becomes a value that needs none on the stack. */
static bool get_new(const struct machine *machine, const Dwarf_Op *operation)
{
	struct mt_asm *code = &machine->compiler->code;
	const unsigned atom = operation->atom;
	unsigned number;
	int64_t offset;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31)
		mt_asm_set(code, MT_ASM_RAX, atom - DW_OP_lit0);
	else if (atom >= DW_OP_const1u && atom <= DW_OP_consts)
		mt_asm_set(code, MT_ASM_RAX, operation->number);
	else if (atom == DW_OP_addr)
		mt_asm_set(code, MT_ASM_RAX, operation->number + machine->variable->module->bias);
	else if (atom >= DW_OP_breg0 && atom < DW_OP_breg0 + MT_REGISTER_COUNT) {
		mt_asm_get_register(code, MT_ASM_RAX, atom - DW_OP_breg0);
		add(code, operation->number);
	} else if (atom == DW_OP_fbreg &&
		   mt_frame_base(machine->compiler, machine->variable, &number, &offset)) {
		mt_asm_get_register(code, MT_ASM_RAX, number);
		add(code, operation->number + (uint64_t)offset);
	} else
		return false;
	return true;
}

/* rax OP rcx, to rax. */
static bool compute(struct mt_asm *code, unsigned atom)
{
	switch (atom) {
	case DW_OP_plus:
		mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
		return true;
	case DW_OP_minus:
		mt_asm(code, 0x48, 0x29, 0xc8); /* sub rax, rcx */
		return true;
	case DW_OP_mul:
		mt_asm(code, 0x48, 0x0f, 0xaf, 0xc1); /* imul rax, rcx */
		return true;
	case DW_OP_and:
		mt_asm(code, 0x48, 0x21, 0xc8); /* and rax, rcx */
		return true;
	case DW_OP_or:
		mt_asm(code, 0x48, 0x09, 0xc8); /* or rax, rcx */
		return true;
	case DW_OP_xor:
		mt_asm(code, 0x48, 0x31, 0xc8); /* xor rax, rcx */
		return true;
	case DW_OP_shl:
		mt_asm(code, 0x48, 0xd3, 0xe0); /* shl rax, cl */
		return true;
	case DW_OP_shr:
		mt_asm(code, 0x48, 0xd3, 0xe8); /* shr rax, cl */
		return true;
	case DW_OP_shra:
		mt_asm(code, 0x48, 0xd3, 0xf8); /* sar rax, cl */
		return true;
	default:
		return false;
	}
}

/* rax becomes what OPERATION makes of it. */
static bool change(struct mt_asm *code, const Dwarf_Op *operation)
{
	switch (operation->atom) {
	case DW_OP_plus_uconst:
		add(code, operation->number);
		return true;
	case DW_OP_neg:
		mt_asm(code, 0x48, 0xf7, 0xd8); /* neg rax */
		return true;
	case DW_OP_not:
		mt_asm(code, 0x48, 0xf7, 0xd0); /* not rax */
		return true;
	case DW_OP_deref:
		mt_asm_read(code, sizeof(uint64_t), false);
		return true;
	case DW_OP_deref_size:
		if (operation->number != 1 && operation->number != 2 && operation->number != 4 &&
		    operation->number != 8)
			return false;
		mt_asm_read(code, (uint8_t)operation->number, false);
		mt_asm_extend(code, MT_ASM_RAX, operation->number, false);
		return true;
	default:
		return false;
	}
}

/* DONE: it could be made code. */
static struct mt_error *run(struct machine *machine, const Dwarf_Op *operation, bool *done)
{
	struct mt_asm *code = &machine->compiler->code;

	*done = true;
	switch (operation->atom) {
	case DW_OP_dup:
		*done = peek(machine, 0);
		return *done ? push(machine) : NULL;
	case DW_OP_over:
		*done = peek(machine, 1);
		return *done ? push(machine) : NULL;
	case DW_OP_pick:
		*done = operation->number < machine->depth &&
			peek(machine, (unsigned)operation->number);
		return *done ? push(machine) : NULL;
	case DW_OP_drop:
		*done = pop(machine, MT_ASM_RAX);
		return NULL;
	case DW_OP_swap:
		*done = pop(machine, MT_ASM_RCX) && pop(machine, MT_ASM_RAX);
		if (!*done)
			return NULL;
		mt_asm(code, 0x48, 0x91); /* xchg rax, rcx */
		mt_try(push(machine));
		mt_asm(code, 0x48, 0x89, 0xc8); /* mov rax, rcx */
		return push(machine);
	case DW_OP_plus_uconst:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_deref:
	case DW_OP_deref_size:
		*done = pop(machine, MT_ASM_RAX) && change(code, operation);
		return *done ? push(machine) : NULL;
	default:
		*done = get_new(machine, operation) ||
			(pop(machine, MT_ASM_RCX) && pop(machine, MT_ASM_RAX) &&
			 compute(code, operation->atom));
		return *done ? push(machine) : NULL;
	}
}

static bool is_number(struct mt_type *type)
{
	const uint64_t size = mt_type_size(type);

	return (mt_type_is_integer_kind(type) || type->kind == MT_TYPE_POINTER) && size &&
	       size <= sizeof(uint64_t) && !(size & (size - 1));
}

struct mt_error *mt_compile_location(struct mt_compiler *compiler,
				     const struct mt_variable *variable, struct mt_operand *out)
{
	struct machine machine = {.compiler = compiler, .variable = variable};
	struct mt_type *type = mt_type_strip(variable->type);
	size_t count = variable->count;
	const bool is_value = count && variable->operations[count - 1].atom == DW_OP_stack_value;
	bool done = !is_value || is_number(type);

	count -= is_value;
	for (size_t i = 0; i < count && done; i++)
		mt_try(run(&machine, &variable->operations[i], &done));
	if (!done || machine.depth != 1 || !pop(&machine, MT_ASM_RAX))
		return mt_cannot_compile("where %s lies is too hard to compute",
					 variable->name ? variable->name : "this");
	*out = is_value ? mt_operand_in_rax(variable->type) : mt_operand_at_rax(variable->type);
	if (!is_value)
		return NULL;
	mt_type_expand(type);
	mt_asm_extend(&compiler->code, MT_ASM_RAX, mt_type_size(type), type->is_signed);
	return NULL;
}
