/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are open at a snapshot, and whose arguments somebody read then.  Branches tell of no
 * stack pointers: the frames and those that were unwound go together one by one, from the innermost
 * on, for as long as each is in the same function and was left by the same call. */
#include "trace/callstack_internal.h"

static bool is_same(struct mt_callstack *cs, size_t index, const struct mt_recorded_open_call *call)
{
	const struct mt_frame *frame = &cs->frames.items[index], *callee = frame + 1;
	const bool is_top = index + 1 == cs->frames.count;

	if (!mt_cs_frame_is(cs, frame, mt_rebuild_function_at(&cs->base, call->function)))
		return false;
	/* Unwinding looks right before the address that the callee returns to. */
	return is_top || callee->flags & MT_FRAME_ENTRY || !callee->return_site ||
	       mt_is_next_of(call->function + 1, callee->return_site);
}

struct mt_error *mt_cs_open_calls(struct mt_rebuild *rebuild, uint32_t snapshot,
				  struct mt_open_calls *out)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;
	const struct mt_recorded_open_call *calls[MT_RECORDED_OPEN_CALLS];
	const size_t count = mt_recorded_values_open_calls(
	    rebuild->options.values, rebuild->options.thread.tid, snapshot, calls);
	uint32_t depth = 0;
	size_t taken = 0;

	if (!count)
		return NULL;
	mt_array_each (frame, &cs->frames)
		depth += mt_frame_slices(frame);
	for (size_t i = cs->frames.count; i-- > 0 && taken < count;) {
		const struct mt_frame *frame = &cs->frames.items[i];

		depth -= mt_frame_slices(frame);
		if (frame->flags & (MT_FRAME_HIDDEN | MT_FRAME_RESTORER))
			continue; /* the stack has none, or it is a signal's */
		if (!is_same(cs, i, calls[taken]))
			break;
		const struct mt_open_call open = {.depth = depth,
						  .function = frame->function,
						  .arguments = calls[taken]->arguments,
						  .python = calls[taken]->python,
						  .python_count = calls[taken]->python_count};
		taken++;
		if ((open.arguments || open.python_count) && mt_array_push(&out->items, open))
			return mt_error_no_memory();
	}
	/* By depth, rising. */
	for (size_t i = 0, last = out->items.count; i + 1 < last; i++) {
		const struct mt_open_call outer = out->items.items[--last];

		out->items.items[last] = out->items.items[i];
		out->items.items[i] = outer;
	}
	return NULL;
}
