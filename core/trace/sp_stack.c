/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries and rets: the short way for those on the stack where control was, next to the frame that
 * it was in; the long way for the rest. */
#include "trace/sp_internal.h"

#include <string.h>

enum {
	/* The red zone, and the least that the kernel puts on the stack for a handler: a signal
	 * frame with the FXSAVE area (arch/x86/include/uapi/asm/sigcontext.h). */
	HANDLER_DISTANCE = 128 + 8 + 432 + 512,
	ANY_SIGNAL = 1,
	JUMP_DISTANCE = 256, /* so far down a function pushes what a ret of its own is to jump to */
};

static bool init(struct mt_rebuild *rebuild)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;

	stack->sites = calloc(mt_rebuild_places(rebuild), sizeof(*stack->sites));
	stack->calls = calloc(mt_rebuild_places(rebuild), sizeof(*stack->calls));
	stack->seen = calloc(mt_rebuild_places(rebuild), sizeof(*stack->seen));
	return stack->sites && stack->calls && stack->seen;
}

static void deinit(struct mt_rebuild *rebuild)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;

	mt_sp_forget_regions(stack);
	mt_sp_forget_fibers(stack);
	mt_array_deinit(&stack->fibers);
	mt_array_deinit(&stack->ended);
	mt_array_deinit(&stack->layers);
	mt_array_deinit(&stack->regions);
	mt_array_deinit(&stack->owners);
	mt_array_deinit(&stack->root_places);
	mt_array_deinit(&stack->kept);
	free(stack->sites);
	free(stack->calls);
	free(stack->seen);
}

static void names_changed(struct mt_rebuild *rebuild)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;

	stack->owners.count = 0;
	if (!rebuild->is_filled)
		return;
	memset(stack->sites, 0, mt_rebuild_places(rebuild) * sizeof(*stack->sites));
	memset(stack->calls, 0, mt_rebuild_places(rebuild) * sizeof(*stack->calls));
}

/* What lies on FRAME's slice ends. */
static void end_inside(struct mt_sp_stack *stack, const struct mt_sp_frame *frame,
		       uint8_t end_flags)
{
	for (uint32_t i = frame->inlines; i > 0; i--)
		mt_segment_log_end(&stack->base.log, stack->base.now_ns, false,
				   frame->made && i == frame->inlines
				       ? end_flags | MT_SLICE_END_TIME_ESTIMATED
				       : end_flags);
	if (frame->python)
		mt_segment_log_end(&stack->base.log, stack->base.now_ns, false, end_flags);
}

/* The current stack's innermost frame ends. */
void mt_sp_pop(struct mt_sp_stack *stack, uint8_t end_flags)
{
	struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *frame = mt_sp_top(region);

	if (stack->base.estimated)
		end_flags |= MT_SLICE_END_TIME_ESTIMATED;
	if (--region->frames.count < region->hidden) {
		region->hidden = region->frames.count;
		return;
	}
	if (frame->inlines || frame->python)
		end_inside(stack, frame, end_flags);
	if (stack->result)
		mt_segment_log_text(&stack->base.log, stack->result);
	else if (stack->jump)
		mt_sp_await_result(stack, frame->function, stack->jump);
	mt_segment_log_end(&stack->base.log, stack->base.now_ns, false, end_flags);
}

/* One alone by a ret that does not report, more at once by an exception or the like. */
void mt_sp_unwind(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = stack->current;
	size_t count = region->frames.count, kept = count;

	while (kept > 0 && region->frames.items[kept - 1].sp < sp)
		kept--;
	for (size_t i = kept; i < count; i++)
		mt_sp_pop(stack,
			  count - kept > 1 ? MT_SLICE_END_UNWOUND : MT_SLICE_END_TIME_ESTIMATED);
}

