/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a recording as a timeline, for attach, decode and history. */
#ifndef MT_COMMAND_TIMELINE_H
#define MT_COMMAND_TIMELINE_H

#include "command/command.h"
#include "decode/decode.h"
#include "output/trace_writer.h"
#include "perf/recording.h"

struct mt_timeline {
	const char *path;   /* "-": standard output; NULL: text, to the printer */
	const char *format; /* NULL: by the path */
	struct mt_printer printer;
	bool colour;
	uint64_t last;        /* text: the number of slices per thread; 0: all */
	pid_t tid;            /* 0: all threads */
	const char *function; /* only its calls and their callers: output/calls_of.h; NULL: all */
};

/* After an error there is no file at the path.  stats may be NULL.
 * Errors: NOT_FOUND (no such function was called); those of the writer and of decoding. */
struct mt_error *mt_timeline_write(const struct mt_command_context *context,
				   struct mt_recording *recording,
				   const struct mt_timeline *timeline,
				   struct mt_decode_stats *stats);

/* Reports where the timeline is, and what it lacks. */
void mt_timeline_log_written(const struct mt_command_context *context,
			     const struct mt_recording *recording, const char *path,
			     const struct mt_decode_stats *stats);

/* Reports what the output lacks: gaps, damaged records, a recording's end.  (mt_decode() reports
 * missing files.) */
void mt_timeline_log_losses(const struct mt_command_context *context,
			    const struct mt_recording *recording,
			    const struct mt_decode_stats *stats);

#endif
