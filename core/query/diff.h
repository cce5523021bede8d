/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where two runs part ways, call by call, and part again after they were the same: addresses, times
 * and numbers of threads are left out. The k-th thread of a name in the one is compared with the
 * k-th of it in the other. */
#ifndef MT_QUERY_DIFF_H
#define MT_QUERY_DIFF_H

#include "base/str.h"
#include "query/call_log.h"
#include "stats/stats.h"

struct mt_diff {
	const struct mt_call_names *names;
	struct mt_call_log *logs[2];
	struct mt_stats_result *stats[2];
	pid_t tid;       /* of the first: only that thread; 0: all */
	size_t most;     /* rows of each table; 0: all */
	size_t partings; /* of each thread that are shown; 0: all */
};

/* Appends all that differs to OUT, *DIFFERS false if nothing does: the calls of threads, then how
 * often functions were called, and how long they took themselves; times alone are no difference.
 * Errors: NOT_FOUND (no such thread, or no calls); SYSTEM; NO_MEMORY. */
struct mt_error *mt_diff_print(const struct mt_diff *diff, struct mt_str *out, bool *differs);

#endif
