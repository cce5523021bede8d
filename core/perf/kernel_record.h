/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A record from a data ring, as the recording's writer takes it.
 * Source: perf_event_open(2), "MMAP layout". */
#ifndef MT_PERF_KERNEL_RECORD_H
#define MT_PERF_KERNEL_RECORD_H

#include "perf/recording.h"

#include <linux/perf_event.h>

/* The sample_type to open the event with; and sample_id_all. */
#define MT_KERNEL_RECORD_SAMPLE_TYPE                                                               \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* False: a record of another kind than mappings, switches, AUX, lost ones and the start of tracing,
 * or one that makes no sense.  The time is in the clock of the kernel's records; what `out` points
 * to is lent by RECORD. */
bool mt_kernel_record_parse(const struct perf_event_header *record, struct mt_sideband *out);

#endif
