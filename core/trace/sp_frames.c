/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The frames open before a segment began: roots, and frames from an unwinder. */
#include "trace/sp_internal.h"

#include <string.h>

static void add_root(struct mt_sp_stack *stack, const struct mt_slice *root,
		     struct mt_sp_place place)
{
	mt_rebuild_add_root(&stack->base, root);
	if (mt_array_push(&stack->root_places, place))
		mt_rebuild_out_of_memory(&stack->base);
}

void mt_sp_add_root(struct mt_sp_stack *stack, const struct mt_function *function,
		    struct mt_sp_place place)
{
	const struct mt_inline_span span = mt_sp_span_at(stack, place.call_site);
	const struct mt_inline *inlined = mt_sp_outermost(stack, &span);

	add_root(stack,
		 &(struct mt_slice){
		     .kind = MT_SLICE_CALL,
		     .flags = MT_SLICE_INFERRED,
		     .function = function,
		     .call_source = inlined ? inlined->call
					    : mt_rebuild_source_at(&stack->base, place.call_site),
		 },
		 place);
}

#define ENDBR_BYTES 4

/* Inlined calls of it are set later. */
static struct mt_sp_frame frame_of(struct mt_sp_stack *stack, const struct mt_event *event,
				   bool innermost)
{
	const struct mt_function *function = mt_rebuild_function_at(&stack->base, event->to);
	uint64_t into = event->to - function->start;

	return (struct mt_sp_frame){
	    .function = function,
	    .sp = event->from,
	    .at_entry = innermost && (into == 0 || into == ENDBR_BYTES),
	};
}

/* Of a root that stands at ADDRESS. */
static void add_inlined_roots(struct mt_sp_stack *stack, struct mt_sp_frame *frame,
			      uint64_t address)
{
	const struct mt_inline_span span = mt_sp_span_at(stack, address);

	if (!stack->base.options.inlines)
		return;
	frame->chain = span.chain;
	frame->inlines = (uint32_t)span.depth;
	for (size_t i = span.depth; i-- > 0;)
		add_root(stack,
			 &(struct mt_slice){
			     .kind = MT_SLICE_INLINED,
			     .flags = MT_SLICE_INFERRED,
			     .function = span.chain[i]->function,
			     .call_source = span.chain[i]->call,
			 },
			 (struct mt_sp_place){0});
}

/* Those that lie above all that is known of the stack: its outermost.  ROOTS: also of the thread.
 */
static void put_outside(struct mt_sp_stack *stack, struct mt_sp_region *region,
			const struct mt_event *events, size_t count, bool roots)
{
	size_t old = region->frames.count;
	struct mt_sp_frame *frames;

	if (mt_array_reserve(&region->frames, old + count)) {
		mt_rebuild_out_of_memory(&stack->base);
		return;
	}
	frames = region->frames.items;
	memmove(frames + count, frames, old * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		struct mt_sp_frame *frame = &frames[count - 1 - i];

		*frame = frame_of(stack, &events[i], i == 0);
		frame->call_site = i + 1 < count ? events[i + 1].to : 0;
		frame->is_root = roots;
		if (!roots)
			continue;
		if (mt_sp_is_first(stack, region))
			add_inlined_roots(stack, frame, events[i].to);
		mt_sp_add_root(stack, frame->function,
			       (struct mt_sp_place){frame->sp, frame->call_site});
	}
	region->frames.count += count;
	if (!mt_sp_is_first(stack, region))
		region->hidden += count;
}

/* The first COUNT of ALL lie below what is known: they did not report, and began some time before.
 */
