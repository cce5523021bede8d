/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments, gaps, marks, and what was open before a segment began. */
#include "trace/sp_internal.h"

#include <string.h>

void mt_sp_open_segment(struct mt_sp_stack *stack)
{
	if (stack->segment_open)
		return;
	stack->segment_open = true;
	stack->segment.begin_ns = stack->now_ns;
}

static void forget_segment(struct mt_sp_stack *stack)
{
	mt_segment_log_clear(&stack->log);
	mt_sp_forget_regions(stack);
	stack->roots.count = 0;
	stack->segment_open = false;
	stack->segment.number++;
	stack->signal = 0;
	stack->lost = false;
}

/* What was open then ended somewhere in the gap, and the gap lies outside of it. */
static void show_gap(struct mt_sp_stack *stack)
{
	struct mt_log_slice slice = {
	    .kind = MT_SLICE_GAP,
	    .cause = (uint16_t)stack->gap_cause,
	    .bytes_lost = stack->gap_bytes,
	};

	for (size_t i = 0; i < stack->layer_count; i++)
		for (size_t n = stack->layers[i]->hidden; n < stack->layers[i]->frames.count; n++)
			mt_segment_log_end(&stack->log, stack->gap_begin_ns, false,
					   MT_SLICE_END_LOST);
	mt_segment_log_begin_settled(&stack->log, stack->gap_begin_ns, false, &slice);
	mt_segment_log_end(&stack->log, stack->now_ns, false, 0);
}

void mt_sp_close_segment(struct mt_sp_stack *stack, uint32_t snapshot)
{
	struct mt_replay replay = {.sink = stack->options.sink, .thread = &stack->options.thread};

	if (!stack->segment_open)
		return;
	if (stack->lost)
		show_gap(stack);
	stack->segment.end_ns = stack->now_ns;
	stack->segment.snapshot = snapshot;
	replay.segment = stack->segment;
	replay.roots = stack->roots.items;
	replay.root_count = stack->roots.count;
	if (!stack->log.error)
		mt_sp_fail(stack, mt_segment_log_replay(&stack->log, &replay));
	forget_segment(stack);
}

static bool source_at(const struct mt_sp_stack *stack, uint64_t address, struct mt_source *out)
{
	const struct mt_symbolizer *symbolizer = stack->symbolizer;

	if (address && symbolizer->source_at &&
	    symbolizer->source_at(symbolizer->context, address, out))
		return true;
	*out = (struct mt_source){0};
	return false;
}

void mt_sp_add_root(struct mt_sp_stack *stack, const struct mt_function *function,
		    uint64_t call_site)
{
	struct mt_slice slice = {
	    .kind = MT_SLICE_CALL,
	    .flags = MT_SLICE_INFERRED,
	    .function = function,
	};

	if (call_site) {
		const struct mt_inline *inlined = mt_sp_inlined_at(stack, call_site);

		if (inlined)
			slice.call_source = inlined->call;
		else
			source_at(stack, call_site, &slice.call_source);
	}
	if (mt_array_push(&stack->roots, slice))
		mt_sp_fail(stack, mt_error_no_memory());
}

/* Frames of one stack lie above one another, and not too far. */
static size_t frames_of_one_stack(const struct mt_event *events, size_t count)
{
	size_t i = 1;

	while (i < count && events[i].from > events[i - 1].from &&
	       events[i].from - events[i - 1].from <= MT_SP_REACH)
		i++;
	return i;
}

static struct mt_sp_region *region_of_frames(struct mt_sp_stack *stack, uint64_t sp)
{
	struct mt_sp_region *owner = mt_sp_owner(stack, sp), *current = stack->current;

	if (owner && mt_sp_fits(owner, sp))
		return owner;
	if (current && sp > current->base && sp - current->base <= MT_SP_REACH)
		return current;
	return mt_sp_region_create(stack, sp ? sp - 1 : 0);
}

/* Those that lie above all that is known of the stack: its outermost.  ROOTS: also of the thread.
 */
static void put_outside(struct mt_sp_stack *stack, struct mt_sp_region *region,
			const struct mt_event *events, size_t count, bool roots)
{
	size_t old = region->frames.count;
	struct mt_sp_frame *frames;

	if (mt_array_reserve(&region->frames, old + count)) {
		mt_sp_fail(stack, mt_error_no_memory());
		return;
	}
	frames = region->frames.items;
	memmove(frames + count, frames, old * sizeof(*frames));
	for (size_t i = 0; i < count; i++) {
		frames[count - 1 - i] =
		    (struct mt_sp_frame){mt_sp_function_at(stack, events[i].to), events[i].from};
		if (roots)
			mt_sp_add_root(stack, frames[count - 1 - i].function,
				       i + 1 < count ? events[i + 1].to : 0);
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
	for (size_t i = count; i-- > 0 && !stack->log.error;) {
		struct mt_sp_frame frame = {mt_sp_function_at(stack, events[i].to), events[i].from};
		uint64_t call_site = i + 1 < all ? events[i + 1].to : 0;
		struct mt_log_slice slice = {
		    .function = frame.function,
		    .inlined = call_site ? mt_sp_inlined_at(stack, call_site) : NULL,
		    .call_site = call_site,
		    .kind = MT_SLICE_CALL,
		    .flags = MT_SLICE_INFERRED,
		};

		if (mt_array_push(&stack->current->frames, frame)) {
			mt_sp_fail(stack, mt_error_no_memory());
			return;
		}
		mt_segment_log_begin_settled(&stack->log, stack->now_ns, true, &slice);
	}
}

/* A part of a function that the compiler put elsewhere has the function's name and more. */
static bool is_same(const struct mt_function *one, const struct mt_function *other)
{
	if (one == other || !one || !other)
		return true;
	size_t length = strcspn(one->name, ".");

	return length == strcspn(other->name, ".") && strncmp(one->name, other->name, length) == 0;
}

/* How many of the frames, from the outermost, are as EVENTS tell. */
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
		    !is_same(frame->function, mt_sp_function_at(stack, events[at - 1].to)))
			break;
	}
	return is_true;
}

