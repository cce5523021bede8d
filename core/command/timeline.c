/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/timeline.h"

#include "output/calls_of.h"

#include <string.h>

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
		error = mt_error_new(MT_ERROR_NOT_FOUND, "no call of \"%s\" is in the history",
				     function);
	mt_calls_of_destroy(filter);
	return error;
}

static struct mt_error *decode(struct mt_recording *recording,
			       const struct mt_decode_options *options,
			       const struct mt_timeline *timeline, struct mt_slice_sink sink,
			       struct mt_decode_stats *stats)
{
	if (timeline->function)
		return decode_calls_of(recording, options, timeline->function, sink, stats);
	return mt_decode(recording, options, sink, stats);
}

struct mt_error *mt_timeline_write(const struct mt_command_context *context,
				   struct mt_recording *recording,
				   const struct mt_timeline *timeline,
				   struct mt_decode_stats *stats)
{
	const struct mt_trace_writer_options writer_options = {
	    .last = timeline->last,
	    .colour = timeline->colour,
	    .command = mt_recording_info(recording)->cmdline,
	};
	const struct mt_decode_options decode_options = {
	    .progress = context->progress,
	    .log = context->log,
	    .objfile = {.debuginfod = true, .log = context->log},
	    .tid = timeline->tid,
	};
	struct mt_trace_writer *writer = NULL;
	struct mt_error *error = NULL;

	if (timeline->path)
		mt_try(mt_trace_writer_create(timeline->path, timeline->format, &writer_options,
					      &writer));
	else
		mt_try(
		    mt_trace_writer_create_printing(&timeline->printer, &writer_options, &writer));
	error = decode(recording, &decode_options, timeline, mt_trace_writer_sink(writer), stats);
	if (!error)
		error = mt_trace_writer_finish(writer);
	mt_trace_writer_destroy(writer);
	return error;
}

void mt_timeline_log_losses(const struct mt_command_context *context,
			    const struct mt_recording *recording,
			    const struct mt_decode_stats *stats)
{
	const struct mt_recording_info *info = mt_recording_info(recording);

	if (info->is_truncated)
		mt_log(context->log, MT_LOG_WARNING,
		       "%s is cut off at its end: what is there is shown", info->path);
	if (info->bad_records)
		mt_log(context->log, MT_LOG_WARNING, "%s: %llu garbled records were left out",
		       info->path, (unsigned long long)info->bad_records);
	if (stats->gaps)
		mt_log(context->log, MT_LOG_WARNING, "gaps where data was lost: %llu",
		       (unsigned long long)stats->gaps);
}

/* By its ending: what the Perfetto UI opens. */
static bool is_for_viewer(const char *path)
{
	const char *ending = strrchr(path, '.');

	return !ending || strcmp(ending, ".txt") != 0;
}

void mt_timeline_log_written(const struct mt_command_context *context,
			     const struct mt_recording *recording, const char *path,
			     const struct mt_decode_stats *stats)
{
	mt_timeline_log_losses(context, recording, stats);
	if (strcmp(path, "-") == 0)
		return;
	mt_log(context->log, MT_LOG_INFO, "%s: the timeline of %u thread%s, %llu events%s%s%s",
	       path, (unsigned int)stats->threads, stats->threads == 1 ? "" : "s",
	       (unsigned long long)stats->events, is_for_viewer(path) ? " (" : "",
	       is_for_viewer(path) ? context->prefix : "",
	       is_for_viewer(path) ? " view opens it, or https://ui.perfetto.dev)" : "");
}