static void put_inside(struct mt_sp_stack *stack, const struct mt_event *events, size_t all,
		       size_t count)
{
	for (size_t i = count; i-- > 0 && !stack->base.log.error;) {
		struct mt_sp_frame frame = frame_of(stack, &events[i], i == 0), *top;
		uint64_t call_site = i + 1 < all ? events[i + 1].to : 0;
		const struct mt_inline_span span = mt_sp_span_at(stack, call_site);
		struct mt_log_slice slice = {
		    .function = frame.function,
		    .inlined = mt_sp_outermost(stack, &span),
		    .call_site = call_site,
		    .kind = MT_SLICE_CALL,
		    .flags = MT_SLICE_INFERRED,
		};

		frame.call_site = call_site;
		top = mt_sp_top(stack->current);
		if (top && call_site && stack->current->frames.count > stack->current->hidden)
			mt_sp_set_inlines(stack, top, &span);
		if (mt_array_push(&stack->current->frames, frame)) {
			mt_rebuild_out_of_memory(&stack->base);
			return;
		}
		/* A trigger stopped it between its values and its entry. */
		const char *arguments =
		    frame.at_entry ? mt_sp_values_of(stack, frame.sp, frame.function, false) : NULL;
		if (arguments)
			mt_segment_log_text(&stack->base.log, arguments);
		mt_segment_log_begin_settled(&stack->base.log, stack->base.now_ns, true, &slice);
		if (frame.at_entry)
			mt_sp_begin_python(stack, mt_sp_top(stack->current));
	}
}

/* How many of the frames, from the outermost, are as EVENTS say. */
static size_t count_true(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	const struct mt_sp_region *region = stack->current;
	size_t is_true = 0, at = count;

	for (; is_true < region->frames.count; is_true++) {
		const struct mt_sp_frame *frame = &region->frames.items[is_true];

		if (frame->sp > events[count - 1].from)
			continue;
		while (at > 0 && events[at - 1].from > frame->sp)
			at--;
		if (!at || events[at - 1].from != frame->sp ||
		    !mt_sp_is_same(frame->function,
				   mt_rebuild_function_at(&stack->base, events[at - 1].to)))
			break;
	}
	return is_true;
}

/* The stack that the thread runs on: frames that are not among EVENTS have ended, and some did not
 * report. */
static void settle_inside(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	const struct mt_sp_frame *top;
	size_t below = 0, is_true;

	mt_sp_unwind(stack, events[0].from);
	is_true = count_true(stack, events, count);
	while (is_true && stack->current->frames.count > is_true)
		mt_sp_pop(stack, MT_SLICE_END_TIME_ESTIMATED);
	top = mt_sp_top(stack->current);
	while (top && below < count && events[below].from < top->sp)
		below++;
	put_inside(stack, events, count, below);
}

/* The stack that is shown and that reaches up to SP, though nothing was seen there yet; NULL: none.
 */
static struct mt_sp_region *shown_below(const struct mt_sp_stack *stack, uint64_t sp)
{
	for (size_t i = stack->layers.count; i-- > 0;)
		if (sp > stack->layers.items[i]->base &&
		    sp - stack->layers.items[i]->base <= MT_SP_REACH)
			return stack->layers.items[i];
	return NULL;
}

static struct mt_sp_region *begin_region(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *region = mt_sp_region_create(stack, sp ? sp - 1 : 0);

	if (region && stack->base.options.fibers.take)
		mt_sp_begin_on_fiber(stack, region, sp);
	return region;
}

static void take_frames_of_stack(struct mt_sp_stack *stack, const struct mt_event *events,
				 size_t count, bool innermost, bool outermost, bool go_on)
{
	uint64_t sp = events[0].from;
	struct mt_sp_region *region = mt_sp_owner(stack, sp);
	const struct mt_sp_region *first;
	size_t known = 0;
	bool roots;

	if (!region || !mt_sp_fits(region, sp))
		region = shown_below(stack, sp);
	if (!region && stack->current && stack->current->fiber && sp > stack->current->base &&
	    sp - stack->current->base <= MT_SP_REACH)
		region = stack->current;
	if (!region)
		region = begin_region(stack, sp);
	if (!region)
		return;
	if (region->fiber) {
		mt_sp_frames_of_fiber(stack, region, events, count);
		return;
	}
	/* Handlers on other stacks have returned from then. */
	if (!stack->current || (innermost && region->is_shown))
		mt_sp_switch(stack, region, sp, false);
	first = stack->layers.count ? stack->layers.items[0] : NULL;
	if (!go_on && region == stack->current)
		settle_inside(stack, events, count);
	else if (!go_on && innermost && first && first->handler && stack->current == first)
		mt_sp_unwind(stack, UINT64_MAX);
	while (known < count && events[known].from <= region->base)
		known++;
	if (known == count)
		return;
	/* A segment that began on another stack, in a handler, took that for the thread's first
	 * one.  What the unwinder shows last lies outside of it, if the thread is in the handler
	 * still, or nothing is left of that. */
	roots = region == first || (outermost && (!innermost || !first || !first->frames.count));
	put_outside(stack, region, events + known, count - known, roots);
	mt_sp_raise_base(stack, region, events[count - 1].from);
}

