/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Go's linker writes no .eh_frame, and a stripped program has no .debug_frame either.  But its
 * runtime, which unwinds stacks to collect garbage, has the stack's depth at each instruction. */
#include "elf/go_table.h"
#include "space/unwind_private.h"

#define WORD sizeof(uint64_t)

static bool find_frame(struct mt_space *space, uint64_t address, struct mt_go_frame *out)
{
	const struct mt_mapping *mapping = mt_space_find(space, address);
	const struct mt_go_table *table =
	    mapping && mapping->objfile ? mt_go_table(mapping->objfile) : NULL;

	return table && mt_go_frame_at(table, address - mapping->bias, out);
}

enum mt_unwind_step mt_unwind_by_go(struct mt_unwinder *unwinder, struct mt_registers *caller,
				    uint64_t *cfa)
{
	const struct mt_registers *registers = &unwinder->next.registers;
	struct mt_go_frame frame;
	uint64_t slot, value;

	if (!find_frame(unwinder->source.space, mt_unwind_inside(&unwinder->next), &frame))
		return MT_STEP_NO_RULE;
	slot = registers->values[MT_REGISTER_RSP] + frame.size;
	*cfa = slot + WORD;
	if (frame.outermost)
		return MT_STEP_OUTERMOST;
	if (!mt_unwind_read(unwinder, slot, &value, WORD))
		return MT_STEP_UNREADABLE;
	*caller = *registers;
	mt_register_set(caller, MT_REGISTER_RSP, *cfa);
	mt_register_set(caller, MT_REGISTER_RIP, value);
	unwinder->saved_at[MT_REGISTER_RIP] = slot;
	/* Where the frame pointer is the function's own, it points to its caller's, right below the
	 * return address; before and behind that it is the caller's. */
	if (frame.size >= WORD && registers->values[MT_REGISTER_RBP] == slot - WORD &&
	    mt_unwind_read(unwinder, slot - WORD, &value, WORD)) {
		mt_register_set(caller, MT_REGISTER_RBP, value);
		unwinder->saved_at[MT_REGISTER_RBP] = slot - WORD;
	}
	return MT_STEP_DONE;
}

bool mt_unwind_go_rule(struct mt_space *space, uint64_t pc, unsigned *number, int64_t *offset)
{
	struct mt_go_frame frame;

	if (!find_frame(space, pc, &frame))
		return false;
	*number = MT_REGISTER_RSP;
	*offset = (int64_t)(frame.size + WORD);
	return true;
}
