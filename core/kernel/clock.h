/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of perf's records, and its relation to the TSC.
 *
 * Where the kernel's own clock is the TSC, the first page of any mapped event has the conversion
 * (cap_user_time_zero), and it is exact.  Elsewhere, as in many virtual machines, records are asked
 * to carry CLOCK_MONOTONIC_RAW, which runs at a constant rate; it is read together with the TSC now
 * and then, and times between two such readings are had by a straight line. */
#ifndef MT_KERNEL_CLOCK_H
#define MT_KERNEL_CLOCK_H

#include "base/clock.h"

#include <linux/perf_event.h>

struct mt_perf_clock {
	bool raw; /* records are to carry CLOCK_MONOTONIC_RAW: struct mt_perf_spec */
	struct mt_time_conversion page; /* where not raw */
	struct {
		uint64_t tsc, raw_ns;
	} first, last; /* where raw */
};

/* Looks at what this kernel does.  Takes 2 ms where the clock is to be raw. */
void mt_perf_clock_init(struct mt_perf_clock *clock);
/* Before times of records are converted: read both clocks again. */
void mt_perf_clock_sync(struct mt_perf_clock *clock);
uint64_t mt_perf_clock_to_tsc(const struct mt_perf_clock *clock, uint64_t perf_ns);

/* The conversion of this kernel's own clock; false: none, and so records are to be raw. */
bool mt_perf_kernel_conversion(struct mt_time_conversion *conversion);

/* The conversion in a mapped page; false: none. */
bool mt_perf_page_conversion(const struct perf_event_mmap_page *page,
			     struct mt_time_conversion *conversion);

#endif
