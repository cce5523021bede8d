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
		error = mt_error_new(MT_ERROR_NOT_FOUND, "the recording contains no call of \"%s\"",
				     function);
	mt_calls_of_destroy(filter);
	return error;
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
	struct mt_slice_sink sink = mt_trace_writer_sink(writer);
	error = timeline->function
		    ? decode_calls_of(recording, &decode_options, timeline->function, sink, stats)
		    : mt_decode(recording, &decode_options, sink, stats);
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
		mt_log(context->log, MT_LOG_WARNING, "%s is truncated; showing what could be read",
		       info->path);
	if (info->bad_records)
		mt_log(context->log, MT_LOG_WARNING, "%s: skipped %llu damaged records", info->path,
		       (unsigned long long)info->bad_records);
	if (stats->gaps)
		mt_log(context->log, MT_LOG_WARNING,
		       "the timeline has %llu gaps where data was lost",
		       (unsigned long long)stats->gaps);
}

void mt_timeline_log_written(const struct mt_command_context *context,
			     const struct mt_recording *recording, const char *path,
			     const struct mt_decode_stats *stats)
{
	const char *extension = strrchr(path, '.');
	bool is_for_viewer = !extension || strcmp(extension, ".txt") != 0;

	mt_timeline_log_losses(context, recording, stats);
	if (strcmp(path, "-") == 0)
		return;
	mt_log(context->log, MT_LOG_INFO, "%s: the timeline of %u thread%s, %llu events%s%s%s",
	       path, (unsigned int)stats->threads, stats->threads == 1 ? "" : "s",
	       (unsigned long long)stats->events, is_for_viewer ? " (open it with \"" : "",
	       is_for_viewer ? context->prefix : "",
	       is_for_viewer ? " view\" or at https://ui.perfetto.dev)" : "");
}
