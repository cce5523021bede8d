/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls from one stack to another: OCaml's code has stacks of its own since OCaml 5, calls C on the
 * thread's, and is called back from there.  What is called lies on its caller, and where its stack
 * is in use further up it is a part, which is forgotten when it is over.
 *
 * OCaml's stacks begin with a call by caml_runstack(), and are given back by another one, in
 * whatever way their first function ended; they move when they are too small
 * (runtime/amd64.S, runtime/fiber.c). */
#include "trace/sp_internal.h"

#include <string.h>

enum { UNSEEN_RETURNS = 8 };

enum mt_sp_role mt_sp_role_of(const struct mt_function *function)
{
	static const struct {
		const char *name;
		enum mt_sp_role role;
	} known[] = {
	    {"caml_c_call", MT_SP_CALLS_ACROSS},
	    {"caml_c_call_stack_args", MT_SP_CALLS_ACROSS},
	    {"caml_call_gc", MT_SP_CALLS_ACROSS},
	    {"caml_start_program", MT_SP_CALLS_BACK},
	    {"caml_runstack", MT_SP_BEGINS_STACK},
	    {"caml_resume", MT_SP_RESUMES_STACK},
	    {"caml_call_realloc_stack", MT_SP_MOVES_STACK},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(function->name, known[i].name) == 0)
			return known[i].role;
	return MT_SP_NO_ROLE;
}

/* What lies below SP on the current stack is over. */
static void close_inside(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = stack->current;

	if (!region->fiber)
		mt_sp_unwind(stack, sp);
	while (region->frames.count && mt_sp_top(region)->sp < sp)
		region->frames.count--;
}

/* caml_runstack() gives the current stack back. */
static void end_stack(struct mt_sp_stack *stack)
{
	struct mt_sp_region *region = stack->current;

	close_inside(stack, UINT64_MAX);
	if (!region->fiber)
		return;
	if (!region->is_part)
		mt_sp_end_fiber(stack, region->fiber);
	region->is_part = true;
}

/* What was seen first lay further down, and is over. */
static void forget_empty(struct mt_sp_stack *stack, const struct mt_sp_region *part)
{
	struct mt_sp_region *region;

	while ((region = mt_sp_below(stack, part->base)) &&
	       part->base - region->base <= MT_SP_FAR && region != stack->current &&
	       !region->frames.count && !region->fiber)
		mt_sp_region_destroy(stack, region);
}

/* Where what is called at SP lies, a part of whatever stack is there.  NULL: no memory, or what is
 * open there says that control was switched. */
static struct mt_sp_region *part_at(struct mt_sp_stack *stack, uint64_t sp)
{
	const struct mt_sp_region *owner = mt_sp_owner(stack, sp);
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;
	struct mt_sp_region *part;

	if ((top && top->sp <= sp) || (owner && !top && owner->fiber))
		return NULL;
	part = mt_sp_region_create(stack, sp);
	if (!part)
		return NULL;
	part->is_part = true;
	forget_empty(stack, part);
	return part;
}

/* The innermost frame of FUNCTION, if it is among the last few of the current stack: those on it
 * have returned, which not every function reports.  NULL: it is not. */
static const struct mt_sp_frame *frame_of(const struct mt_sp_region *region,
					  const struct mt_function *function)
{
	for (size_t i = region->frames.count; i > 0 && i + UNSEEN_RETURNS >= region->frames.count;
	     i--)
		if (region->frames.items[i - 1].function == function)
			return &region->frames.items[i - 1];
	return NULL;
}

/* Does SP lie on a stack on which FUNCTION waits for what is called? */
static bool waits_at(const struct mt_sp_stack *stack, const struct mt_function *function,
		     uint64_t sp)
{
	const struct mt_sp_region *owner = mt_sp_owner(stack, sp);
	const struct mt_sp_frame *top = owner ? mt_sp_top(owner) : NULL;

	return top && top->sp > sp && top->function == function;
}

/* Did the current stack's own code, in the function that CALL is in, call what lies at SP? */
static bool is_called(const struct mt_sp_stack *stack, const struct mt_sp_cached_call *call,
		      uint64_t sp)
{
	const struct mt_sp_frame *frame = frame_of(stack->current, call->caller);

	if (call->role == MT_SP_CALLS_ACROSS || call->role == MT_SP_CALLS_BACK)
		return true;
	return frame && !mt_sp_is_of_go(call->caller) &&
	       (frame == mt_sp_top(stack->current) || !waits_at(stack, call->caller, sp));
}

/* The stack that control is on, or was called from, lies DISTANCE higher: all its parts, between
 * which are others of the thread's own. */
static void move(struct mt_sp_stack *stack, uint64_t distance)
{
	struct mt_sp_region *current = stack->current;

	if (current->fiber)
		mt_sp_move_fiber(stack, current->fiber, distance);
	for (struct mt_sp_region *part = current; part; part = part->caller)
		if (mt_sp_is_elsewhere(stack, part->base))
			mt_sp_move_region(stack, part, distance);
}

