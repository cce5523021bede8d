/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Room for the jump of each entry and each return, function by function.
 *
 * An entry takes the instructions from it on, a return the dead padding behind it and then the
 * instructions before it.  Where these meet, one patch does both.  Room of two to four bytes is
 * enough for a short jump; the patch then waits for a hole. */
#include "engine/calls/plan/private.h"

#include "x86/insn.h"

enum mt_plan_reason mt_plan_obstacle(const struct mt_plan_range *range, size_t at, bool first)
{
	uint64_t size = range->end - range->start;
	size_t length = at < size ? range->map[at] & MT_MAP_LENGTH : 0;
	struct mt_insn insn;

	if (length == 0 || mt_map_kind(range->map[at]) == MT_MAP_DEAD ||
	    mt_map_kind(range->map[at]) == MT_MAP_TAKEN)
		return MT_LEFT_NO_ROOM;
	for (size_t i = at + first; i < at + length; i++)
		if (range->map[i] & MT_MAP_TARGET)
			return MT_LEFT_TARGET;
	if (mt_map_kind(range->map[at]) == MT_MAP_STUCK)
		return mt_insn_decode(range->bytes + at, size - at, 0, &insn) ? MT_LEFT_NOT_DECODED
									      : MT_LEFT_NOT_MOVABLE;
	if (!mt_plan_can_move(range->bytes + at, length, range->start + at, true))
		return MT_LEFT_NOT_MOVABLE;
	return MT_LEFT_REASONS;
}

size_t mt_plan_before(const struct mt_plan_range *range, size_t at)
{
	for (size_t length = 1; length <= MT_INSN_MAX_BYTES && length <= at; length++) {
		size_t found = range->map[at - length] & MT_MAP_LENGTH;

		if (found)
			return found == length ? at - length : at;
	}
	return at;
}

void mt_plan_take(const struct mt_plan_range *range, size_t begin, size_t end)
{
	for (size_t at = begin; at < end; at++)
		if (range->map[at] & MT_MAP_LENGTH)
			mt_map_set_kind(&range->map[at], MT_MAP_TAKEN);
}

/* Lengthen by one instruction, or a byte of padding.  False: it cannot be. */
static bool extend(const struct mt_plan_range *range, struct mt_plan_stretch *stretch)
{
	size_t at = stretch->end, size = range->end - range->start;
	bool is_first = stretch->begin == at;

	if (stretch->closed && !(at < size && mt_map_kind(range->map[at]) == MT_MAP_DEAD))
		return false;
	if (stretch->closed) {
		stretch->end++;
		return true;
	}
	stretch->reason = mt_plan_obstacle(range, at, is_first);
	if (stretch->reason != MT_LEFT_REASONS)
		return false;
	enum mt_map_kind kind = mt_map_kind(range->map[at]);
	stretch->end += range->map[at] & MT_MAP_LENGTH;
	if (kind == MT_MAP_RETURN)
		stretch->return_address = range->start + at;
	stretch->closed = kind != MT_MAP_PLAIN && kind != MT_MAP_BRANCH;
	stretch->reason = MT_LEFT_NO_ROOM;
	return true;
}

void mt_plan_extend(const struct mt_plan_range *range, struct mt_plan_stretch *stretch,
		    size_t wanted)
{
	while (stretch->end - stretch->begin < wanted && extend(range, stretch))
		;
}

/* Lengthen by the instruction before.  False: it cannot be. */
bool mt_plan_prepend(const struct mt_plan_room *room, struct mt_plan_stretch *stretch)
{
	const struct mt_plan_range *range = room->range;
	size_t before = mt_plan_before(range, stretch->begin);
	enum mt_map_kind kind;

	if (range->map[stretch->begin] & MT_MAP_TARGET) {
		stretch->reason = MT_LEFT_TARGET;
		return false;
	}
	if (room->planner->facts.items[room->function] & MT_FACT_UNKNOWN) {
		stretch->reason = MT_LEFT_INDIRECT;
		return false;
	}
	kind = mt_map_kind(range->map[before]);
	stretch->reason = MT_LEFT_NO_ROOM;
	if (before == stretch->begin || (kind != MT_MAP_PLAIN && kind != MT_MAP_BRANCH))
		return false;
	stretch->reason = mt_plan_obstacle(range, before, true);
	if (stretch->reason != MT_LEFT_REASONS)
		return false;
	stretch->begin = before;
	return true;
}

