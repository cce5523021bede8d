/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that jump back to their own entry: loops that begin with the function, calls of itself
 * in its last line that the compiler made a loop of, and in Go nearly all functions, which begin
 * anew when their stack has grown.  The entry is recorded as others are, and each branch back to it
 * is displaced, to go on behind the recording.  Going round is no call, be it that of a tail call
 * of itself, which looks the same; callgrind says it is one. */
#include "engine/calls/plan/private.h"

#include "x86/insn.h"

#include <string.h>

#define CALL_SEARCH 24 /* instructions back from a branch: Go restores its arguments */

static struct mt_plan_draft *draft_of_entry(struct mt_planner *planner, uint32_t function)
{
	const struct mt_plan_function *of = &planner->plan->functions.items[function];
	const struct mt_plan_range *range = mt_plan_range_at(planner, of->start);
	uint64_t entry = range ? mt_plan_entry(range, of) : 0;
	size_t behind = mt_plan_search(&planner->drafts, entry);
	struct mt_plan_draft *draft = behind ? &planner->drafts.items[behind - 1] : NULL;

	if (!draft || draft->dropped || draft->patch.address != entry ||
	    !(draft->patch.flags & MT_PATCH_ENTRY))
		return NULL;
	return draft;
}

/* The function that grows a goroutine's stack is known only by its name. */
static bool is_morestack(struct mt_planner *planner, uint64_t address)
{
	static const char prefix[] = "runtime.morestack";
	uint32_t function = mt_plan_function_at(planner->plan, address);
	size_t count = 0;
	const struct mt_symbol *symbols = mt_objfile_symbols(planner->objfile, &count);

	if (function == MT_PLAN_NOWHERE)
		return false;
	const char *name = symbols[planner->plan->functions.items[function].symbol].raw_name;
	return name && strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

/* Whether the stack may have moved when the branch at AT is reached. */
static bool moves_stack(const struct mt_plan_room *room, size_t at)
{
	const struct mt_plan_range *range = room->range;
	struct mt_insn insn;

	for (size_t i = 0, before; i < CALL_SEARCH; i++, at = before) {
		before = mt_plan_before(range, at);
		if (before == at || mt_insn_decode(range->bytes + before, at - before,
						   range->start + before, &insn))
			return false;
		if (insn.class == MT_INSN_CALL)
			return is_morestack(room->planner, insn.target);
		if (insn.class != MT_INSN_OTHER)
			return false;
	}
	return false;
}

/* A cold part is its function's that branches into it; another's makes a tail call. */
static bool has_part(struct mt_planner *planner, uint32_t function, uint32_t part)
{
	const struct mt_plan_function *of = &planner->plan->functions.items[function];
	const struct mt_plan_function *cold = &planner->plan->functions.items[part];
	const struct mt_plan_range *range = mt_plan_range_at(planner, of->start);
	uint64_t end = of->end < range->end ? of->end : range->end;
	struct mt_insn insn;

	for (uint64_t at = of->start; at < end; at++) {
		const uint8_t *bytes = range->bytes + (at - range->start);
		size_t length = range->map[at - range->start] & MT_MAP_LENGTH;

		if (length > 1 && mt_plan_is_plain_branch(bytes) &&
		    mt_insn_decode(bytes, length, at, &insn) == 0 &&
		    insn.target - cold->start < cold->end - cold->start)
			return true;
	}
	return false;
}

/* False: the branch stays as it is. */
static bool lead(struct mt_planner *planner, const struct mt_plan_place *loop, uint64_t entry)
{
	const struct mt_plan_room room = {planner, mt_plan_range_at(planner, loop->address),
					  mt_plan_function_at(planner->plan, loop->address)};
	size_t at = loop->address - room.range->start;
	size_t length = room.range->map[at] & MT_MAP_LENGTH;
	struct mt_plan_draft *draft;
	struct mt_insn insn;

	/* Dependents are looked for in the function alone, so that a cold part's branch stays. */
	if (room.function != loop->function)
		return !has_part(planner, loop->function, room.function);
	if (mt_map_kind(room.range->map[at]) == MT_MAP_STUCK ||
	    !mt_plan_is_plain_branch(room.range->bytes + at) ||
	    mt_insn_decode(room.range->bytes + at, length, loop->address, &insn) ||
	    insn.target != entry)
		return false;
	draft = mt_plan_displace(&room, at);
	if (!draft || (draft->patch.redirect && draft->patch.redirect != entry))
		return false;
	draft->patch.redirect = entry;
	draft->patch.flags |= MT_PATCH_AGAIN;
	if (moves_stack(&room, at))
		draft->patch.flags |= MT_PATCH_REDIRECT;
	return true;
}

/* Its bytes stay displaced: others may have their holes there. */
static void leave_entry(struct mt_planner *planner, uint32_t function)
{
	struct mt_plan_draft *draft = draft_of_entry(planner, function);

	if (!draft)
		return;
	draft->patch.flags &= (uint8_t)~MT_PATCH_ENTRY;
	if (!(draft->patch.flags & MT_PATCH_RETURN))
		draft->patch.tactic = MT_TACTIC_HOLE;
	mt_plan_leave(planner, function, planner->plan->functions.items[function].start, false,
		      MT_LEFT_LOOP);
}

void mt_plan_lead_loops(struct mt_planner *planner)
{
	mt_array_each (loop, &planner->loops) {
		const struct mt_plan_draft *entry = draft_of_entry(planner, loop->function);

		if (entry && !lead(planner, loop, entry->patch.address))
			planner->facts.items[loop->function] |= MT_FACT_LOOP;
	}
	mt_array_each (loop, &planner->loops)
		if (planner->facts.items[loop->function] & MT_FACT_LOOP)
			leave_entry(planner, loop->function);
}
