/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From control-flow events to slices: one rebuild a thread.
 *
 * Events go in; what they mean is kept in a log, a segment at a time (bounded in memory: it spills
 * to an unlinked temporary file), because a root that was called before the recording began is only
 * known when control returns into it.  At the segment's end its slices go to the sink: the inferred
 * roots first, then everything in order, as trace/slice.h promises.
 *
 * A segment ends at MT_EVENT_MARK with SNAPSHOT or EXEC, at a gap after which nothing is
 * known to be open, and at mt_callstack_finish().  Only the mark gives a segment its snapshot's
 * number: one that a gap ended before has none. */
#ifndef MT_TRACE_CALLSTACK_H
#define MT_TRACE_CALLSTACK_H

#include "trace/event.h"
#include "trace/slice.h"
#include "trace/symbolizer.h"

struct mt_callstack;

struct mt_callstack_options {
	struct mt_thread thread;
	struct mt_slice_sink sink;
	size_t log_memory_bytes; /* spill beyond; 0: 64 MiB */
	bool inlines;            /* show inlined functions as slices */
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_callstack_create(const struct mt_callstack_options *options,
				     struct mt_callstack **out);
void mt_callstack_destroy(struct mt_callstack *stack); /* without finishing; NULL is fine */

/* Whose names are true from the next event on.  Lent until the next call or the end.  The
 * functions and the inlined calls it gives must live until mt_callstack_finish() has returned. */
void mt_callstack_set_symbolizer(struct mt_callstack *stack,
				 const struct mt_symbolizer *symbolizer);

/* Errors: the sink's; SYSTEM (no room to spill); NO_MEMORY.  An odd sequence of events is no
 * error. */
struct mt_error *mt_callstack_push(struct mt_callstack *stack, const struct mt_event *events,
				   size_t count);

/* The truth about the frames that are open now, from an unwinder, innermost first: PCs of the
 * frames (return addresses for all but the first).  Places and names the roots.  Optional. */
struct mt_error *mt_callstack_set_backtrace(struct mt_callstack *stack, const uint64_t *pcs,
					    size_t count);

/* Ends the last segment. */
struct mt_error *mt_callstack_finish(struct mt_callstack *stack);

#endif
