/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports of attach, decode and history on the timeline that they wrote. */
#ifndef MT_COMMAND_TIMELINE_H
#define MT_COMMAND_TIMELINE_H

#include "command/command.h"
#include "decode/timeline.h"

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
