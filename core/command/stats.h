/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a recording, for `stats` and `run --stats`. */
#ifndef MT_COMMAND_STATS_H
#define MT_COMMAND_STATS_H

#include "command/command.h"
#include "perf/recording.h"

/* Reports, with CONTEXT's report(), the functions that took longest.  Errors: those of decoding. */
struct mt_error *mt_stats_report_recording(const struct mt_command_context *context,
					   struct mt_recording *recording);

#endif
