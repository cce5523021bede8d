/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernel's times and the TSC, by the engine's own arithmetic: a record lies between two
 * readings of the TSC, and both clocks run alike. */
#include "event.h"

#include "kernel/clock.h"

#include <err.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAULTS     20
#define SPAN_NS    100000000
#define SLACK      64   /* ticks that rounding costs */
#define READINGS   20
#define FAST_PER_M 1000 /* by so much the clocks may differ */

static struct event open_faults(void)
{
	const struct perf_event_attr attr = {
	    .type = PERF_TYPE_SOFTWARE,
	    .size = sizeof(attr),
	    .config = PERF_COUNT_SW_PAGE_FAULTS,
	    .sample_period = 1,
	    .sample_type = PERF_SAMPLE_TIME,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	};
	struct event event = {.fd = open_event(&attr, 0, -1)};

	event.page =
	    mmap(NULL, (DATA_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event.fd, 0);
	if (event.fd < 0 || event.page == MAP_FAILED)
		err(1, "an event for page faults");
	return event;
}

/* The page is touched for the first time between the two. */
static bool lies_between(struct event *event, const struct mt_perf_clock *clock,
			 volatile char *page)
{
	struct record record;

	while (next_record(event, &record))
		; /* our own data may have been touched for the first time since */
	uint64_t before = mt_clock_tsc();
	*page = 1;
	uint64_t after = mt_clock_tsc();
	if (!next_of(event, PERF_RECORD_SAMPLE, &record))
		return false;
	uint64_t tsc = mt_perf_clock_to_tsc(clock, record.body[0]);
	return tsc + SLACK >= before && tsc <= after + SLACK;
}

static void records(const struct mt_perf_clock *clock)
{
	struct event event = open_faults();
	char *pages =
	    mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned good = 0;

	for (unsigned i = 0; i < FAULTS; i++)
		good += lies_between(&event, clock, pages + i * PAGE);
	check(good == FAULTS, "time: %u of %u page faults lie between two readings of the TSC",
	      good, FAULTS);
	munmap(pages, FAULTS * PAGE);
	close_event(&event);
}

static uint64_t now_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Both at once: of several readings the one that took least, since an emulator may pause. */
static uint64_t now_and_tsc(uint64_t *tsc)
{
	uint64_t now = 0, least = UINT64_MAX;

	for (unsigned i = 0; i < READINGS; i++) {
		uint64_t before = now_ns(CLOCK_MONOTONIC_RAW), between = mt_clock_tsc();
		uint64_t took = now_ns(CLOCK_MONOTONIC_RAW) - before;

		if (took >= least)
			continue;
		least = took;
		now = before + took / 2;
		*tsc = between;
	}
	return now;
}

static void rate(const struct mt_perf_clock *clock)
{
	uint64_t first = 0, last = 0, begun = now_and_tsc(&first);

	while (now_ns(CLOCK_MONOTONIC_RAW) - begun < SPAN_NS)
		;
	uint64_t now = now_and_tsc(&last);
	uint64_t span = mt_tsc_to_ns(&clock->page, last) - mt_tsc_to_ns(&clock->page, first);
	uint64_t off = span > now - begun ? span - (now - begun) : now - begun - span;
	check(off < (now - begun) / FAST_PER_M, "time: the TSC and the clock run alike");
}

void test_times(void)
{
	struct mt_perf_clock clock;

	mt_perf_clock_init(&clock);
	check(!clock.raw, "time: the page's conversion is used");
	records(&clock);
	rate(&clock);
}
