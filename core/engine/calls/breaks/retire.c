/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints that are not wanted any more cost nothing from then on: what led to them, the text or
 * the code of one in front, leads past them.  Their own code stays, since threads may be in it. */
#include "engine/calls/breaks/breaks.h"

#include "engine/calls/state/state.h"
#include "engine/calls/texts/texts.h"

#include <string.h>

/* The jump whose distance stands at DISTANCE_AT leads to TARGET: nothing else of it changes. */
static struct mt_error *lead(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			     uint64_t distance_at, uint64_t target)
{
	const uint32_t distance = (uint32_t)(target - (distance_at + sizeof(distance)));

	return engine->target->ops->write(engine->target, space->pid, distance_at, &distance,
					  sizeof(distance));
}

/* Threads that ONE lets pass, and those that go on from its stub, go to NEXT. */
static struct mt_error *lead_on(struct mt_calls_engine *engine, const struct mt_calls_space *space,
				struct mt_calls_break *one, uint64_t next)
{
	one->next = next;
	if (one->condition && one->condition->is_compiled)
		mt_try(
		    lead(engine, space, one->condition->address + one->condition->code.miss, next));
	return lead(engine, space, one->copy + 1, next);
}

/* That stands in front of ONE, or behind it; NULL: none.  The last one that was made is first. */
static struct mt_calls_break *neighbour(struct mt_calls_space *space,
					const struct mt_calls_break *one, bool in_front)
{
	struct mt_calls_break *found = NULL;

	mt_array_each (other, &space->breaks) {
		if (other->retired || !other->next || other->hook != one->hook ||
		    other->address != one->address || (other > one) != in_front || other == one)
			continue;
		if (in_front)
			return other;
		found = other;
	}
	return found;
}

struct mt_error *mt_calls_break_retire(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_break *one)
{
	struct mt_calls_break *front = neighbour(space, one, true);
	struct mt_calls_break *behind = neighbour(space, one, false);
	struct mt_calls_place *place = mt_calls_place_at(space, one->address);

	mt_try(mt_calls_unmask(engine, space));
	one->retired = true;
	if (one->length || !place) { /* a jump of its own */
		/* If it is absent, there may be a debugger's breakpoint. */
		struct mt_error *error = mt_calls_break_put_back(engine, space->pid, one);

		one->back = one->address + one->length;
		one->length = 0;
		return error;
	}
	if (front)
		return lead_on(engine, space, front, one->next);
	if (one->hook)
		return mt_calls_hook_lead(engine, space, one->hook, one->next);
	if (behind)
		behind->behind = false;
	return mt_calls_text_turn_from(engine, space, place, one);
}

struct mt_error *mt_calls_retire(struct mt_engine *base, pid_t pid, uint32_t trigger)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_error *error = NULL;

	if (!space)
		return NULL;
	mt_try(mt_target_halt(engine->target, pid));
	mt_array_each (one, &space->breaks)
		if (!error && one->stub && !one->retired && one->condition &&
		    one->condition->given.trigger == trigger)
			error = mt_calls_break_retire(engine, space, one);
	mt_target_release(engine->target, pid);
	return error;
}
