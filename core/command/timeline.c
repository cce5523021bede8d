/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/timeline.h"

#include "base/str.h"
#include "command/arguments.h"
#include "output/text_line.h"
#include "output/trace_writer.h"

#include <string.h>
#include <unistd.h>

struct mt_error *mt_timeline_settle(const struct mt_command_context *context,
				    struct mt_session *session, struct mt_error *error)
{
	const char *kept = session ? mt_session_kept(session) : NULL;

	if (!kept)
		return error;
	/* A recording of nothing is of no use. */
	if (!error || mt_error_code(error) == MT_ERROR_UNSUPPORTED) {
		mt_session_drop(session);
		return error;
	}
	if (access(kept, F_OK)) {
		struct mt_error *lost = mt_session_rescue(session);

		kept = lost ? NULL : mt_session_kept(session);
		if (lost)
			mt_log(context->log, MT_LOG_WARNING, "what was recorded is lost: %s",
			       mt_error_message(lost));
		mt_error_destroy(lost);
	}
	if (kept)
		mt_log(context->log, MT_LOG_WARNING,
		       "what was recorded is in %s: \"%s decode -o FILE %s\" writes its timeline",
		       kept, context->prefix, kept);
	return error;
}

struct mt_error *mt_timeline_default_path(const char *recording, const char *format,
					  struct mt_str *path)
{
	const char *base = strcmp(recording, "-") == 0 ? "trace" : recording;
	const char *name = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
	const char *ending = strrchr(name, '.');
	size_t length = strlen(base);

	if (ending && ending != name &&
	    (strcmp(ending, ".perf") == 0 || strcmp(ending, ".data") == 0))
		length -= strlen(ending);
	mt_str_append_bytes(path, base, length);
	mt_str_append(path, mt_trace_writer_ending(format));
	return path->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_timeline_parse_track(const char *thread, const char *goroutine,
					 const char *coroutine, struct mt_timeline *timeline)
{
	uint64_t tid = 0, fiber = 0;

	if (!!thread + !!goroutine + !!coroutine > 1)
		return mt_error_new(MT_ERROR_USAGE,
				    "use only one of --thread, --goroutine and --coroutine");
	if (thread)
		mt_try(mt_parse_number(thread, "thread id", 1, INT32_MAX, &tid));
	if (goroutine)
		mt_try(mt_parse_number(goroutine, "goroutine", 1, INT64_MAX, &timeline->goroutine));
	if (coroutine)
		mt_try(mt_parse_number(coroutine, "coroutine", 1, UINT32_MAX, &fiber));
	timeline->tid = (pid_t)tid;
	timeline->coroutine = (uint32_t)fiber;
	return NULL;
}

void mt_timeline_log_losses(const struct mt_command_context *context,
			    const struct mt_recording *recording,
			    const struct mt_decode_stats *stats)
{
	const struct mt_recording_info *info = mt_recording_info(recording);

	if (stats->sampling.samples) {
		mt_auto(mt_str) struct mt_str text = {0};

		mt_text_sampling(&text, &stats->sampling);
		if (info->events_lost)
			mt_str_appendf(&text, ", and %llu were lost",
				       (unsigned long long)info->events_lost);
		mt_log(context->log, MT_LOG_INFO, "%s: %s", info->path, text.text ? text.text : "");
	}
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
	static const char *const others[] = {".txt", ".folded", ".speedscope.json", ".html",
					     ".zst"};
	bool is_for_viewer = true;

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		is_for_viewer &= !strstr(path, others[i]);

	mt_timeline_log_losses(context, recording, stats);
	if (strcmp(path, "-") == 0)
		return;
	mt_log(context->log, MT_LOG_INFO, "%s: the timeline of %u thread%s, %llu events%s%s%s",
	       path, (unsigned int)stats->threads, stats->threads == 1 ? "" : "s",
	       (unsigned long long)stats->events, is_for_viewer ? " (open it with \"" : "",
	       is_for_viewer ? context->prefix : "",
	       is_for_viewer ? " view\" or at https://ui.perfetto.dev)" : "");
}

struct mt_error *mt_timeline_feed(const struct mt_command_context *context,
				  struct mt_recording *recording,
				  const struct mt_timeline *timeline, struct mt_slice_sink sink)
{
	struct mt_decode_stats stats = {0};

	mt_try(
	    mt_timeline_decode(context->log, context->progress, recording, timeline, sink, &stats));
	mt_timeline_log_losses(context, recording, &stats);
	return NULL;
}

struct mt_error *mt_timeline_feed_file(const struct mt_command_context *context, const char *path,
				       const struct mt_timeline *timeline,
				       struct mt_slice_sink sink)
{
	struct mt_recording *recording = NULL;

	mt_try(mt_recording_open(path, context->progress, &recording));
	struct mt_error *error = mt_timeline_feed(context, recording, timeline, sink);
	mt_recording_close(recording);
	return error;
}