static struct mt_plan_draft *add_draft(const struct mt_plan_room *room,
				       const struct mt_plan_stretch *stretch, uint8_t flags,
				       enum mt_plan_tactic tactic)
{
	struct mt_planner *planner = room->planner;
	const struct mt_plan_draft draft = {
	    .patch = {.address = room->range->start + stretch->begin,
		      .function = room->function,
		      .length = (uint8_t)(stretch->end - stretch->begin),
		      .flags = flags,
		      .tactic = (uint8_t)tactic},
	    .return_address = stretch->return_address,
	    .open = !stretch->closed,
	};

	if (mt_array_push(&planner->drafts, draft)) {
		planner->failed = true;
		return NULL;
	}
	mt_plan_take(room->range, stretch->begin, stretch->end);
	return mt_array_last(&planner->drafts);
}

static enum mt_plan_tactic entry_tactic(const struct mt_plan_stretch *stretch)
{
	if (stretch->end - stretch->begin < MT_PATCH_JUMP_BYTES)
		return MT_TACTIC_SHORT;
	return stretch->return_address ? MT_TACTIC_MERGED : MT_TACTIC_ENTRY;
}

static void plan_entry(const struct mt_plan_room *room)
{
	const struct mt_plan_function *function =
	    &room->planner->plan->functions.items[room->function];
	uint64_t entry = mt_plan_entry(room->range, function);
	struct mt_plan_stretch stretch = {.begin = entry - room->range->start,
					  .end = entry - room->range->start};

	mt_plan_extend(room->range, &stretch, MT_PATCH_JUMP_BYTES);
	if (stretch.end - stretch.begin < MT_PATCH_SHORT_BYTES) {
		mt_plan_leave(room->planner, room->function, function->start, false,
			      stretch.reason);
		return;
	}
	add_draft(room, &stretch, MT_PATCH_ENTRY | (stretch.return_address ? MT_PATCH_RETURN : 0),
		  entry_tactic(&stretch));
}

/* The return joins the entry's patch, which ends where the room before it began. */
static bool merge(const struct mt_plan_room *room, const struct mt_plan_stretch *stretch)
{
	struct mt_drafts *drafts = &room->planner->drafts;
	struct mt_plan_draft *last = drafts->count ? mt_array_last(drafts) : NULL;
	uint64_t begin = room->range->start + stretch->begin;
	uint64_t end = room->range->start + stretch->end;

	if (!last || !last->open || last->patch.flags != MT_PATCH_ENTRY ||
	    last->patch.function != room->function ||
	    last->patch.address + last->patch.length != begin ||
	    room->range->map[stretch->begin] & MT_MAP_TARGET ||
	    end - last->patch.address > MT_PATCH_MAX_BYTES)
		return false;
	last->patch.length = (uint8_t)(end - last->patch.address);
	last->patch.flags |= MT_PATCH_RETURN;
	last->patch.tactic =
	    last->patch.length < MT_PATCH_JUMP_BYTES ? MT_TACTIC_SHORT : MT_TACTIC_MERGED;
	last->return_address = stretch->return_address;
	last->open = false;
	mt_plan_take(room->range, stretch->begin, stretch->end);
	return true;
}

/* One that branches of the function itself lead to may be recorded by these. */
static void leave_lone(const struct mt_plan_room *room, size_t at, enum mt_plan_reason reason)
{
	const struct mt_plan_place lone = {room->range->start + at, room->function};

	if (reason != MT_LEFT_TARGET || room->range->bytes[at] != MT_PLAN_RET)
		mt_plan_leave(room->planner, room->function, lone.address, true, reason);
	else if (mt_array_push(&room->planner->lone, lone))
		room->planner->failed = true;
}

