/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are open where data was lost: their slices end there, and those of calls that are open
 * behind the loss begin there.  Slices that may be of one call get one number.  What proves that
 * they are not is another function at that place of the stack, or another call outside of them: so
 * who counts the numbers never counts a call twice.  A call that ended in the loss cannot be told
 * from one that followed it at the same place. */
#include "trace/sp_internal.h"

enum { INSTRUCTION_MAX = 15 };

/* One may be the call's own address, the other where it returns to. */
static bool is_other_site(uint64_t one, uint64_t other)
{
	return one && other && (one > other ? one - other : other - one) > INSTRUCTION_MAX;
}

/* The roots that go on with a call that was open before get its number. */
static void number_roots(struct mt_sp_stack *stack)
{
	const struct mt_sp_kept_call *kept = stack->kept.items;
	const struct mt_sp_kept_call *end = kept ? kept + stack->kept.count : NULL;

	for (size_t i = stack->base.roots.count; kept < end && i-- > 0;) {
		const struct mt_sp_place *place = &stack->root_places.items[i];
		struct mt_slice *root = &stack->base.roots.items[i];

		if (!place->sp)
			continue;
		while (kept < end && kept->place.sp > place->sp)
			kept++;
		if (kept == end || kept->place.sp < place->sp)
			continue;
		if (!mt_sp_is_same(kept->function, root->function) ||
		    is_other_site(kept->place.call_site, place->call_site))
			return;
		root->call_id = kept++->call_id;
	}
}

/* Of FRAME, whose slice has that DEPTH. */
static uint64_t number_of(struct mt_sp_stack *stack, const struct mt_sp_frame *frame,
			  uint32_t depth)
{
	const size_t roots = stack->base.roots.count;
	struct mt_slice *root =
	    frame->is_root && depth < roots ? &stack->base.roots.items[roots - 1 - depth] : NULL;

	if (root && root->call_id)
		return root->call_id;
	const uint64_t call_id = ++*stack->base.options.last_call_id;
	if (root)
		root->call_id = call_id;
	return call_id;
}

static bool add(struct mt_sp_kept_calls *calls, const struct mt_sp_kept_call *call)
{
	return calls->count == MT_SP_KEPT || mt_array_push(calls, *call) == 0;
}

/* The open calls of the first stack into CALLS; what lies outside of all that is known of it, or on
 * another stack, stays.  By their places, falling.  False: no memory. */
static bool keep(struct mt_sp_stack *stack, struct mt_sp_kept_calls *calls)
{
	struct mt_sp_region *region = stack->layers.items[0];
	uint64_t lowest = region->base;
	uint32_t depth = 0;
	bool is_kept = true;

	mt_array_each (old, &stack->kept)
		if (old->place.sp > region->base)
			is_kept = is_kept && add(calls, old);
	for (size_t i = region->hidden; i < region->frames.count && calls->count < MT_SP_KEPT;
	     i++) {
		struct mt_sp_frame *frame = &region->frames.items[i];
		const uint64_t site = frame->call_site ? frame->call_site : frame->return_address;

		frame->call_id = number_of(stack, frame, depth);
		is_kept = is_kept && add(calls, &(struct mt_sp_kept_call){
						    .place = {frame->sp, site},
						    .function = frame->function,
						    .call_id = frame->call_id,
						});
		depth += mt_sp_slices_of(frame);
		lowest = frame->sp;
	}
	mt_array_each (old, &stack->kept)
		if (old->place.sp < lowest && region->base - old->place.sp > MT_SP_REACH)
			is_kept = is_kept && add(calls, old);
	return is_kept;
}

bool mt_sp_keep_calls(struct mt_sp_stack *stack)
{
	struct mt_sp_kept_calls calls = {0};
	bool is_kept = true;

	if (!stack->base.options.last_call_id || (!stack->layers.count && !stack->base.roots.count))
		return true; /* a gap alone */
	number_roots(stack);
	if (!stack->base.is_over && stack->layers.count)
		is_kept = keep(stack, &calls);
	mt_array_deinit(&stack->kept);
	stack->kept = calls;
	return is_kept;
}
