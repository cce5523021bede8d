/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branches that are not as simple as they look.  The event stream is taken at its word for where
 * control is; what the stack must have been follows from that: frames are closed (longjmp,
 * exceptions, returns that were missed), put in (calls that were missed), or found to have been
 * open since before the segment. */
#include "trace/callstack_internal.h"

enum { PADDING_MAX = 64 }; /* bytes between two functions that are neighbours */

static bool is_kernel_frame(const struct mt_frame *frame)
{
	return mt_address_is_kernel(frame->function->start);
}

static void enter_unseen(struct mt_callstack *cs, const struct mt_function *function,
			 uint8_t frame_flags)
{
	mt_cs_enter(cs, &(struct mt_entry){.function = function,
					   .frame_flags = frame_flags,
					   .slice_flags = MT_SLICE_INFERRED});
}

bool mt_cs_land(struct mt_callstack *cs, uint64_t address, uint8_t end_flags)
{
	size_t found = mt_cs_find(cs, mt_rebuild_function_at(&cs->base, address), cs->frames.count);

	if (!found)
		return false;
	mt_cs_pop_to(cs, found, end_flags);
	mt_cs_arrive(cs, address);
	return true;
}

void mt_cs_sync(struct mt_callstack *cs, uint64_t address)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, address), *before;
	size_t count = cs->frames.count;

	/* Into the kernel by a way that was not seen, or out of it. */
	if (count && mt_address_is_kernel(address) && !is_kernel_frame(mt_cs_top(cs))) {
		enter_unseen(cs, function, MT_FRAME_ENTRY);
		mt_cs_arrive(cs, address);
		return;
	}
	if (count && !mt_address_is_kernel(address) && is_kernel_frame(mt_cs_top(cs))) {
		while (count > 0 && is_kernel_frame(&cs->frames.items[count - 1]))
			count--;
		mt_cs_pop_to(cs, count, 0);
	}
	if (cs->frames.count == 0) {
		mt_cs_add_root(cs, address);
		mt_cs_arrive(cs, address);
		return;
	}
	if (mt_cs_frame_is(cs, mt_cs_top(cs), function)) {
		mt_cs_walk(cs, address);
		return;
	}
	before = mt_rebuild_function_at(&cs->base, cs->ip);
	if (cs->ip < function->start && function->start <= address &&
	    function->start - before->end < PADDING_MAX)
		mt_cs_replace(cs, function, 0, function->start); /* control fell through */
	else if (mt_cs_land(cs, address, 0))
		return;
	else
		enter_unseen(cs, function, 0);
	mt_cs_arrive(cs, address);
}

/* A longjmp or an exception goes to the middle of a function that is open; so does nothing else
 * that jumps.  Unknown code may hold any number of functions: it says nothing. */
void mt_cs_jump(struct mt_callstack *cs, uint64_t from, uint64_t to)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, to);

	if (!mt_cs_frame_is(cs, mt_cs_top(cs), function)) {
		bool may_unwind = to != function->start && function->kind != MT_FUNCTION_UNKNOWN &&
				  function->kind != MT_FUNCTION_PLT;
		size_t found =
		    may_unwind ? mt_cs_find(cs, function, mt_cs_frames_to_unwind_to(cs)) : 0;

		if (found)
			mt_cs_pop_to(cs, found, MT_SLICE_END_UNWOUND);
		else
			mt_cs_replace(cs, function, from, to);
	}
	mt_cs_arrive(cs, to);
}

static size_t find_flagged(struct mt_callstack *cs, uint8_t flag)
{
	size_t i = cs->frames.count;

	while (i > 0 && !(cs->frames.items[i - 1].flags & flag))
		i--;
	return i;
}

/* The handler is over; what is left of the signal is the restorer's sigreturn. */
static void return_to_restorer(struct mt_callstack *cs, const struct mt_function *function,
			       uint64_t address)
{
	size_t handler = find_flagged(cs, MT_FRAME_HANDLER);

	if (handler == 0 && cs->base.roots.count)
		mt_array_last(&cs->base.roots)->flags |= MT_SLICE_HANDLER;
	mt_cs_pop_to(cs, handler ? handler - 1 : 0, 0);
	mt_cs_enter(cs, &(struct mt_entry){.function = function,
					   .address = address,
					   .frame_flags = MT_FRAME_RESTORER});
	mt_cs_arrive(cs, address);
}

static void return_to_unseen(struct mt_callstack *cs, const struct mt_function *function,
			     uint64_t address)
{
	if (mt_address_is_kernel(address) && cs->frames.count &&
	    !is_kernel_frame(&cs->frames.items[0])) {
		/* The kernel's stack lies on the user's: its caller cannot be outside of
		 * everything. */
		size_t entry = find_flagged(cs, MT_FRAME_ENTRY);

		if (entry)
			mt_cs_pop_to(cs, entry, 0);
		enter_unseen(cs, function, entry ? 0 : MT_FRAME_ENTRY);
	} else {
		mt_cs_park(cs, 0);
		mt_cs_pop_to(cs, 0, 0);
		mt_cs_note_call_of_root(cs, address);
		mt_cs_add_root(cs, address - 1);
	}
	mt_cs_arrive(cs, address);
}

void mt_cs_return(struct mt_callstack *cs, const struct mt_event *event)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, event->to);
	bool from_handler = mt_cs_top(cs)->flags & MT_FRAME_HANDLER;
	size_t found = 0;

	if (!(function->flags & MT_FUNCTION_SIGNAL_RETURN))
		found = mt_cs_find_return(cs, function, event->to);
	if (found) {
		mt_cs_park(cs, found);
		mt_cs_pop_to(cs, found, 0);
		mt_cs_arrive(cs, event->to);
	} else if (from_handler || function->flags & MT_FUNCTION_SIGNAL_RETURN) {
		return_to_restorer(cs, function, event->to);
	} else if (event->to == function->start) {
		/* A return address that no call left: a retpoline, a fiber's first entry. */
		mt_cs_jump(cs, event->from, event->to);
		mt_cs_top(cs)->flags |= MT_FRAME_FIBER;
	} else if (!mt_cs_switch(cs, event->to)) {
		return_to_unseen(cs, function, event->to);
	}
}
