/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Room at any instruction, for a jump that no plan foresaw. */
#include "engine/calls/plan/private.h"

static size_t find(struct mt_planner *planner, uint64_t address)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, address);
	const uint32_t function = mt_plan_function_at(planner->plan, address);

	if (!range || function == MT_PLAN_NOWHERE ||
	    planner->facts.items[function] & (MT_FACT_UNKNOWN | MT_FACT_SIGNAL))
		return 0;
	struct mt_plan_stretch stretch = {.begin = address - range->start,
					  .end = address - range->start};
	mt_plan_extend(range, &stretch, MT_PATCH_JUMP_BYTES);
	const size_t length = stretch.end - stretch.begin;
	/* Returns are recorded, or left out with a reason. */
	return length >= MT_PATCH_JUMP_BYTES && !stretch.return_address ? length : 0;
}

struct mt_error *mt_plan_stretch_at(struct mt_objfile *objfile, uint64_t address, size_t *length)
{
	struct mt_plan *plan = calloc(1, sizeof(*plan));
	struct mt_planner planner = {.objfile = objfile, .plan = plan};

	*length = 0;
	if (!plan)
		return mt_error_no_memory();
	struct mt_error *error = mt_plan_read(&planner, NULL);
	if (!error && planner.failed)
		error = mt_error_no_memory();
	if (!error)
		*length = find(&planner, address);
	mt_planner_deinit(&planner);
	mt_plan_destroy(plan);
	return error;
}
