/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record of a data ring, by the sample_type of the event that it is of.  All events
 * that write into one ring have MT_RING_SAMPLE_TYPE in common, so that the event is known.
 * Source: perf_event_open(2), PERF_RECORD_SAMPLE and sample_id_all. */
#ifndef MT_KERNEL_RING_SAMPLE_H
#define MT_KERNEL_RING_SAMPLE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_RING_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
/* Besides, a sample may have these. */
#define MT_RING_SAMPLE_MORE                                                                        \
	(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | PERF_SAMPLE_RAW |                  \
	 PERF_SAMPLE_REGS_USER)

struct mt_ring_sample {
	uint64_t id; /* of the event: PERF_EVENT_IOC_ID */
	uint64_t time;
	int32_t pid, tid, cpu;
	uint64_t ip, address;
	uint32_t raw_size;
	const uint8_t *raw;       /* lent, as the next two; NULL: none */
	const uint8_t *registers; /* of 8 bytes each, as many as the mask has bits */
	const uint8_t *values;    /* of PERF_FORMAT_GROUP: value_count of 8 bytes each */
	uint64_t value_count;
};

/* The sample_id behind a record that is no sample.  False: there is no room for it. */
bool mt_ring_sample_id(const struct perf_event_header *record, struct mt_ring_sample *sample);
/* The id of the event that a sample is of.  False: as above. */
bool mt_ring_sample_event(const struct perf_event_header *record, uint64_t *id);
/* REGISTERS: the event's mask.  False: it is garbled. */
bool mt_ring_sample_parse(const struct perf_event_header *record, uint64_t sample_type,
			  uint64_t registers, struct mt_ring_sample *sample);

#endif
