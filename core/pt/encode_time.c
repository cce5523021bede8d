/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time packets.  The processor played here runs at its nominal frequency all the time: a cycle is a
 * TSC tick, and CBR says the same.  Source: SDM 33.4.2: TSC, MTC, TMA, CYC.
 */
#include "pt/encode.h"

/* Where more MTCs than this are late, TSC and TMA come first. */
#define MTC_ROW 8

static uint64_t ctc_of_tsc(const struct mt_pt_timing *timing, uint64_t tsc)
{
	return (uint64_t)((unsigned __int128)tsc * timing->tsc_ctc_denominator /
			  timing->tsc_ctc_numerator);
}

/* The first TSC tick at which the crystal has counted to CTC. */
static uint64_t tsc_of_ctc(const struct mt_pt_timing *timing, uint64_t ctc)
{
	return (uint64_t)(((unsigned __int128)ctc * timing->tsc_ctc_numerator +
			   timing->tsc_ctc_denominator - 1) /
			  timing->tsc_ctc_denominator);
}

static void set_next_mtc(struct mt_pt_encoder *encoder, uint64_t mtc_ctc)
{
	const struct mt_pt_timing *timing = &encoder->config.timing;

	encoder->mtc_ctc = mtc_ctc;
	encoder->next_mtc_tsc = tsc_of_ctc(timing, (mtc_ctc + 1) << timing->mtc_period);
}

/* Header 11b, 5 bits and a bit for more; then bytes of 7 bits and a bit for more. */
void mt_pt_put_cyc(struct mt_pt_encoder *encoder, uint64_t tsc)
{
	struct mt_pt_encoder_ring *ring = &encoder->ring;
	uint64_t cycles = tsc - encoder->cyc_tsc;

	if (!encoder->config.timing.cyc || cycles == 0)
		return;
	encoder->cyc_tsc = tsc;
	mt_pt_put(ring, 0x3 | (cycles > 0x1f ? 0x4 : 0) | (cycles & 0x1f) << 3, 1);
	for (cycles >>= 5; cycles; cycles >>= 7)
		mt_pt_put(ring, (cycles > 0x7f) | (cycles & 0x7f) << 1, 1);
}

void mt_pt_put_tsc_tma(struct mt_pt_encoder *encoder, uint64_t tsc)
{
	const struct mt_pt_timing *timing = &encoder->config.timing;

	if (timing->tsc)
		mt_pt_put(&encoder->ring, 0x19 | tsc << 8, 8);
	if (!timing->mtc)
		return;
	uint64_t ctc = ctc_of_tsc(timing, tsc);
	uint64_t fast = tsc - tsc_of_ctc(timing, ctc);
	if (fast > 0x1ff)
		fast = 0x1ff;
	mt_pt_put(&encoder->ring, 0x7302 | (ctc & 0xffff) << 16 | fast << 40, 7);
	set_next_mtc(encoder, ctc >> timing->mtc_period);
}

/* libipt measures cycles from MTC to MTC, and MTC counts to 255: behind a gap it is out by up to a
 * period until it has seen two MTCs in a row.  So the gap ends two MTCs early. */
void mt_pt_put_late_mtc(struct mt_pt_encoder *encoder, uint64_t tsc)
{
	const struct mt_pt_timing *timing = &encoder->config.timing;
	uint64_t now = ctc_of_tsc(timing, tsc) >> timing->mtc_period;

	if (now - encoder->mtc_ctc > MTC_ROW) {
		uint64_t late = tsc_of_ctc(timing, (now - 2) << timing->mtc_period);

		mt_pt_put_cyc(encoder, late);
		mt_pt_put_tsc_tma(encoder, late);
	}
	while (encoder->mtc_ctc < now) {
		uint64_t mtc_ctc = encoder->mtc_ctc + 1;

		mt_pt_put_cyc(encoder, tsc_of_ctc(timing, mtc_ctc << timing->mtc_period));
		mt_pt_put(&encoder->ring, 0x59 | (mtc_ctc & 0xff) << 8, 2);
		set_next_mtc(encoder, mtc_ctc);
	}
}