/* Control is on the current stack, and enters a function at SP. */
static void enter(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = stack->current;
	struct mt_sp_frame *top = mt_sp_top(region);
	uint64_t sp = event->from;
	uint8_t flags = 0;

	if (top && top->sp < sp) {
		mt_sp_unwind(stack, sp);
		top = mt_sp_top(region);
	}
	if (stack->base.signal) {
		/* A thread's first stack has frames above a handler's that a signal needs room
		 * for. */
		if (mt_sp_is_first(stack, region) && !region->frames.count && sp >= region->base)
			region->handler = true;
		if (top && sp < top->sp && top->sp - sp >= HANDLER_DISTANCE) {
			flags = MT_SLICE_HANDLER;
			stack->base.signal = 0;
		} else {
			mt_sp_wait_for_handler(stack);
		}
	}
	if (!top || top->sp != sp) {
		if (!mt_sp_begin(stack, event, flags, !flags, NULL))
			mt_sp_start_fiber(stack, event);
		return;
	}
	const struct mt_function *jumped = top->function;
	if (top->at_entry && jumped == mt_rebuild_function_at(&stack->base, event->to)) {
		top->at_entry = false; /* an unwinder knew of this call before it reported */
		return;
	}
	if (mt_sp_is_called_from_below(stack, event, top)) {
		mt_sp_pop(stack, MT_SLICE_END_TIME_ESTIMATED);
		if (!mt_sp_begin(stack, event, flags, true, NULL))
			mt_sp_start_fiber(stack, event);
	} else {
		struct mt_sp_late late = top->late;
		stack->jump = &late;
		mt_sp_pop(stack, 0);
		stack->jump = NULL;
		mt_sp_begin(stack, event, flags | MT_SLICE_TAIL_CALL, false, jumped);
		if (!stack->base.log.error)
			mt_sp_top(region)->late = late;
	}
}

static void enter_far(struct mt_sp_stack *stack, const struct mt_event *event)
{
	uint64_t sp = event->from;
	struct mt_sp_region *current = stack->current;
	const struct mt_sp_frame *top = current ? mt_sp_top(current) : NULL;
	bool is_new = false;

	/* The signal's note may have stood some way off, as times are estimates. */
	if (!stack->base.signal && mt_sp_is_handler(stack, event)) {
		stack->base.signal = ANY_SIGNAL;
		stack->signal_by = MT_SP_SIGNAL_EVENTS;
	}
	if (top && top->sp > sp && stack->fibers.count)
		mt_sp_bury(stack, event, top);
	struct mt_sp_region *region = mt_sp_owner(stack, sp);
	/* Frames may be large. */
	if (top && sp > stack->floor && top->sp - sp <= MT_SP_REACH &&
	    mt_sp_is_called_by(stack, event, top)) {
		if (current->fiber)
			mt_sp_enter_fiber(stack, current, event, false);
		else
			enter(stack, event);
		return;
	}
	if (mt_sp_enter_across(stack, event))
		return;
	if (!region || !mt_sp_fits(region, sp)) {
		is_new = !current || sp <= current->base || sp - current->base > MT_SP_FAR;
		region = is_new ? mt_sp_region_create(stack, sp) : current;
		if (!region)
			return;
	}
	mt_sp_raise_base(stack, region, sp);
	if (stack->base.options.fibers.take) {
		if (is_new && top && mt_sp_role_of(top->function) == MT_SP_RESUMES_STACK)
			mt_sp_switch_to_fiber(stack, region, sp);
		mt_sp_join_fiber(stack, region, sp, is_new);
	}
	if (region->fiber) {
		mt_sp_enter_fiber(stack, region, event, false);
		return;
	}
	if (region->is_shown) {
		mt_sp_switch(stack, region, sp, false);
		enter(stack, event);
		return;
	}
	/* A first entry on a stack that was not shown. */
	bool handler = stack->base.signal && stack->layers.count;
	mt_sp_switch(stack, region, sp, true);
	stack->base.signal = 0;
	if (!stack->base.log.error)
		mt_sp_begin(stack, event, handler ? MT_SLICE_HANDLER : 0,
			    !handler && mt_event_return_address(event), NULL);
}

/* On the current stack, not far below its innermost frame, or where none is known. */
static inline bool is_near(const struct mt_sp_stack *stack, const struct mt_sp_frame *top,
			   uint64_t sp)
{
	const struct mt_sp_region *region = stack->current;

	return region && !region->fiber && sp > stack->floor &&
	       (top ? top->sp : region->base) - sp <= MT_SP_FAR;
}

static inline void entry(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *top = region ? mt_sp_top(region) : NULL;

	if (is_near(stack, top, event->from) && (top || !mt_sp_is_start(stack, event)))
		enter(stack, event);
	else if (!(top && top->sp == event->from) && mt_sp_is_start(stack, event))
		mt_sp_start_fiber(stack, event);
	else if (region && region->fiber && event->from > stack->floor &&
		 mt_sp_fits(region, event->from) && event->from <= region->base)
		mt_sp_enter_fiber(stack, region, event, false);
	else
		enter_far(stack, event);
}

