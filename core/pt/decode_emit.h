/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the way of events out of a flow: times that never run backwards, and gaps that
 * come out with what follows them.  Inline: each branch comes through here. */
#ifndef MT_PT_DECODE_EMIT_H
#define MT_PT_DECODE_EMIT_H

#include "pt/decode_flow.h"

static inline uint64_t mt_pt_event_time(const struct mt_pt_flow *flow, const struct pt_event *event)
{
	const uint64_t tsc = event->has_tsc ? event->tsc : flow->tsc;

	return tsc < flow->latest ? tsc : flow->latest;
}

/* Returns the event's flags. */
static inline uint8_t mt_pt_advance_time(struct mt_pt_flow *flow, uint64_t tsc)
{
	if (tsc <= flow->tsc)
		return MT_EVENT_TIME_IS_ESTIMATE;

	uint64_t time_ns = mt_tsc_to_ns(&flow->conversion, tsc);
	flow->tsc = tsc;
	if (time_ns <= flow->time_ns)
		return MT_EVENT_TIME_IS_ESTIMATE;
	flow->time_ns = time_ns;
	return 0;
}

static inline void mt_pt_put(struct mt_pt_flow *flow, uint8_t kind, uint8_t flags, uint64_t from,
			     uint64_t to, uint32_t detail)
{
	if (flow->muted)
		return;
	flow->events[flow->count++] = (struct mt_event){
	    .time_ns = flow->time_ns,
	    .from = from,
	    .to = to,
	    .kind = kind,
	    .flags = flags,
	    .detail = detail,
	};
}

static inline void mt_pt_put_skipped(struct mt_pt_flow *flow)
{
	if (!flow->skipped_from)
		return;
	mt_pt_put(flow, MT_EVENT_JUMP, flow->skipped_flags, flow->skipped_from, flow->skipped_to,
		  0);
	flow->skipped_from = 0;
}

static inline void mt_pt_put_gap(struct mt_pt_flow *flow, uint64_t to)
{
	mt_pt_put(flow, MT_EVENT_GAP, MT_EVENT_TIME_IS_ESTIMATE, flow->bytes_lost, to,
		  flow->gap_cause);
	flow->unsettled = flow->arrived = true;
	flow->has_gap = false;
	flow->bytes_lost = 0;
	flow->stats.gaps++;
}

static inline void mt_pt_emit(struct mt_pt_flow *flow, uint8_t kind, uint64_t from, uint64_t to,
			      uint32_t detail, uint64_t tsc)
{
	/* Who is told of the next event needs no jump within the place that it comes from. */
	if (from - flow->place >= flow->place_size)
		mt_pt_put_skipped(flow);
	flow->skipped_from = 0;
	if (flow->has_gap) {
		/* A gap before anything else has the time of what follows. */
		if (!flow->time_ns)
			mt_pt_advance_time(flow, tsc);
		mt_pt_put_gap(flow, 0);
	}
	uint8_t flags = mt_pt_advance_time(flow, tsc);
	mt_pt_put(flow, kind, flags, from, to, detail);
	flow->unsettled = flags;
	flow->arrived = true;
}

#endif
