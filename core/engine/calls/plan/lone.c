/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Returns of one byte that branches of the function lead to.  No jump fits there, but each branch
 * can be displaced, and then records and returns itself.  When nothing else leads to the return any
 * more, it is no target, and those that fall into it may be displaced together with it. */
#include "engine/calls/plan/private.h"

#include "x86/insn.h"

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* The patch that displaces ADDRESS; NULL: none. */
static struct mt_plan_draft *draft_at(const struct mt_planner *planner, uint64_t address)
{
	size_t before = mt_plan_search(&planner->drafts, address);
	const struct mt_drafts *late = &planner->late;

	if (before) {
		struct mt_plan_draft *draft = &planner->drafts.items[before - 1];

		if (!draft->dropped && address - draft->patch.address < draft->patch.length)
			return draft;
	}
	for (size_t i = late->count; i > 0; i--)
		if (address - late->items[i - 1].patch.address < late->items[i - 1].patch.length)
			return &late->items[i - 1];
	return NULL;
}

/* A new patch of this stretch; one that is too short gets its hole at once, or is none. */
static bool add_late(const struct mt_plan_room *room, const struct mt_plan_stretch *stretch,
		     uint8_t flags)
{
	struct mt_planner *planner = room->planner;
	struct mt_plan_draft draft = {
	    .patch = {.address = room->range->start + stretch->begin,
		      .function = room->function,
		      .length = (uint8_t)(stretch->end - stretch->begin),
		      .flags = flags,
		      .tactic = MT_TACTIC_REDIRECT},
	    .return_address = stretch->return_address,
	    .open = !stretch->closed,
	};

	if (draft.patch.length < MT_PATCH_SHORT_BYTES)
		return false;
	mt_plan_take(room->range, stretch->begin, stretch->end);
	if (draft.patch.length < MT_PATCH_JUMP_BYTES && !mt_plan_find_hole(planner, &draft))
		return false;
	if (mt_array_push(&planner->late, draft)) {
		planner->failed = true;
		return false;
	}
	return true;
}

static void make_room(const struct mt_plan_room *room, struct mt_plan_stretch *stretch)
{
	mt_plan_extend(room->range, stretch, MT_PATCH_JUMP_BYTES);
	while (stretch->end > stretch->begin &&
	       stretch->end - stretch->begin < MT_PATCH_JUMP_BYTES &&
	       mt_plan_prepend(room, stretch))
		;
}

struct mt_plan_draft *mt_plan_displace(const struct mt_plan_room *room, size_t at)
{
	struct mt_plan_stretch stretch = {.begin = at, .end = at};

	if (mt_map_kind(room->range->map[at]) == MT_MAP_TAKEN)
		return draft_at(room->planner, room->range->start + at);
	make_room(room, &stretch);
	/* A return that comes along would not be recorded. */
	if (stretch.return_address || !add_late(room, &stretch, 0))
		return NULL;
	return mt_array_last(&room->planner->late);
}

/* The branch at AT leads to the return. */
static bool redirect_branch(const struct mt_plan_room *room, size_t at, uint64_t lone)
{
	struct mt_plan_draft *draft = mt_plan_displace(room, at);

	if (!draft || (draft->patch.redirect && draft->patch.redirect != lone))
		return false;
	draft->patch.redirect = lone;
	draft->patch.flags |= MT_PATCH_REDIRECT;
	return true;
}

bool mt_plan_is_plain_branch(const uint8_t *bytes)
{
	return bytes[0] == 0xeb || bytes[0] == 0xe9 || (bytes[0] & 0xf0) == 0x70 ||
	       (bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80);
}

/* False: something is left that leads to the return. */
static bool redirect_branches(const struct mt_plan_room *room, uint64_t lone)
{
	const struct mt_plan_range *range = room->range;
	const struct mt_plan_function *function =
	    &room->planner->plan->functions.items[room->function];
	size_t end = (function->end < range->end ? function->end : range->end) - range->start;
	bool complete = true;

	for (size_t at = function->start - range->start; at < end; at++) {
		const uint8_t *bytes = range->bytes + at;
		size_t length = range->map[at] & MT_MAP_LENGTH;
		struct mt_insn insn;

		/* loop, jrcxz, and branches with a prefix. */
		if (length < 2 ||
		    !(mt_plan_is_plain_branch(bytes) ||
		      ((bytes[0] & 0xfc) == 0xe0 || bytes[0] == 0xf2 || bytes[0] == 0x2e ||
		       bytes[0] == 0x3e || bytes[0] == 0x67)) ||
		    mt_insn_decode(bytes, length, range->start + at, &insn) ||
		    insn.target != lone || insn.class == MT_INSN_CALL)
			continue;
		if (!mt_plan_is_plain_branch(bytes) || !redirect_branch(room, at, lone))
			complete = false;
	}
	return complete;
}

