/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tracepoints of the kernel, as tracefs describes them.
 * Source: linux/Documentation/trace/events.rst, "Event formats". */
#ifndef MT_KERNEL_TRACEPOINT_H
#define MT_KERNEL_TRACEPOINT_H

#include "base/error.h"

struct mt_tracepoint_field {
	uint32_t offset, size; /* in the raw data of a sample */
};

struct mt_tracepoint {
	uint64_t id; /* the event's config */
	char format[4096];
};

/* NAME: "sched/sched_switch".  Errors: PERMISSION (tracefs is root's alone), UNSUPPORTED (it is not
 * mounted, or has no such tracepoint), each with the cure. */
struct mt_error *mt_tracepoint_find(const char *name, struct mt_tracepoint *out);
/* False: it has no such field. */
bool mt_tracepoint_field(const struct mt_tracepoint *tracepoint, const char *name,
			 struct mt_tracepoint_field *field);
/* A field's number in RAW, little-endian, not negative; 0 where it is not. */
uint64_t mt_tracepoint_number(const struct mt_tracepoint_field *field, const uint8_t *raw,
			      uint32_t raw_size);

#endif
