/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Snapshot mode: the AUX area mapped for reading alone. */
#include "event.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RING     (4 * PAGE)
#define PT_FLAG  _IO('p', 1)
#define TID_WORD 0 /* of PERF_RECORD_ITRACE_START */

/* The ring holds the last bytes up to number END, the last of them in front of HEAD. */
static bool holds(const struct event *event, uint64_t head, uint64_t end, size_t count)
{
	for (size_t i = 1; i <= count; i++) {
		if (event->aux[(head - i) % event->aux_bytes] != pattern(end - i))
			return false;
	}
	return true;
}

static unsigned int count_of(struct event *event, uint32_t type)
{
	struct record record;
	unsigned int count = 0;

	while (next_of(event, type, &record))
		count++;
	return count;
}

static void first_lap(struct event *event)
{
	struct record record;

	enable(event);
	play(1000);
	check(aux_head(event) == 0, "overwrite: the head is not told while the event runs");
	disable(event);
	check(aux_head(event) == 1000, "overwrite: it is when the event stops");
	check(holds(event, 1000, played(), 1000), "overwrite: the bytes are there");
	check(event->aux[1000] == 0 && event->aux[RING - 1] == 0,
	      "overwrite: what was never written is zero");
	check(next_of(event, PERF_RECORD_ITRACE_START, &record) &&
		  (uint32_t)record.body[TID_WORD] == (uint32_t)getpid() &&
		  record.body[TID_WORD] >> 32 == (uint32_t)gettid(),
	      "overwrite: PERF_RECORD_ITRACE_START names process and thread");
	check(next_of(event, PERF_RECORD_AUX, &record) && record.body[0] == 1000 &&
		  record.body[1] == RING && record.body[2] == PERF_AUX_FLAG_OVERWRITE,
	      "overwrite: PERF_RECORD_AUX has the head as offset, the whole ring as size");
}

static void later_laps(struct event *event)
{
	struct record record;

	enable(event);
	play(500);
	disable(event);
	check(aux_head(event) == 1500 && holds(event, 1500, played(), 1500),
	      "overwrite: an event that was stopped goes on where it was");
	check(!count_of(event, PERF_RECORD_ITRACE_START), "overwrite: ITRACE_START comes once");

	enable(event);
	play(RING - 500);
	disable(event);
	check(aux_head(event) == 1000 && holds(event, 1000, played(), RING),
	      "overwrite: the head begins anew behind the ring's end");
	check(next_of(event, PERF_RECORD_AUX, &record) && record.body[0] == 1000 &&
		  record.body[1] == RING,
	      "overwrite: so does PERF_RECORD_AUX's offset");

	enable(event);
	play(RING - 1000);
	disable(event);
	check(aux_head(event) == 0 && holds(event, 0, played(), RING),
	      "overwrite: a ring written to its end has the head 0, as an empty one");
	enable(event);
	play(5 * RING + 7);
	disable(event);
	check(aux_head(event) == 7 && holds(event, 7, played(), RING),
	      "overwrite: nothing tells how many laps there were");
}

static void switches(struct event *event)
{
	struct record record;

	while (next_record(event, &record))
		;
	enable(event);
	play(100);
	for (int i = 0; i < 3; i++)
		usleep(100000); /* longer than an emulated CPU may be kept waiting */
	check(aux_head(event) == 107, "overwrite: a thread that leaves its CPU tells the head");
	disable(event);
	check(count_of(event, PERF_RECORD_AUX) >= 4,
	      "overwrite: each time it leaves a PERF_RECORD_AUX is written");
}

/* DATA_PAGES hold some 700 of them. */
static void flood(struct event *event)
{
	struct record record;
	unsigned int seen = 0;

	for (int i = 0; i < 2000; i++) {
		enable(event);
		disable(event);
	}
	while (next_record(event, &record))
		seen += record.type == PERF_RECORD_AUX;
	check(seen > 100 && seen < 2000, "overwrite: records that find no room are lost");
	enable(event);
	disable(event);
	check(next_of(event, PERF_RECORD_LOST, &record) && record.body[1] == 2000 - seen,
	      "overwrite: PERF_RECORD_LOST counts them, before the next record");
	play(3);
	enable(event);
	play(3);
	disable(event);
	check(aux_head(event) == 110,
	      "overwrite: the AUX area loses nothing by that, and what runs "
	      "while the event is stopped is not in it");
}

static void flags(struct event *event)
{
	struct record record;

	while (next_record(event, &record))
		;
	enable(event);
	ioctl(device, PT_FLAG, PERF_AUX_FLAG_PARTIAL);
	play(1);
	disable(event);
	check(next_of(event, PERF_RECORD_AUX, &record) &&
		  record.body[2] == (PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL),
	      "overwrite: what the driver marks as PARTIAL is told in PERF_RECORD_AUX");
}

void test_overwrite(void)
{
	struct event event = trace(0, -1, RING, false);

	first_lap(&event);
	later_laps(&event);
	switches(&event);
	flood(&event);
	flags(&event);
	check(event.page->cap_user_time && event.page->cap_user_time_zero,
	      "time: the page tells how to make time of TSC");
	close_event(&event);
}
