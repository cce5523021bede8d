/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/clock.h"

#include "kernel/event.h"
#include "kernel/system.h"

#include <sys/mman.h>
#include <unistd.h>

/* x86-64 does not read before what it read earlier; the compiler must not, either. */
bool mt_perf_page_conversion(const struct perf_event_mmap_page *page,
			     struct mt_time_conversion *conversion)
{
	volatile const uint32_t *lock = &page->lock;
	uint32_t sequence;
	bool known;

	do {
		sequence = *lock;
		__atomic_signal_fence(__ATOMIC_ACQUIRE);
		/* `short` is a counter of fewer bits than 64, as other processors have it. */
		known = page->cap_user_time_zero && !page->cap_user_time_short && page->time_mult;
		conversion->shift = page->time_shift;
		conversion->mult = page->time_mult;
		conversion->zero_ns = page->time_zero;
		__atomic_signal_fence(__ATOMIC_ACQUIRE);
	} while (sequence & 1 || *lock != sequence);
	return known;
}

bool mt_perf_kernel_conversion(struct mt_time_conversion *conversion)
{
	struct mt_perf_spec spec = {
	    .what = "a dummy event", .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};
	struct perf_event_attr attr = mt_perf_spec_attr(&spec);
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	int fd = mt_system_open_event(&attr, 0, -1, -1);
	bool known = false;
	void *page;

	if (fd < 0)
		return false;
	if (!mt_system_map(fd, 0, size, PROT_READ, &page)) {
		known = mt_perf_page_conversion(page, conversion);
		mt_system_unmap(page, size);
	}
	mt_system_close(fd);
	return known;
}

void mt_perf_clock_init(struct mt_perf_clock *clock)
{
	*clock = (struct mt_perf_clock){.raw = true};
	if (mt_perf_kernel_conversion(&clock->page)) {
		clock->raw = false;
		return;
	}
	mt_clock_read_with_tsc(CLOCK_MONOTONIC_RAW, &clock->first.tsc, &clock->first.raw_ns);
	mt_clock_pass(MT_CLOCK_SPAN_NS);
	mt_perf_clock_sync(clock);
}

void mt_perf_clock_sync(struct mt_perf_clock *clock)
{
	if (clock->raw)
		mt_clock_read_with_tsc(CLOCK_MONOTONIC_RAW, &clock->last.tsc, &clock->last.raw_ns);
}

uint64_t mt_perf_clock_to_tsc(const struct mt_perf_clock *clock, uint64_t perf_ns)
{
	if (!clock->raw)
		return mt_ns_to_tsc(&clock->page, perf_ns);

	__int128 ticks = clock->last.tsc - clock->first.tsc;
	__int128 span_ns = clock->last.raw_ns - clock->first.raw_ns;
	__int128 since_ns = (__int128)perf_ns - clock->first.raw_ns;

	return clock->first.tsc + (uint64_t)(since_ns * ticks / span_ns);
}
