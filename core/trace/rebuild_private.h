/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part that both rebuilds have: time, names, the log of a segment, its roots and gaps, marks.
 */
#ifndef MT_TRACE_REBUILD_PRIVATE_H
#define MT_TRACE_REBUILD_PRIVATE_H

#include "trace/rebuild.h"
#include "trace/segment_log.h"

/* What is looked up once an address is kept in tables of at most 2^12 places: in smaller ones where
 * few events come, since there may be as many rebuilds as goroutines. */
enum { MT_REBUILD_LEAST_BITS = 6, MT_REBUILD_MOST_BITS = 12 };

struct mt_cached_function {
	uint64_t address;
	const struct mt_function *function;
};

struct mt_rebuild {
	uint64_t now_ns;
	uint64_t before_ns; /* of the event before */
	bool estimated;
	bool segment_open;
	bool failed;
	bool is_over;       /* what is open does not go on behind the segment */
	uint32_t signal;    /* about to be delivered; 0: none */
	uint32_t snapshot;  /* the event before was its mark, and may end the segment; 0: none */
	uint8_t table_bits; /* tables have 2^this places */
	bool is_filled;     /* they may have something */
	struct mt_cached_function *functions; /* by address */
	const struct mt_symbolizer *symbolizer;
	struct mt_segment_log log;
	MT_ARRAY(struct mt_slice)
	roots; /* in the order in which they were found: innermost first */
	struct mt_thread_segment segment;

	uint64_t gap_begin_ns; /* of the gap that was seen last */
	uint64_t gap_bytes;
	uint32_t gap_cause;

	/* Searches and the like are paid for by the events before, so that no input makes the work
	 * quadratic. */
	uint64_t credit;

	const struct mt_rebuild_ops *ops;
	struct mt_rebuild_options options;
};

/* Behind a snapshot's mark: what EVENT says of whether something was lost there. */
void mt_rebuild_pass_snapshot(struct mt_rebuild *rebuild, const struct mt_event *event);

static inline uint64_t mt_rebuild_time(uint64_t now_ns, const struct mt_event *event)
{
	/* Beyond 63 bits it is no time but garbage, and formats do not take it. */
	return (int64_t)event->time_ns > (int64_t)now_ns ? event->time_ns : now_ns;
}

static inline void mt_rebuild_advance(struct mt_rebuild *rebuild, const struct mt_event *event)
{
	if (rebuild->snapshot)
		mt_rebuild_pass_snapshot(rebuild, event);
	rebuild->before_ns = rebuild->now_ns;
	rebuild->now_ns = mt_rebuild_time(rebuild->now_ns, event);
	rebuild->estimated = event->flags & MT_EVENT_TIME_IS_ESTIMATE;
}

static inline size_t mt_rebuild_places(const struct mt_rebuild *rebuild)
{
	return (size_t)1 << rebuild->table_bits;
}

/* By Knuth's multiplicative hashing. */
static inline size_t mt_rebuild_place(unsigned table_bits, uint64_t key)
{
	return (key * 0x9e3779b97f4a7c15u) >> (64 - table_bits);
}

static inline const struct mt_function *mt_rebuild_function_at(struct mt_rebuild *rebuild,
							       uint64_t address)
{
	struct mt_cached_function *cached =
	    &rebuild->functions[mt_rebuild_place(rebuild->table_bits, address)];

	if (cached->address != address || !cached->function) {
		cached->address = address;
		cached->function =
		    rebuild->symbolizer->function_at(rebuild->symbolizer->context, address);
	}
	return cached->function;
}

static inline void mt_rebuild_open_segment(struct mt_rebuild *rebuild)
{
	if (rebuild->segment_open)
		return;
	rebuild->segment_open = true;
	rebuild->segment.begin_ns = rebuild->now_ns;
	rebuild->segment.has_calls = false;
}

/* The same for a call, or where one goes on.  What was open then began no earlier, as far as is
 * known: of a ring that is full the first signals may be much older. */
static inline void mt_rebuild_open_calls(struct mt_rebuild *rebuild)
{
	mt_rebuild_open_segment(rebuild);
	if (rebuild->segment.has_calls)
		return;
	rebuild->segment.has_calls = true;
	rebuild->segment.calls_ns = rebuild->now_ns;
}

/* Ends the rebuild. */
void mt_rebuild_out_of_memory(struct mt_rebuild *rebuild);
/* File and line of an address; all zeros: not known. */
struct mt_source mt_rebuild_source_at(const struct mt_rebuild *rebuild, uint64_t address);
void mt_rebuild_add_root(struct mt_rebuild *rebuild, const struct mt_slice *root);
/* Shows the segment.  SNAPSHOT 0: none ended it. */
void mt_rebuild_close_segment(struct mt_rebuild *rebuild, uint32_t snapshot);

void mt_rebuild_instant(struct mt_rebuild *rebuild, enum mt_instant_kind kind, uint32_t detail,
			uint64_t value, uint64_t address);
void mt_rebuild_signal(struct mt_rebuild *rebuild, const struct mt_event *event);
void mt_rebuild_mark(struct mt_rebuild *rebuild, const struct mt_event *event);
/* BYTES more were lost.  The gap began at BEGIN_NS, unless IS_MORE: then it goes on. */
void mt_rebuild_gap(struct mt_rebuild *rebuild, uint32_t cause, uint64_t bytes, uint64_t begin_ns,
		    bool is_more);
/* The slice that shows the gap. */
static inline struct mt_log_slice mt_rebuild_gap_slice(const struct mt_rebuild *rebuild)
{
	return (struct mt_log_slice){
	    .kind = MT_SLICE_GAP,
	    .cause = (uint16_t)rebuild->gap_cause,
	    .bytes_lost = rebuild->gap_bytes,
	};
}

#endif
