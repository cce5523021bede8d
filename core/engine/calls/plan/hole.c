/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holes: five bytes for a long jump, within reach of a short one.  Dead padding is the cheapest;
 * then what a patch displaces beyond its own jump, for which it may grow; and at last a stretch of
 * code that is displaced for this alone. */
#include "engine/calls/plan/private.h"

#include "base/search.h"

#define REACH_BACK  128 /* of a jmp rel8, from its end */
#define REACH_AHEAD 127

struct need {
	struct mt_planner *planner;
	const struct mt_plan_range *range;
	struct mt_plan_draft *draft;
	uint64_t low; /* [low, high]: where the hole may begin */
	uint64_t high;
};

static struct need need_of(struct mt_planner *planner, struct mt_plan_draft *draft)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, draft->patch.address);
	uint64_t from = draft->patch.address + MT_PATCH_SHORT_BYTES;
	struct need need = {planner, range, draft, range->start, from + REACH_AHEAD};

	if (from - range->start > REACH_BACK)
		need.low = from - REACH_BACK;
	if (need.high > range->end - MT_PATCH_JUMP_BYTES)
		need.high = range->end - MT_PATCH_JUMP_BYTES;
	return need;
}

static bool in_padding(const struct need *need)
{
	const struct mt_plan_range *range = need->range;
	size_t dead = 0;

	for (uint64_t at = need->low; at < need->high + MT_PATCH_JUMP_BYTES; at++) {
		size_t index = at - range->start;

		dead = mt_map_kind(range->map[index]) == MT_MAP_DEAD ? dead + 1 : 0;
		if (dead < MT_PATCH_JUMP_BYTES)
			continue;
		need->draft->patch.hole = at + 1 - MT_PATCH_JUMP_BYTES;
		mt_plan_take(range, index + 1 - MT_PATCH_JUMP_BYTES, index + 1);
		return true;
	}
	return false;
}

/* How far straight code from AT reaches, if it is to reach END; else 0. */
static size_t run_to(const struct mt_plan_range *range, size_t at, size_t end, bool *open)
{
	while (at < end) {
		enum mt_map_kind kind = mt_map_kind(range->map[at]);

		if (!*open || mt_plan_obstacle(range, at, false) != MT_LEFT_REASONS)
			return 0;
		at += range->map[at] & MT_MAP_LENGTH;
		*open = kind == MT_MAP_PLAIN || kind == MT_MAP_BRANCH;
	}
	return at;
}

/* Let a patch grow until END.  In a function with unknown targets nothing more than its first
 * instructions is displaced. */
static bool grow(const struct need *need, struct mt_plan_draft *host, uint64_t end)
{
	uint64_t begin = host->patch.address + host->patch.length;
	bool open = host->open;
	size_t reached;

	if (need->planner->facts.items[host->patch.function] & MT_FACT_UNKNOWN)
		return false;
	reached = run_to(need->range, begin - need->range->start, end - need->range->start, &open);
	if (!reached || need->range->start + reached - host->patch.address > MT_PATCH_MAX_BYTES)
		return false;
	mt_plan_take(need->range, begin - need->range->start, reached);
	host->patch.length = (uint8_t)(need->range->start + reached - host->patch.address);
	host->open = open;
	return true;
}

static bool in_patch(const struct need *need, struct mt_plan_draft *host, bool may_grow)
{
	uint64_t hole =
	    host->patch.address + MT_PATCH_JUMP_BYTES + (uint64_t)host->holes * MT_PATCH_JUMP_BYTES;
	uint64_t end = hole + MT_PATCH_JUMP_BYTES;

	if (host->dropped || host->patch.length < MT_PATCH_JUMP_BYTES || hole < need->low ||
	    hole > need->high || end - host->patch.address > MT_PATCH_MAX_BYTES)
		return false;
	if (host->patch.address + host->patch.length < end && !(may_grow && grow(need, host, end)))
		return false;
	host->holes++;
	need->draft->patch.hole = hole;
	return true;
}

