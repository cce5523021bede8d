/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary search in what is sorted.
 *
 *	size_t behind = mt_partition_point(i, 0, ranges.count, ranges.items[i].start <= address);
 */
#ifndef MT_BASE_SEARCH_H
#define MT_BASE_SEARCH_H

#include <stddef.h>

/* The first INDEX of [BEGIN, END) for which IS_BEFORE, an expression over it, does not hold; END:
 * there is none.  From there on it holds nowhere, and in front of it everywhere. */
#define mt_partition_point(index, begin, end, is_before)                                           \
	({                                                                                         \
		size_t mt_low_ = (begin), mt_high_ = (end);                                        \
		while (mt_low_ < mt_high_) {                                                       \
			const size_t index = mt_low_ + (mt_high_ - mt_low_) / 2;                   \
			if (is_before)                                                             \
				mt_low_ = index + 1;                                               \
			else                                                                       \
				mt_high_ = index;                                                  \
		}                                                                                  \
		mt_low_;                                                                           \
	})

#endif