/* ---- Frames on stacks of which one has called into the other ---- */

static bool is_elsewhere(const struct mt_sp_stack *stack, const struct mt_event *event)
{
	return mt_sp_is_elsewhere(stack, event->from);
}

/* How many of them, from the first on, are on its stack. */
static size_t count_together(const struct mt_sp_stack *stack, const struct mt_event *events,
			     size_t count)
{
	size_t together = 1;

	while (together < count &&
	       is_elsewhere(stack, &events[together]) == is_elsewhere(stack, &events[0]))
		together++;
	return together;
}

/* Handlers' stacks are others, too, which nobody has called into. */
static bool are_across(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	if (!stack->own_stack || stack->base.signal ||
	    count_together(stack, events, count) == count)
		return false;
	for (size_t i = 0; i < count; i++)
		if (mt_sp_is_restorer(mt_rebuild_function_at(&stack->base, events[i].to)))
			return false;
	return true;
}

/* A new one on top of what is known, from BASE down.  NULL: no memory. */
static struct mt_sp_region *lay_part(struct mt_sp_stack *stack, uint64_t base)
{
	struct mt_sp_region *below = stack->current, *part = mt_sp_region_create(stack, base);

	if (!part)
		return NULL;
	part->is_part = below;
	mt_sp_set_caller(part, below);
	mt_sp_lay_on(stack, part);
	return part;
}

/* Those from BEGIN to END, which are on one stack, lie on what is known. */
static void lay(struct mt_sp_stack *stack, const struct mt_event *events, size_t begin, size_t end,
		size_t count)
{
	struct mt_sp_region *region = lay_part(stack, events[end - 1].from);

	if (!region)
		return;
	for (size_t i = end; i-- > begin && !stack->base.log.error;) {
		struct mt_sp_frame frame = frame_of(stack, &events[i], i == 0);

		frame.call_site = i + 1 < count ? events[i + 1].to : 0;
		frame.is_root = true;
		if (mt_array_push(&region->frames, frame))
			mt_rebuild_out_of_memory(&stack->base);
	}
}

/* Nothing is known but these: all are roots. */
static void lay_all(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	const struct mt_event *event = events;

	for (size_t end = count, begin; end > 0; end = begin) {
		for (begin = end - 1; begin > 0 && is_elsewhere(stack, &events[begin - 1]) ==
						       is_elsewhere(stack, &events[end - 1]);)
			begin--;
		lay(stack, events, begin, end, count);
	}
	for (size_t layer = stack->layers.count; layer-- > 0 && !stack->base.log.error;) {
		struct mt_sp_region *region = stack->layers.items[layer];

		for (size_t i = region->frames.count; i-- > 0; event++) {
			struct mt_sp_frame *frame = &region->frames.items[i];

			add_inlined_roots(stack, frame, event->to);
			mt_sp_add_root(stack, frame->function,
				       (struct mt_sp_place){frame->sp, frame->call_site});
		}
	}
}

static bool is_root_at(const struct mt_sp_stack *stack, uint64_t sp)
{
	mt_array_each (place, &stack->root_places)
		if (place->sp == sp)
			return true;
	return false;
}

