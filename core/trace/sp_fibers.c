/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stacks of coroutines, whatever switches between them: swapcontext(), boost.context, a program's
 * own few instructions.  Events on such a stack go to who takes them (struct mt_fiber_taker), whose
 * rebuild makes slices of them.  Here a stack has frames, without slices, as far as they tell where
 * control goes.
 *
 * Evidence of a switch is
 * - an entry of a function that returns to no call: what begins a stack pushes no return address,
 * or that of code which is to be jumped to;
 * - a ret of the function that was entered last, on another stack.  longjmp() does the same on one
 *   stack, upwards; so where nothing is known of what lies above, only a function that has switched
 *   before does so again.
 * A far call alone is none: a frame may be large. */
#include "trace/sp_internal.h"

#include "base/search.h"

#include <string.h>

#define MOST_OF_STACK (1ull << 30)

/* ---- The stacks that are known ---- */

static size_t lower_bound(const struct mt_sp_stack *stack, uint64_t sp)
{
	return mt_partition_point(i, 0, stack->fibers.count, stack->fibers.items[i]->base < sp);
}

struct mt_sp_fiber *mt_sp_known_fiber(const struct mt_sp_stack *stack, uint64_t sp)
{
	const size_t index = lower_bound(stack, sp);
	struct mt_sp_fiber *fiber;

	if (index < stack->fibers.count) {
		fiber = stack->fibers.items[index];
		if (sp >= fiber->lowest || fiber->base - sp <= MT_SP_START_SLACK)
			return fiber;
	}
	fiber = index ? stack->fibers.items[index - 1] : NULL;
	return fiber && sp - fiber->base <= MT_SP_START_SLACK ? fiber : NULL;
}

/* There is room. */
static void put_in(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber)
{
	const size_t index = lower_bound(stack, fiber->base);
	struct mt_sp_fiber **items = stack->fibers.items;

	memmove(&items[index + 1], &items[index], (stack->fibers.count - index) * sizeof(*items));
	items[index] = fiber;
	stack->fibers.count++;
	fiber->is_known = true;
}

static void take_out(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber)
{
	struct mt_sp_fiber **items = stack->fibers.items;
	size_t index = lower_bound(stack, fiber->base);

	while (items[index] != fiber)
		index++;
	stack->fibers.count--;
	memmove(&items[index], &items[index + 1], (stack->fibers.count - index) * sizeof(*items));
	fiber->is_known = false;
}

/* One that has ended, of coroutines that began with START; NULL: none. */
static struct mt_sp_fiber *ended_fiber(struct mt_sp_stack *stack, const struct mt_function *start)
{
	for (size_t i = stack->ended.count; start && i-- > 0;) {
		struct mt_sp_fiber *fiber = stack->ended.items[i];

		if (fiber->start != start)
			continue;
		stack->ended.items[i] = stack->ended.items[--stack->ended.count];
		return fiber;
	}
	return NULL;
}

/* START: the function that begins there; NULL: none.  NULL: no memory. */
static struct mt_sp_fiber *fiber_at(struct mt_sp_stack *stack, uint64_t sp,
				    const struct mt_function *start)
{
	struct mt_sp_fiber *fiber = mt_sp_known_fiber(stack, sp);

	if (fiber)
		return fiber;
	fiber = ended_fiber(stack, start);
	if (!fiber && (fiber = calloc(1, sizeof(*fiber))))
		fiber->number = ++stack->fiber_count;
	if (!fiber || mt_array_reserve(&stack->fibers, stack->fibers.count + 1)) {
		free(fiber);
		mt_rebuild_out_of_memory(&stack->base);
		return NULL;
	}
	fiber->base = fiber->lowest = sp;
	fiber->start = start;
	put_in(stack, fiber);
	return fiber;
}

void mt_sp_move_fiber(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber, uint64_t distance)
{
	if (!fiber->is_known)
		return;
	take_out(stack, fiber);
	fiber->base += distance;
	fiber->lowest = fiber->base;
	put_in(stack, fiber);
}

void mt_sp_end_fiber(struct mt_sp_stack *stack, struct mt_sp_fiber *fiber)
{
	if (!fiber->is_known)
		return;
	if (mt_array_push(&stack->ended, fiber)) {
		mt_rebuild_out_of_memory(&stack->base);
		return;
	}
	take_out(stack, fiber);
}

