/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A stripped Go program has no call frame information, but the table by which its runtime walks
 * stacks: how much of the stack is in use, at each instruction (Go's runtime/traceback.go,
 * unwinder.resolveInternal()).  A frame pointer alone would skip the caller at a function's first
 * instructions, which look at the stack's end before they make a frame. */
#include "elf/go_table.h"
#include "space/unwind_private.h"

#include <string.h>

#define WORD sizeof(uint64_t)

/* The frame pointer is kept right below the return address, once it was made. */
static bool step_over(struct mt_unwinder *unwinder, uint32_t used, struct mt_registers *caller,
		      uint64_t *cfa)
{
	const struct mt_registers *registers = &unwinder->next.registers;
	const uint64_t slot = registers->values[MT_REGISTER_RSP] + used;
	const uint64_t rbp = registers->values[MT_REGISTER_RBP];
	uint64_t saved;

	if (!mt_unwind_returns_by(unwinder, slot, caller, cfa))
		return false;
	if (used < WORD || !mt_register_is_known(registers, MT_REGISTER_RBP) || rbp != slot - WORD)
		return true;
	if (!mt_unwind_read(unwinder, rbp, &saved, WORD))
		return false;
	mt_register_set(caller, MT_REGISTER_RBP, saved);
	unwinder->saved_at[MT_REGISTER_RBP] = rbp;
	return true;
}

/* Where goroutines begin and end: it was called by nobody. */
static bool is_outermost(const struct mt_go_table *table, uint64_t address)
{
	struct mt_go_function function;
	const size_t index = mt_go_function_of(table, address);

	return index < mt_go_function_count(table) && mt_go_function_at(table, index, &function) &&
	       strcmp(function.name, "runtime.goexit") == 0;
}

enum mt_unwind_step mt_unwind_by_go(struct mt_unwinder *unwinder, struct mt_registers *caller,
				    uint64_t *cfa)
{
	const uint64_t address = mt_unwind_inside(&unwinder->next);
	const struct mt_mapping *mapping = mt_space_find(unwinder->source.space, address);
	const struct mt_go_table *table =
	    mapping && mapping->objfile ? mt_go_table(mapping->objfile) : NULL;
	uint32_t used;

	if (!table)
		return MT_STEP_NO_RULE;
	if (is_outermost(table, address - mapping->bias)) {
		*cfa = unwinder->next.registers.values[MT_REGISTER_RSP] + WORD;
		return MT_STEP_OUTERMOST;
	}
	/* Behind a call as much is in use as at it. */
	return mt_go_stack_use(table, address - mapping->bias, &used) &&
		       step_over(unwinder, used, caller, cfa)
		   ? MT_STEP_DONE
		   : MT_STEP_NO_RULE;
}
