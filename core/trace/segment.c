/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Segments, the gaps that may end them, and the marks that come from the side.
 *
 * After a gap only those frames are open still that are known to be: control is in the middle of
 * the function of a frame that was open before, which cannot be without it, so everything outside
 * of that frame is there too.  The frames inside of it are gone, at some moment in the gap.  Where
 * no such frame is found a new segment begins, so that no root found later spans the gap. */
#include "trace/callstack_internal.h"

void mt_cs_open_segment(struct mt_callstack *cs)
{
	if (cs->segment_open)
		return;
	cs->segment_open = true;
	cs->segment.begin_ns = cs->now_ns;
}

static void forget_segment(struct mt_callstack *cs)
{
	mt_segment_log_clear(&cs->log);
	cs->frames.count = cs->roots.count = 0;
	cs->range_size = 0;
	cs->mode = MT_CS_BLANK;
	cs->segment_open = false;
	mt_cs_forget_parked(cs);
	cs->segment.number++;
	cs->signal = 0;
}

/* KEPT frames live through the gap, whose slice is put in. */
static void show_gap(struct mt_callstack *cs, size_t kept)
{
	struct mt_log_slice slice = {
	    .kind = MT_SLICE_GAP,
	    .cause = (uint16_t)cs->gap_cause,
	    .bytes_lost = cs->gap_bytes,
	};
	bool estimated = cs->estimated;

	mt_cs_end_transaction(cs);
	cs->time_ns = cs->gap_begin_ns;
	cs->estimated = false;
	mt_cs_pop_to(cs, kept, MT_SLICE_END_LOST);
	mt_cs_begin(cs, &slice);
	cs->time_ns = cs->now_ns;
	cs->estimated = estimated;
	mt_cs_end(cs, 0);
}

static void settle_state(struct mt_callstack *cs)
{
	switch (cs->mode) {
	case MT_CS_LOST:
		show_gap(cs, 0);
		break;
	case MT_CS_AWAY:
		mt_segment_log_release(&cs->log, false);
		break;
	}
	mt_cs_show_hidden(cs);
	mt_cs_end_transaction(cs);
	mt_segment_log_settle(&cs->log, cs->now_ns);
}

/* Of the frames at a snapshot after which the trace runs on. */
static void carry(struct mt_callstack *cs)
{
	cs->carried.count = 0;
	if (cs->mode != MT_CS_AWAY)
		return;
	for (size_t i = 0; i < cs->frames.count; i++)
		if (mt_array_push(&cs->carried, cs->frames.items[i]))
			mt_cs_fail(cs, mt_error_no_memory());
	cs->carried_from = cs->away_from;
}

bool mt_cs_take_up(struct mt_callstack *cs, uint64_t address)
{
	size_t count = cs->carried.count;

	cs->carried.count = 0;
	if (!count ||
	    (address != cs->carried_from && address - cs->carried_from != MT_SYSCALL_BYTES))
		return false;
	for (size_t i = 0; i < count; i++)
		if (mt_array_push(&cs->frames, cs->carried.items[i]))
			mt_cs_fail(cs, mt_error_no_memory());
	mt_cs_make_roots(cs);
	return true;
}

void mt_cs_close_segment(struct mt_callstack *cs, uint32_t snapshot)
{
	struct mt_replay replay = {.sink = cs->options.sink, .thread = &cs->options.thread};

	if (!cs->segment_open)
		return;
	settle_state(cs);
	cs->segment.end_ns = cs->now_ns;
	cs->segment.snapshot = snapshot;
	replay.segment = cs->segment;
	replay.roots = cs->roots.items;
	replay.root_count = cs->roots.count;
	if (!cs->log.error)
		mt_cs_fail(cs, mt_segment_log_replay(&cs->log, &replay));
	forget_segment(cs);
}

void mt_cs_restart(struct mt_callstack *cs, uint64_t address)
{
	mt_cs_close_segment(cs, 0);
	mt_cs_trace_start(cs, address);
}

