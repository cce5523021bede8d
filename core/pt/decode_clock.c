/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "pt/decode_clock.h"

#define CTC_BITS     16 /* of a TMA */
#define MTC_BITS     8
#define TSC_BITS     56
#define MAX_FRACTION (UINT64_MAX >> MT_PT_CLOCK_FRACTION)

/* MTCs hold MTC_BITS of the CTC: it is below this. */
static uint32_t ctc_limit(const struct mt_pt_clock *clock)
{
	return 1u << (clock->mtc_shift + MTC_BITS);
}

static bool knows_crystal(const struct mt_pt_clock *clock)
{
	return clock->numerator && clock->denominator;
}

/* From one CTC to a later one, at most once around. */
static uint32_t ctc_since(const struct mt_pt_clock *clock, uint32_t ctc, uint32_t before)
{
	return (ctc < before ? ctc + ctc_limit(clock) : ctc) - before;
}

static uint64_t ticks_of_ctc(const struct mt_pt_clock *clock, uint32_t ctc)
{
	return (uint64_t)ctc * clock->numerator / clock->denominator;
}

static void calibrate(struct mt_pt_clock *clock, uint64_t ticks, uint64_t cycles)
{
	if (ticks <= MAX_FRACTION)
		clock->cycle.ticks = (ticks << MT_PT_CLOCK_FRACTION) / cycles;
}

void mt_pt_clock_tsc(struct mt_pt_clock *clock, uint64_t tsc, bool in_psb)
{
	uint64_t before = clock->cycle.tsc, cycles = clock->cycle.since_tsc;

	clock->cycle.tsc = tsc;
	clock->cycle.since_tsc = 0;
	if (in_psb && before && cycles && !clock->cycle.has_mtc)
		calibrate(clock, (tsc < before ? tsc + (UINT64_C(1) << TSC_BITS) : tsc) - before,
			  cycles);
	clock->has_tsc = true;
	clock->has_tma = clock->has_mtc = clock->lost_cyc = false;
	clock->tsc = clock->base = tsc;
	clock->ctc = 0;
	clock->fast = 0;
}

int mt_pt_clock_tma(struct mt_pt_clock *clock, uint16_t ctc, uint16_t fast)
{
	if (!clock->has_tsc || clock->has_tma)
		return -1;
	clock->has_tma = true;
	clock->base -= fast;
	clock->fast += fast;
	/* It may have fewer bits than MTCs; then the next one tells the rest. */
	clock->has_mtc = clock->mtc_shift + MTC_BITS <= CTC_BITS;
	clock->ctc = clock->cyc_ctc = ctc & (ctc_limit(clock) - 1);
	return 0;
}

static void calibrate_by_mtc(struct mt_pt_clock *clock, uint32_t ctc)
{
	uint64_t cycles = clock->cycle.since_mtc;
	uint32_t before = clock->cycle.ctc;

	if (clock->cycle.has_mtc && !cycles)
		return;
	clock->cycle.since_mtc = 0;
	clock->cycle.ctc = ctc;
	if (clock->cycle.has_mtc)
		calibrate(clock, ticks_of_ctc(clock, ctc_since(clock, ctc, before)), cycles);
	clock->cycle.has_mtc = true;
}

/* The bits that a TMA does not have are those of the MTC behind it, or one less. */
static uint32_t complete_tma(const struct mt_pt_clock *clock, uint32_t ctc)
{
	const uint32_t low = (1u << CTC_BITS) - 1;
	uint32_t high = ctc & ~low;

	if ((ctc & low) < clock->ctc)
		high = (high - (1u << CTC_BITS)) & (ctc_limit(clock) - 1);
	return clock->ctc | high;
}

void mt_pt_clock_mtc(struct mt_pt_clock *clock, uint8_t mtc)
{
	uint32_t ctc = (uint32_t)mtc << clock->mtc_shift, before = clock->ctc;
	bool had_mtc = clock->has_mtc;

	if (!knows_crystal(clock))
		return;
	calibrate_by_mtc(clock, ctc);
	/* Between a TSC and its TMA it says nothing that the TMA does not. */
	if (clock->has_tsc && !clock->has_tma)
		return;
	if (clock->fast || clock->lost_cyc || !had_mtc)
		clock->cyc_ctc = ctc;
	if (!had_mtc && clock->has_tma)
		before = complete_tma(clock, ctc);
	clock->has_mtc = true;
	clock->fast = 0;
	clock->ctc = ctc;
	clock->lost_cyc = false;
	if (!had_mtc && !clock->has_tma)
		return;
	clock->base += ticks_of_ctc(clock, ctc_since(clock, ctc, before));
	clock->tsc = clock->base;
}

int mt_pt_clock_cbr(struct mt_pt_clock *clock, uint8_t ratio, bool in_psb)
{
	if (!in_psb)
		mt_pt_clock_forget_cycles(clock);
	if (!ratio)
		return -1;
	if (clock->nominal)
		clock->cycle.ticks = ((uint64_t)clock->nominal << MT_PT_CLOCK_FRACTION) / ratio;
	return 0;
}

uint64_t mt_pt_clock_cycles_told(const struct mt_pt_clock *clock)
{
	/* Without it no MTC tells anything. */
	if (!knows_crystal(clock))
		return 0;

	uint64_t ticks = ticks_of_ctc(clock, ctc_since(clock, clock->ctc, clock->cyc_ctc));
	return (ticks << MT_PT_CLOCK_FRACTION) / clock->cycle.ticks;
}
