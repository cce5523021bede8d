/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clocks of a stream whose source is rdtsc at each step.  The frequencies are the processor's
 * own if CPUID has them; if not, any that fit will do, since the recording says which.  Source:
 * Intel SDM vol. 2A, CPUID leaves 15H and 16H; vol. 3C, ch. 33.8. */
#include "engine/step/private.h"

#include <cpuid.h>

#define BUS_HZ            100000000ull
#define DEFAULT_RATIO     128 /* TSC ticks a crystal clock tick */
#define MTC_PERIOD        12  /* about 0.2 ms: a step takes 0.02 ms, and has its time in itself */
#define GREATEST_NONTURBO 255

static uint8_t max_nonturbo_ratio(const struct mt_time_conversion *conversion)
{
	uint64_t ratio = (mt_time_conversion_hz(conversion) + BUS_HZ / 2) / BUS_HZ;

	if (!ratio)
		return 1;
	return ratio > GREATEST_NONTURBO ? GREATEST_NONTURBO : (uint8_t)ratio;
}

struct mt_pt_timing mt_step_timing(const struct mt_time_conversion *conversion)
{
	struct mt_pt_timing timing = {
	    .tsc_ctc_numerator = DEFAULT_RATIO,
	    .tsc_ctc_denominator = 1,
	    .mtc_period = MTC_PERIOD,
	    .max_nonturbo_ratio = max_nonturbo_ratio(conversion),
	    .tsc = true,
	    .mtc = true,
	    .cyc = true,
	};
	unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;

	if (__get_cpuid(0x15, &eax, &ebx, &ecx, &edx) && eax && ebx) {
		timing.tsc_ctc_numerator = ebx;
		timing.tsc_ctc_denominator = eax;
	}
	return timing;
}
