/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of attach, decode and history on the timeline that they wrote. */
#ifndef MT_COMMAND_TIMELINE_H
#define MT_COMMAND_TIMELINE_H

#include "command/command.h"
#include "decode/timeline.h"
#include "session/session.h"

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

#endif
