/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clocks: the one of recordings (CLOCK_MONOTONIC in ns, as perf's default clock is close to), the
 * TSC, and the conversion between the two that perf writes into a recording. */
#ifndef MT_BASE_CLOCK_H
#define MT_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

uint64_t mt_clock_monotonic_ns(void);
uint64_t mt_clock_tsc(void);

/* One of clock_gettime(2)'s. */
uint64_t mt_clock_ns(clockid_t clock);
/* The TSC between two readings of CLOCK, and the time then: of several tries the tightest. */
void mt_clock_read_with_tsc(clockid_t clock, uint64_t *tsc, uint64_t *time_ns);

/* time_ns = zero + (tsc * mult) >> shift, in the split form of perf_event_open(2),
 * cap_user_time_zero.  All zero: no conversion is known. */
struct mt_time_conversion {
	uint16_t shift;
	uint32_t mult;
	uint64_t zero_ns;
};

bool mt_time_conversion_is_known(const struct mt_time_conversion *conversion);
/* Of the time stamp counter; 0: not known. */
uint64_t mt_time_conversion_hz(const struct mt_time_conversion *conversion);
/* Without a known conversion both return their argument. */
uint64_t mt_tsc_to_ns(const struct mt_time_conversion *conversion, uint64_t tsc);
uint64_t mt_ns_to_tsc(const struct mt_time_conversion *conversion, uint64_t time_ns);

/* How far apart two readings must be for a conversion to be found in them. */
#define MT_CLOCK_SPAN_NS 2000000

/* Sleeps for so long, signals or not. */
void mt_clock_pass(uint64_t time_ns);

/* Of two times that stat(2) tells of a file. */
static inline bool mt_is_same_time(const struct timespec *one, const struct timespec *other)
{
	return one->tv_sec == other->tv_sec && one->tv_nsec == other->tv_nsec;
}

/* A conversion from this machine's TSC to CLOCK_MONOTONIC, measured over about 2 ms. */
struct mt_time_conversion mt_time_conversion_measure(void);

#endif
