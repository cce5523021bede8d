/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formats of a timeline behind one table.  A writer is a sink of slices (trace/slice.h) that
 * streams: its memory does not grow with the trace.
 *
 * It writes to a temporary file next to the final name and renames it in mt_trace_writer_finish():
 * whatever fails before leaves nothing under the final name.  "-" is standard output, "NAME.gz" and
 * "NAME.zst" are packed. */
#ifndef MT_OUTPUT_TRACE_WRITER_H
#define MT_OUTPUT_TRACE_WRITER_H

#include "output/stream.h"
#include "trace/slice.h"

struct mt_trace_writer_options {
	uint64_t last;       /* text: only the last so many slices a thread; 0: all */
	bool colour;         /* text */
	const char *command; /* text, json: the traced program's command line; or NULL */
};

struct mt_trace_writer;

/* A history for people that a front end shows, in format "text".  options may be NULL, the printer
 * is copied.  Errors: NO_MEMORY. */
struct mt_error *mt_trace_writer_create_printing(const struct mt_printer *printer,
						 const struct mt_trace_writer_options *options,
						 struct mt_trace_writer **out);

/* An ending that is no format's would be given another's contents.  FORMAT: as below; with one, and
 * for a name without an ending, any will do.  Errors: USAGE. */
struct mt_error *mt_trace_writer_check(const char *path, const char *format);
/* FORMAT: one of mt_trace_writer_formats(); NULL: by PATH's ending (.fxt .pftrace .json
 * .speedscope.json .html .txt .folded, with .gz, .zst or neither), and fxt when that says nothing.
 * options may be NULL. Errors: USAGE (no such format; names the ones there are); as opening a file.
 */
struct mt_error *mt_trace_writer_create(const char *path, const char *format,
					const struct mt_trace_writer_options *options,
					struct mt_trace_writer **out);
/* The sink to send slices to.  Lent. */
struct mt_slice_sink mt_trace_writer_sink(struct mt_trace_writer *writer);
/* After the sink's finish(): puts the file under its name.  Errors: SYSTEM (a full disk …). */
struct mt_error *mt_trace_writer_finish(struct mt_trace_writer *writer);
/* Without a finish before: takes the temporary file away.  NULL is fine. */
void mt_trace_writer_destroy(struct mt_trace_writer *writer);

/* The ending of FORMAT's files, with its dot; of the format that is taken without one (NULL), or
 * where there is none of that name. */
const char *mt_trace_writer_ending(const char *format);
/* Names of the formats, NULL at the end. */
const char *const *mt_trace_writer_formats(void);

#endif
