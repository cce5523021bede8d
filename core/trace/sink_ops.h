/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ops of sinks that do nothing of their own there. */
#ifndef MT_TRACE_SINK_OPS_H
#define MT_TRACE_SINK_OPS_H

#include "trace/slice.h"

#include <stddef.h>

/* A filter is a sink before another one, which is its first member: this checks it. */
#define MT_SLICE_FILTER(type, member)                                                              \
	_Static_assert(offsetof(type, member) == 0 &&                                              \
			   __builtin_types_compatible_p(__typeof__(((type *)NULL)->member),        \
							struct mt_slice_sink),                     \
		       "the next sink has to be the first member")

/* Of filters: to the next sink.  Errors: its own. */
struct mt_error *mt_slice_pass_thread(void *filter, const struct mt_thread *thread);
struct mt_error *mt_slice_pass_segment_begin(void *filter, const struct mt_thread_segment *segment);
struct mt_error *mt_slice_pass_begin(void *filter, const struct mt_slice *slice);
struct mt_error *mt_slice_pass_end(void *filter, const struct mt_slice_end *end);
struct mt_error *mt_slice_pass_instant(void *filter, const struct mt_instant *instant);
struct mt_error *mt_slice_pass_segment_end(void *filter, const struct mt_thread_segment *segment);
struct mt_error *mt_slice_pass_finish(void *filter); /* if it has a finish() */

/* Of sinks that need to know of something else alone. */
struct mt_error *mt_slice_ignore_thread(void *sink, const struct mt_thread *thread);
struct mt_error *mt_slice_ignore_segment(void *sink, const struct mt_thread_segment *segment);
struct mt_error *mt_slice_ignore_begin(void *sink, const struct mt_slice *slice);
struct mt_error *mt_slice_ignore_end(void *sink, const struct mt_slice_end *end);
struct mt_error *mt_slice_ignore_instant(void *sink, const struct mt_instant *instant);

#endif
