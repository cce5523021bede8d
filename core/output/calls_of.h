/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A filter before a sink: the calls of one function, each under its callers, and nothing else. */
#ifndef MT_OUTPUT_CALLS_OF_H
#define MT_OUTPUT_CALLS_OF_H

#include "trace/slice.h"

struct mt_calls_of;

/* Whether SLICE is a call of FUNCTION: its name, whole, or without namespaces, parameters and
 * template arguments; or a glob as fnmatch(3)'s.  A function's part for unlikely cases ("f.cold")
 * is the function. */
bool mt_is_call_of(const struct mt_slice *slice, const char *function);

/* FUNCTION as above.  Both are lent.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_of_create(const char *function, struct mt_slice_sink to,
				    struct mt_calls_of **out);
struct mt_slice_sink mt_calls_of_sink(struct mt_calls_of *filter);
uint64_t mt_calls_of_count(const struct mt_calls_of *filter); /* how many there were */
void mt_calls_of_destroy(struct mt_calls_of *filter);         /* NULL is fine */

#endif
