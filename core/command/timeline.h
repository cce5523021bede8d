/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What decode, history and run have in common: a recording becomes a file of some format. */
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
	uint64_t last;        /* text: only so many slices a thread; 0: all */
	pid_t tid;            /* 0: all threads */
	const char *function; /* only its calls, and who called: output/calls_of.h; NULL: all */
};

/* Errors: those of the writer and of decoding. NOT_FOUND (no such function was called).
 * Nothing stands under the path then.
 * stats may be NULL. */
struct mt_error *mt_timeline_write(const struct mt_command_context *context,
				   struct mt_recording *recording,
				   const struct mt_timeline *timeline,
				   struct mt_decode_stats *stats);

/* Says where the timeline is, and what it lacks. */
void mt_timeline_log_written(const struct mt_command_context *context,
			     const struct mt_recording *recording, const char *path,
			     const struct mt_decode_stats *stats);

/* Says beside the output what it lacks: gaps, records, a recording's end.  (Of files that are
 * missing mt_decode() tells.) */
void mt_timeline_log_losses(const struct mt_command_context *context,
			    const struct mt_recording *recording,
			    const struct mt_decode_stats *stats);

#endif
