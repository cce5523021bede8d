/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a thread was off the CPU, in the kernel, or faulted, by the side tracks: what comes before
 * the thread's calls where struct mt_decode_options.side_tracks_first is set.  Its memory grows
 * with these events. */
#ifndef MT_QUERY_WAITS_H
#define MT_QUERY_WAITS_H

#include "base/array.h"
#include "trace/slice.h"

struct mt_wait {
	uint64_t begin_ns, end_ns;        /* of a fault the same */
	const struct mt_side_event *what; /* lent for the run */
};

/* Zeroed storage is empty. */
struct mt_waits {
	MT_ARRAY(struct mt_wait) off, syscalls, faults; /* each in time */
	/* Where the last question was: times mostly grow. */
	size_t off_before, faults_before;
	uint64_t off_ns, last_ns;
};

void mt_waits_deinit(struct mt_waits *waits);
/* Errors: NO_MEMORY. */
struct mt_error *mt_waits_add(struct mt_waits *waits, const struct mt_side_event *what,
			      uint64_t begin_ns, uint64_t end_ns);

/* How long the thread had been off the CPU at a time, and how often it had faulted. */
struct mt_waited {
	uint64_t off_ns, faults;
};
struct mt_waited mt_waits_before(struct mt_waits *waits, uint64_t time_ns);

/* The same kind of wait within a call, summed. */
struct mt_wait_sum {
	const struct mt_side_event *what;
	uint64_t ns, count;
};
#define MT_WAIT_SUMS 8
/* The most of those within [BEGIN_NS, END_NS], the longest first; faults last.  Returns how many.
 */
size_t mt_waits_within(const struct mt_waits *waits, uint64_t begin_ns, uint64_t end_ns,
		       struct mt_wait_sum sums[MT_WAIT_SUMS]);

/* The longest of those in futex(2) that began within [BEGIN_NS, END_NS], and the word that it
 * waited for; NULL: there is none.  Lent. */
const struct mt_wait *mt_waits_futex(const struct mt_waits *waits, uint64_t begin_ns,
				     uint64_t end_ns, uint64_t *word);

#endif
