/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short way of entries and rets, which nearly all of them go: a call that was seen before, from
 * where the innermost frame stands, and the ret of that frame.  It does what the long way of
 * sp_stack.c would do, and leaves alone whatever that would have to ask about. */
#include "trace/segment_log_format.h"
#include "trace/sp_internal.h"

/* Nothing but the frames of the current stack bears on the next call.  Calls that go the short way
 * do not change that. */
static bool is_plain(const struct mt_sp_stack *stack)
{
	const struct mt_sp_region *region = stack->current;

	return region && !region->fiber && !region->hidden && !stack->base.signal && !stack->lost &&
	       !stack->values.count && !stack->frames_up_to;
}

/* An entry at SP is that of a call that TOP made, or, where no frame is known, one outside of them:
 * with the inlined calls around it that lie on TOP already. */
static inline bool waits_at(const struct mt_sp_stack *stack, const struct mt_sp_frame *top,
			    const struct mt_sp_seen *seen, uint64_t sp)
{
	if (sp <= stack->floor)
		return false;
	if (!top)
		return stack->current->base - sp <= MT_SP_FAR;
	return top->sp - sp - 1 < MT_SP_FAR && !top->made && top->inlines == seen->inlines &&
	       (!top->inlines || top->chain == seen->chain);
}

static inline bool enter(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_region *region = stack->current;
	const uint64_t return_address = mt_event_return_address(event);
	const struct mt_sp_seen *seen = mt_sp_seen_place(stack, return_address, event->to);

	if (!mt_sp_is_seen(stack, seen, return_address, event->to) ||
	    !waits_at(stack, mt_sp_top(region), seen, event->from) ||
	    region->frames.count == region->frames.capacity)
		return false;
	mt_rebuild_advance(&stack->base, event);
	mt_sp_push(stack, seen->function, event->from, return_address);
	mt_log_put_begin(&stack->base.log, stack->base.now_ns, stack->base.estimated, seen->number);
	return true;
}

/* A result would have come in front of it.  The last frame of a stack that was called into ends it.
 */
static inline bool leave(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *top = mt_sp_top(region);

	if (!top || top->sp != event->from ||
	    (region->frames.count == 1 && stack->layers.count > 1))
		return false;
	mt_rebuild_advance(&stack->base, event);
	if (top->inlines || top->python) {
		mt_sp_pop(stack, 0);
		return true;
	}
	region->frames.count--;
	mt_log_put_end(&stack->base.log, stack->base.now_ns, stack->base.estimated, 0);
	return true;
}

const struct mt_event *mt_sp_take_plain(struct mt_sp_stack *stack, const struct mt_event *event,
					const struct mt_event *end)
{
	if (!is_plain(stack))
		return event;
	for (; event < end; event++)
		if (!(event->kind == MT_EVENT_ENTRY   ? enter(stack, event)
		      : event->kind == MT_EVENT_LEAVE ? leave(stack, event)
						      : false))
			break;
	return event;
}