/* What falls through to the return from above. */
enum above { ABOVE_NOTHING, ABOVE_CODE, ABOVE_PATCH };

/* It comes back to what stands behind it, wherever it was displaced to. */
static bool is_call(const struct mt_plan_range *range, size_t at, size_t behind)
{
	struct mt_insn insn;

	return mt_insn_decode(range->bytes + at, behind - at, range->start + at, &insn) == 0 &&
	       (insn.class == MT_INSN_CALL || insn.class == MT_INSN_CALL_INDIRECT);
}

static enum above look_above(const struct mt_plan_room *room, size_t at,
			     struct mt_plan_draft **draft)
{
	size_t before = mt_plan_before(room->range, at);

	if (before == at)
		return ABOVE_CODE;
	switch (mt_map_kind(room->range->map[before])) {
	case MT_MAP_JUMP:
	case MT_MAP_RETURN:
	case MT_MAP_DEAD:
		return ABOVE_NOTHING;
	case MT_MAP_TAKEN:
		*draft = draft_at(room->planner, room->range->start + before);
		if (!*draft || is_call(room->range, before, at))
			return ABOVE_CODE;
		return (*draft)->open ? ABOVE_PATCH : ABOVE_NOTHING;
	default:
		return ABOVE_CODE;
	}
}

static bool join(const struct mt_plan_room *room, struct mt_plan_draft *draft, size_t at)
{
	uint64_t address = room->range->start + at;

	if (draft->return_address || draft->patch.length >= MT_PATCH_MAX_BYTES ||
	    draft->patch.address + draft->patch.length != address)
		return false;
	draft->patch.length++;
	if (draft->patch.tactic == MT_TACTIC_ENTRY)
		draft->patch.tactic = MT_TACTIC_MERGED;
	else if (draft->patch.tactic == MT_TACTIC_HOLE)
		draft->patch.tactic = MT_TACTIC_REDIRECT;
	draft->patch.flags |= MT_PATCH_RETURN;
	draft->return_address = address;
	draft->open = false;
	mt_plan_take(room->range, at, at + 1);
	return true;
}

static bool redirect(const struct mt_plan_room *room, uint64_t lone)
{
	size_t at = lone - room->range->start;
	struct mt_plan_draft *draft = NULL;
	enum above above;

	if ((room->planner->far_returns.count &&
	     bsearch(&lone, room->planner->far_returns.items, room->planner->far_returns.count,
		     sizeof(lone), compare_addresses)) ||
	    !redirect_branches(room, lone))
		return false;
	above = look_above(room, at, &draft);
	if (above != ABOVE_NOTHING) {
		/* Nothing jumps there any more. */
		struct mt_plan_stretch stretch = {.begin = at, .end = at};
		bool done;

		if (room->planner->facts.items[room->function] & MT_FACT_UNKNOWN)
			return false;
		room->range->map[at] &= (uint8_t)~MT_MAP_TARGET;
		if (above == ABOVE_PATCH) {
			done = join(room, draft, at);
		} else {
			make_room(room, &stretch);
			done = add_late(room, &stretch, MT_PATCH_RETURN);
		}
		if (!done)
			room->range->map[at] |= MT_MAP_TARGET;
		return done;
	}
	room->planner->plan->redirected++;
	return true;
}

void mt_plan_redirect(struct mt_planner *planner)
{
	if (planner->far_returns.count)
		qsort(planner->far_returns.items, planner->far_returns.count, sizeof(uint64_t),
		      compare_addresses);
	mt_array_each (lone, &planner->lone) {
		const struct mt_plan_room room = {planner, mt_plan_range_at(planner, lone->address),
						  lone->function};

		if (!redirect(&room, lone->address))
			mt_plan_leave(planner, lone->function, lone->address, true, MT_LEFT_TARGET);
	}
}
