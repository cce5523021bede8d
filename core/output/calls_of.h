/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A filter before a sink: the calls of one function, each under its callers, and nothing else. */
#ifndef MT_OUTPUT_CALLS_OF_H
#define MT_OUTPUT_CALLS_OF_H

#include "trace/slice.h"

struct mt_calls_of;

/* FUNCTION: as mt_function_matches() takes it.  Both are lent.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_of_create(const char *function, struct mt_slice_sink to,
				    struct mt_calls_of **out);
struct mt_slice_sink mt_calls_of_sink(struct mt_calls_of *filter);
uint64_t mt_calls_of_count(const struct mt_calls_of *filter); /* how many there were */
void mt_calls_of_destroy(struct mt_calls_of *filter);         /* NULL is fine */

#endif