/* What the thread runs on: what is not among EVENTS any more has ended, and some did not report. */
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

/* A segment that began on another stack, in a handler, took that for the thread's first one.  What
 * the unwinder tells of last lies outside of it, if the thread is in the handler still, or nothing
 * is left of that. */
static bool are_roots(const struct mt_sp_stack *stack, const struct mt_sp_region *region,
		      bool innermost, bool outermost)
{
	if (mt_sp_is_first(stack, region))
		return true;
	return outermost && (!innermost || !stack->layers[0]->frames.count);
}

static void take_frames_of_stack(struct mt_sp_stack *stack, const struct mt_event *events,
				 size_t count, bool innermost, bool outermost, bool go_on)
{
	struct mt_sp_region *region = region_of_frames(stack, events[0].from);
	size_t known = 0;

	if (!region)
		return;
	if (!stack->current)
		mt_sp_switch(stack, region, events[0].from, false);
	if (!go_on && region == stack->current)
		settle_inside(stack, events, count);
	else if (!go_on && innermost && stack->layers[0]->handler &&
		 stack->current == stack->layers[0])
		mt_sp_unwind(stack, UINT64_MAX);
	while (known < count && events[known].from <= region->base)
		known++;
	if (known == count)
		return;
	put_outside(stack, region, events + known, count - known,
		    are_roots(stack, region, innermost, outermost));
	mt_sp_raise_base(stack, region, events[count - 1].from);
}

void mt_sp_take_frames(struct mt_sp_stack *stack, const struct mt_event *events, size_t count)
{
	/* More of those before. */
	bool go_on = stack->frames_up_to && events[0].from > stack->frames_up_to;
	size_t taken = 0;

	if (stack->lost)
		mt_sp_end_gap(stack);
	mt_sp_open_segment(stack);
	while (taken < count && !stack->log.error) {
		size_t more = frames_of_one_stack(events + taken, count - taken);

		take_frames_of_stack(stack, events + taken, more, taken == 0, taken + more == count,
				     go_on);
		go_on = false;
		taken += more;
	}
}

static void put_instant(struct mt_sp_stack *stack, enum mt_instant_kind kind, uint32_t detail,
			uint64_t value, uint64_t address)
{
	struct mt_instant instant = {
	    .time_ns = stack->now_ns,
	    .kind = kind,
	    .detail = detail,
	    .value = value,
	    .address = address,
	};

	mt_sp_open_segment(stack);
	if (address) {
		instant.function = mt_sp_function_at(stack, address);
		source_at(stack, address, &instant.source);
	}
	mt_segment_log_instant(&stack->log, &instant);
}

void mt_sp_signal(struct mt_sp_stack *stack, const struct mt_event *event)
{
	put_instant(stack, MT_INSTANT_SIGNAL, event->detail, event->to, event->from);
	stack->signal = event->detail;
	stack->signal_by = MT_SP_SIGNAL_EVENTS;
}

void mt_sp_mark(struct mt_sp_stack *stack, const struct mt_event *event)
{
	uint32_t number = (uint32_t)event->to;

	switch (event->detail) {
	case MT_MARK_TRIGGER:
		put_instant(stack, MT_INSTANT_TRIGGER, number, event->to, event->from);
		break;
	case MT_MARK_SNAPSHOT:
		mt_sp_close_segment(stack, number);
		break;
	case MT_MARK_EXIT:
		put_instant(stack, MT_INSTANT_EXIT, 0, event->to, event->from);
		break;
	case MT_MARK_THROTTLE:
		put_instant(stack, MT_INSTANT_THROTTLE, 0, 0, event->from);
		break;
	case MT_MARK_EXEC:
		put_instant(stack, MT_INSTANT_EXEC, 0, event->to, event->from);
		mt_sp_close_segment(stack, 0);
		break;
	}
}

/* The gap began where the last thing was seen. */
void mt_sp_gap(struct mt_sp_stack *stack, const struct mt_event *event)
{
	if (!stack->lost) {
		stack->gap_begin_ns = stack->segment_open ? stack->before_ns : stack->now_ns;
		stack->gap_cause = event->detail;
		stack->gap_bytes = 0;
	}
	mt_sp_open_segment(stack);
	stack->lost = true;
	stack->gap_bytes += event->from;
	mt_segment_log_instant(&stack->log, &(struct mt_instant){.time_ns = stack->gap_begin_ns,
								 .kind = MT_INSTANT_GAP,
								 .detail = event->detail,
								 .value = event->from});
}

void mt_sp_end_gap(struct mt_sp_stack *stack)
{
	mt_sp_close_segment(stack, 0);
}
