/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gaps, which may end a segment.
 *
 * After a gap only those frames are open still that are known to be: control is in the middle of
 * the function of a frame that was open before, which cannot be without it, so everything outside
 * of that frame is there too.  The frames inside of it are gone, at some moment in the gap.  Where
 * no such frame is found a new segment begins, so that no root found later spans the gap. */
#include "trace/callstack_internal.h"

void mt_cs_show_gap(struct mt_callstack *cs, size_t kept)
{
	struct mt_log_slice slice = mt_rebuild_gap_slice(&cs->base);
	bool estimated = cs->base.estimated;

	mt_cs_end_transaction(cs);
	cs->time_ns = cs->base.gap_begin_ns;
	cs->base.estimated = false;
	mt_cs_pop_to(cs, kept, MT_SLICE_END_LOST);
	mt_cs_begin(cs, &slice);
	cs->time_ns = cs->base.now_ns;
	cs->base.estimated = estimated;
	mt_cs_end(cs, 0);
}

void mt_cs_restart(struct mt_callstack *cs, uint64_t address)
{
	mt_rebuild_close_segment(&cs->base, 0);
	mt_cs_trace_start(cs, address);
}

static void lose(struct mt_callstack *cs, uint32_t cause, uint64_t bytes, uint64_t begin_ns)
{
	if (cs->mode == MT_CS_AWAY)
		mt_cs_end_away(cs, false, MT_SLICE_END_LOST);
	mt_rebuild_gap(&cs->base, cause, bytes, begin_ns, cs->mode == MT_CS_LOST);
	cs->mode = MT_CS_LOST;
	cs->range_size = 0;
}

/* The gap began where the last thing was seen. */
void mt_cs_gap(struct mt_callstack *cs, const struct mt_event *event)
{
	uint64_t begin_ns = cs->base.segment_open ? cs->base.before_ns : cs->base.now_ns;

	if (event->detail == MT_GAP_EVENTS_LOST) {
		mt_rebuild_instant(&cs->base, MT_INSTANT_GAP, event->detail, event->from, 0);
		return;
	}
	mt_rebuild_open_segment(&cs->base);
	lose(cs, event->detail, event->from, begin_ns);
	if (event->to)
		mt_cs_resume(cs, event->to);
}

void mt_cs_lose_track(struct mt_callstack *cs, uint64_t address)
{
	lose(cs, MT_GAP_BAD_TRACE, 0, cs->base.now_ns);
	mt_cs_resume(cs, address);
}

/* At a function's entry it is just being called, whoever was open before; and unknown code is no
 * function. */
void mt_cs_resume(struct mt_callstack *cs, uint64_t address)
{
	const struct mt_function *function = mt_rebuild_function_at(&cs->base, address);
	size_t kept = 0;

	if (address != function->start && function->kind != MT_FUNCTION_UNKNOWN)
		kept = mt_cs_find(cs, function, cs->frames.count);
	cs->base.signal = 0;
	if (!kept) {
		mt_cs_restart(cs, address);
		return;
	}
	mt_cs_show_gap(cs, kept);
	cs->mode = MT_CS_RUNNING;
	mt_cs_arrive(cs, address);
}
