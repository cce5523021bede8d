/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures that turn PT's time packets into TSC, and the processor that made them.
 * Source: Intel SDM vol. 3C, ch. 33 (packets), vol. 2A, CPUID leaf 15H. */
#ifndef MT_PT_TIMING_H
#define MT_PT_TIMING_H

#include <stdbool.h>
#include <stdint.h>

struct mt_pt_timing {
	uint32_t tsc_ctc_numerator;   /* TSC ticks = CTC ticks * numerator / denominator */
	uint32_t tsc_ctc_denominator; /* (CPUID.15H: EBX, EAX); 0: not known, MTC has no meaning */
	uint8_t mtc_period;           /* log2 of CTC ticks between MTC packets */
	uint8_t max_nonturbo_ratio; /* TSC = ratio * bus clock; 0: not known, CYC has no meaning */
	bool tsc;                   /* which packets there are */
	bool mtc;
	bool cyc;
};

struct mt_cpu {
	bool intel; /* else not known: no errata */
	uint16_t family;
	uint8_t model;
	uint8_t stepping;
};

#endif
