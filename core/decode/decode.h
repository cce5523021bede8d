/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way from a recording to slices: sideband to address spaces and threads, AUX data through the
 * decoder, events through the call stacks, slices to a sink.  Here perf/, pt/ and trace/ meet. */
#ifndef MT_DECODE_DECODE_H
#define MT_DECODE_DECODE_H

#include "base/log.h"
#include "base/progress.h"
#include "decode/files.h"
#include "perf/recording.h"
#include "space/space.h"
#include "trace/slice.h"

struct mt_decode_options {
	const struct mt_progress *progress; /* may be NULL */
	const struct mt_log *log;           /* may be NULL */
	struct mt_objfile_options objfile;
	/* The caller's, who keeps what is learned of files for the next one: made if it is NULL,
	 * and given up when it is stale.  NULL: nothing is kept. */
	struct mt_decode_files **files;
	bool no_inlines;
	bool by_libipt;         /* it reads Intel PT's packets: a second opinion */
	bool side_tracks_first; /* before the calls, and not behind them */
	pid_t tid;              /* only this thread; 0: all */
	bool by_threads;        /* goroutines and coroutines have no tracks of their own */
	uint64_t goroutine;     /* only this one; 0: all */
	uint32_t coroutine;     /* only the track with this number; 0: all */
	const char *kallsyms; /* NULL: its own, or /proc/kallsyms, if it was made on this kernel */
};

struct mt_decode_stats {
	uint64_t bytes;
	uint64_t blocks;
	uint64_t instructions;
	uint64_t events;
	uint64_t gaps;
	uint32_t threads;
	uint32_t missing_files;      /* mappings whose code could not be read */
	struct mt_sampling sampling; /* of all threads; samples 0: it has none, or calls.  Lent by
				      * the recording */
};

/* options may be NULL, stats may be NULL.
 * Errors: UNSUPPORTED (the recording contains no trace that we know); the sink's; INTERRUPTED;
 * NO_MEMORY. */
struct mt_error *mt_decode(struct mt_recording *recording, const struct mt_decode_options *options,
			   struct mt_slice_sink sink, struct mt_decode_stats *stats);
/* *ID: the goroutine that OPTIONS' thread runs at the recording's end; 0: none, or it is not known.
 * Errors: NO_MEMORY; INTERRUPTED. */
struct mt_error *mt_decode_last_goroutine(struct mt_recording *recording,
					  const struct mt_decode_options *options, uint64_t *id);

#endif