/* The innermost frame returns.  What a handler on a stack of its own interrupted goes on then, and
 * a coroutine that comes to its end switches to another stack. */
static inline void end_top(struct mt_sp_stack *stack)
{
	const struct mt_sp_frame *top = mt_sp_top(stack->current);

	if (stack->values.count)
		stack->result = mt_sp_values_of(stack, top->sp, top->function, true);
	if (top->late.place)
		mt_sp_give_results(stack, top);
	mt_sp_pop(stack, 0);
	stack->result = NULL;
	if (!stack->current->frames.count)
		mt_sp_drop_layer(stack);
}

/* Control is on the current stack, and returns at SP, where no frame is. */
static void leave_unseen(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = stack->current;

	mt_sp_unwind(stack, event->from);
	if (event->from <= region->base)
		return;
	if (mt_sp_is_first(stack, region)) {
		mt_sp_add_root(stack, mt_rebuild_function_at(&stack->base, event->to),
			       (struct mt_sp_place){.sp = event->from});
		mt_segment_log_end(&stack->base.log, stack->base.now_ns, false,
				   stack->base.estimated ? MT_SLICE_END_TIME_ESTIMATED : 0);
	}
	mt_sp_raise_base(stack, region, event->from);
}

/* As longjmp() does, to a frame that is not known. */
static bool stays_on_own_stack(const struct mt_sp_stack *stack, uint64_t sp)
{
	return stack->own_stack && !mt_sp_is_elsewhere(stack, stack->current->base) &&
	       !mt_sp_is_elsewhere(stack, sp);
}

/* A function that switches stacks reports its entry on one and its ret on another.  Its frame
 * stays where it is: that is where the other stack will go on.  Had OWNER been left in the same
 * way, it would have a frame at SP, or right above it, where the function jumps to its own ret: so
 * it is left to an outer frame, or another stack begins. */
static void leave_by_switch(struct mt_sp_stack *stack, struct mt_sp_region *owner,
			    const struct mt_event *event, const struct mt_function *function)
{
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;
	const bool wants_fibers = stack->base.options.fibers.take && !mt_sp_is_of_go(function);
	const uint64_t sp = event->from;
	const bool is_elsewhere = !top || owner != stack->current || sp < top->sp;
	const bool is_switch = wants_fibers && is_elsewhere && mt_sp_is_switch(stack, function, sp);

	if (owner && !owner->is_shown && owner->base - sp <= MT_SP_START_SLACK) {
		owner->frames.count = 0;
	} else if (!top || sp + 1 < top->sp) {
		if (wants_fibers ? !is_switch : stays_on_own_stack(stack, sp))
			return;
		owner = mt_sp_region_create(stack, sp + MT_SP_START_SLACK);
	}
	if (!owner)
		return;
	if (is_switch)
		mt_sp_switch_to_fiber(stack, owner, sp);
	if (owner->fiber && owner->frames.count)
		mt_sp_leave_fiber(stack, owner, event);
	else if (owner->fiber)
		mt_sp_arrive_at_fiber(stack, owner, event);
	if (owner->fiber)
		return;
	mt_sp_switch(stack, owner, sp, false);
	mt_sp_unwind(stack, sp);
}

/* Is SP rather that of an outer frame of the current stack than one of OWNER's? */
static bool is_root(const struct mt_sp_stack *stack, const struct mt_sp_region *owner, uint64_t sp)
{
	const struct mt_sp_region *current = stack->current;
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;
	uint64_t end = top ? top->sp : owner ? owner->base : UINT64_MAX;

	if (current->is_part || sp <= current->base || sp - current->base > MT_SP_REACH ||
	    sp >= end)
		return false;
	return sp - current->base < end - sp;
}

/* Its first event in this segment. */
static void leave_first(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *region = mt_sp_region_create(stack, 0);

	if (!region)
		return;
	if (stack->base.options.fibers.take)
		mt_sp_begin_on_fiber(stack, region, event->from);
	if (region->fiber) {
		mt_sp_leave_fiber(stack, region, event);
		return;
	}
	mt_sp_switch(stack, region, event->from, false);
	leave_unseen(stack, event);
}

