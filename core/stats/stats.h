/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often functions were called and how long they took: a sink of slices that keeps a histogram
 * of each function's durations, so its memory grows with the functions, and not with their calls.
 *
 * - A call counts where it begins.  One that was under way when recording began, or that went on
 *   behind lost data, counts in `partial` and with the time that was seen of it; so does one that
 *   had not ended.  Neither is in the histogram.
 * - `total` is the time from the call to the return; of a function that calls itself the outer
 *   call's alone.  `self` is the total without the calls that it made, of each call.
 * - `waited` is the part of the total in which the thread did not run, where that was recorded.
 *   Side tracks have to come before the threads for that: mt_decode_options.side_tracks_first.
 * - Inlined calls count as parts of the function that they are in.
 * - Of a thread whose stack was sampled, no call is known: `calls` counts samples that the function
 *   was in, of which each stands for a period, and there are no durations of calls. */
#ifndef MT_STATS_STATS_H
#define MT_STATS_STATS_H

#include "base/arena.h"
#include "base/array.h"
#include "stats/histogram.h"
#include "trace/slice.h"

enum mt_stats_by {
	MT_STATS_BY_FUNCTION,
	MT_STATS_BY_THREAD,
	MT_STATS_BY_PROCESS,
	MT_STATS_BY_CALLER,
};

struct mt_stats_options {
	enum mt_stats_by by;
	/* As people write it, or a glob: then callers, callees and the slowest calls of it are
	 * kept, too.  NULL: none. */
	const char *function;
	size_t slowest; /* how many */
};

/* Of a function, of one in a thread, a process or from a caller, or of a kind of waiting. */
struct mt_stats_row {
	const char *group; /* "worker (1234)", "main"; NULL: rows have none */
	const char *name;
	const char *category; /* "call", "sched", "syscall", "fault", "kernel" */
	const char *module;
	struct mt_source source;
	uint64_t calls, partial;
	uint64_t total_ns, self_ns, waited_ns;
	struct mt_histogram durations;
};

typedef MT_ARRAY(struct mt_stats_row) mt_stats_rows;

/* One of the slowest calls. */
struct mt_stats_call {
	uint64_t begin_ns, duration_ns;
	const char *function, *arguments; /* NULL: none were recorded */
	const char *thread;
	pid_t tid;
	bool is_estimated;
};

/* What came out. */
struct mt_stats_result {
	mt_stats_rows functions; /* with a function, its own alone */
	mt_stats_rows waits;     /* of all threads; a fault has no duration */
	mt_stats_rows callers, callees;
	MT_ARRAY(struct mt_stats_call) slowest; /* the slowest first */
	uint64_t begin_ns, end_ns;              /* of all segments */
	uint64_t threads;                       /* with calls */
	uint64_t calls, partial, estimated, gaps;
	bool has_estimated_begins; /* not the ends of calls alone, which nothing records */
	bool has_waited;
	struct mt_sampling sampling; /* of all threads; samples 0: calls were recorded */
	struct mt_arena texts;
};

struct mt_stats;

/* OPTIONS are copied, their strings lent.  Errors: NO_MEMORY. */
struct mt_error *mt_stats_create(const struct mt_stats_options *options, struct mt_stats **out);
void mt_stats_destroy(struct mt_stats *stats); /* NULL is fine */
struct mt_slice_sink mt_stats_sink(struct mt_stats *stats);
/* After the sink's finish().  Lent. */
struct mt_stats_result *mt_stats_result(struct mt_stats *stats);

#endif
