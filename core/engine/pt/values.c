/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets that carry values: the core-to-bus ratio (CBR), as a counter of the frequency, and what
 * PTWRITE wrote, as marks.  They go into the recording as notes, like the kernel's events, so that
 * they get tracks of their own.  Their times are those of the MTC packet before them, or of the TSC
 * packet where there are none.
 * Source: Intel SDM vol. 3C, ch. 33.4.2 (CBR, PTW, TMA, MTC) and 33.8.3. */
#include "engine/pt/private.h"
#include "pt/packet.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FREQUENCY  "frequency (MHz)"
#define CTC_MASK   0xffff
#define MTC_MASK   0xff
#define HZ_PER_MHZ 1000000ull

struct scan {
	const struct mt_pt_engine *engine;
	const struct mt_pt_buffer *ring;
	struct mt_recording_writer *writer;
	uint64_t tsc;      /* at the last packet of time */
	uint64_t base_tsc; /* at the last TSC, */
	uint32_t base_ctc; /* whose TMA says so */
	uint64_t mtcs;     /* since then */
	uint8_t last_mtc;
	bool has_base;
	uint64_t ratio; /* reported last */
};

static struct mt_error *put(const struct scan *scan, enum mt_recording_note kind, uint64_t value,
			    const char *text)
{
	const struct mt_pt_buffer *ring = scan->ring;
	struct mt_sideband note = {
	    .time_ns = mt_tsc_to_ns(&scan->engine->options.conversion, scan->tsc),
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = ring->pid,
	    .tid = ring->cpu < 0 ? ring->lwp : ring->pid,
	    .cpu = ring->cpu,
	    .sample = {.event = kind,
		       .weight = value,
		       .raw = (const uint8_t *)text,
		       .raw_size = (uint32_t)strlen(text) + 1},
	};

	return scan->tsc ? mt_recording_writer_put(scan->writer, &note) : NULL;
}

static struct mt_error *take_ratio(struct scan *scan, uint64_t ratio)
{
	const struct mt_pt_engine *engine = scan->engine;
	uint64_t nominal = engine->pmu.max_nonturbo_ratio;

	if (!engine->options.pt.power_events || ratio == scan->ratio || !nominal)
		return NULL;
	scan->ratio = ratio;
	return put(scan, MT_NOTE_COUNTER,
		   ratio * mt_time_conversion_hz(&engine->options.conversion) / nominal /
		       HZ_PER_MHZ,
		   FREQUENCY);
}

static struct mt_error *take_written(const struct scan *scan, uint64_t value)
{
	char text[40];

	if (!scan->engine->options.pt.ptwrite)
		return NULL;
	snprintf(text, sizeof(text), "ptwrite %#" PRIx64, value);
	return put(scan, MT_NOTE_MARK, value, text);
}

static void take_tma(struct scan *scan, uint64_t payload)
{
	unsigned period = scan->engine->config.mtc_period;

	scan->base_tsc = scan->tsc;
	scan->base_ctc = payload & CTC_MASK;
	scan->last_mtc = (uint8_t)(scan->base_ctc >> period);
	scan->mtcs = 0;
	scan->has_base = true;
}

/* MTC counts the crystal's ticks, each 2^period of them, in 8 bits. */
static void take_mtc(struct scan *scan, uint8_t mtc)
{
	const struct mt_pmu *pmu = &scan->engine->pmu;
	unsigned period = scan->engine->config.mtc_period;
	uint64_t ticks;

	if (!scan->has_base || !pmu->tsc_ctc_denominator)
		return;
	scan->mtcs += (mtc - scan->last_mtc) & MTC_MASK;
	scan->last_mtc = mtc;
	ticks = (scan->mtcs << period) - (scan->base_ctc & ((1u << period) - 1));
	scan->tsc = scan->base_tsc + ticks * pmu->tsc_ctc_numerator / pmu->tsc_ctc_denominator;
}

static struct mt_error *take(struct scan *scan, const struct mt_pt_packet *packet, bool tell)
{
	switch (packet->kind) {
	case MT_PT_TSC:
		scan->tsc = packet->payload;
		return NULL;
	case MT_PT_TMA:
		take_tma(scan, packet->payload);
		return NULL;
	case MT_PT_MTC:
		take_mtc(scan, (uint8_t)packet->payload);
		return NULL;
	case MT_PT_CBR:
		return tell ? take_ratio(scan, packet->payload & MTC_MASK) : NULL;
	case MT_PT_PTWRITE:
		return tell ? take_written(scan, packet->payload) : NULL;
	default:
		return NULL;
	}
}

/* Skips invalid data up to the next PSB. */
static struct mt_error *walk(struct scan *scan, const uint8_t *bytes, size_t size, size_t told)
{
	size_t at = mt_pt_find_psb(bytes, size, 0);
	struct mt_pt_packet packet;

	while (at < size) {
		int length = mt_pt_packet_decode(bytes + at, size - at, &packet);

		if (length < 0)
			break;
		if (length)
			mt_try(take(scan, &packet, at >= told));
		at = length ? at + (size_t)length : mt_pt_find_psb(bytes, size, at + 1);
	}
	return NULL;
}

struct mt_error *mt_pt_put_values(const struct mt_pt_engine *engine,
				  const struct mt_pt_buffer *ring, size_t told,
				  struct mt_recording_writer *writer)
{
	struct scan scan = {.engine = engine, .ring = ring, .writer = writer};
	const struct mt_aux_news *news = &ring->news;
	size_t size = mt_aux_news_bytes(news);
	uint8_t *joined = NULL;
	struct mt_error *error;

	if (!engine->options.pt.power_events && !engine->options.pt.ptwrite)
		return NULL;
	if (news->part_bytes[1]) {
		joined = malloc(size);
		if (!joined)
			return mt_error_no_memory();
		memcpy(joined, news->part[0], news->part_bytes[0]);
		memcpy(joined + news->part_bytes[0], news->part[1], news->part_bytes[1]);
	}
	error = walk(&scan, joined ? joined : news->part[0], size, told);
	free(joined);
	return error;
}
