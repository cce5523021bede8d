/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies at an address: a module's text, its trampolines, a patch. */
#include "engine/calls/state/state.h"

#include "base/search.h"

#define SHORT_REACH 130u /* a jump of two bytes, and its displacement */

struct mt_calls_place *mt_calls_place_at(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (place, &space->places)
		if (address >= place->module->start && address < place->module->end)
			return place;
	return NULL;
}

struct mt_calls_place *mt_calls_place_of_trampoline(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (place, &space->places)
		if (address - place->module->room < place->module->code_bytes)
			return place;
	return NULL;
}

struct mt_calls_place *mt_calls_place_of_room(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (place, &space->places)
		if (address - place->module->room < place->module->room_bytes)
			return place;
	return NULL;
}

bool mt_calls_is_ours(struct mt_calls_space *space, uint64_t address)
{
	if (mt_calls_place_of_room(space, address) || address - space->agent < MT_AGENT_BYTES)
		return true;
	mt_array_each (room, &space->rooms)
		if (address - room->start < room->end - room->start)
			return true;
	return false;
}

ssize_t mt_calls_patch_at(const struct mt_calls_place *place, uint64_t address)
{
	const struct mt_plan *plan = place->module->file->plan;
	const struct mt_patch *patch = mt_plan_patch_at(plan, address - place->module->bias);

	if (!patch || !place->written[patch - plan->patches.items])
		return -1;
	return patch - plan->patches.items;
}

ssize_t mt_calls_planned_at(const struct mt_calls_place *place, uint64_t address)
{
	const struct mt_plan *plan = place->module->file->plan;
	const struct mt_patch *patch = mt_plan_patch_at(plan, address - place->module->bias);

	if (!patch || patch->address + place->module->bias != address ||
	    place->off[patch - plan->patches.items] ||
	    place->module->offsets[patch - plan->patches.items] == MT_CALLS_NONE)
		return -1;
	return patch - plan->patches.items;
}

/* The first patch that can have its hole at ADDRESS, which a short jump reaches. */
static size_t first_near(const struct mt_plan *plan, uint64_t address)
{
	return mt_partition_point(i, 0, plan->patches.count,
				  plan->patches.items[i].address + SHORT_REACH < address);
}

/* Between a short jump and the long one in its hole. */
ssize_t mt_calls_patch_of_hole(const struct mt_calls_place *place, uint64_t address)
{
	const struct mt_plan *plan = place->module->file->plan;
	const uint64_t hole = address - place->module->bias;

	for (size_t i = first_near(plan, hole); i < plan->patches.count; i++) {
		if (plan->patches.items[i].address > hole + SHORT_REACH)
			break;
		if (place->written[i] && plan->patches.items[i].hole == hole)
			return (ssize_t)i;
	}
	return -1;
}
