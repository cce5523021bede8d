/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings that commands read, and their reports on the timelines that they wrote. */
#ifndef MT_COMMAND_TIMELINE_H
#define MT_COMMAND_TIMELINE_H

#include "base/str.h"
#include "command/command.h"
#include "decode/timeline.h"
#include "session/session.h"

/* Where the timeline of a recording goes by default: maps "dir/crash.perf" to "dir/crash.fxt" and
 * "-" to "trace.fxt".  FORMAT may be NULL.  Errors: NO_MEMORY. */
struct mt_error *mt_timeline_default_path(const char *recording, const char *format,
					  struct mt_str *path);

/* The options --thread, --goroutine and --coroutine, which exclude each other, as what TIMELINE is
 * of; each NULL: it was not given.  Errors: USAGE. */
struct mt_error *mt_timeline_parse_track(const char *thread, const char *goroutine,
					 const char *coroutine, struct mt_timeline *timeline);

/* Reports where the timeline is, and what it lacks. */
void mt_timeline_log_written(const struct mt_command_context *context,
			     const struct mt_recording *recording, const char *path,
			     const struct mt_decode_stats *stats);

/* The timeline of SESSION has been written, or ERROR was the end of it: then, if there is something
 * in the recording, that stays, and it is said where.  Returns ERROR. */
struct mt_error *mt_timeline_settle(const struct mt_command_context *context,
				    struct mt_session *session, struct mt_error *error);

/* Reports what the output lacks: gaps, damaged records, a recording's end.  (mt_decode() reports
 * missing files.) */
void mt_timeline_log_losses(const struct mt_command_context *context,
			    const struct mt_recording *recording,
			    const struct mt_decode_stats *stats);

/* Decodes a recording into SINK, and reports what it lacks.  Errors: as mt_timeline_decode(). */
struct mt_error *mt_timeline_feed(const struct mt_command_context *context,
				  struct mt_recording *recording,
				  const struct mt_timeline *timeline, struct mt_slice_sink sink);
/* The same of the file at PATH, which is closed again: SINK keeps copies of what it needs later.
 * Errors: as mt_recording_open(), too. */
struct mt_error *mt_timeline_feed_file(const struct mt_command_context *context, const char *path,
				       const struct mt_timeline *timeline,
				       struct mt_slice_sink sink);

#endif
