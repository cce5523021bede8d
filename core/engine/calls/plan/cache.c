/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/plan/cache.h"

#include "elf/code.h"

#include <string.h>

#define PARTS 5

/* Of the numbers that belong to the whole plan. */
enum { REDIRECTED, GS_USER, NUMBERS };

struct mt_error *mt_plan_store(const struct mt_plan *plan, const struct mt_kept_key *key,
			       const char *path)
{
	uint64_t numbers[NUMBERS] = {plan->redirected, plan->gs_user};
	const struct mt_kept_part parts[PARTS] = {
	    {plan->patches.items, plan->patches.count, sizeof(*plan->patches.items)},
	    {plan->functions.items, plan->functions.count, sizeof(*plan->functions.items)},
	    {plan->sites.items, plan->sites.count, sizeof(*plan->sites.items)},
	    {plan->left.items, plan->left.count, sizeof(*plan->left.items)},
	    {numbers, NUMBERS, sizeof(*numbers)},
	};

	return mt_kept_store(key, parts, PARTS, path);
}

/* Of the file, and the range that was asked for last, in which the next patch nearly always is. */
struct ranges {
	const struct mt_code *code;
	const struct mt_code_range *last;
};

static inline bool lies_in_code(struct ranges *ranges, uint64_t start, uint64_t length)
{
	if (!ranges->last || start < ranges->last->start || start >= ranges->last->end)
		ranges->last = mt_code_at(ranges->code, start);
	return ranges->last && length <= ranges->last->end - start;
}

static unsigned events_of(const struct mt_patch *patch)
{
	return !!(patch->flags & MT_PATCH_ENTRY) + !!(patch->flags & MT_PATCH_RETURN) +
	       !!(patch->flags & MT_PATCH_REDIRECT);
}

static bool is_hole_sound(struct ranges *ranges, const struct mt_patch *patch)
{
	int64_t distance = (int64_t)(patch->hole - (patch->address + MT_PATCH_SHORT_BYTES));

	if (!patch->hole)
		return patch->length >= MT_PATCH_JUMP_BYTES;
	return patch->length >= MT_PATCH_SHORT_BYTES && distance == (int8_t)distance &&
	       lies_in_code(ranges, patch->hole, MT_PATCH_JUMP_BYTES);
}

static bool is_patch_sound(const struct mt_plan *plan, struct ranges *ranges,
			   const struct mt_patch *patch)
{
	const unsigned flags =
	    MT_PATCH_ENTRY | MT_PATCH_RETURN | MT_PATCH_STAMP | MT_PATCH_REDIRECT | MT_PATCH_AGAIN;

	return !(patch->flags & ~flags) && patch->tactic < MT_TACTIC_COUNT &&
	       patch->function < plan->functions.count && patch->site <= plan->sites.count &&
	       events_of(patch) <= plan->sites.count - patch->site &&
	       patch->length <= MT_PATCH_MAX_BYTES &&
	       lies_in_code(ranges, patch->address, patch->length) &&
	       is_hole_sound(ranges, patch) &&
	       (!patch->redirect || lies_in_code(ranges, patch->redirect, 1));
}

static bool are_all_sound(const struct mt_plan *plan, const struct mt_code *code)
{
	struct ranges ranges = {.code = code};
	uint64_t end = 0;

	mt_array_each (patch, &plan->patches) {
		if (patch->address < end || !is_patch_sound(plan, &ranges, patch))
			return false;
		end = patch->address + patch->length;
	}
	mt_array_each (site, &plan->sites)
		if (site->function >= plan->functions.count)
			return false;
	mt_array_each (left, &plan->left)
		if (left->function >= plan->functions.count || left->reason >= MT_LEFT_REASONS)
			return false;
	return true;
}

/* Of the file's; the mapping is the plan's. */
#define lend(array, part)                                                                          \
	((array)->items = (part)->items, (array)->count = (array)->capacity = (part)->count)

static void fill(struct mt_plan *plan, const struct mt_kept_part *parts)
{
	const uint64_t *numbers = parts[4].items;

	lend(&plan->patches, &parts[0]);
	lend(&plan->functions, &parts[1]);
	lend(&plan->sites, &parts[2]);
	lend(&plan->left, &parts[3]);
	plan->redirected = numbers[REDIRECTED];
	plan->gs_user = numbers[GS_USER];
}

struct loading {
	struct mt_objfile *objfile;
	bool *failed; /* without memory */
};

/* Whoever uses it may rely on plan.h. */
static bool is_sound(const void *context, const struct mt_kept_part *parts)
{
	const struct loading *loading = context;
	struct mt_plan plan = {0};
	struct mt_code code = {0};

	if (parts[4].count != NUMBERS)
		return false;
	fill(&plan, parts);
	*loading->failed = mt_code_read(loading->objfile, &code);
	const bool sound = !*loading->failed && are_all_sound(&plan, &code);
	mt_array_deinit(&code);
	return sound;
}

struct mt_error *mt_plan_load(struct mt_objfile *objfile, const struct mt_kept_key *key,
			      const char *path, struct mt_plan **out)
{
	struct mt_plan *plan = calloc(1, sizeof(*plan));
	struct mt_kept_part parts[PARTS] = {
	    {.size = sizeof(*plan->patches.items)},
	    {.size = sizeof(*plan->functions.items)},
	    {.size = sizeof(*plan->sites.items)},
	    {.size = sizeof(*plan->left.items)},
	    {.size = sizeof(uint64_t)},
	};
	bool failed = !plan;
	const struct loading loading = {objfile, &failed};
	const struct mt_kept_check check = {is_sound, &loading};

	*out = NULL;
	if (plan && mt_kept_map(key, parts, PARTS, path, &check, &plan->kept)) {
		mt_kept_close(&plan->kept);
		fill(plan, parts);
		*out = plan;
	} else {
		mt_plan_destroy(plan);
	}
	return failed ? mt_error_no_memory() : NULL;
}
