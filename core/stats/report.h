/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics as text for people, as JSON, and as CSV. */
#ifndef MT_STATS_REPORT_H
#define MT_STATS_REPORT_H

#include "base/str.h"
#include "stats/stats.h"

enum mt_stats_sort {
	MT_STATS_SORT_TOTAL,
	MT_STATS_SORT_SELF,
	MT_STATS_SORT_CALLS,
	MT_STATS_SORT_MIN,
	MT_STATS_SORT_P50,
	MT_STATS_SORT_P90,
	MT_STATS_SORT_P99,
	MT_STATS_SORT_MAX,
	MT_STATS_SORT_WAITED,
	MT_STATS_SORT_NAME,
	MT_STATS_SORTS
};

/* "total", "self", …: as they are typed, and called in JSON and CSV. */
extern const char *const mt_stats_sort_names[MT_STATS_SORTS];
/* "function", "thread", "process", "caller": by enum mt_stats_by; NULL at the end. */
extern const char *const mt_stats_by_names[];

struct mt_stats_report {
	const struct mt_stats_options *options; /* with which they were made */
	enum mt_stats_sort sort;
	size_t most;      /* rows of each table; 0: all */
	unsigned columns; /* of the terminal */
};

/* Sorts the rows of RESULT, and appends all that is to be told.  Names are cleaned as in
 * base/utf8.h; OUT's `failed` tells of a lack of memory. */
void mt_stats_print(const struct mt_stats_report *report, struct mt_stats_result *result,
		    struct mt_str *out);
void mt_stats_print_json(const struct mt_stats_report *report, struct mt_stats_result *result,
			 struct mt_str *out);
/* The functions alone, one a line; durations are in ns.  RFC 4180. */
void mt_stats_print_csv(const struct mt_stats_report *report, struct mt_stats_result *result,
			struct mt_str *out);

/* For the above: sort.c. */
void mt_stats_sort(mt_stats_rows *rows, enum mt_stats_sort sort);
/* What ROW is sorted by, in ns or calls. */
uint64_t mt_stats_value(const struct mt_stats_row *row, enum mt_stats_sort what);

#endif
