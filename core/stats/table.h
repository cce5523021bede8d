/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts by function and group while slices come: looked up once for each call. */
#ifndef MT_STATS_TABLE_H
#define MT_STATS_TABLE_H

#include "stats/stats.h"

struct mt_stats_entry {
	uint64_t group;
	/* Whom the group stands for; NULL: something else, or nobody. */
	const struct mt_function *caller;
	const struct mt_thread *thread;
	const struct mt_function *function; /* NULL: of `name` */
	const char *name, *category;
	bool is_wanted; /* the options' function */
	uint32_t open;  /* calls of it that are under way */
	uint64_t calls, partial;
	uint64_t total_ns, self_ns, waited_ns;
	struct mt_histogram durations;
};

/* Zeroed storage is empty. */
struct mt_stats_table {
	struct mt_stats_entry **slots;
	size_t size; /* a power of two */
	size_t count;
};

/* The entry of a function, or of a name, in a group: made when it is new, *IS_NEW then.  NULL
 * without memory.  A name is compared as text. */
struct mt_stats_entry *mt_stats_table_get(struct mt_stats_table *table, uint64_t group,
					  const struct mt_function *function, const char *name,
					  bool *is_new);
void mt_stats_table_deinit(struct mt_stats_table *table);

#endif