/* At SP is OWNER's frame FRAME. */
static void leave_known(struct mt_sp_stack *stack, struct mt_sp_region *owner, size_t frame,
			const struct mt_event *event)
{
	const struct mt_sp_frame *top = stack->current ? mt_sp_top(stack->current) : NULL;
	const uint64_t sp = event->from;

	/* Both wait in the function that switches. */
	if (stack->base.options.fibers.take && top && owner != stack->current &&
	    top->function == owner->frames.items[frame].function &&
	    !mt_sp_is_of_go(top->function) && mt_sp_is_switch(stack, top->function, sp))
		mt_sp_switch_to_fiber(stack, owner, sp);
	if (owner->fiber) {
		mt_sp_leave_fiber(stack, owner, event);
		return;
	}
	/* Where its stack was not shown, it was only waiting to end. */
	const bool shown = owner->is_shown;

	mt_sp_switch(stack, owner, sp, true);
	if (shown) {
		mt_sp_unwind(stack, sp);
		end_top(stack);
	}
}

/* A ret that is a jump, to what TOP has pushed in its own frame, as retpolines do.  Where the
 * thread's own stack is not known, it could as well go to another one if it went far. */
static bool is_jump(const struct mt_sp_stack *stack, const struct mt_sp_frame *top, uint64_t sp)
{
	return sp < top->sp && (top->sp - sp <= JUMP_DISTANCE || stays_on_own_stack(stack, sp));
}

static void leave_far(struct mt_sp_stack *stack, const struct mt_event *event)
{
	uint64_t sp = event->from;
	const struct mt_function *function = mt_rebuild_function_at(&stack->base, event->to);
	mt_sp_follow_stack(stack, function, sp);
	struct mt_sp_region *owner = mt_sp_owner(stack, sp), *current = stack->current;
	const struct mt_sp_frame *top = current ? mt_sp_top(current) : NULL;
	const ptrdiff_t frame = owner ? mt_sp_find(owner, sp) : -1;

	if (stack->base.signal && !(current && current->fiber))
		mt_sp_wait_for_handler(stack);
	if (frame >= 0)
		leave_known(stack, owner, (size_t)frame, event);
	else if (mt_sp_leave_part(stack, owner, event) ||
		 (top && top->function == function && is_jump(stack, top, sp)))
		return;
	else if (top && top->function == function)
		leave_by_switch(stack, owner, event, function);
	else if (!current)
		leave_first(stack, event);
	else if (owner == current || is_root(stack, owner, sp))
		current->fiber ? mt_sp_leave_fiber(stack, current, event)
			       : leave_unseen(stack, event);
	else if (owner && mt_sp_fits(owner, sp)) {
		if (owner->fiber) {
			mt_sp_leave_fiber(stack, owner, event);
			return;
		}
		mt_sp_switch(stack, owner, sp, false);
		mt_sp_unwind(stack, sp);
	}
}

static inline void leave(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_region *region = stack->current;
	const struct mt_sp_frame *top = region ? mt_sp_top(region) : NULL;

	if (top && top->sp == event->from && !stack->base.signal && !region->fiber)
		end_top(stack);
	else if (top && top->sp == event->from && region->fiber)
		mt_sp_leave_fiber(stack, stack->current, event);
	else
		leave_far(stack, event);
}

static void gap(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_rebuild *base = &stack->base;
	/* It began where the last thing was seen. */
	uint64_t begin_ns = base->segment_open ? base->before_ns : base->now_ns;

	mt_rebuild_gap(&stack->base, event->detail, event->from, begin_ns, stack->lost);
	stack->lost = true;
}

/* Something is known again.  After a gap a segment begins. */
static void resume(struct mt_sp_stack *stack)
{
	if (stack->lost)
		mt_rebuild_close_segment(&stack->base, 0);
	mt_rebuild_open_calls(&stack->base);
}

static void signal_comes(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_fiber *fiber = stack->current ? stack->current->fiber : NULL;

	if (fiber)
		mt_sp_give(stack, fiber, event);
	if (fiber || event->flags & MT_EVENT_IS_TOLD)
		stack->base.signal = event->detail;
	else
		mt_rebuild_signal(&stack->base, event);
	stack->signal_by = MT_SP_SIGNAL_EVENTS;
}

static void take_mark(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_sp_fiber *fiber = stack->current ? stack->current->fiber : NULL;

	if (fiber && event->detail == MT_MARK_TRIGGER) {
		mt_sp_give(stack, fiber, event);
		return;
	}
	mt_rebuild_mark(&stack->base, event);
	mt_sp_give_to_all(stack, event);
	if (event->detail == MT_MARK_EXEC) {
		mt_sp_forget_fibers(stack);
		stack->own_stack = 0;
		stack->has_begun = false;
	}
}

