/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside core/pt: the TSC as packets tell it.  TSC and TMA say when it was, MTC how often the
 * crystal's clock (CTC) has ticked since, CYC how many cycles have passed.  How many ticks of the
 * TSC a cycle lasts follows from CBR, and better from the cycles between two MTCs, or TSCs.
 * Source: SDM vol. 3C, 33.8.3 ("Timestamp, CBR and MTC"), vol. 2A, CPUID leaf 15H. */
#ifndef MT_PT_DECODE_CLOCK_H
#define MT_PT_DECODE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Of the ratios of cycles, in bits. */
#define MT_PT_CLOCK_FRACTION 8

/* How long a cycle lasts. */
struct mt_pt_cycle {
	uint64_t ticks;     /* of the TSC, with a fraction; 0: not known */
	uint64_t tsc;       /* at the last TSC */
	uint64_t since_tsc; /* cycles */
	uint64_t since_mtc; /* ... since the MTC of `ctc` */
	uint32_t ctc;
	bool has_mtc;
};

struct mt_pt_clock {
	/* The machine's. */
	uint32_t numerator, denominator; /* TSC ticks = CTC ticks * … / …; 0: not known */
	uint8_t mtc_shift;               /* CTC ticks between two MTCs, as a power of two */
	uint8_t nominal;                 /* ratio of the bus clock; 0: not known */

	uint64_t tsc;
	bool has_tsc; /* and when it was is known */
	bool has_tma; /* since that TSC */
	bool has_mtc; /* `ctc` is a full one */
	bool lost_cyc;
	uint64_t base;    /* the TSC at the last TSC or MTC */
	uint64_t fast;    /* ticks since then, by TMA and CYCs */
	uint32_t ctc;     /* as far as MTCs have it */
	uint32_t cyc_ctc; /* ... when cycles were last counted */

	struct mt_pt_cycle cycle;
};

/* By packet.  IN_PSB: in a PSB+, where a TSC and a CBR are there to tell the state, and not since
 * something has changed.  Returns 0; -1: no processor writes such a packet there. */
void mt_pt_clock_tsc(struct mt_pt_clock *clock, uint64_t tsc, bool in_psb);
int mt_pt_clock_tma(struct mt_pt_clock *clock, uint16_t ctc, uint16_t fast);
void mt_pt_clock_mtc(struct mt_pt_clock *clock, uint8_t ctc);
int mt_pt_clock_cbr(struct mt_pt_clock *clock, uint8_t ratio, bool in_psb);

/* Nothing is known of cycles any more; of the time, all. */
static inline void mt_pt_clock_forget_cycles(struct mt_pt_clock *clock)
{
	clock->cycle = (struct mt_pt_cycle){0};
}

/* Ticks of the TSC since the cycles were last counted, of which MTCs have told already. */
uint64_t mt_pt_clock_cycles_told(const struct mt_pt_clock *clock);

static inline void mt_pt_clock_cyc(struct mt_pt_clock *clock, uint64_t cycles)
{
	clock->cycle.since_mtc += cycles;
	clock->cycle.since_tsc += cycles;
	if (!clock->cycle.ticks) {
		clock->lost_cyc = true;
		return;
	}
	if (!clock->fast && clock->ctc != clock->cyc_ctc) {
		uint64_t told = mt_pt_clock_cycles_told(clock);

		cycles = cycles < told ? 0 : cycles - told;
	}
	clock->fast += (cycles * clock->cycle.ticks) >> MT_PT_CLOCK_FRACTION;
	clock->tsc = clock->base + clock->fast;
}

#endif
