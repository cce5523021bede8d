/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which calls a timeline for Perfetto has, as deep as they may lie.
 *
 * Its importer takes 512 levels a thread, and counts an instant as one; when a begin is dropped,
 * its end closes somebody else's slice.  So calls are shown down to MT_CALL_LEVELS; below, one
 * slice stands for all that is left out, and there is still room for an instant: the signal that
 * ended an endless recursion. */
#ifndef MT_OUTPUT_LEVELS_H
#define MT_OUTPUT_LEVELS_H

#include "output/args.h"

#define MT_CALL_LEVELS 510
#define MT_DEEPER_NAME "[deeper calls]"

/* Of one segment.  Zeroed storage is one that begins. */
struct mt_levels {
	uint32_t depth; /* slices that are open, shown or not */
	/* The calls below MT_CALL_LEVELS, from the first of them until control is back above. */
	uint64_t left_out;
	uint64_t deepest;
	uint64_t end_ns; /* of the last that ended */
};

enum mt_level {
	MT_LEVEL_SHOWN,
	MT_LEVEL_FIRST_DEEPER, /* MT_DEEPER_NAME begins in its place */
	MT_LEVEL_DEEPER,
};

enum mt_level mt_levels_begin_deeper(struct mt_levels *levels, uint64_t time_ns);

/* A slice begins. */
static inline enum mt_level mt_levels_begin(struct mt_levels *levels, uint64_t time_ns)
{
	return levels->depth++ < MT_CALL_LEVELS ? MT_LEVEL_SHOWN
						: mt_levels_begin_deeper(levels, time_ns);
}

/* The innermost slice, of which there is one, ends.  Returns whether it was shown. */
static inline bool mt_levels_end(struct mt_levels *levels, uint64_t time_ns)
{
	if (--levels->depth < MT_CALL_LEVELS)
		return true;
	levels->end_ns = time_ns;
	return false;
}

/* Whether MT_DEEPER_NAME is open and ends now, before what is written next: then with ARGS, at
 * END_NS. */
bool mt_levels_leave(struct mt_levels *levels, uint64_t *end_ns, struct mt_args *args);

#endif
