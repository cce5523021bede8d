/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Transactions (TSX): an abort takes back whatever was seen since the begin, from the log and from
 * the stack.  A frame is copied before it is first changed; those below stay as they are.  Nested
 * transactions are one: the processor aborts them together. */
#include "trace/callstack_internal.h"

void mt_cs_touch_top(struct mt_callstack *cs)
{
	size_t count = cs->frames.count;

	if (count == 0 || count > cs->kept_frames)
		return;
	if (mt_array_push(&cs->saved, cs->frames.items[count - 1]))
		mt_rebuild_out_of_memory(&cs->base);
	cs->kept_frames = count - 1;
}

void mt_cs_end_transaction(struct mt_callstack *cs)
{
	cs->transaction = false;
	mt_segment_log_commit(&cs->base.log);
}

static void take_back(struct mt_callstack *cs)
{
	mt_segment_log_rollback(&cs->base.log);
	cs->transaction = false;
	if (cs->base.roots.count > cs->saved_roots) {
		cs->base.roots.count = cs->saved_roots;
		/* Who called the outermost one that is left is not known again. */
		if (cs->base.roots.count)
			mt_array_last(&cs->base.roots)->call_source = (struct mt_source){0};
	}
	cs->frames.count = cs->kept_frames;
	for (size_t i = cs->saved.count; i-- > 0;)
		if (mt_array_push(&cs->frames, cs->saved.items[i]))
			mt_rebuild_out_of_memory(&cs->base);
}

static void abort_transaction(struct mt_callstack *cs, const struct mt_event *event)
{
	if (cs->transaction)
		take_back(cs);
	else if (cs->mode == MT_CS_AWAY)
		mt_cs_end_away(cs, true, 0);
	mt_rebuild_instant(&cs->base, MT_INSTANT_TX_ABORT, 0, 0, event->from);
	cs->mode = MT_CS_RUNNING;
	if (!event->to) { /* TRACE_END comes next */
		cs->range_size = 0;
	} else if (cs->frames.count == 0) {
		mt_cs_add_root(cs, event->to);
		mt_cs_arrive(cs, event->to);
	} else if (!mt_cs_land(cs, event->to, 0)) {
		mt_cs_return(cs, event);
	}
}

void mt_cs_transaction(struct mt_callstack *cs, const struct mt_event *event)
{
	if (event->kind == MT_EVENT_TX_ABORT) {
		abort_transaction(cs, event);
	} else if (event->kind == MT_EVENT_TX_COMMIT) {
		mt_cs_end_transaction(cs);
	} else if (!cs->transaction) {
		cs->transaction = true;
		cs->kept_frames = cs->frames.count;
		cs->saved_roots = cs->base.roots.count;
		cs->saved.count = 0;
		mt_cs_touch_top(cs);
		mt_segment_log_checkpoint(&cs->base.log);
	}
}
