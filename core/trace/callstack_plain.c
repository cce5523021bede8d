/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The short way of branches, which nearly all of them go: a call that was made before, the return
 * of the innermost frame to where that was called, and jumps that lead to nowhere else.  It does
 * what the long way of callstack.c would do, and leaves alone whatever that would have to ask
 * about. */
#include "trace/callstack_internal.h"
#include "trace/segment_log_format.h"

enum { AHEAD = 8 }; /* events */

/* Nothing but the frames bears on the next event.  What goes the short way does not change that. */
static bool is_plain(struct mt_callstack *cs)
{
	const struct mt_segment_log *log = &cs->base.log;
	const struct mt_frame *top = mt_cs_top(cs);

	return cs->mode == MT_CS_RUNNING && top && !(top->flags & MT_FRAME_HIDDEN) &&
	       !cs->transaction && !cs->base.snapshot && !log->held && !log->checkpoint;
}

/* What each event changes, and what it is compared with.  Nothing else is read again for it: the
 * log's bytes might be anything's, as far as the compiler knows. */
struct walk {
	uint64_t now_ns, before_ns; /* of struct mt_rebuild */
	bool estimated;
	uint64_t range_start, range_size, ip; /* of struct mt_callstack */
	struct mt_frame *frames;
	size_t count, capacity;

	uint8_t *at, *full_at; /* the log's end, and where it has to make room */
	uint64_t log_ns;
	uint32_t generation, defined;
	struct mt_log_entry *waiting;
	size_t waits, most_wait;
	uint64_t waits_ns; /* of the last one that waits */
};

static inline struct walk walk_on(const struct mt_callstack *cs)
{
	const struct mt_rebuild *rebuild = &cs->base;
	const struct mt_segment_log *log = &rebuild->log;
	const size_t waits = log->pending.count;

	return (struct walk){
	    .now_ns = rebuild->now_ns,
	    .before_ns = rebuild->before_ns,
	    .estimated = rebuild->estimated,
	    .range_start = cs->range_start,
	    .range_size = cs->range_size,
	    .ip = cs->ip,
	    .frames = cs->frames.items,
	    .count = cs->frames.count,
	    .capacity = cs->frames.capacity,
	    .at = mt_log_record_start(log),
	    .full_at = log->bytes.items + log->full_at,
	    .log_ns = log->time_ns,
	    .generation = log->slices.generation,
	    .defined = log->defined,
	    .waiting = log->pending.items,
	    .waits = waits,
	    .most_wait =
		log->pending.capacity < MT_LOG_PENDING ? log->pending.capacity : MT_LOG_PENDING,
	    .waits_ns = waits ? log->pending.items[waits - 1].time_ns : 0,
	};
}

static inline void walk_to_here(struct mt_callstack *cs, const struct walk *walk)
{
	struct mt_rebuild *rebuild = &cs->base;

	rebuild->now_ns = cs->time_ns = walk->now_ns;
	rebuild->before_ns = walk->before_ns;
	rebuild->estimated = walk->estimated;
	cs->range_start = walk->range_start;
	cs->range_size = walk->range_size;
	cs->ip = walk->ip;
	cs->frames.count = walk->count;
	rebuild->log.time_ns = walk->log_ns;
	rebuild->log.pending.count = walk->waits;
	mt_log_record_end(&rebuild->log, walk->at);
}

/* ---- time ---- */

static inline void advance(struct mt_callstack *cs, struct walk *walk, const struct mt_event *event)
{
	walk->before_ns = walk->now_ns;
	walk->now_ns = mt_rebuild_time(walk->now_ns, event);
	walk->estimated = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
	if (!walk->waits || (walk->estimated && walk->now_ns <= walk->waits_ns))
		return;
	walk_to_here(cs, walk);
	mt_segment_log_settle(&cs->base.log, walk->now_ns);
	*walk = walk_on(cs);
}

/* ---- slices ---- */

static inline void wait(struct walk *walk, uint8_t kind, uint32_t number)
{
	walk->waiting[walk->waits++] = (struct mt_log_entry){
	    .time_ns = walk->now_ns, .what = number, .kind = kind, .estimated = true};
	walk->waits_ns = walk->now_ns;
}

static inline void begin(struct walk *walk, uint32_t number)
{
	if (walk->estimated)
		wait(walk, MT_LOG_BEGIN, number);
	else
		walk->at = mt_log_write_begin(walk->at, &walk->log_ns, walk->now_ns, false, number);
}

static inline void end(struct walk *walk)
{
	if (walk->estimated)
		wait(walk, MT_LOG_END, 0);
	else
		walk->at = mt_log_write_end(walk->at, &walk->log_ns, walk->now_ns, false, 0);
}

