/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Full mode: the AUX area mapped for writing too; aux_tail says how far it was read. */
#include "event.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define RING (8 * PAGE)

static void set_tail(const struct event *event, uint64_t tail)
{
	__atomic_store_n(&event->page->aux_tail, tail, __ATOMIC_RELEASE);
}

static bool is_readable(const struct event *event)
{
	struct pollfd poller = {.fd = event->fd, .events = POLLIN};

	return poll(&poller, 1, 0) == 1 && (poller.revents & POLLIN);
}

static bool holds(const struct event *event, uint64_t from, uint64_t to, uint64_t first)
{
	for (uint64_t i = from; i < to; i++) {
		if (event->aux[i % event->aux_bytes] != pattern(first + i))
			return false;
	}
	return true;
}

static void half(struct event *event)
{
	struct record record;
	uint64_t first = played();

	enable(event);
	play(1000);
	check(aux_head(event) == 0 && !is_readable(event), "full: the head is not told at once");
	play(RING / 2 + 1000);
	check(aux_head(event) == RING / 2,
	      "full: at half of the area (the default watermark) the head is told");
	check(is_readable(event), "full: and poll(2) returns");
	check(next_of(event, PERF_RECORD_AUX, &record) && record.body[0] == 0 &&
		  record.body[1] == RING / 2 && record.body[2] == 0,
	      "full: PERF_RECORD_AUX has where it began, how much came, no flag");
	disable(event);
	check(aux_head(event) == RING / 2 + 2000 && holds(event, 0, RING / 2 + 2000, first),
	      "full: a stop tells the rest");
	check(next_of(event, PERF_RECORD_AUX, &record) && record.body[0] == RING / 2 &&
		  record.body[1] == 2000,
	      "full: the next record goes on where the one before it ended");
}

/* One of the records that wait is. */
static bool is_truncated(struct event *event)
{
	struct record record;
	bool truncated = false;

	while (next_of(event, PERF_RECORD_AUX, &record))
		truncated |= (record.body[2] & PERF_AUX_FLAG_TRUNCATED) != 0;
	return truncated;
}

static void truncation(struct event *event)
{
	uint64_t first = played() - (RING / 2 + 2000);

	enable(event);
	play(2 * RING);
	check(aux_head(event) == RING, "full: output ends when the area is full");
	check(holds(event, 0, RING, first), "full: nothing that was not read is overwritten");
	check(is_truncated(event), "full: PERF_RECORD_AUX says TRUNCATED");
	set_tail(event, aux_head(event));
	play(100);
	disable(event);
	check(aux_head(event) == RING,
	      "full: room alone does not start an event that ran into the end");
}

static void again(struct event *event)
{
	struct record record;
	uint64_t first;

	enable(event);
	first = played() - RING;
	play(RING - PAGE);
	disable(event);
	check(aux_head(event) == 2 * RING - PAGE && holds(event, RING, 2 * RING - PAGE, first),
	      "full: PERF_EVENT_IOC_ENABLE does; the head counts on beyond the area's end");
	while (next_record(event, &record))
		;
	set_tail(event, RING + 2 * PAGE + 100);
	enable(event);
	play(RING);
	disable(event);
	/* Regions are as large as what the kernel could allocate in one piece. */
	check(aux_head(event) % PAGE == 0 && aux_head(event) > 2 * RING - PAGE &&
		  aux_head(event) <= 2 * RING + 2 * PAGE,
	      "full: output ends at the border of a region before the tail, not at the tail");
	check(is_truncated(event), "full: with TRUNCATED again");
}

void test_full(void)
{
	struct event event = trace(0, -1, RING, true);

	half(&event);
	truncation(&event);
	again(&event);
	close_event(&event);
}
