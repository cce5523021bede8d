/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls that are open at a segment's end, and have a number from then on, or arguments or functions
 * in Python that were read then, by unwinding: a log tells of a call before that is known. */
#ifndef MT_TRACE_OPEN_CALLS_H
#define MT_TRACE_OPEN_CALLS_H

#include "trace/recorded_values.h"
#include "trace/segment_log.h"

struct mt_open_call {
	uint32_t depth; /* of its slice */
	const struct mt_function *function;
	const char *arguments; /* lent for the run; NULL: none were read */
	uint64_t call_id;      /* of struct mt_slice; 0: none */
	/* Slices of their own on it, the outermost first; lent for the run. */
	const struct mt_python_call *python;
	size_t python_count;
	struct mt_source at; /* where it stands, if it is in Python itself; file NULL: not known */
};

/* By depth, rising. */
struct mt_open_calls {
	MT_ARRAY(struct mt_open_call) items;
	bool is_lost; /* the segment ends with a gap, outside of all that was open before it */
};

/* mt_segment_log_replay(), twice: the first time to see which slices stay open, so that these of
 * CALLS get their arguments, unless they have some that were recorded, and their functions in
 * Python; those that are in Python themselves get where they stand.  When these were called is not
 * known: they begin behind what is known to have come before the last call from among them. */
struct mt_error *mt_open_calls_replay(struct mt_segment_log *log, const struct mt_replay *replay,
				      const struct mt_open_calls *calls);

#endif
