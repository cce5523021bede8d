/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events to slices: one rebuild a thread.
 *
 * Events go in; what they mean is kept in a log, a segment at a time (bounded in memory: it spills
 * to an unlinked temporary file), because a root that was called before the recording began is only
 * known when control returns into it.  At the segment's end its slices go to the sink: the inferred
 * roots first, then everything in order, as trace/slice.h promises.
 *
 * A segment ends at MT_EVENT_MARK with EXEC, or with SNAPSHOT if something was lost behind it, at a
 * gap after which nothing is known to be open, and at mt_rebuild_finish().  A segment that ends
 * right behind a snapshot's mark has its number; others that it goes on behind are instants. */
#ifndef MT_TRACE_REBUILD_H
#define MT_TRACE_REBUILD_H

#include "trace/event.h"
#include "trace/open_calls.h"
#include "trace/recorded_values.h"
#include "trace/slice.h"
#include "trace/symbolizer.h"

struct mt_rebuild;
struct mt_rebuild_ops;

/* From branches: every call, return and jump is seen.  callstack.c. */
extern const struct mt_rebuild_ops mt_rebuild_from_branches;

/* From call events (ENTRY, LEAVE, FRAME, AGAIN), by the stack pointer; SIGNAL, MARK and GAP count
 * as well, others are passed over.  After a gap nothing is known to be open: it always ends the
 * segment.  Inlined functions report nothing, so they have no slices.  sp_stack.c. */
extern const struct mt_rebuild_ops mt_rebuild_from_calls;

/* Takes what a thread does on the stacks of coroutines, which then has no part in its own slices.
 * FIBER counts these stacks, from 1 on; 0: a mark or a gap, which all of them get.  IS_START: the
 * event enters the first function of a coroutine.  Errors: whatever; push returns them. */
struct mt_fiber_taker {
	struct mt_error *(*take)(void *self, uint32_t fiber, const struct mt_event *event,
				 bool is_start);
	void *self;
};

struct mt_rebuild_options {
	struct mt_thread thread;
	struct mt_slice_sink sink;
	size_t log_memory_bytes; /* spill beyond; 0: 64 MiB */
	bool inlines;            /* show inlined functions as slices */
	/* Where VALUE events are looked up; lives as long as the slices.  NULL: they are passed
	 * over. */
	struct mt_recorded_values *values;
	/* The last of struct mt_slice's call_id that was given; NULL: none are. */
	uint64_t *last_call_id;
	/* Of call events.  `take` NULL: a coroutine's slices lie on the thread's. */
	struct mt_fiber_taker fibers;
	uint64_t events; /* that will come, for the size of tables; 0: it is not known */
	/* The thread whose open calls' arguments count; 0: `thread`. */
	pid_t open_calls_of;
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_rebuild_create(const struct mt_rebuild_ops *ops,
				   const struct mt_rebuild_options *options,
				   struct mt_rebuild **out);
void mt_rebuild_destroy(struct mt_rebuild *rebuild); /* without finishing; NULL is fine */

/* Whose names are true from the next event on.  Lent until the next call or the end.  The
 * functions and the inlined calls it gives must live until mt_rebuild_finish() has returned. */
void mt_rebuild_set_symbolizer(struct mt_rebuild *rebuild, const struct mt_symbolizer *symbolizer);

/* Errors: the sink's; SYSTEM (no room to spill); NO_MEMORY.  An odd sequence of events is no
 * error. */
struct mt_error *mt_rebuild_push(struct mt_rebuild *rebuild, const struct mt_event *events,
				 size_t count);

/* Ends the last segment.  Errors: as push. */
struct mt_error *mt_rebuild_finish(struct mt_rebuild *rebuild);

/* The table that a rebuild exports: how sideband goes in between its events, and, for rebuild.c,
 * how it does its work.  Failures stay in the rebuild's log until push or finish returns them. */
struct mt_rebuild_ops {
	/* May new mappings be in force from EVENT on? */
	bool (*names_may_change)(const struct mt_event *event);
	/* Does NOTE, a signal, a mark or a gap whose time has come, go right before EVENT? */
	bool (*takes_note)(const struct mt_event *event, const struct mt_event *note);
	bool snapshots_are_events; /* the source puts their marks in; else their notes do */

	size_t size; /* of the struct, which begins with a struct mt_rebuild */
	bool (*init)(struct mt_rebuild *rebuild); /* the rest of it; false: no memory */
	void (*deinit)(struct mt_rebuild *rebuild);
	void (*names_changed)(struct mt_rebuild *rebuild);
	void (*push)(struct mt_rebuild *rebuild, const struct mt_event *events, size_t count);
	/* The segment ends: log what is still to be shown of it. */
	void (*settle)(struct mt_rebuild *rebuild);
	/* Does the segment go on behind a snapshot's MARK, unless a gap follows? */
	bool (*runs_on)(const struct mt_rebuild *rebuild, const struct mt_event *mark);
	/* Which of the calls that are open now have numbers, or arguments that were read for
	 * SNAPSHOT; and roots get their numbers.  Errors: NO_MEMORY. */
	struct mt_error *(*open_calls)(struct mt_rebuild *rebuild, uint32_t snapshot,
				       struct mt_open_calls *out);
	/* It has ended: nothing is open any more. */
	void (*forget)(struct mt_rebuild *rebuild);
};

#endif
