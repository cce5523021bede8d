/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a recording as a timeline, or hands that to another sink. */
#ifndef MT_DECODE_TIMELINE_H
#define MT_DECODE_TIMELINE_H

#include "decode/decode.h"
#include "output/trace_writer.h"
#include "perf/recording.h"

struct mt_timeline {
	const char *path;   /* "-": standard output; NULL: text, to the printer */
	const char *format; /* NULL: by the path */
	struct mt_printer printer;
	bool colour;
	uint64_t last;                  /* text: the number of slices per thread; 0: all */
	pid_t tid;                      /* 0: all threads */
	bool by_threads;                /* as struct mt_decode_options has it */
	uint64_t goroutine;             /* only this one; 0: all */
	uint32_t coroutine;             /* likewise */
	bool by_libipt;                 /* likewise */
	struct mt_decode_files **files; /* as struct mt_decode_options has them */
	const char *function; /* only its calls and their callers: output/calls_of.h; NULL: all */
	/* Asked with CONTEXT when the sink has all: which function was looked for and not found,
	 * which is an error (decode/no_call.h); NULL: none.  NULL: it is not asked. */
	const char *(*missed)(void *context);
	void *context;
	bool is_for_statistics; /* side tracks come first, and inlined calls not at all */
	/* What it would be taken for without being true of samples, "diff compares …": then those
	 * are refused.  NULL: they will do. */
	const char *needs_calls;
	/* How to see what output/fold.h folds, as a sentence's end; NULL: nothing is folded. */
	const char *fold_hint;
};

/* Decodes what TIMELINE is of: of a thread, or of all; its calls of a function, or all.  Errors:
 * UNSUPPORTED (of samples, though it needs calls); mt_decode_no_call()'s; those of decoding and of
 * the sink. */
struct mt_error *mt_timeline_decode(const struct mt_log *log, const struct mt_progress *progress,
				    struct mt_recording *recording,
				    const struct mt_timeline *timeline, struct mt_slice_sink sink,
				    struct mt_decode_stats *stats);

/* After an error there is no file at the path.  stats may be NULL.
 * Errors: mt_timeline_decode()'s; those of the writer. */
struct mt_error *mt_timeline_write(const struct mt_log *log, const struct mt_progress *progress,
				   struct mt_recording *recording,
				   const struct mt_timeline *timeline,
				   struct mt_decode_stats *stats);

#endif
