/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"

#include <errno.h>
#include <x86intrin.h>

#define NS_PER_S 1000000000ull

uint64_t mt_clock_monotonic_ns(void)
{
	return mt_clock_ns(CLOCK_MONOTONIC);
}

uint64_t mt_clock_tsc(void)
{
	return __rdtsc();
}

bool mt_time_conversion_is_known(const struct mt_time_conversion *conversion)
{
	return conversion->mult != 0;
}

uint64_t mt_time_conversion_hz(const struct mt_time_conversion *conversion)
{
	return mt_time_conversion_is_known(conversion)
		   ? (1000000000ull << conversion->shift) / conversion->mult
		   : 0;
}

uint64_t mt_tsc_to_ns(const struct mt_time_conversion *conversion, uint64_t tsc)
{
	if (!mt_time_conversion_is_known(conversion))
		return tsc;

	uint64_t quotient = tsc >> conversion->shift;
	uint64_t remainder = tsc & ((1ull << conversion->shift) - 1);

	return conversion->zero_ns + quotient * conversion->mult +
	       ((remainder * conversion->mult) >> conversion->shift);
}

uint64_t mt_ns_to_tsc(const struct mt_time_conversion *conversion, uint64_t time_ns)
{
	if (!mt_time_conversion_is_known(conversion))
		return time_ns;

	uint64_t since_zero = time_ns - conversion->zero_ns;
	uint64_t quotient = since_zero / conversion->mult;
	uint64_t remainder = since_zero % conversion->mult;

	return (quotient << conversion->shift) +
	       (remainder << conversion->shift) / conversion->mult;
}

uint64_t mt_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void mt_clock_read_with_tsc(clockid_t clock, uint64_t *tsc, uint64_t *time_ns)
{
	uint64_t tightest = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t before = mt_clock_ns(clock);
		uint64_t here = mt_clock_tsc();
		uint64_t after = mt_clock_ns(clock);

		if (after - before < tightest) {
			tightest = after - before;
			*tsc = here;
			*time_ns = before + (after - before) / 2;
		}
	}
}

void mt_clock_pass(uint64_t time_ns)
{
	struct timespec left = {(time_t)(time_ns / NS_PER_S), (long)(time_ns % NS_PER_S)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

struct mt_time_conversion mt_time_conversion_measure(void)
{
	struct mt_time_conversion conversion = {.shift = 31};
	uint64_t tsc0 = 0, tsc1 = 0, time0 = 0, time1 = 0;

	mt_clock_read_with_tsc(CLOCK_MONOTONIC, &tsc0, &time0);
	mt_clock_pass(MT_CLOCK_SPAN_NS);
	mt_clock_read_with_tsc(CLOCK_MONOTONIC, &tsc1, &time1);
	unsigned __int128 scaled = (unsigned __int128)(time1 - time0) << conversion.shift;
	conversion.mult = (uint32_t)(scaled / (tsc1 - tsc0));
	conversion.zero_ns = time1 - mt_tsc_to_ns(&conversion, tsc1);
	return conversion;
}