void mt_sp_forget_fibers(struct mt_sp_stack *stack)
{
	mt_array_each (fiber, &stack->fibers)
		free(*fiber);
	mt_array_each (fiber, &stack->ended)
		free(*fiber);
	stack->fibers.count = stack->ended.count = 0;
}

/* ---- What lies on them ---- */

static void give(struct mt_sp_stack *stack, uint32_t number, const struct mt_event *event,
		 bool is_start)
{
	const struct mt_fiber_taker *taker = &stack->base.options.fibers;

	if (!stack->base.log.error)
		mt_segment_log_fail(&stack->base.log,
				    taker->take(taker->self, number, event, is_start));
}

void mt_sp_give_to_all(struct mt_sp_stack *stack, const struct mt_event *event)
{
	if (stack->base.options.fibers.take)
		give(stack, 0, event, false);
}

static void give_values(struct mt_sp_stack *stack, const struct mt_sp_fiber *fiber,
			const struct mt_event *event)
{
	const struct mt_sp_values *values = &stack->values;

	for (size_t i = 0; values->sp == event->from && i < values->count; i++)
		give(stack, fiber->number,
		     &(struct mt_event){.time_ns = event->time_ns,
					.kind = MT_EVENT_VALUE,
					.flags = event->flags,
					.from = values->sp,
					.to = values->bits[i],
					.detail = values->numbers[i]},
		     false);
}

void mt_sp_give(struct mt_sp_stack *stack, const struct mt_sp_fiber *fiber,
		const struct mt_event *event)
{
	give_values(stack, fiber, event);
	give(stack, fiber->number, event, false);
}

static void give_arrival(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	if (region->arrival.kind)
		give(stack, region->fiber->number, &region->arrival, false);
	region->arrival.kind = 0;
}

/* What lies below SP, or AT it, is over. */
static void go_on(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp, bool at)
{
	struct mt_sp_fiber *fiber = region->fiber;

	mt_sp_go_to(stack, region);
	if (stack->base.signal)
		mt_sp_wait_for_handler(stack);
	while (region->frames.count &&
	       (mt_sp_top(region)->sp < sp || (at && mt_sp_top(region)->sp == sp)))
		region->frames.count--;
	if (!region->handler && !region->is_part && sp < fiber->lowest)
		fiber->lowest = sp;
}

void mt_sp_enter_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
		       const struct mt_event *event, bool is_start)
{
	const struct mt_sp_frame frame = {
	    .function = mt_rebuild_function_at(&stack->base, event->to), .sp = event->from};

	go_on(stack, region, event->from, true);
	if (mt_array_push(&region->frames, frame))
		mt_rebuild_out_of_memory(&stack->base);
	if (!is_start)
		give_arrival(stack, region);
	region->arrival.kind = 0;
	give_values(stack, region->fiber, event);
	give(stack, region->fiber->number, event, is_start);
}

void mt_sp_arrive_at_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
			   const struct mt_event *event)
{
	go_on(stack, region, event->from, true);
	region->arrival = *event;
}

void mt_sp_leave_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
		       const struct mt_event *event)
{
	go_on(stack, region, event->from, event->kind == MT_EVENT_LEAVE);
	mt_sp_raise_base(stack, region, event->from);
	give_arrival(stack, region);
	mt_sp_give(stack, region->fiber, event);
	if (region->caller && !region->frames.count)
		mt_sp_go_to(stack, region->caller);
}

void mt_sp_frames_of_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region,
			   const struct mt_event *events, size_t count)
{
	mt_sp_go_to(stack, region);
	give_arrival(stack, region);
	for (size_t i = 0; i < count; i++)
		give(stack, region->fiber->number, &events[i], false);
}

/* ---- Switches ---- */

/* The thread's slices on it, if it has any, end. */
static void make_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp,
		       const struct mt_function *start)
{
	region->is_part = false;
	mt_sp_hide(stack, region);
	region->frames.count = 0;
	region->handler = false;
	mt_sp_set_caller(region, NULL);
	region->fiber = fiber_at(stack, sp, start);
	if (region->fiber)
		mt_sp_raise_base(stack, region, region->fiber->base);
}