/* ---- events ----
 * Each returns how many it took; 0: the next one goes the long way. */

static inline bool is_in_range(const struct walk *walk, uint64_t address)
{
	return address - walk->range_start < walk->range_size;
}

static inline bool is_known(const struct walk *walk, const struct mt_cs_call *known, uint64_t from,
			    uint64_t to)
{
	return known->from == from && known->to == to && known->generation == walk->generation &&
	       known->range_size;
}

static inline void enter(struct walk *walk, const struct mt_cs_call *known)
{
	struct mt_frame *caller = &walk->frames[walk->count - 1];

	caller->range_start = walk->range_start;
	caller->range_size = walk->range_size;
	walk->frames[walk->count++] =
	    (struct mt_frame){.function = known->function, .return_site = known->from};
	walk->ip = walk->range_start = known->to;
	walk->range_size = known->range_size;
	begin(walk, known->number);
}

/* EVENT calls a stub, which shows no slice, and the one behind jumps on from there. */
static inline size_t call_by_stub(struct mt_callstack *cs, struct walk *walk,
				  const struct mt_cs_call *stub, const struct mt_event *event,
				  const struct mt_event *last)
{
	const struct mt_event *jump = event + 1;
	const struct mt_cs_call *known;

	if (jump == last || jump->kind != MT_EVENT_JUMP ||
	    jump->from - stub->to >= stub->range_size)
		return 0;
	known = mt_cs_call_place(cs, event->from, jump->to);
	if (!is_known(walk, known, event->from, jump->to) || known->number >= walk->defined)
		return 0;
	advance(cs, walk, event);
	advance(cs, walk, jump);
	enter(walk, known);
	return 2;
}

static inline size_t call(struct mt_callstack *cs, struct walk *walk, const struct mt_event *event,
			  const struct mt_event *last)
{
	const struct mt_cs_call *known = mt_cs_call_place(cs, event->from, event->to);

	if (!is_known(walk, known, event->from, event->to) || walk->count == walk->capacity)
		return 0;
	if (known->number == MT_LOG_SLICES_NONE)
		return call_by_stub(cs, walk, known, event, last);
	if (known->number >= walk->defined)
		return 0;
	advance(cs, walk, event);
	enter(walk, known);
	return 1;
}

static inline size_t go_back(struct mt_callstack *cs, struct walk *walk,
			     const struct mt_event *event)
{
	const struct mt_frame *top = &walk->frames[walk->count - 1], *caller = top - 1;

	if (walk->count < 2 || top->flags || top->inlines || !top->return_site ||
	    !mt_is_next_of(event->to, top->return_site) ||
	    event->to - caller->range_start >= caller->range_size ||
	    caller->flags & MT_FRAME_HIDDEN)
		return 0;
	advance(cs, walk, event);
	walk->count--;
	walk->range_start = caller->range_start;
	walk->range_size = caller->range_size;
	walk->ip = event->to;
	end(walk);
	return 1;
}

static inline size_t jump(struct mt_callstack *cs, struct walk *walk, const struct mt_event *event)
{
	if (!is_in_range(walk, event->to))
		return 0;
	advance(cs, walk, event);
	walk->ip = event->to;
	return 1;
}

static inline size_t take(struct mt_callstack *cs, struct walk *walk, const struct mt_event *event,
			  const struct mt_event *last)
{
	if (!is_in_range(walk, event->from) || walk->waits == walk->most_wait)
		return 0;
	switch (event->kind) {
	case MT_EVENT_CALL:
		return call(cs, walk, event, last);
	case MT_EVENT_RETURN:
		return go_back(cs, walk, event);
	case MT_EVENT_JUMP:
		return jump(cs, walk, event);
	default:
		return 0;
	}
}

const struct mt_event *mt_cs_take_plain(struct mt_callstack *cs, const struct mt_event *event,
					const struct mt_event *last)
{
	size_t taken = 1;

	if (!is_plain(cs))
		return event;
	struct walk walk = walk_on(cs);
	for (; event < last && (taken = take(cs, &walk, event, last)); event += taken) {
		/* There are too many calls for the nearest caches. */
		if (last - event > AHEAD)
			__builtin_prefetch(
			    mt_cs_call_place(cs, event[AHEAD].from, event[AHEAD].to));
		if (__builtin_expect(walk.at >= walk.full_at, 0)) {
			walk_to_here(cs, &walk);
			walk = walk_on(cs);
		}
	}
	walk_to_here(cs, &walk);
	return event;
}
