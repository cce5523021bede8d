/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the calls of two threads part, and where they are the same again. */
#ifndef MT_QUERY_PARTING_H
#define MT_QUERY_PARTING_H

#include "query/call_log.h"

/* Zeroed before the first one. */
struct mt_parting {
	uint64_t at[2]; /* the first calls that differ; those behind the last: there are no more */
	bool lost;      /* data was lost before it */
};

static inline uint32_t mt_call_depth(struct mt_call_item item)
{
	return item.depth & ~MT_CALL_LOST;
}

/* The next one, from there on.  Errors: as mt_call_reader_get(). */
struct mt_error *mt_parting_find(struct mt_call_reader readers[2], struct mt_parting *parting);
bool mt_parting_is_end(const struct mt_call_reader readers[2], const struct mt_parting *parting);
/* Passes what differs: as few calls of the same caller, each with all that it calls, as make what
 * follows the same; else the rest of what that caller did.  Errors: as above. */
struct mt_error *mt_parting_pass(struct mt_call_reader readers[2], struct mt_parting *parting);

#endif
