/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has been counted, in words that outlive the decoding. */
#ifndef MT_STATS_RESULT_H
#define MT_STATS_RESULT_H

#include "stats/table.h"

/* Appends the entries of TABLE, those of one function in several address spaces as one
 * row; their histograms are taken.  IS_WANTED_ALONE: those of the options' function.
 * Errors: NO_MEMORY. */
struct mt_error *mt_stats_make_rows(struct mt_stats_table *table, enum mt_stats_by by,
				    bool is_wanted_alone, struct mt_arena *texts,
				    mt_stats_rows *out);
void mt_stats_rows_deinit(mt_stats_rows *rows);
/* "worker (1234)".  NULL: no memory. */
const char *mt_stats_thread_label(struct mt_arena *texts, const struct mt_thread *thread);

#endif