/* The one that SP is the beginning of. */
static struct mt_sp_region *region_from(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = mt_sp_owner(stack, sp);

	if (region && region->base - sp <= MT_SP_START_SLACK)
		return region;
	region = mt_sp_below(stack, sp);
	if (!region || sp - region->base > MT_SP_START_SLACK)
		return mt_sp_region_create(stack, sp);
	mt_sp_raise_base(stack, region, sp);
	return region;
}

void mt_sp_start_fiber(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const uint64_t return_address = mt_event_return_address(event);
	struct mt_sp_region *region = region_from(stack, event->from);

	if (region && !region->fiber)
		make_fiber(stack, region, event->from,
			   mt_rebuild_function_at(&stack->base, event->to));
	if (!region || !region->fiber)
		return;
	region->fiber->is_freed =
	    return_address && mt_sp_call_before(stack, return_address)->role == MT_SP_BEGINS_STACK;
	mt_sp_enter_fiber(stack, region, event, true);
}

static bool has_switched(struct mt_sp_stack *stack, const struct mt_function *function)
{
	static const char *const known[] = {"swapcontext", "setcontext", "jump_fcontext",
					    "ontop_fcontext"};
	bool is_known = function == stack->switcher;

	for (size_t i = 0; !is_known && i < sizeof(known) / sizeof(known[0]); i++)
		is_known = strcmp(function->name, known[i]) == 0;
	if (is_known)
		stack->switcher = function;
	return is_known;
}

bool mt_sp_is_elsewhere(const struct mt_sp_stack *stack, uint64_t sp)
{
	const uint64_t own = stack->own_stack;
	uint64_t bytes = stack->own_bytes ? stack->own_bytes : MT_SP_REACH;

	/* Rings have the lower halves of stack pointers, which tell no more. */
	if (bytes > MOST_OF_STACK)
		bytes = MOST_OF_STACK;
	return own && (sp > own || own - sp > bytes);
}

bool mt_sp_is_switch(struct mt_sp_stack *stack, const struct mt_function *function, uint64_t sp)
{
	const struct mt_sp_region *current = stack->current;

	if (current->handler)
		return false;
	if (sp > current->base && sp - current->base <= MT_SP_REACH &&
	    !mt_sp_is_elsewhere(stack, sp))
		return has_switched(stack, function);
	stack->switcher = function;
	return true;
}

void mt_sp_switch_to_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp)
{
	const bool is_other = stack->layers.count && stack->layers.items[0] != region;

	if (!region->fiber && (stack->own_stack ? mt_sp_is_elsewhere(stack, sp) : is_other))
		make_fiber(stack, region, sp, NULL);
}

/* Will control go from the stack at SP by a function that begins there and ends elsewhere, as far
 * as events are at hand?  From a signal's handler it does not, though what that called last may be
 * what it interrupted. */
static bool is_switched_from(struct mt_sp_stack *stack, uint64_t sp)
{
	const struct mt_function *last = NULL;

	for (const struct mt_event *event = stack->ahead; event < stack->ahead_end; event++) {
		if (event->kind == MT_EVENT_GAP || event->kind == MT_EVENT_FRAME)
			return false;
		if (event->kind != MT_EVENT_ENTRY && event->kind != MT_EVENT_LEAVE)
			continue;

		const struct mt_function *function =
		    mt_rebuild_function_at(&stack->base, event->to);
		if (event->from - (sp - MT_SP_REACH) > 2 * (uint64_t)MT_SP_REACH)
			return event->kind == MT_EVENT_LEAVE && function == last;
		last = event->kind == MT_EVENT_ENTRY ? function : NULL;
	}
	return false;
}

void mt_sp_begin_on_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp)
{
	if (mt_sp_known_fiber(stack, sp) ||
	    (mt_sp_is_elsewhere(stack, sp) && is_switched_from(stack, sp)))
		make_fiber(stack, region, sp, NULL);
}

void mt_sp_join_fiber(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp,
		      bool is_new)
{
	const bool handles = stack->base.signal && (is_new || region->handler);
	const struct mt_sp_region *current = stack->current;
	struct mt_sp_fiber *known = is_new && !handles ? mt_sp_known_fiber(stack, sp) : NULL;

	if (known) {
		region->fiber = known;
		mt_sp_raise_base(stack, region, known->base);
	} else if (!current) {
		mt_sp_begin_on_fiber(stack, region, sp);
	} else if (region != current && (handles || (is_new && stack->layers.count))) {
		region->fiber = current->fiber;
		region->handler |= handles && region->fiber;
	}
}
