/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats/report.h"

#include <stdlib.h>
#include <string.h>

const char *const mt_stats_sort_names[MT_STATS_SORTS] = {
    [MT_STATS_SORT_TOTAL] = "total",   [MT_STATS_SORT_SELF] = "self",
    [MT_STATS_SORT_CALLS] = "calls",   [MT_STATS_SORT_MIN] = "min",
    [MT_STATS_SORT_P50] = "p50",       [MT_STATS_SORT_P90] = "p90",
    [MT_STATS_SORT_P99] = "p99",       [MT_STATS_SORT_MAX] = "max",
    [MT_STATS_SORT_WAITED] = "waited", [MT_STATS_SORT_NAME] = "name",
};

const char *const mt_stats_by_names[] = {
    [MT_STATS_BY_FUNCTION] = "function", [MT_STATS_BY_THREAD] = "thread",
    [MT_STATS_BY_PROCESS] = "process",   [MT_STATS_BY_CALLER] = "caller",
    [MT_STATS_BY_CALLER + 1] = NULL,
};

uint64_t mt_stats_value(const struct mt_stats_row *row, enum mt_stats_sort what)
{
	switch (what) {
	case MT_STATS_SORT_TOTAL:
		return row->total_ns;
	case MT_STATS_SORT_SELF:
		return row->self_ns;
	case MT_STATS_SORT_CALLS:
		return row->calls;
	case MT_STATS_SORT_MIN:
		return row->durations.least;
	case MT_STATS_SORT_P50:
		return mt_histogram_quantile(&row->durations, 500);
	case MT_STATS_SORT_P90:
		return mt_histogram_quantile(&row->durations, 900);
	case MT_STATS_SORT_P99:
		return mt_histogram_quantile(&row->durations, 990);
	case MT_STATS_SORT_MAX:
		return row->durations.most;
	case MT_STATS_SORT_WAITED:
		return row->waited_ns;
	default:
		return 0;
	}
}

/* What is equal is in the order of names, so that the same recording always reads the same. */
static int compare(const void *a, const void *b, void *context)
{
	const struct mt_stats_row *left = a, *right = b;
	const enum mt_stats_sort *sort = context;
	uint64_t first = mt_stats_value(left, *sort), second = mt_stats_value(right, *sort);

	if (first != second)
		return first < second ? 1 : -1;
	int order = strcmp(left->name, right->name);

	order = order ? order
		      : strcmp(left->group ? left->group : "", right->group ? right->group : "");
	return order ? order : strcmp(left->module, right->module);
}

void mt_stats_sort(mt_stats_rows *rows, enum mt_stats_sort sort)
{
	if (rows->count)
		qsort_r(rows->items, rows->count, sizeof(*rows->items), compare, &sort);
}
