/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The locks that a call waited for longest, and what it waited for in futex(2) otherwise. */
#ifndef MT_QUERY_CALL_LOCKS_H
#define MT_QUERY_CALL_LOCKS_H

#include "query/locks.h"
#include "query/waits.h"

#define MT_CALL_LOCKS 4

/* Zeroed storage is empty. */
struct mt_call_locks {
	struct mt_lock_wait longest[MT_CALL_LOCKS]; /* the longest first */
	size_t count;
};

void mt_call_locks_note(struct mt_call_locks *locks, const struct mt_lock_wait *wait);
/* When the call is over: the words of futex(2) that belong to its locks, and the longest wait there
 * that belongs to none. */
void mt_call_locks_note_futex(struct mt_call_locks *locks, const struct mt_waits *waits,
			      uint64_t begin_ns, uint64_t end_ns);
/* Leaves those that tell something about why the call took MORE_NS more than it mostly does. */
void mt_call_locks_keep(struct mt_call_locks *locks, uint64_t more_ns);

#endif
