/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's stack, and what is computed on it (DWARF 5, sections 2.5.1.3 to 2.5.1.5). */
#include "values/machine.h"

#include <dwarf.h>

void mt_machine_fail(struct mt_machine *machine, struct mt_error *error)
{
	if (machine->error)
		mt_error_destroy(error);
	else
		machine->error = error;
}

struct mt_error *mt_machine_garbled(void)
{
	return mt_error_new(MT_ERROR_FORMAT,
			    "invalid DWARF location (the debug information may be damaged)");
}

void mt_machine_push(struct mt_machine *machine, uint64_t value)
{
	if (machine->depth == MT_MACHINE_VALUES)
		mt_machine_fail(machine, mt_machine_garbled());
	else
		machine->values[machine->depth++] = value;
}

uint64_t mt_machine_pop(struct mt_machine *machine)
{
	if (machine->depth)
		return machine->values[--machine->depth];
	mt_machine_fail(machine, mt_machine_garbled());
	return 0;
}

static void pick(struct mt_machine *machine, uint64_t index)
{
	if (index < machine->depth)
		mt_machine_push(machine, machine->values[machine->depth - 1 - index]);
	else
		mt_machine_fail(machine, mt_machine_garbled());
}

static uint64_t shift(uint8_t atom, uint64_t value, uint64_t by)
{
	bool negative = atom == DW_OP_shra && value >> 63;

	if (by > 63)
		return negative ? UINT64_MAX : 0;
	if (atom == DW_OP_shl)
		return value << by;
	return value >> by | (negative && by ? UINT64_MAX << (64 - by) : 0);
}

static uint64_t divide(struct mt_machine *machine, uint8_t atom, uint64_t left, uint64_t right)
{
	if (!right) {
		mt_machine_fail(machine, mt_error_new(MT_ERROR_FORMAT, "Division by zero"));
		return 0;
	}
	if (atom == DW_OP_mod)
		return left % right;
	return (int64_t)right == -1 ? -left : (uint64_t)((int64_t)left / (int64_t)right);
}

static uint64_t compare(uint8_t atom, int64_t left, int64_t right)
{
	switch (atom) {
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

bool mt_machine_combine(struct mt_machine *machine, uint8_t atom)
{
	uint64_t right, left;

	if (!((atom >= DW_OP_and && atom <= DW_OP_plus && atom != DW_OP_neg && atom != DW_OP_not) ||
	      (atom >= DW_OP_shl && atom <= DW_OP_xor) || (atom >= DW_OP_eq && atom <= DW_OP_ne)))
		return false;
	right = mt_machine_pop(machine);
	left = mt_machine_pop(machine);
	if (atom == DW_OP_and)
		mt_machine_push(machine, left & right);
	else if (atom == DW_OP_or)
		mt_machine_push(machine, left | right);
	else if (atom == DW_OP_xor)
		mt_machine_push(machine, left ^ right);
	else if (atom == DW_OP_plus)
		mt_machine_push(machine, left + right);
	else if (atom == DW_OP_minus)
		mt_machine_push(machine, left - right);
	else if (atom == DW_OP_mul)
		mt_machine_push(machine, left * right);
	else if (atom == DW_OP_div || atom == DW_OP_mod)
		mt_machine_push(machine, divide(machine, atom, left, right));
	else if (atom == DW_OP_shl || atom == DW_OP_shr || atom == DW_OP_shra)
		mt_machine_push(machine, shift(atom, left, right));
	else
		mt_machine_push(machine, compare(atom, (int64_t)left, (int64_t)right));
	return true;
}

bool mt_machine_rearrange(struct mt_machine *machine, const Dwarf_Op *operation)
{
	uint64_t first, second, third;

	switch (operation->atom) {
	case DW_OP_nop:
		return true;
	case DW_OP_dup:
		pick(machine, 0);
		return true;
	case DW_OP_drop:
		mt_machine_pop(machine);
		return true;
	case DW_OP_over:
		pick(machine, 1);
		return true;
	case DW_OP_pick:
		pick(machine, operation->number);
		return true;
	case DW_OP_swap:
		first = mt_machine_pop(machine);
		second = mt_machine_pop(machine);
		mt_machine_push(machine, first);
		mt_machine_push(machine, second);
		return true;
	case DW_OP_rot:
		first = mt_machine_pop(machine);
		second = mt_machine_pop(machine);
		third = mt_machine_pop(machine);
		mt_machine_push(machine, first);
		mt_machine_push(machine, third);
		mt_machine_push(machine, second);
		return true;
	default:
		return false;
	}
}
