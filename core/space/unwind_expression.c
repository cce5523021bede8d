/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DWARF 5, section 2.5: the operations that may stand in call frame information (6.4.2).  Branches
 * are left out: no compiler writes them there. */
#include "space/unwind_private.h"

#include <dwarf.h>

#define MOST_OPERATIONS 256
#define MOST_VALUES     64

struct machine {
	struct mt_unwinder *unwinder;
	const uint64_t *cfa;
	uint64_t values[MOST_VALUES]; /* the last is the stack's top */
	size_t count;
	bool failed;
	bool is_value; /* the top is what is asked for, and not its address */
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->count == MOST_VALUES)
		machine->failed = true;
	else
		machine->values[machine->count++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->count)
		return machine->values[--machine->count];
	machine->failed = true;
	return 0;
}

/* 0 is the top. */
static void pick(struct machine *machine, uint64_t index)
{
	if (index < machine->count)
		push(machine, machine->values[machine->count - 1 - index]);
	else
		machine->failed = true;
}

static void rotate(struct machine *machine)
{
	uint64_t first = pop(machine), second = pop(machine), third = pop(machine);

	push(machine, first);
	push(machine, third);
	push(machine, second);
}

static void swap(struct machine *machine)
{
	uint64_t first = pop(machine), second = pop(machine);

	push(machine, first);
	push(machine, second);
}

static void push_register(struct machine *machine, uint64_t number, uint64_t offset)
{
	const struct mt_registers *registers = &machine->unwinder->next.registers;

	if (number < MT_REGISTER_COUNT && mt_register_is_known(registers, (unsigned)number))
		push(machine, registers->values[number] + offset);
	else
		machine->failed = true;
}

static void dereference(struct machine *machine, uint64_t size)
{
	uint64_t value = 0;

	if (size > sizeof(value) || !mt_unwind_read(machine->unwinder, pop(machine), &value, size))
		machine->failed = true;
	push(machine, value);
}

static uint64_t shift(uint8_t operation, uint64_t value, uint64_t by)
{
	bool negative = operation == DW_OP_shra && value >> 63;

	if (by > 63)
		return negative ? UINT64_MAX : 0;
	if (operation == DW_OP_shl)
		return value << by;
	return value >> by | (negative && by ? UINT64_MAX << (64 - by) : 0);
}

static uint64_t compare(uint8_t operation, int64_t left, int64_t right)
{
	switch (operation) {
	case DW_OP_eq:
		return left == right;
	case DW_OP_ne:
		return left != right;
	case DW_OP_ge:
		return left >= right;
	case DW_OP_gt:
		return left > right;
	case DW_OP_le:
		return left <= right;
	default:
		return left < right;
	}
}

static void combine(struct machine *machine, uint8_t operation)
{
	uint64_t right = pop(machine), left = pop(machine);

	switch (operation) {
	case DW_OP_and:
		push(machine, left & right);
		break;
	case DW_OP_or:
		push(machine, left | right);
		break;
	case DW_OP_xor:
		push(machine, left ^ right);
		break;
	case DW_OP_plus:
		push(machine, left + right);
		break;
	case DW_OP_minus:
		push(machine, left - right);
		break;
	case DW_OP_mul:
		push(machine, left * right);
		break;
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		push(machine, shift(operation, left, right));
		break;
	default:
		push(machine, compare(operation, (int64_t)left, (int64_t)right));
	}
}

static void run_other(struct machine *machine, const Dwarf_Op *operation)
{
	switch (operation->atom) {
	case DW_OP_nop:
		break;
	case DW_OP_call_frame_cfa:
		push(machine, machine->cfa ? *machine->cfa : 0);
		machine->failed |= !machine->cfa;
		break;
	case DW_OP_stack_value:
		machine->is_value = true;
		break;
	case DW_OP_bregx:
		push_register(machine, operation->number, operation->number2);
		break;
	case DW_OP_regx:
		push_register(machine, operation->number, 0);
		machine->is_value = true;
		break;
	case DW_OP_deref:
		dereference(machine, sizeof(uint64_t));
		break;
	case DW_OP_deref_size:
		dereference(machine, operation->number);
		break;
	case DW_OP_dup:
		pick(machine, 0);
		break;
	case DW_OP_over:
		pick(machine, 1);
		break;
	case DW_OP_pick:
		pick(machine, operation->number);
		break;
	case DW_OP_drop:
		pop(machine);
		break;
	case DW_OP_swap:
		swap(machine);
		break;
	case DW_OP_rot:
		rotate(machine);
		break;
	case DW_OP_neg:
		push(machine, -pop(machine));
		break;
	case DW_OP_not:
		push(machine, ~pop(machine));
		break;
	case DW_OP_plus_uconst:
		push(machine, pop(machine) + operation->number);
		break;
	default:
		machine->failed = true;
	}
}

static bool takes_two(uint8_t operation)
{
	switch (operation) {
	case DW_OP_and:
	case DW_OP_or:
	case DW_OP_xor:
	case DW_OP_plus:
	case DW_OP_minus:
	case DW_OP_mul:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
		return true;
	default:
		return operation >= DW_OP_eq && operation <= DW_OP_ne;
	}
}

static void run(struct machine *machine, const Dwarf_Op *operation)
{
	uint8_t atom = operation->atom;

	if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) {
		push(machine, (uint64_t)(atom - DW_OP_lit0));
	} else if (atom == DW_OP_addr || (atom >= DW_OP_const1u && atom <= DW_OP_consts)) {
		push(machine, operation->number);
	} else if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
		push_register(machine, (uint64_t)(atom - DW_OP_breg0), operation->number);
	} else if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
		push_register(machine, (uint64_t)(atom - DW_OP_reg0), 0);
		machine->is_value = true;
	} else if (takes_two(atom)) {
		combine(machine, atom);
	} else {
		run_other(machine, operation);
	}
}

bool mt_unwind_evaluate(struct mt_unwinder *unwinder, const Dwarf_Op *operations, size_t count,
			const uint64_t *cfa, uint64_t *out, bool *in_memory)
{
	struct machine machine = {.unwinder = unwinder, .cfa = cfa};

	machine.failed = count > MOST_OPERATIONS;
	for (size_t i = 0; i < count && !machine.failed; i++)
		run(&machine, &operations[i]);
	*out = pop(&machine);
	*in_memory = !machine.is_value;
	return !machine.failed;
}
