/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stacks of a thread.  A stack reaches from its base, the highest stack pointer seen on it,
 * downwards; a stack pointer belongs to the stack with the nearest base above it. */
#include "trace/sp_internal.h"

#include "base/search.h"

#include <string.h>

enum { FREE_FRAMES = 16 }; /* that are shown again at no cost */

/* The first region whose base is not below SP. */
static size_t lower_bound(const struct mt_sp_stack *stack, uint64_t sp)
{
	return mt_partition_point(i, 0, stack->regions.count, stack->regions.items[i]->base < sp);
}

struct mt_sp_region *mt_sp_owner(const struct mt_sp_stack *stack, uint64_t sp)
{
	size_t index = lower_bound(stack, sp);

	return index < stack->regions.count ? stack->regions.items[index] : NULL;
}

/* SP is not above the base. */
bool mt_sp_fits(const struct mt_sp_region *region, uint64_t sp)
{
	const struct mt_sp_frame *top = mt_sp_top(region);
	uint64_t end = top ? top->sp : region->base;

	return sp >= end || end - sp <= MT_SP_FAR;
}

ptrdiff_t mt_sp_find(const struct mt_sp_region *region, uint64_t sp)
{
	const size_t low =
	    mt_partition_point(i, 0, region->frames.count, region->frames.items[i].sp > sp);
	if (low < region->frames.count && region->frames.items[low].sp == sp)
		return (ptrdiff_t)low;
	return -1;
}

static void update_floor(struct mt_sp_stack *stack)
{
	size_t index = lower_bound(stack, stack->current->base);

	stack->floor = index ? stack->regions.items[index - 1]->base : 0;
}

static void take_out(struct mt_sp_stack *stack, const struct mt_sp_region *region)
{
	struct mt_sp_region **items = stack->regions.items;
	size_t index = lower_bound(stack, region->base);

	while (items[index] != region)
		index++;
	stack->regions.count--;
	memmove(&items[index], &items[index + 1],
		(stack->regions.count - index) * sizeof(items[0]));
}

static void put_in(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	size_t index = lower_bound(stack, region->base);
	struct mt_sp_region **items = stack->regions.items;

	memmove(&items[index + 1], &items[index],
		(stack->regions.count - index) * sizeof(items[0]));
	items[index] = region;
	stack->regions.count++;
}

void mt_sp_set_caller(struct mt_sp_region *region, struct mt_sp_region *caller)
{
	if (region->caller)
		region->caller->called--;
	region->caller = caller;
	if (caller)
		caller->called++;
}

static void take_out_layer(struct mt_sp_stack *stack, const struct mt_sp_region *region)
{
	struct mt_sp_region **layers = stack->layers.items;
	size_t index = 0;

	while (layers[index] != region)
		index++;
	stack->layers.count--;
	memmove(&layers[index], &layers[index + 1],
		(stack->layers.count - index) * sizeof(layers[0]));
}

void mt_sp_region_destroy(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	if (region == stack->current)
		stack->current = NULL;
	if (region->is_shown)
		take_out_layer(stack, region);
	mt_sp_set_caller(region, NULL);
	for (size_t i = 0; region->called && i < stack->regions.count; i++)
		if (stack->regions.items[i]->caller == region)
			mt_sp_set_caller(stack->regions.items[i], NULL);
	take_out(stack, region);
	if (stack->current)
		update_floor(stack);
	mt_array_deinit(&region->frames);
	free(region);
}

bool mt_sp_is_awaited(const struct mt_sp_stack *stack, const struct mt_sp_region *region)
{
	return region->is_shown || region == stack->current || region->called;
}

/* One of the others, if there is any. */
static void forget_one(struct mt_sp_stack *stack)
{
	for (size_t i = 0; i < stack->regions.count; i++) {
		const size_t victim = stack->next_victim++ % stack->regions.count;

		if (mt_sp_is_awaited(stack, stack->regions.items[victim]))
			continue;
		mt_sp_region_destroy(stack, stack->regions.items[victim]);
		return;
	}
}

struct mt_sp_region *mt_sp_region_create(struct mt_sp_stack *stack, uint64_t base)
{
	struct mt_sp_region *region;

	/* A program that has more stacks than we keep loses the view of some. */
	if (stack->regions.count - stack->layers.count >= MT_SP_REGIONS)
		forget_one(stack);
	region = calloc(1, sizeof(*region));
	if (!region || mt_array_reserve(&stack->regions, stack->regions.count + 1)) {
		free(region);
		mt_rebuild_out_of_memory(&stack->base);
		return NULL;
	}
	region->base = base;
	put_in(stack, region);
	if (stack->current)
		update_floor(stack);
	return region;
}

void mt_sp_raise_base(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t base)
{
	if (base <= region->base)
		return;
	take_out(stack, region);
	region->base = base;
	if (mt_sp_is_first(stack, region))
		region->handler = false; /* there is something above it */
	put_in(stack, region);
	if (stack->current)
		update_floor(stack);
}

void mt_sp_move_region(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t distance)
{
	take_out(stack, region);
	region->base += distance;
	mt_array_each (frame, &region->frames)
		frame->sp += distance;
	put_in(stack, region);
	update_floor(stack);
}

