/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory for what is read as a whole, as files are: where the system has huge pages for whom asks,
 * it costs one page fault instead of hundreds. */
#ifndef MT_BASE_LARGE_H
#define MT_BASE_LARGE_H

#include <stddef.h>

/* Of any value.  The caller frees it with free().  NULL without memory. */
void *mt_large_alloc(size_t size);
/* The same as a mapping, zeroed, of which nothing is reserved: what is never touched costs nothing.
 * The caller unmaps it. */
void *mt_large_map(size_t size);

#endif
