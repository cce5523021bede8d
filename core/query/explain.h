/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why the slowest calls of a function are slow: where they spent more time than its calls mostly
 * do, by the path of callees; a sink of slices.
 *
 * Of each path below the function there is a histogram of the time that a call spends there itself,
 * over all calls; so a slow call's is compared with the median of that place, in one pass, and in
 * memory that grows with the paths (output/path_tree.h) and the side tracks' events, and not
 * with the calls.  Calls seen in part do not count.  Within a recursion the outermost call counts.
 */
#ifndef MT_QUERY_EXPLAIN_H
#define MT_QUERY_EXPLAIN_H

#include "base/str.h"
#include "query/call_locks.h"
#include "query/waits.h"
#include "trace/slice.h"

/* A place that took more time than it mostly does. */
struct mt_explain_place {
	const char *path; /* "handle > parse > memcpy", NULL: deeper than is told apart */
	uint64_t self_ns, median_self_ns;
	uint64_t calls, median_calls;
	uint64_t off_ns, faults; /* of self_ns, the part off the CPU; the faults in it */
};

struct mt_explain_call {
	uint64_t begin_ns, duration_ns, zero_ns, span_ns; /* zero: the segment's end */
	const char *function, *arguments, *thread;
	pid_t pid, tid;
	bool is_estimated;                        /* its begin or its end, or one within */
	bool has_estimated_begins;                /* not the ends alone, which nothing records */
	uint64_t gaps;                            /* within */
	MT_ARRAY(struct mt_explain_place) places; /* what they have more, the most first */
	struct mt_wait_sum waits[MT_WAIT_SUMS];
	size_t wait_count;
	struct mt_call_locks locks; /* that tell something; who held them is not known here */
};

struct mt_explain_result {
	uint64_t calls, partial, estimated;
	uint64_t median_ns;
	bool has_off, has_faults;                 /* were recorded of a thread */
	MT_ARRAY(struct mt_explain_call) slowest; /* the slowest first */
};

struct mt_explain;

/* FUNCTION (lent): as mt_function_matches() takes it.  MOST: how many calls are explained.
 * Errors: NO_MEMORY. */
struct mt_error *mt_explain_create(const char *function, size_t most, struct mt_explain **out);
void mt_explain_destroy(struct mt_explain *explain); /* NULL is fine */
/* Errors of the sink: NO_MEMORY. */
struct mt_slice_sink mt_explain_sink(struct mt_explain *explain);
/* Called when the slices are over, while they are lent: the sink's finish().  Lent to it, which may
 * find out who held the locks (query/locks.h) by looking at the recording again. */
typedef struct mt_error *mt_explain_done(void *context, struct mt_explain_result *result);
void mt_explain_on_done(struct mt_explain *explain, mt_explain_done *done, void *context);

/* For people.  OUT's `failed` tells of a lack of memory. */
void mt_explain_print(const char *function, const struct mt_explain_result *result,
		      struct mt_str *out);
void mt_explain_print_json(const struct mt_explain_result *result, struct mt_str *out);

#endif
