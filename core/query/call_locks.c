/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/call_locks.h"

#define LEAST_PART 20u
#define LEAST_NS   1000u /* not as short as to take a lock that is free */

static uint64_t duration_of(const struct mt_lock_wait *wait)
{
	return wait->end_ns - wait->begin_ns;
}

void mt_call_locks_note(struct mt_call_locks *locks, const struct mt_lock_wait *wait)
{
	size_t at = locks->count;

	if (at == MT_CALL_LOCKS && duration_of(&locks->longest[at - 1]) >= duration_of(wait))
		return;
	if (at == MT_CALL_LOCKS)
		at--;
	else
		locks->count++;
	for (; at && duration_of(&locks->longest[at - 1]) < duration_of(wait); at--)
		locks->longest[at] = locks->longest[at - 1];
	locks->longest[at] = *wait;
}

void mt_call_locks_note_futex(struct mt_call_locks *locks, const struct mt_waits *waits,
			      uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t word = 0;
	const struct mt_wait *futex = mt_waits_futex(waits, begin_ns, end_ns, &word);

	if (!futex)
		return;
	bool is_of_lock = futex->end_ns > end_ns;
	for (size_t i = 0; i < locks->count; i++) {
		struct mt_lock_wait *lock = &locks->longest[i];

		mt_waits_futex(waits, lock->begin_ns, lock->end_ns, &lock->futex);
		is_of_lock |= futex->begin_ns >= lock->begin_ns && futex->begin_ns <= lock->end_ns;
	}
	if (!is_of_lock)
		mt_call_locks_note(locks, &(struct mt_lock_wait){.begin_ns = futex->begin_ns,
								 .end_ns = futex->end_ns,
								 .futex = word});
}

void mt_call_locks_keep(struct mt_call_locks *locks, uint64_t more_ns)
{
	size_t kept = 0;

	while (kept < locks->count && duration_of(&locks->longest[kept]) >= LEAST_NS && more_ns &&
	       duration_of(&locks->longest[kept]) >= more_ns / LEAST_PART)
		kept++;
	locks->count = kept;
}