size_t mt_plan_search(const struct mt_drafts *drafts, uint64_t address)
{
	return mt_partition_point(i, 0, drafts->count, drafts->items[i].patch.address <= address);
}

static bool in_patches(const struct need *need, bool may_grow)
{
	const struct mt_drafts *drafts = &need->planner->drafts, *late = &need->planner->late;

	for (size_t i = mt_plan_search(drafts, need->high);
	     i > 0 && drafts->items[i - 1].patch.address + MT_PATCH_MAX_BYTES >= need->low; i--)
		if (in_patch(need, &drafts->items[i - 1], may_grow))
			return true;
	/* These are made in the order of the needs. */
	for (size_t i = late->count; i > 0; i--) {
		struct mt_plan_draft *host = &late->items[i - 1];

		if (host->patch.address + 2 * REACH_BACK + MT_PATCH_MAX_BYTES < need->low)
			break;
		if (in_patch(need, host, may_grow))
			return true;
	}
	return false;
}

static bool host_at(const struct need *need, uint64_t address)
{
	const struct mt_plan_range *range = need->range;
	size_t at = address - range->start;
	uint32_t function;
	bool open = true;
	struct mt_plan_draft host = {.holes = 1};
	size_t end;

	if (!(range->map[at] & MT_MAP_LENGTH) ||
	    mt_plan_obstacle(range, at, true) != MT_LEFT_REASONS)
		return false;
	function = mt_plan_function_at(need->planner->plan, address);
	if (function == MT_PLAN_NOWHERE || need->planner->facts.items[function] & MT_FACT_UNKNOWN)
		return false;
	open = mt_map_kind(range->map[at]) == MT_MAP_PLAIN ||
	       mt_map_kind(range->map[at]) == MT_MAP_BRANCH;
	end = run_to(range, at + (range->map[at] & MT_MAP_LENGTH), at + 2 * MT_PATCH_JUMP_BYTES,
		     &open);
	if (!end)
		return false;
	host.open = open;
	host.patch = (struct mt_patch){.address = address,
				       .function = function,
				       .length = (uint8_t)(end - at),
				       .tactic = MT_TACTIC_HOLE};
	if (mt_array_push(&need->planner->late, host)) {
		need->planner->failed = true;
		return false;
	}
	mt_plan_take(range, at, end);
	need->draft->patch.hole = address + MT_PATCH_JUMP_BYTES;
	return true;
}

static bool in_host(const struct need *need)
{
	uint64_t low = need->low - need->range->start < MT_PATCH_JUMP_BYTES
			   ? need->range->start
			   : need->low - MT_PATCH_JUMP_BYTES;

	for (uint64_t at = need->high - MT_PATCH_JUMP_BYTES + 1; at-- > low;)
		if (at + MT_PATCH_JUMP_BYTES >= need->low && host_at(need, at))
			return true;
	return false;
}

bool mt_plan_find_hole(struct mt_planner *planner, struct mt_plan_draft *draft)
{
	const struct need need = need_of(planner, draft);

	if (in_padding(&need) || in_patches(&need, false) || in_patches(&need, true))
		return true;
	if (!in_host(&need))
		return false;
	if (draft->patch.tactic == MT_TACTIC_SHORT)
		draft->patch.tactic = MT_TACTIC_EVICTED;
	return true;
}

void mt_plan_find_holes(struct mt_planner *planner)
{
	for (size_t i = 0; i < planner->drafts.count && !planner->failed; i++) {
		struct mt_plan_draft *draft = &planner->drafts.items[i];

		if (draft->patch.tactic == MT_TACTIC_SHORT && !mt_plan_find_hole(planner, draft)) {
			const struct mt_patch *patch = &draft->patch;

			draft->dropped = true;
			if (patch->flags & MT_PATCH_ENTRY)
				mt_plan_leave(planner, patch->function,
					      planner->plan->functions.items[patch->function].start,
					      false, MT_LEFT_NO_ROOM);
			if (patch->flags & MT_PATCH_RETURN)
				mt_plan_leave(planner, patch->function, draft->return_address, true,
					      MT_LEFT_NO_ROOM);
		}
	}
}
