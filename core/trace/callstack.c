/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking events: time, the short way for what is common, and the long way for the rest. */
#include "trace/callstack_internal.h"

#include <string.h>

enum {
	NEXT_CALL_BYTES = 5, /* call rel32 */
};

static bool init(struct mt_rebuild *rebuild)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;

	cs->calls = calloc(MT_CS_CALLS, sizeof(*cs->calls));
	if (rebuild->options.inlines)
		cs->spans = calloc(MT_CS_SPANS, sizeof(*cs->spans));
	return cs->calls && (cs->spans || !rebuild->options.inlines);
}

static void deinit(struct mt_rebuild *rebuild)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;

	mt_array_deinit(&cs->frames);
	mt_array_deinit(&cs->saved);
	mt_cs_forget_parked(cs);
	free(cs->spans);
	free(cs->calls);
}

static void names_changed(struct mt_rebuild *rebuild)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;

	cs->inlines = rebuild->options.inlines && rebuild->symbolizer->inlines_at;
	if (cs->spans)
		memset(cs->spans, 0, MT_CS_SPANS * sizeof(*cs->spans));
	cs->range_size = 0;
	mt_array_each (frame, &cs->frames)
		frame->range_size = 0;
}

/* "call next; pop" asks for the instruction pointer: PT calls it a call, nothing returns. */
static void call_first(struct mt_callstack *cs, uint64_t from, uint64_t to)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, to);

	if (to - from == NEXT_CALL_BYTES && to != function->start)
		return;

	uint32_t number = mt_cs_enter(
	    cs, &(struct mt_entry){
		    .function = function, .address = to, .call_site = from, .return_site = from});
	if (number != MT_LOG_SLICES_NONE || function->kind == MT_FUNCTION_PLT)
		mt_cs_keep_call(cs, from, to, function, number);
}

static void call(struct mt_callstack *cs, uint64_t from, uint64_t to)
{
	struct mt_cs_call *known = mt_cs_call_place(cs, from, to);

	if (mt_cs_call_is(cs, known, from, to)) {
		mt_cs_enter_again(cs, known);
		mt_cs_arrive_again(cs, known);
	} else {
		call_first(cs, from, to);
		mt_cs_arrive(cs, to);
	}
}

static void jump(struct mt_callstack *cs, uint64_t from, uint64_t to)
{
	struct mt_cs_call *known = mt_cs_replace_again(cs, to);

	if (known)
		mt_cs_arrive_again(cs, known);
	else
		mt_cs_jump(cs, from, to);
}

static bool return_as_called(struct mt_callstack *cs, uint64_t to)
{
	const struct mt_frame *top = mt_cs_top(cs);

	if (cs->frames.count < 2 || !top->return_site || top->flags & MT_FRAME_ENTRY ||
	    !mt_is_next_of(to, top->return_site))
		return false;
	mt_cs_pop(cs, 0);
	top = mt_cs_top(cs);
	if (to - top->range_start < top->range_size) {
		cs->range_start = top->range_start;
		cs->range_size = top->range_size;
		cs->ip = to;
	} else {
		mt_cs_arrive(cs, to);
	}
	return true;
}

/* Control is in the program's code at `from`, and known. */
static void flow(struct mt_callstack *cs, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_CALL:
		call(cs, event->from, event->to);
		break;
	case MT_EVENT_RETURN:
		if (!return_as_called(cs, event->to))
			mt_cs_return(cs, event);
		break;
	case MT_EVENT_JUMP:
		jump(cs, event->from, event->to);
		break;
	case MT_EVENT_SYSCALL:
	case MT_EVENT_INTERRUPT:
		mt_cs_kernel_entry(cs, event);
		break;
	case MT_EVENT_SYSRET:
	case MT_EVENT_IRET:
		mt_cs_kernel_exit(cs, event);
		break;
	case MT_EVENT_TRACE_END:
		mt_cs_trace_end(cs, event);
		break;
	default:
		mt_cs_transaction(cs, event);
	}
}

/* A transaction that is not known any more was aborted somewhere. */
static bool ends_unseen(const struct mt_event *event)
{
	return !event->from &&
	       (event->kind == MT_EVENT_TX_ABORT || event->kind == MT_EVENT_TRACE_END);
}

