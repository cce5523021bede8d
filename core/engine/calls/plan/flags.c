/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose flags are in use.
 *
 * Flags mean nothing where compilers' functions are entered and where they return, so trampolines
 * do not keep them.  There are functions of another kind, none of which is recorded:
 *
 *	- what interrupted code is made to call, like Go's asyncPreempt(), saves them first and
 *	  restores them last;
 *	- whoever calls Go's duffzero() has compared before, and branches behind it;
 *	- people who write assembly return a carry, or take one. */
#include "engine/calls/plan/private.h"

#include "x86/flags.h"

#define POPF      0x9d
#define MOST_POPS 16 /* bytes of them before a return */

/* BYTES follow a popf. */
static bool returns_soon(const uint8_t *bytes, size_t size)
{
	for (size_t at = 0; at < size && at < MOST_POPS; at++) {
		if (bytes[at] == MT_PLAN_RET)
			return true;
		at += bytes[at] == 0x41 && at + 1 < size; /* of r8 and above */
		if (bytes[at] < 0x58 || bytes[at] > 0x5f) /* pop */
			return false;
	}
	return false;
}

/* Most of what stands behind a call, and is decoded no further for that. */
static bool is_move(const uint8_t *bytes, size_t length)
{
	size_t at = (bytes[0] & 0xf0) == 0x40; /* REX */

	if (at == length)
		return false;
	return (bytes[at] >= 0x88 && bytes[at] <= 0x8b) || bytes[at] == 0x8d || bytes[at] == 0xc6 ||
	       bytes[at] == 0xc7 || (bytes[at] >= 0xb0 && bytes[at] <= 0xbf) ||
	       (bytes[at] >= 0x50 && bytes[at] <= 0x5f);
}

static void note_reader(struct mt_planner *planner, const struct mt_plan_flags *flags,
			const struct mt_plan_place *place)
{
	const struct mt_plan_flag_reader reader = {flags->behind, place->address, flags->callee};

	if (flags->callee) {
		if (mt_array_push(&planner->flag_readers, reader))
			planner->failed = true;
	} else if (place->function != MT_PLAN_NOWHERE) { /* else bytes like a call of 0 */
		planner->facts.items[place->function] |= MT_FACT_FLAGS;
	}
}

void mt_plan_see_flags(struct mt_planner *planner, struct mt_plan_flags *flags,
		       struct mt_plan_place place, const uint8_t *bytes, size_t room,
		       const struct mt_insn *insn)
{
	if (place.function != MT_PLAN_NOWHERE && *bytes == POPF &&
	    returns_soon(bytes + 1, room - 1))
		planner->facts.items[place.function] |= MT_FACT_FLAGS;
	if (insn->class == MT_INSN_CALL) {
		*flags = (struct mt_plan_flags){.kept = MT_STATUS_FLAGS,
						.behind = place.address + insn->length,
						.callee = insn->target};
		return;
	}
	if (!flags->kept || is_move(bytes, insn->length))
		return;
	if (insn->class != MT_INSN_OTHER && insn->class != MT_INSN_BRANCH) {
		flags->kept = 0;
		return;
	}

	const struct mt_insn_flags used = mt_insn_status_flags(bytes, insn->length);
	if (used.read & flags->kept) {
		note_reader(planner, flags, &place);
		flags->kept = 0;
	}
	flags->kept &= (uint16_t)~used.written;
}

/* Control comes to the reader from its call, and not, as behind a call that does not return, from
 * elsewhere. */
static bool is_behind_call(struct mt_planner *planner, const struct mt_plan_flag_reader *reader)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, reader->behind);

	if (!range || reader->address >= range->end)
		return false;
	for (uint64_t at = reader->behind; at <= reader->address; at++)
		if (range->map[at - range->start] & MT_MAP_TARGET)
			return false;
	return true;
}

void mt_plan_decide_flags(struct mt_planner *planner)
{
	mt_array_each (reader, &planner->flag_readers) {
		const uint32_t callee = mt_plan_function_at(planner->plan, reader->callee);

		if (callee != MT_PLAN_NOWHERE && is_behind_call(planner, reader))
			planner->facts.items[callee] |= MT_FACT_FLAGS;
	}
}
