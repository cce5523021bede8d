/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A format of timelines, as the writer sees it: a new one is a file with such a table, and a line
 * in trace_writer.c. */
#ifndef MT_OUTPUT_FORMAT_H
#define MT_OUTPUT_FORMAT_H

#include "output/stream.h"
#include "output/trace_writer.h"

struct mt_trace_format {
	const char *name;
	const char *ending; /* of file names, with its dot */

	/* Write what stands at the head of the file.  The stream outlives SELF; OPTIONS are lent
	 * for the call.  Errors: SYSTEM, NO_MEMORY. */
	struct mt_error *(*create)(struct mt_stream *stream,
				   const struct mt_trace_writer_options *options, void **self);
	/* Write what stands at the file's end; the stream is finished by the caller.  What the sink
	 * was lent may be gone.  NULL: nothing.  Errors: SYSTEM, NO_MEMORY. */
	struct mt_error *(*finish)(void *self);
	void (*destroy)(void *self); /* NULL is fine */
	/* Lent. */
	struct mt_slice_sink (*sink)(void *self);
};

extern const struct mt_trace_format mt_format_fxt;
extern const struct mt_trace_format mt_format_pftrace;
extern const struct mt_trace_format mt_format_text;
extern const struct mt_trace_format mt_format_json;
extern const struct mt_trace_format mt_format_folded;
extern const struct mt_trace_format mt_format_speedscope;
extern const struct mt_trace_format mt_format_html;

#endif
