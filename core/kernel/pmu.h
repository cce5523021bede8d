/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The Intel PT PMU as sysfs describes it, and the numbers that an event is opened with.
 * Where each bit of a config word stands is read, never known.
 * Source: linux/arch/x86/events/intel/pt.c; perf-intel-pt(1), "config terms"; Intel SDM vol. 3C,
 * ch. 33.3.1. */
#ifndef MT_KERNEL_PMU_H
#define MT_KERNEL_PMU_H

#include "base/error.h"

enum mt_pmu_field {
	MT_PMU_PT,
	MT_PMU_CYC,
	MT_PMU_PWR_EVT,
	MT_PMU_FUP_ON_PTW,
	MT_PMU_MTC,
	MT_PMU_TSC,
	MT_PMU_NORETCOMP,
	MT_PMU_PTW,
	MT_PMU_BRANCH,
	MT_PMU_MTC_PERIOD,
	MT_PMU_CYC_THRESH,
	MT_PMU_PSB_PERIOD,
	MT_PMU_FIELD_COUNT
};

/* Bits of the event's config; 0: the PMU has no such field. */
struct mt_pmu {
	uint32_t type;
	uint64_t fields[MT_PMU_FIELD_COUNT];
	bool psb_cyc, mtc, ptwrite, power_events, ip_filtering;
	/* Bit N stands for the value N of its field. */
	uint32_t mtc_periods, cyc_thresholds, psb_periods;
	uint32_t address_filters; /* as many may be set; 0: none */
	uint32_t max_nonturbo_ratio;
	uint32_t tsc_ctc_numerator, tsc_ctc_denominator;
};

/* ROOT stands before "/sys": "" on a machine, a directory in tests.
 * Errors: UNSUPPORTED (there is no such PMU: why); FORMAT (sysfs says what is not understood). */
struct mt_error *mt_pmu_read(const char *root, struct mt_pmu *pmu);

enum mt_pmu_resolution {
	MT_PMU_NORMAL, /* MTC often, and CYC: tens of nanoseconds */
	MT_PMU_LOW,    /* MTC seldom: microseconds, the smallest trace */
	MT_PMU_HIGH,   /* each cycle that the processor reports */
};

struct mt_pmu_settings {
	enum mt_pmu_resolution resolution;
	bool no_return_compression;
	bool ptwrite;
	bool power_events;
	uint64_t ring_bytes; /* PSBs come often enough for a ring of that size; 0: as a rule */
};

/* The settings as this processor can follow them. */
struct mt_pmu_config {
	uint64_t config;
	bool tsc, mtc, cyc, return_compression;
	uint8_t mtc_period, cyc_threshold, psb_period; /* values of the fields */
};

/* Errors: UNSUPPORTED (ptwrite or power events that this processor does not have). */
struct mt_error *mt_pmu_configure(const struct mt_pmu *pmu, const struct mt_pmu_settings *settings,
				  struct mt_pmu_config *out);

/* The processor that runs this says that it can trace. */
bool mt_pmu_processor_has_pt(void);

/* "low", "normal" or "high"; false: it is none of them. */
bool mt_pmu_parse_resolution(const char *text, enum mt_pmu_resolution *resolution);

#endif
