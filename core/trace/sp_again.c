/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function that begins anew, for which it need not be called again: mostly it is the innermost
 * frame, and nothing changes.  But Go's functions do so when their goroutine's stack was too small:
 * code on the thread's own stack has copied it to a larger one then, all of it, so that each frame
 * lies as far from where it was as the innermost one.  The goroutine may also have gone on in
 * another thread meanwhile, where the call was not seen. */
#include "trace/sp_internal.h"

/* Of the smallest goroutine's stack; larger ones are this times 2^n, and lie at multiples of it
 * (Go's runtime/stack.go). */
#define STACK_UNIT 2048

enum { FREE_FRAMES = 16 }; /* that are moved at no cost */

/* The innermost frame of the function, at most one frame from the top: what copies the stack was
 * called by it. */
static const struct mt_sp_frame *waiting(const struct mt_sp_region *region,
					 const struct mt_function *function)
{
	size_t count = region->frames.count;

	for (size_t i = count; i > 0 && i + 1 >= count; i--)
		if (region->frames.items[i - 1].function == function)
			return &region->frames.items[i - 1];
	return NULL;
}

/* Where the function's stack lay: that of those which fit that was left last. */
static struct mt_sp_region *find_old(struct mt_sp_stack *stack, const struct mt_function *function,
				     uint64_t sp)
{
	struct mt_sp_region *found = NULL;

	mt_array_each (each, &stack->regions) {
		const struct mt_sp_frame *frame = waiting(*each, function);

		if (frame && (frame->sp - sp) % STACK_UNIT == 0 && !(*each)->is_shown &&
		    (!found || (*each)->left > found->left))
			found = *each;
	}
	return found;
}

/* The current stack is a copy of OLD, DISTANCE away; addresses may wrap. */
static void move(struct mt_sp_stack *stack, struct mt_sp_region *old, uint64_t sp,
		 uint64_t distance)
{
	struct mt_sp_region *region = stack->current;

	mt_sp_unwind(stack, UINT64_MAX);
	mt_array_each (frame, &old->frames) {
		frame->sp += distance;
		if (frame->sp - sp <= INT64_MAX && mt_array_push(&region->frames, *frame)) {
			mt_rebuild_out_of_memory(&stack->base);
			return;
		}
	}
	old->frames.count = 0;
	mt_sp_raise_base(stack, region, region->frames.items[0].sp);
	mt_sp_show(stack, region);
}

void mt_sp_again(struct mt_sp_stack *stack, const struct mt_event *event)
{
	const struct mt_function *function = mt_rebuild_function_at(&stack->base, event->to);
	uint64_t sp = event->from, *credit = &stack->base.credit;
	struct mt_sp_region *region = mt_sp_owner(stack, sp), *old;
	ptrdiff_t index = region ? mt_sp_find(region, sp) : -1;

	if (region && region->fiber) {
		mt_sp_leave_fiber(stack, region, event);
		return;
	}
	if (index >= 0 && region->frames.items[index].function == function) {
		mt_sp_switch(stack, region, sp, false);
		mt_sp_unwind(stack, sp);
		return;
	}
	if (!region || !mt_sp_fits(region, sp))
		region = mt_sp_region_create(stack, sp);
	if (!region)
		return;
	mt_sp_switch(stack, region, sp, false);
	old = find_old(stack, function, sp);
	/* It is paid for as in mt_sp_show(). */
	if (old && old->frames.count <= FREE_FRAMES + *credit) {
		*credit -= old->frames.count < *credit ? old->frames.count : *credit;
		move(stack, old, sp, sp - waiting(old, function)->sp);
		return;
	}
	/* Its call was not seen. */
	mt_sp_unwind(stack, sp + 1);
	if (!mt_sp_push(stack, function, sp, 0))
		return;
	mt_segment_log_begin_settled(&stack->base.log, stack->base.now_ns, true,
				     &(struct mt_log_slice){.function = function,
							    .kind = MT_SLICE_CALL,
							    .flags = MT_SLICE_INFERRED});
}