static void handle(struct mt_callstack *cs, const struct mt_event *event)
{
	switch (event->kind) {
	case MT_EVENT_TRACE_START:
		mt_cs_trace_start(cs, event->to);
		return;
	case MT_EVENT_GAP:
		mt_cs_gap(cs, event);
		return;
	case MT_EVENT_SIGNAL:
		mt_rebuild_signal(&cs->base, event);
		return;
	case MT_EVENT_MARK:
		mt_rebuild_mark(&cs->base, event);
		return;
	}
	if (event->kind > MT_EVENT_MARK)
		return;
	/* An aborted transaction did not run: what led to `from` is not to be shown. */
	if (event->kind != MT_EVENT_TX_ABORT || !cs->base.segment_open || cs->mode == MT_CS_LOST) {
		if (cs->mode != MT_CS_RUNNING && ends_unseen(event))
			return;
		if (cs->mode != MT_CS_RUNNING)
			mt_cs_trace_start(cs, event->from);
		if (event->from && !mt_cs_in_range(cs, event->from))
			mt_cs_sync(cs, event->from);
	}
	if (!cs->base.log.error)
		flow(cs, event);
}

/* Entries that wait are spread up to now; but those before a gap happened before it. */
static void settle_pending(struct mt_callstack *cs, const struct mt_event *event)
{
	uint64_t base_ns = mt_array_last(&cs->base.log.pending)->time_ns;

	if (event->kind == MT_EVENT_GAP)
		mt_segment_log_settle(&cs->base.log, cs->base.before_ns);
	else if (cs->base.now_ns > base_ns || !(event->flags & MT_EVENT_TIME_IS_ESTIMATE))
		mt_segment_log_settle(&cs->base.log, cs->base.now_ns);
}

static void take(struct mt_callstack *cs, const struct mt_event *event)
{
	mt_rebuild_advance(&cs->base, event);
	cs->time_ns = cs->base.now_ns;
	if (cs->base.log.pending.count)
		settle_pending(cs, event);
	if (event->kind == MT_EVENT_JUMP && mt_cs_in_range(cs, event->from) &&
	    mt_cs_in_range(cs, event->to))
		cs->ip = event->to;
	else
		handle(cs, event);
}

static void push(struct mt_rebuild *rebuild, const struct mt_event *events, size_t count)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;
	const struct mt_event *event = events, *const end = events + count;

	while (event < end && !rebuild->log.error) {
		event = mt_cs_take_plain(cs, event, end);
		if (event < end && !rebuild->log.error)
			take(cs, event++);
	}
}

static void settle(struct mt_rebuild *rebuild)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;

	cs->time_ns = rebuild->now_ns;
	if (cs->mode == MT_CS_LOST)
		mt_cs_show_gap(cs, 0);
	else if (cs->mode == MT_CS_AWAY)
		mt_segment_log_release(&rebuild->log, false);
	mt_cs_show_hidden(cs);
	mt_cs_end_transaction(cs);
	mt_segment_log_settle(&rebuild->log, rebuild->now_ns);
}

static void forget(struct mt_rebuild *rebuild)
{
	struct mt_callstack *cs = (struct mt_callstack *)rebuild;

	cs->frames.count = 0;
	cs->range_size = 0;
	cs->mode = MT_CS_BLANK;
	mt_cs_forget_parked(cs);
}

/* Control comes back from the kernel: that is where mappings are made. */
static bool names_may_change(const struct mt_event *event)
{
	return event->kind == MT_EVENT_TRACE_START;
}

/* Signals are delivered on the way out of the kernel, so they belong right before tracing begins
 * again; a snapshot belongs to its mark. */
static bool runs_on(const struct mt_rebuild *rebuild, const struct mt_event *mark)
{
	const struct mt_callstack *cs = (const struct mt_callstack *)rebuild;

	return mark->flags & MT_EVENT_RUNS_ON && cs->mode == MT_CS_AWAY;
}

static bool takes_note(const struct mt_event *event, const struct mt_event *note)
{
	if (note->kind == MT_EVENT_SIGNAL)
		return event->kind == MT_EVENT_TRACE_START;
	return note->kind != MT_EVENT_MARK || note->detail != MT_MARK_SNAPSHOT;
}

const struct mt_rebuild_ops mt_rebuild_from_branches = {
    .names_may_change = names_may_change,
    .takes_note = takes_note,
    .runs_on = runs_on,
    .snapshots_are_events = true,
    .size = sizeof(struct mt_callstack),
    .init = init,
    .deinit = deinit,
    .names_changed = names_changed,
    .push = push,
    .settle = settle,
    .open_calls = mt_cs_open_calls,
    .forget = forget,
};