/* Those that lie outside of all that is known are roots. */
static void add_roots_outside(struct mt_sp_stack *stack, const struct mt_event *events,
			      size_t count)
{
	size_t known = 0;

	for (size_t i = stack->layers.count; i-- > 0;) {
		const uint64_t base = stack->layers.items[i]->base;

		while (known < count && events[known].from <= base &&
		       is_elsewhere(stack, &events[known]) == mt_sp_is_elsewhere(stack, base))
			known++;
	}
	/* An unwinder may have come by before. */
	for (; known < count; known++)
		if (!is_root_at(stack, events[known].from))
			mt_sp_add_root(
			    stack, mt_rebuild_function_at(&stack->base, events[known].to),
			    (struct mt_sp_place){.sp = events[known].from,
						 .call_site =
						     known + 1 < count ? events[known + 1].to : 0});
}

/* Those of the fiber that the first ones are of; returns how many, with none of who runs it. */
static size_t take_fibers(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	const struct mt_event *own = NULL;
	struct mt_sp_region *region;
	size_t more = 0;

	for (; more < count; more++) {
		const struct mt_function *function =
		    mt_rebuild_function_at(&stack->base, events[more].to);

		if (mt_sp_role_of(function) == MT_SP_BEGINS_STACK)
			break;
		if (is_elsewhere(stack, &events[more]))
			own = &events[more];
	}
	if (more == count || !own)
		return 0;
	region = mt_sp_owner(stack, own->from);
	if (!region || !mt_sp_fits(region, own->from))
		region = mt_sp_region_create(stack, own->from);
	if (!region)
		return 0;
	mt_sp_switch_to_fiber(stack, region, own->from);
	if (!region->fiber)
		return 0;
	mt_sp_frames_of_fiber(stack, region, events, more);
	return more;
}

/* The stack that control is on, from the first of EVENTS on: it may have been called into, or have
 * gone on, since the last event. */
static void settle_innermost(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	const size_t together = count_together(stack, events, count);
	const uint64_t outermost = events[together - 1].from;
	size_t layer = stack->layers.count;
	struct mt_sp_region *region;

	while (layer > 0 && mt_sp_is_elsewhere(stack, stack->layers.items[layer - 1]->base) !=
				is_elsewhere(stack, events))
		layer--;
	region = layer ? stack->layers.items[layer - 1] : NULL;
	if (region && (region == stack->current ||
		       (mt_sp_top(region) && outermost >= mt_sp_top(region)->sp))) {
		mt_sp_switch(stack, region, events[0].from, false);
		settle_inside(stack, events, together);
		return;
	}
	if (lay_part(stack, outermost))
		put_inside(stack, events, count, together);
}

static void take_across(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	size_t of_fibers = 0, more;

	if (stack->base.options.fibers.take)
		while ((more = take_fibers(stack, events + of_fibers, count - of_fibers)))
			of_fibers += more;
	if (!stack->layers.count) {
		lay_all(stack, events + of_fibers, count - of_fibers);
		return;
	}
	if (!of_fibers && stack->current && stack->current->is_shown)
		settle_innermost(stack, events, count);
	add_roots_outside(stack, events + of_fibers, count - of_fibers);
}

void mt_sp_take_frames(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	/* More of those before: they begin where no list of the same stack does. */
	bool go_on = stack->frames_up_to &&
		     (stack->frames_are_across ? events[0].from != stack->frames_from
					       : events[0].from > stack->frames_up_to);

	if (!go_on)
		stack->frames_from = events[0].from;
	stack->frames_are_across =
	    go_on ? stack->frames_are_across : are_across(stack, events, count);
	if (stack->frames_are_across) {
		go_on ? add_roots_outside(stack, events, count) : take_across(stack, events, count);
		return;
	}
	for (size_t taken = 0, more; taken < count && !stack->base.log.error; taken += more) {
		const struct mt_event *first = events + taken;

		/* Frames of one stack lie above one another, and not too far. */
		for (more = 1; taken + more < count && first[more].from > first[more - 1].from &&
			       first[more].from - first[more - 1].from <= MT_SP_REACH;)
			more++;
		take_frames_of_stack(stack, first, more, taken == 0, taken + more == count, go_on);
		go_on = false;
	}
}
