/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what is wanted to the config word of an event, within what the processor can do: the kernel
 * answers EINVAL to a value of a field that its capability does not list. */
#include "kernel/pmu.h"

#define LOW_MTC_PERIOD    9
#define NORMAL_MTC_PERIOD 3
#define NORMAL_CYC_THRESH 5  /* 2^4 cycles */
#define USUAL_PSB_PERIOD  3  /* 2^14 bytes */
#define PSB_BASE_SHIFT    11 /* a period of 0 is 2^11 bytes */
#define PSBS_PER_RING     8
#define GREATEST_VALUE    31

/* The allowed value that is the nearest to `wanted`; -1: none is. */
static int nearest(uint32_t allowed, int wanted)
{
	for (int distance = 0; distance <= GREATEST_VALUE; distance++) {
		if (wanted - distance >= 0 && (allowed >> (wanted - distance) & 1))
			return wanted - distance;
		if (wanted + distance <= GREATEST_VALUE && (allowed >> (wanted + distance) & 1))
			return wanted + distance;
	}
	return -1;
}

static bool set(const struct mt_pmu *pmu, struct mt_pmu_config *out, enum mt_pmu_field field)
{
	out->config |= pmu->fields[field];
	return pmu->fields[field] != 0;
}

static void set_value(const struct mt_pmu *pmu, struct mt_pmu_config *out, enum mt_pmu_field field,
		      uint8_t value)
{
	uint64_t bits = pmu->fields[field];

	if (bits)
		out->config |= ((uint64_t)value << __builtin_ctzll(bits)) & bits;
}

/* Without the crystal's ratio MTC is no time. */
static void configure_mtc(const struct mt_pmu *pmu, enum mt_pmu_resolution resolution,
			  struct mt_pmu_config *out)
{
	static const int wanted[] = {
	    [MT_PMU_NORMAL] = NORMAL_MTC_PERIOD, [MT_PMU_LOW] = LOW_MTC_PERIOD, [MT_PMU_HIGH] = 0};
	int period = nearest(pmu->mtc_periods, wanted[resolution]);

	if (!pmu->mtc || period < 0 || !pmu->tsc_ctc_denominator || !pmu->fields[MT_PMU_MTC_PERIOD])
		return;
	out->mtc = set(pmu, out, MT_PMU_MTC);
	out->mtc_period = (uint8_t)period;
	set_value(pmu, out, MT_PMU_MTC_PERIOD, out->mtc_period);
}

static void configure_cyc(const struct mt_pmu *pmu, enum mt_pmu_resolution resolution,
			  struct mt_pmu_config *out)
{
	int threshold =
	    nearest(pmu->cyc_thresholds, resolution == MT_PMU_HIGH ? 0 : NORMAL_CYC_THRESH);

	if (!pmu->psb_cyc || resolution == MT_PMU_LOW || !pmu->max_nonturbo_ratio)
		return;
	out->cyc = set(pmu, out, MT_PMU_CYC);
	out->cyc_threshold = threshold < 0 ? 0 : (uint8_t)threshold;
	set_value(pmu, out, MT_PMU_CYC_THRESH, out->cyc_threshold);
}

struct mt_error *mt_pmu_configure(const struct mt_pmu *pmu, const struct mt_pmu_settings *settings,
				  struct mt_pmu_config *out)
{
	*out = (struct mt_pmu_config){0};
	if (settings->ptwrite && (!pmu->ptwrite || !pmu->fields[MT_PMU_PTW]))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "this processor does not trace PTWRITE (caps/ptwrite is not 1)");
	if (settings->power_events && (!pmu->power_events || !pmu->fields[MT_PMU_PWR_EVT]))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "this processor does not trace power "
							  "events (caps/power_event_trace is not "
							  "1)");
	/* Old kernels have no such fields, and set what they stand for themselves. */
	set(pmu, out, MT_PMU_PT);
	set(pmu, out, MT_PMU_BRANCH);
	out->tsc = set(pmu, out, MT_PMU_TSC);
	configure_mtc(pmu, settings->resolution, out);
	configure_cyc(pmu, settings->resolution, out);
	/* A ring that has wrapped is of use from its first PSB on. */
	int period = USUAL_PSB_PERIOD;
	while (settings->ring_bytes && period > 0 &&
	       (PSBS_PER_RING << (period + PSB_BASE_SHIFT)) > (int64_t)settings->ring_bytes)
		period--;
	while (period > 0 && !(pmu->psb_periods >> period & 1))
		period--;
	if (pmu->psb_cyc) {
		out->psb_period = (uint8_t)period;
		set_value(pmu, out, MT_PMU_PSB_PERIOD, out->psb_period);
	}
	out->return_compression =
	    !(settings->no_return_compression && set(pmu, out, MT_PMU_NORETCOMP));
	if (settings->ptwrite) {
		set(pmu, out, MT_PMU_PTW);
		set(pmu, out, MT_PMU_FUP_ON_PTW);
	}
	if (settings->power_events)
		set(pmu, out, MT_PMU_PWR_EVT);
	return NULL;
}