/* ENTRY, LEAVE or AGAIN. */
static inline void take_call(struct mt_sp_stack *stack, const struct mt_event *event)
{
	resume(stack);
	if (event->kind == MT_EVENT_ENTRY)
		entry(stack, event);
	else if (event->kind == MT_EVENT_LEAVE)
		leave(stack, event);
	else
		mt_sp_again(stack, event);
	stack->values.count = 0;
	stack->frames_up_to = 0;
	stack->has_begun = true;
}

/* The FRAME events that begin with EVENT.  Returns how many. */
static size_t take_frames(struct mt_sp_stack *stack, const struct mt_event *event)
{
	size_t count = 1;

	while (event + count < stack->ahead_end && event[count].kind == MT_EVENT_FRAME)
		count++;
	resume(stack);
	mt_sp_take_frames(stack, event, count);
	stack->frames_up_to = event[count - 1].from;
	stack->has_begun = true;
	return count;
}

/* An event of another kind. */
static void take_other(struct mt_sp_stack *stack, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_VALUE:
		mt_sp_take_value(stack, event);
		break;
	case MT_EVENT_SIGNAL:
		signal_comes(stack, event);
		break;
	case MT_EVENT_MARK:
		take_mark(stack, event);
		break;
	case MT_EVENT_GAP:
		gap(stack, event);
		mt_sp_give_to_all(stack, event);
		break;
	}
	stack->frames_up_to = 0;
	stack->has_begun |= event->kind == MT_EVENT_VALUE || event->kind == MT_EVENT_GAP;
}

static void push(struct mt_rebuild *rebuild, const struct mt_event *events, size_t count)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;
	const struct mt_event *const end = events + count;
	size_t taken;

	stack->ahead_end = end;
	for (const struct mt_event *event = mt_sp_take_plain(stack, events, end);
	     event < end && !rebuild->log.error;
	     event = mt_sp_take_plain(stack, event + taken, end)) {
		taken = 1;
		if (event->kind == MT_EVENT_MARK && event->detail == MT_MARK_OWN_STACK) {
			stack->own_stack = event->to;
			stack->own_bytes = event->from;
			mt_sp_give_to_all(stack, event);
			continue;
		}
		mt_rebuild_advance(rebuild, event);
		stack->ahead = event;
		if (event->kind == MT_EVENT_FRAME)
			taken = take_frames(stack, event);
		else if (event->kind >= MT_EVENT_ENTRY && event->kind <= MT_EVENT_AGAIN)
			take_call(stack, event);
		else
			take_other(stack, event);
	}
}

/* The frames open before a gap ended somewhere in it, and the gap lies outside of it. */
static void settle(struct mt_rebuild *rebuild)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;
	struct mt_log_slice slice = mt_rebuild_gap_slice(rebuild);

	if (!stack->lost)
		return;
	for (size_t i = 0; i < stack->layers.count; i++)
		for (size_t n = mt_sp_shown_slices(stack->layers.items[i]); n > 0; n--)
			mt_segment_log_end(&rebuild->log, rebuild->gap_begin_ns, false,
					   MT_SLICE_END_LOST);
	mt_segment_log_begin_settled(&rebuild->log, rebuild->gap_begin_ns, false, &slice);
	mt_segment_log_end(&rebuild->log, rebuild->now_ns, false, 0);
}

static void forget(struct mt_rebuild *rebuild)
{
	struct mt_sp_stack *stack = (struct mt_sp_stack *)rebuild;

	mt_sp_forget_regions(stack);
	stack->root_places.count = 0;
	stack->lost = false;
}

static bool names_may_change(const struct mt_event *event)
{
	(void)event;
	return true;
}

static bool runs_on(const struct mt_rebuild *rebuild, const struct mt_event *mark)
{
	(void)mark;
	return !((const struct mt_sp_stack *)rebuild)->lost;
}

static bool takes_note(const struct mt_event *event, const struct mt_event *note)
{
	(void)event;
	(void)note;
	return true;
}

const struct mt_rebuild_ops mt_rebuild_from_calls = {
    .names_may_change = names_may_change,
    .takes_note = takes_note,
    .runs_on = runs_on,
    .size = sizeof(struct mt_sp_stack),
    .init = init,
    .deinit = deinit,
    .names_changed = names_changed,
    .push = push,
    .settle = settle,
    .open_calls = mt_sp_open_calls,
    .forget = forget,
};
