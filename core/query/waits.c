/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/waits.h"
#include "base/search.h"

#include "query/locks.h"

#include <string.h>

void mt_waits_deinit(struct mt_waits *waits)
{
	mt_array_deinit(&waits->off);
	mt_array_deinit(&waits->syscalls);
	mt_array_deinit(&waits->faults);
}

struct mt_error *mt_waits_add(struct mt_waits *waits, const struct mt_side_event *what,
			      uint64_t begin_ns, uint64_t end_ns)
{
	const struct mt_wait wait = {begin_ns, end_ns, what};
	int failed = 0;

	if (what->is_off_cpu)
		failed = mt_array_push(&waits->off, wait);
	else if (strcmp(what->category, "syscall") == 0)
		failed = mt_array_push(&waits->syscalls, wait);
	else if (strcmp(what->category, "fault") == 0)
		failed = mt_array_push(&waits->faults, wait);
	return failed ? mt_error_no_memory() : NULL;
}

struct mt_waited mt_waits_before(struct mt_waits *waits, uint64_t time_ns)
{
	if (time_ns < waits->last_ns)
		waits->off_before = waits->faults_before = waits->off_ns = 0;
	waits->last_ns = time_ns;
	while (waits->faults_before < waits->faults.count &&
	       waits->faults.items[waits->faults_before].begin_ns <= time_ns)
		waits->faults_before++;
	while (waits->off_before < waits->off.count &&
	       waits->off.items[waits->off_before].end_ns <= time_ns) {
		const struct mt_wait *off = &waits->off.items[waits->off_before++];

		waits->off_ns += off->end_ns - off->begin_ns;
	}
	struct mt_waited waited = {waits->off_ns, waits->faults_before};
	if (waits->off_before < waits->off.count &&
	    waits->off.items[waits->off_before].begin_ns < time_ns)
		waited.off_ns += time_ns - waits->off.items[waits->off_before].begin_ns;
	return waited;
}

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Returns how many there are then. */
static size_t add(struct mt_wait_sum *sums, size_t count, const struct mt_wait *wait, uint64_t ns)
{
	size_t at = 0;

	while (at < count && !(is_same(sums[at].what->name, wait->what->name) &&
			       is_same(sums[at].what->reason, wait->what->reason)))
		at++;
	if (at == MT_WAIT_SUMS)
		return count;
	if (at == count)
		sums[count++] = (struct mt_wait_sum){.what = wait->what};
	sums[at].ns += ns;
	sums[at].count++;
	return count;
}

static int by_length(const void *a, const void *b)
{
	const struct mt_wait_sum *left = a, *right = b;

	return (left->ns < right->ns) - (left->ns > right->ns);
}

/* The first of COUNT that did not end before. */
static size_t first_from(const struct mt_wait *items, size_t count, uint64_t begin_ns)
{
	return mt_partition_point(i, 0, count, items[i].end_ns < begin_ns);
}

size_t mt_waits_within(const struct mt_waits *waits, uint64_t begin_ns, uint64_t end_ns,
		       struct mt_wait_sum sums[MT_WAIT_SUMS])
{
	const size_t lists = 3;
	const struct mt_wait *items[] = {waits->off.items, waits->syscalls.items,
					 waits->faults.items};
	const size_t counts[] = {waits->off.count, waits->syscalls.count, waits->faults.count};
	size_t count = 0;

	for (size_t list = 0; list < lists; list++) {
		size_t low = first_from(items[list], counts[list], begin_ns);

		for (; low < counts[list] && items[list][low].begin_ns < end_ns; low++) {
			const struct mt_wait *wait = &items[list][low];
			const uint64_t from = wait->begin_ns > begin_ns ? wait->begin_ns : begin_ns;
			const uint64_t to = wait->end_ns < end_ns ? wait->end_ns : end_ns;

			count = add(sums, count, wait, to > from ? to - from : 0);
		}
	}
	qsort(sums, count, sizeof(*sums), by_length);
	return count;
}

const struct mt_wait *mt_waits_futex(const struct mt_waits *waits, uint64_t begin_ns,
				     uint64_t end_ns, uint64_t *word)
{
	const struct mt_wait *longest = NULL;
	size_t at = first_from(waits->syscalls.items, waits->syscalls.count, begin_ns);

	for (; at < waits->syscalls.count && waits->syscalls.items[at].begin_ns < end_ns; at++) {
		const struct mt_wait *wait = &waits->syscalls.items[at];
		bool is_wake;
		const uint64_t its = mt_lock_futex(wait->what, &is_wake);

		if (!its || is_wake || wait->begin_ns < begin_ns ||
		    (longest &&
		     longest->end_ns - longest->begin_ns >= wait->end_ns - wait->begin_ns))
			continue;
		longest = wait;
		*word = its;
	}
	return longest;
}
