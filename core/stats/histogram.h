/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How often each length of time occurred, in buckets that are up to a 32nd of their values wide:
 * enough for percentiles, in memory that does not grow with what is counted.
 *
 * Zeroed storage is an empty one. */
#ifndef MT_STATS_HISTOGRAM_H
#define MT_STATS_HISTOGRAM_H

#include <stdint.h>

#define MT_HISTOGRAM_PARTS  32 /* of each power of two */
#define MT_HISTOGRAM_BLOCKS 60
#define MT_HISTOGRAM_POWERS 64

struct mt_histogram {
	uint64_t count;
	uint64_t least, most; /* exact */
	/* Buckets of the values below MT_HISTOGRAM_PARTS, then of each power of two; NULL: none. */
	uint64_t *blocks[MT_HISTOGRAM_BLOCKS];
};

void mt_histogram_deinit(struct mt_histogram *histogram);
/* Returns 0, or -1 without memory. */
int mt_histogram_add(struct mt_histogram *histogram, uint64_t value);
/* Adds all of FROM.  Returns 0, or -1 without memory. */
int mt_histogram_merge(struct mt_histogram *into, const struct mt_histogram *from);
/* The value that PERMILLE of a thousand do not exceed, by half a bucket at the most; of an empty
 * one 0. */
uint64_t mt_histogram_quantile(const struct mt_histogram *histogram, unsigned permille);
/* How many lie in [2^i, 2^(i+1)); 0 is counted with 1. */
void mt_histogram_powers(const struct mt_histogram *histogram,
			 uint64_t counts[MT_HISTOGRAM_POWERS]);

#endif
