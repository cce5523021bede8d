/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/timeline.h"

#include "decode/no_call.h"
#include "output/calls_of.h"
#include "output/fold.h"
#include "perf/stack_sample.h"

static struct mt_error *decode_calls_of(struct mt_recording *recording,
					const struct mt_decode_options *options,
					const char *function, struct mt_slice_sink sink,
					struct mt_decode_stats *stats)
{
	struct mt_calls_of *filter = NULL;
	struct mt_error *error = mt_calls_of_create(function, sink, &filter);

	if (!error)
		error = mt_decode(recording, options, mt_calls_of_sink(filter), stats);
	if (!error && !mt_calls_of_count(filter))
		error = mt_decode_no_call(recording, function);
	mt_calls_of_destroy(filter);
	return error;
}

static struct mt_error *decode_folded(struct mt_recording *recording,
				      const struct mt_decode_options *options, const char *hint,
				      struct mt_slice_sink sink, struct mt_decode_stats *stats)
{
	struct mt_fold *fold = NULL;
	struct mt_error *error = mt_fold_create(hint, sink, &fold);

	if (!error)
		error = mt_decode(recording, options, mt_fold_sink(fold), stats);
	mt_fold_destroy(fold);
	return error;
}

struct mt_error *mt_timeline_decode(const struct mt_log *log, const struct mt_progress *progress,
				    struct mt_recording *recording,
				    const struct mt_timeline *timeline, struct mt_slice_sink sink,
				    struct mt_decode_stats *stats)
{
	const struct mt_decode_options options = {
	    .progress = progress,
	    .log = log,
	    .objfile = {.debuginfod = true, .log = log},
	    .files = timeline->files,
	    .tid = timeline->tid,
	    .by_threads = timeline->by_threads,
	    .goroutine = timeline->goroutine,
	    .coroutine = timeline->coroutine,
	    .by_libipt = timeline->by_libipt,
	    .no_inlines = timeline->is_for_statistics,
	    .side_tracks_first = timeline->is_for_statistics,
	};

	if (timeline->needs_calls && mt_recording_is_of_samples(recording))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "%s contains samples of stacks and no calls: %s",
				    mt_recording_info(recording)->path, timeline->needs_calls);
	if (timeline->function)
		return decode_calls_of(recording, &options, timeline->function, sink, stats);
	if (timeline->fold_hint)
		return decode_folded(recording, &options, timeline->fold_hint, sink, stats);
	mt_try(mt_decode(recording, &options, sink, stats));
	const char *missed = timeline->missed ? timeline->missed(timeline->context) : NULL;

	return missed ? mt_decode_no_call(recording, missed) : NULL;
}

struct mt_error *mt_timeline_write(const struct mt_log *log, const struct mt_progress *progress,
				   struct mt_recording *recording,
				   const struct mt_timeline *timeline,
				   struct mt_decode_stats *stats)
{
	const struct mt_trace_writer_options writer_options = {
	    .last = timeline->last,
	    .colour = timeline->colour,
	    .command = mt_recording_info(recording)->cmdline,
	};
	struct mt_trace_writer *writer = NULL;
	struct mt_error *error = NULL;

	if (timeline->path)
		mt_try(mt_trace_writer_create(timeline->path, timeline->format, &writer_options,
					      &writer));
	else
		mt_try(
		    mt_trace_writer_create_printing(&timeline->printer, &writer_options, &writer));
	error = mt_timeline_decode(log, progress, recording, timeline, mt_trace_writer_sink(writer),
				   stats);
	if (!error)
		error = mt_trace_writer_finish(writer);
	mt_trace_writer_destroy(writer);
	return error;
}
