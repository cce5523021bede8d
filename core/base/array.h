/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growable arrays of any type.
 *
 *	MT_ARRAY(struct mt_event) events = {0};
 *	if (mt_array_push(&events, event))
 *		return mt_error_no_memory();
 *	mt_array_deinit(&events);
 *
 * Zeroed storage is an empty array.  Growth doubles; pointers into items are good until the next
 * growth. */
#ifndef MT_BASE_ARRAY_H
#define MT_BASE_ARRAY_H

#include <stddef.h>
#include <stdlib.h>

#define MT_ARRAY(type)                                                                             \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count;                                                                      \
		size_t capacity;                                                                   \
	}

/* Room for COUNT items in all.  Returns 0, or -1 without memory (the array stays as it was). */
#define mt_array_reserve(array, wanted)                                                            \
	mt_array_grow((void **)&(array)->items, &(array)->capacity, sizeof(*(array)->items),       \
		      (wanted))

/* Append one.  Returns 0, or -1 without memory. */
#define mt_array_push(array, item)                                                                 \
	((array)->count == (array)->capacity && mt_array_reserve((array), (array)->count + 1)      \
	     ? -1                                                                                  \
	     : ((array)->items[(array)->count++] = (item), 0))

#define mt_array_last(array) (&(array)->items[(array)->count - 1])

#define mt_array_each(item, array)                                                                 \
	for (__typeof__(*(array)->items) *item = (array)->items;                                   \
	     item && item < (array)->items + (array)->count; item++)

#define mt_array_deinit(array)                                                                     \
	do {                                                                                       \
		free((array)->items);                                                              \
		(array)->items = NULL;                                                             \
		(array)->count = (array)->capacity = 0;                                            \
	} while (0)

int mt_array_grow(void **items, size_t *capacity, size_t item_size, size_t wanted);

#endif
