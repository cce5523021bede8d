/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The log of a segment: what will go to the sink, held back until the segment's end, because the
 * roots that come first are only known then.
 *
 * Two stages.  Entries whose time is not certain yet wait in `pending`; when a later time becomes
 * known they are spread over the time between.  Settled entries are packed into bytes: a slice's
 * begin has its number (log_slices.h), so that most entries take a few bytes.  The bytes go beyond
 * their budget to a spill file.
 *
 * Failures stay in `error`; everything after one does nothing. */
#ifndef MT_TRACE_SEGMENT_LOG_H
#define MT_TRACE_SEGMENT_LOG_H

#include "base/array.h"
#include "base/spill.h"
#include "trace/log_slices.h"
#include "trace/symbolizer.h"

enum { MT_LOG_PENDING = 16384 /* entries that wait for a time at the most */ };

struct mt_log_entry {
	uint64_t time_ns;
	uint32_t what; /* the slice's number; the instant's index in `instants` */
	uint8_t kind;  /* enum mt_log_kind */
	bool estimated;
	uint8_t end_flags;
};

struct mt_segment_log {
	MT_ARRAY(uint8_t) bytes; /* those behind the first `spilled` */
	size_t budget;
	size_t full_at; /* bytes.count stays below: a record more has room */
	uint64_t spilled;
	struct mt_spill spill;
	uint64_t time_ns; /* of the last settled entry */

	MT_ARRAY(struct mt_log_entry) pending;
	MT_ARRAY(struct mt_instant) instants; /* of those that wait */
	bool held; /* nothing settles: pending[held_at] may have to go again */
	size_t held_at;

	struct mt_log_slices slices;
	uint32_t defined; /* numbers below have a record that defines them */
	uint32_t epoch;   /* another one once records were taken back */

	/* Where a transaction began: in pending, or, once that settled, in the bytes. */
	bool checkpoint;
	bool checkpoint_settled;
	size_t checkpoint_pending;
	uint64_t checkpoint_position;
	uint64_t checkpoint_time_ns;
	uint32_t checkpoint_defined;

	const struct mt_symbolizer *symbolizer; /* for the call sites' sources */
	struct mt_error *error;
};

struct mt_error *mt_segment_log_init(struct mt_segment_log *log, size_t budget);
void mt_segment_log_deinit(struct mt_segment_log *log);
/* Keeps the first error, and destroys a later one.  NULL is fine. */
void mt_segment_log_fail(struct mt_segment_log *log, struct mt_error *error);
/* Empty again, for the next segment. */
void mt_segment_log_clear(struct mt_segment_log *log);
/* For the call sites' sources from here on. */
void mt_segment_log_set_symbolizer(struct mt_segment_log *log,
				   const struct mt_symbolizer *symbolizer);

/* Returns the slice's number, by which it can begin again in this generation of `slices`;
 * MT_LOG_SLICES_NONE after a failure. */
uint32_t mt_segment_log_begin(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			      const struct mt_log_slice *slice);
void mt_segment_log_begin_again(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				uint32_t number);
/* Likewise, where a time that is an estimate is the best there will be.  Not to be mixed with
 * entries that wait. */
uint32_t mt_segment_log_begin_settled(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
				      const struct mt_log_slice *slice);
void mt_segment_log_end(struct mt_segment_log *log, uint64_t time_ns, bool estimated,
			uint8_t flags);
/* What the next begin was called with, or the next end returned: lent for the run. */
void mt_segment_log_text(struct mt_segment_log *log, const char *text);
/* Likewise of the next end, where that is known later; until then TEXT is NULL.  Returns its place,
 * until the log is cleared (`epoch`); 0 after a failure. */
struct mt_log_late_text {
	const char *text;
	const struct mt_function *function; /* that ends */
	uint64_t before;                    /* another one's place, for the caller; 0: none */
};
uint64_t mt_segment_log_late_text(struct mt_segment_log *log, const struct mt_log_late_text *late);
/* False: it failed, as `error` says. */
bool mt_segment_log_get_late(struct mt_segment_log *log, uint64_t place,
			     struct mt_log_late_text *out);
void mt_segment_log_set_late(struct mt_segment_log *log, uint64_t place,
			     const struct mt_log_late_text *late);
void mt_segment_log_instant(struct mt_segment_log *log, const struct mt_instant *instant);

/* The time is known to be BOUND_NS now: spread what waits, up to there. */
void mt_segment_log_settle(struct mt_segment_log *log, uint64_t bound_ns);

/* From the next entry (a begin) on, wait for the word: keep, or drop that one. */
void mt_segment_log_hold(struct mt_segment_log *log);
/* Is that begin in the log (or was before)? */
bool mt_segment_log_release(struct mt_segment_log *log, bool keep);

void mt_segment_log_checkpoint(struct mt_segment_log *log);
void mt_segment_log_commit(struct mt_segment_log *log);
void mt_segment_log_rollback(struct mt_segment_log *log);

/* Sends it all to the sink: the roots (innermost first), then the log, then ends for what is open.
 */
struct mt_replay {
	struct mt_slice_sink sink;
	const struct mt_thread *thread;
	struct mt_thread_segment segment;
	const struct mt_slice *roots;
	size_t root_count;
};
struct mt_error *mt_segment_log_replay(struct mt_segment_log *log, const struct mt_replay *replay);

#endif