/* caml_start_program() calls back at SP: so far below what waits on the stack for the C that it is
 * called from, unless that was too small and has moved. */
#define CALLED_BACK (4 * 8 + 8) /* a handler of exceptions, two words, and the return address */
#define ALIGNMENT   16          /* of stacks */

static void follow_to(struct mt_sp_stack *stack, uint64_t sp)
{
	const struct mt_sp_region *waiting = stack->current;
	const struct mt_sp_frame *top;

	while (waiting && !mt_sp_is_elsewhere(stack, waiting->base))
		waiting = waiting->caller;
	top = waiting ? mt_sp_top(waiting) : NULL;
	if (top && top->sp - sp > MT_SP_FAR)
		move(stack, (sp + CALLED_BACK - top->sp) & ~(uint64_t)(ALIGNMENT - 1));
}

bool mt_sp_enter_across(struct mt_sp_stack *stack, const struct mt_event *event)
{
	struct mt_sp_region *current = stack->current, *region;
	const uint64_t sp = event->from, return_address = mt_event_return_address(event);
	const struct mt_sp_frame *caller;

	if (!current || !return_address || !stack->own_stack ||
	    mt_sp_is_elsewhere(stack, sp) == mt_sp_is_elsewhere(stack, current->base))
		return false;
	const struct mt_sp_cached_call *call = mt_sp_call_before(stack, return_address);
	if (call->role == MT_SP_BEGINS_STACK && !frame_of(current, call->caller))
		end_stack(stack);
	else if (!is_called(stack, call, sp))
		return false;
	else if ((caller = frame_of(current, call->caller)))
		close_inside(stack, caller->sp);
	if (call->role == MT_SP_CALLS_BACK)
		follow_to(stack, sp);
	region = part_at(stack, sp);
	if (!region)
		return stack->base.log.error;
	mt_sp_set_caller(region, current);
	if (current->fiber) {
		region->fiber = current->fiber;
		mt_sp_enter_fiber(stack, region, event, false);
		return true;
	}
	mt_sp_wait_at(stack, return_address);
	mt_sp_lay_on(stack, region);
	if (!stack->base.log.error)
		mt_sp_begin(stack, event, 0, true, NULL);
	return true;
}

void mt_sp_bury(struct mt_sp_stack *stack, const struct mt_event *event,
		const struct mt_sp_frame *top)
{
	const uint64_t sp = event->from;

	if (top->sp - sp > MT_SP_FAR || !mt_sp_is_called_by(stack, event, top))
		return;
	for (size_t i = 0; i < stack->regions.count;) {
		struct mt_sp_region *region = stack->regions.items[i];

		if (region->base < sp || region->base >= top->sp || !region->fiber ||
		    !region->fiber->is_freed || mt_sp_is_awaited(stack, region)) {
			i++;
			continue;
		}
		if (!region->is_part)
			mt_sp_end_fiber(stack, region->fiber);
		mt_sp_region_destroy(stack, region);
	}
}

static bool is_above(const struct mt_sp_region *current, uint64_t sp)
{
	return (current->is_part || current->fiber) && sp > current->base &&
	       sp - current->base <= MT_SP_START_SLACK;
}

/* Is CURRENT a part that was called into from REGION, or from what was? */
static bool is_called_from(const struct mt_sp_region *current, const struct mt_sp_region *region)
{
	const struct mt_sp_region *caller = current->is_part ? current->caller : NULL;

	while (caller && caller != region)
		caller = caller->caller;
	return caller;
}

bool mt_sp_leave_part(struct mt_sp_stack *stack, struct mt_sp_region *owner,
		      const struct mt_event *event)
{
	struct mt_sp_region *current = stack->current;

	if (!current)
		return false;
	if (!is_above(current, event->from)) {
		if (!is_called_from(current, owner))
			return false;
		current = owner;
	}
	if (current->fiber) {
		mt_sp_leave_fiber(stack, current, event);
		return true;
	}
	mt_sp_switch(stack, current, event->from, false);
	mt_sp_unwind(stack, event->from);
	if (current->is_part && !current->frames.count)
		mt_sp_drop_layer(stack);
	return true;
}

void mt_sp_follow_stack(struct mt_sp_stack *stack, const struct mt_function *function, uint64_t sp)
{
	const struct mt_sp_region *current = stack->current;
	const struct mt_sp_frame *top = current ? mt_sp_top(current) : NULL;
	enum mt_sp_role role;

	if (!top || top->function != function || !mt_sp_is_elsewhere(stack, sp))
		return;
	role = mt_sp_role_of(function);
	if (role == MT_SP_CALLS_ACROSS || role == MT_SP_MOVES_STACK)
		move(stack, sp - top->sp);
}