static void show(struct mt_sp_stack *stack, const struct mt_function *function, uint8_t flags)
{
	mt_segment_log_begin_settled(
	    &stack->base.log, stack->base.now_ns, stack->base.estimated,
	    &(struct mt_log_slice){.function = function,
				   .kind = MT_SLICE_CALL,
				   .flags = (uint8_t)(MT_SLICE_INFERRED | flags)});
}

void mt_sp_show(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	size_t count = region->frames.count;
	size_t shown = count < MT_SP_RESUMED ? count : MT_SP_RESUMED;

	if (shown > FREE_FRAMES + stack->base.credit)
		shown = FREE_FRAMES + (size_t)stack->base.credit;
	if (shown > FREE_FRAMES)
		stack->base.credit -= shown - FREE_FRAMES;
	region->hidden = count - shown;
	for (size_t i = region->hidden; i < count; i++) {
		const struct mt_sp_frame *frame = &region->frames.items[i];

		show(stack, frame->function, 0);
		if (frame->python)
			show(stack, frame->python, MT_SLICE_PYTHON);
	}
}

/* A handler that is alone on its stack returned, though its ret was not seen. */
static void hide_top_layer(struct mt_sp_stack *stack)
{
	struct mt_sp_region *region = stack->layers.items[--stack->layers.count];
	size_t shown = mt_sp_shown_slices(region);
	uint8_t flags = MT_SLICE_END_UNWOUND;

	region->is_shown = false;
	region->left = ++stack->switches;
	if (region->handler && shown == 1)
		flags = MT_SLICE_END_TIME_ESTIMATED;
	if (stack->base.estimated)
		flags |= MT_SLICE_END_TIME_ESTIMATED;
	for (size_t i = 0; i < shown; i++)
		mt_segment_log_end(&stack->base.log, stack->base.now_ns, false, flags);
	mt_array_each (frame, &region->frames) {
		frame->inlines = 0;
		frame->made = false;
	}
	mt_sp_set_caller(region, NULL);
	if (region->is_part)
		mt_sp_region_destroy(stack, region);
}

static void add_layer(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	if (mt_array_push(&stack->layers, region)) {
		mt_rebuild_out_of_memory(&stack->base);
		return;
	}
	region->is_shown = true;
	mt_sp_show(stack, region);
}

void mt_sp_lay_on(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	region->frames.count = 0;
	region->handler = false;
	add_layer(stack, region);
	stack->current = region;
	update_floor(stack);
}

/* Control goes from LEFT to REGION.  If it comes back, what was called from there, and from that,
 * up to LEFT, is over; and so is a part on which nothing is open, if it has not just called. */
static void end_parts(struct mt_sp_stack *stack, struct mt_sp_region *left,
		      const struct mt_sp_region *region)
{
	const struct mt_sp_region *caller = left;

	while (caller && caller != region)
		caller = caller->caller;
	while (left != region && left != region->caller &&
	       (caller || (left && left->is_part && !left->frames.count))) {
		struct mt_sp_region *next = left->caller;

		mt_sp_set_caller(left, NULL);
		if (left->is_part)
			mt_sp_region_destroy(stack, left);
		left = next;
	}
}

void mt_sp_switch(struct mt_sp_stack *stack, struct mt_sp_region *region, uint64_t sp, bool at)
{
	struct mt_sp_region *left = stack->current;

	if (region == left)
		return;
	if (left && !left->is_shown)
		end_parts(stack, left, region);
	if (region->is_shown) {
		while (stack->layers.items[stack->layers.count - 1] != region)
			hide_top_layer(stack);
	} else {
		/* A handler lies on what it interrupted, a coroutine on the thread's first stack.
		 */
		bool handler = stack->base.signal && stack->layers.count;
		const struct mt_sp_frame *top;

		/* Frames that are gone of a stack that is not shown need no end. */
		while ((top = mt_sp_top(region)) && (top->sp < sp || (top->sp == sp && at)))
			region->frames.count--;
		while (!handler && stack->layers.count > 1)
			hide_top_layer(stack);
		region->handler = handler;
		add_layer(stack, region);
	}
	stack->current = region;
	update_floor(stack);
}

void mt_sp_drop_layer(struct mt_sp_stack *stack)
{
	if (stack->layers.count < 2)
		return;
	hide_top_layer(stack);
	stack->current = stack->layers.items[stack->layers.count - 1];
	update_floor(stack);
}

void mt_sp_go_to(struct mt_sp_stack *stack, struct mt_sp_region *region)
{
	struct mt_sp_region *left = stack->current;

	if (region == left)
		return;
	stack->current = region;
	region->left = ++stack->switches;
	if (!left || !left->is_shown)
		end_parts(stack, left, region);
	update_floor(stack);
}

void mt_sp_hide(struct mt_sp_stack *stack, const struct mt_sp_region *region)
{
	while (region->is_shown)
		hide_top_layer(stack);
}

struct mt_sp_region *mt_sp_below(const struct mt_sp_stack *stack, uint64_t sp)
{
	size_t index = lower_bound(stack, sp);

	return index ? stack->regions.items[index - 1] : NULL;
}

void mt_sp_forget_regions(struct mt_sp_stack *stack)
{
	mt_array_each (region, &stack->regions) {
		mt_array_deinit(&(*region)->frames);
		free(*region);
	}
	stack->regions.count = 0;
	stack->layers.count = 0;
	stack->current = NULL;
	stack->floor = 0;
}
