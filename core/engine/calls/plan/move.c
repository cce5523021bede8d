/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which instructions mean the same in a trampoline as in their own place. */
#include "engine/calls/plan/plan.h"

#include "x86/layout.h"

/* An instruction in which the program may learn its own address, or which continues elsewhere than
 * a branch would. */
static bool class_can_move(const struct mt_insn *insn, const struct mt_insn_layout *layout,
			   bool is_last)
{
	switch (insn->class) {
	case MT_INSN_SYSCALL:
	case MT_INSN_FAR:
		return false;
	case MT_INSN_CALL:
		return is_last;
	case MT_INSN_CALL_INDIRECT:
		return is_last && !layout->uses_stack_pointer;
	default:
		return true;
	}
}

#define XBEGIN_OPCODE 0xc7
#define XBEGIN_MODRM  0xf8

bool mt_plan_can_move(const uint8_t *from, size_t size, uint64_t address, bool is_last)
{
	struct mt_insn insn;
	struct mt_insn_layout layout;

	if (mt_insn_decode(from, size, address, &insn) || mt_insn_layout(from, size, &layout))
		return false;
	if (layout.address_bytes != 8 &&
	    (layout.displacement_offset || insn.class != MT_INSN_OTHER))
		return false;
	if (layout.opcode == XBEGIN_OPCODE && layout.modrm_offset &&
	    from[layout.modrm_offset] == XBEGIN_MODRM)
		return false;
	return class_can_move(&insn, &layout, is_last);
}