static void plan_return(const struct mt_plan_room *room, size_t at)
{
	struct mt_plan_stretch stretch = {.begin = at, .end = at};
	size_t end;

	mt_plan_extend(room->range, &stretch, MT_PATCH_JUMP_BYTES);
	if (stretch.end == at) {
		mt_plan_leave(room->planner, room->function, room->range->start + at, true,
			      stretch.reason);
		return;
	}
	end = stretch.end;
	if (end - at >= MT_PATCH_JUMP_BYTES) {
		add_draft(room, &stretch, MT_PATCH_RETURN, MT_TACTIC_PADDING);
		return;
	}
	while (end - stretch.begin < MT_PATCH_JUMP_BYTES && mt_plan_prepend(room, &stretch))
		;
	if (end - stretch.begin >= MT_PATCH_JUMP_BYTES) {
		add_draft(room, &stretch, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
		return;
	}
	if (merge(room, &stretch))
		return;
	if (end - stretch.begin >= MT_PATCH_SHORT_BYTES)
		add_draft(room, &stretch, MT_PATCH_RETURN, MT_TACTIC_SHORT);
	else
		leave_lone(room, at, stretch.reason);
}

static enum mt_plan_reason refusal(uint16_t facts)
{
	if (facts & MT_FACT_SIGNAL)
		return MT_LEFT_SIGNAL_RETURN;
	if (facts & MT_FACT_FENCED)
		return MT_LEFT_FENCED;
	if (facts & MT_FACT_CHECKED)
		return MT_LEFT_CHECKED;
	if (facts & MT_FACT_FLAGS)
		return MT_LEFT_FLAGS;
	if (facts & MT_FACT_START)
		return MT_LEFT_START;
	return facts & MT_FACT_CHOSEN ? MT_LEFT_CHOSEN : MT_LEFT_REASONS;
}

static void plan_function(const struct mt_plan_room *room)
{
	const struct mt_plan_function *function =
	    &room->planner->plan->functions.items[room->function];
	const struct mt_plan_range *range = room->range;
	uint16_t facts = room->planner->facts.items[room->function];
	enum mt_plan_reason reason = refusal(facts);
	size_t end = (function->end < range->end ? function->end : range->end) - range->start;

	if (reason == MT_LEFT_REASONS && !(function->flags & MT_PLAN_PART))
		plan_entry(room);
	else if (!(function->flags & MT_PLAN_PART))
		mt_plan_leave(room->planner, room->function, function->start, false, reason);
	for (size_t at = function->start - range->start; at < end; at++) {
		if (!(range->map[at] & MT_MAP_LENGTH) ||
		    mt_map_kind(range->map[at]) != MT_MAP_RETURN)
			continue;
		if (reason == MT_LEFT_REASONS)
			plan_return(room, at);
		else
			mt_plan_leave(room->planner, room->function, range->start + at, true,
				      reason);
	}
}

/* Nothing of it may be displaced, not even for others. */
static void shut(const struct mt_plan_room *room)
{
	const struct mt_plan_function *function =
	    &room->planner->plan->functions.items[room->function];

	for (uint64_t at = function->start; at < function->end && at < room->range->end; at++)
		mt_map_set_kind(&room->range->map[at - room->range->start], MT_MAP_STUCK);
}

void mt_plan_find_room(struct mt_planner *planner)
{
	for (uint32_t i = 0; i < planner->plan->functions.count; i++) {
		const struct mt_plan_function *function = &planner->plan->functions.items[i];
		const struct mt_plan_room room = {planner,
						  mt_plan_range_at(planner, function->start), i};

		if (!room.range)
			continue;
		plan_function(&room);
		if (planner->facts.items[i] & (MT_FACT_SIGNAL | MT_FACT_FENCED | MT_FACT_CHECKED))
			shut(&room);
	}
}