static void instant_at(struct mt_callstack *cs, uint64_t time_ns, struct mt_instant instant)
{
	const struct mt_symbolizer *symbolizer = cs->symbolizer;

	instant.time_ns = time_ns;
	if (instant.address) {
		instant.function = mt_cs_function_at(cs, instant.address);
		if (symbolizer->source_at &&
		    !symbolizer->source_at(symbolizer->context, instant.address, &instant.source))
			instant.source = (struct mt_source){0};
	}
	mt_segment_log_instant(&cs->log, &instant);
}

void mt_cs_instant(struct mt_callstack *cs, enum mt_instant_kind kind, uint32_t detail,
		   uint64_t value, uint64_t address)
{
	mt_cs_open_segment(cs);
	instant_at(cs, cs->now_ns,
		   (struct mt_instant){
		       .kind = kind, .detail = detail, .value = value, .address = address});
}

static void lose(struct mt_callstack *cs, uint32_t cause, uint64_t bytes, uint64_t begin_ns)
{
	if (cs->mode == MT_CS_AWAY)
		mt_cs_end_away(cs, false, MT_SLICE_END_LOST);
	if (cs->mode != MT_CS_LOST) {
		cs->gap_begin_ns = begin_ns;
		cs->gap_cause = cause;
		cs->gap_bytes = 0;
	}
	cs->mode = MT_CS_LOST;
	cs->range_size = 0;
	cs->gap_bytes += bytes;
	instant_at(cs, cs->gap_begin_ns,
		   (struct mt_instant){.kind = MT_INSTANT_GAP, .detail = cause, .value = bytes});
}

/* The gap began where the last thing was seen. */
void mt_cs_gap(struct mt_callstack *cs, const struct mt_event *event)
{
	uint64_t begin_ns = cs->segment_open ? cs->before_ns : cs->now_ns;

	if (event->detail == MT_GAP_EVENTS_LOST) {
		mt_cs_instant(cs, MT_INSTANT_GAP, event->detail, event->from, 0);
		return;
	}
	mt_cs_open_segment(cs);
	lose(cs, event->detail, event->from, begin_ns);
	if (event->to)
		mt_cs_resume(cs, event->to);
}

void mt_cs_lose_track(struct mt_callstack *cs, uint64_t address)
{
	lose(cs, MT_GAP_BAD_TRACE, 0, cs->now_ns);
	mt_cs_resume(cs, address);
}

/* At a function's entry it is just being called, whoever was open before; and unknown code is no
 * function. */
static size_t frames_known_open(struct mt_callstack *cs, uint64_t address)
{
	const struct mt_function *function = mt_cs_function_at(cs, address);

	if (address == function->start || function->kind == MT_FUNCTION_UNKNOWN)
		return 0;
	return mt_cs_find(cs, function, cs->frames.count);
}

void mt_cs_resume(struct mt_callstack *cs, uint64_t address)
{
	size_t kept = frames_known_open(cs, address);

	cs->signal = 0;
	if (!kept) {
		mt_cs_restart(cs, address);
		return;
	}
	show_gap(cs, kept);
	cs->mode = MT_CS_RUNNING;
	mt_cs_arrive(cs, address);
}

void mt_cs_signal(struct mt_callstack *cs, const struct mt_event *event)
{
	mt_cs_instant(cs, MT_INSTANT_SIGNAL, event->detail, event->to, event->from);
	cs->signal = event->detail;
}

void mt_cs_mark(struct mt_callstack *cs, const struct mt_event *event)
{
	uint32_t number = (uint32_t)event->to;

	switch (event->detail) {
	case MT_MARK_TRIGGER:
		mt_cs_instant(cs, MT_INSTANT_TRIGGER, number, event->to, event->from);
		break;
	case MT_MARK_SNAPSHOT:
		if (event->flags & MT_EVENT_RUNS_ON)
			carry(cs);
		mt_cs_close_segment(cs, number);
		break;
	case MT_MARK_EXIT:
		mt_cs_instant(cs, MT_INSTANT_EXIT, 0, event->to, event->from);
		break;
	case MT_MARK_EXEC:
		mt_cs_instant(cs, MT_INSTANT_EXEC, 0, event->to, event->from);
		mt_cs_close_segment(cs, 0);
		break;
	}
}
