/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fibers: stacks that the program switches between (swapcontext, coroutines).
 *
 * A switch is a return that goes past its caller.  The frames that it leaves behind may be gone
 * (an exception) or wait to be continued: they are parked, under the call that the return should
 * have gone back to.  When a later return of the same function finds no frame for its target, but
 * the target is right behind such a call, the parked frames are put on the stack again: on top of
 * who switched to them, or instead of the fiber that did. */
#include "trace/callstack_internal.h"

#include <string.h>

void mt_cs_park(struct mt_callstack *cs, size_t kept)
{
	size_t count = cs->frames.count - 1; /* without the function that switches */
	struct mt_parked *parked = &cs->parked[cs->next_parked % MT_CS_PARKED];

	if (kept >= count || count - kept > MT_CS_PARKED_FRAMES || !mt_cs_top(cs)->return_site)
		return;
	parked->site = mt_cs_top(cs)->return_site;
	parked->switcher = mt_cs_top(cs)->function;
	parked->frames.count = 0;
	if (mt_array_reserve(&parked->frames, count - kept)) {
		mt_rebuild_out_of_memory(&cs->base);
		return;
	}
	parked->frames.count = count - kept;
	memcpy(parked->frames.items, &cs->frames.items[kept],
	       (count - kept) * sizeof(*parked->frames.items));
	cs->next_parked++;
}

/* The running fiber leaves; returns the call that led to it. */
static uint64_t leave_fiber(struct mt_callstack *cs)
{
	size_t count = cs->frames.count, bottom = count;
	uint64_t site;

	while (bottom > 0 && !(cs->frames.items[bottom - 1].flags & MT_FRAME_FIBER))
		bottom--;
	bottom = bottom ? bottom - 1 : count - 1;
	site = cs->frames.items[bottom].return_site;
	mt_cs_park(cs, bottom);
	mt_cs_pop_to(cs, bottom, 0);
	return site;
}

bool mt_cs_switch(struct mt_callstack *cs, uint64_t address)
{
	struct mt_parked *found = NULL;

	for (size_t i = 0; i < MT_CS_PARKED && !found; i++) {
		struct mt_parked *parked = &cs->parked[i];

		if (parked->frames.count && mt_is_next_of(address, parked->site) &&
		    parked->switcher == mt_cs_top(cs)->function)
			found = parked;
	}
	if (!found)
		return false;

	struct mt_parked parked = *found;

	*found = (struct mt_parked){0};
	uint64_t site = leave_fiber(cs);
	mt_array_each (frame, &parked.frames) {
		bool bottom = frame == parked.frames.items;
		uint64_t from = bottom ? site : frame->return_site;

		mt_cs_enter(cs, &(struct mt_entry){.function = frame->function,
						   .call_site = from,
						   .return_site = from,
						   .frame_flags = bottom ? MT_FRAME_FIBER : 0,
						   .slice_flags = MT_SLICE_INFERRED});
	}
	mt_array_deinit(&parked.frames);
	if (!cs->base.log.error)
		mt_cs_arrive(cs, address);
	return true;
}

void mt_cs_forget_parked(struct mt_callstack *cs)
{
	for (size_t i = 0; i < MT_CS_PARKED; i++)
		mt_array_deinit(&cs->parked[i].frames);
}
