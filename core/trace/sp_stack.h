/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From call events to slices: one rebuild a thread, by the stack pointer.
 *
 * An entry at stack pointer S closes every frame that lies at or below S: the one at S made a tail
 * call, those below were unwound (an exception, longjmp) or their ret was not seen.  A ret at S
 * closes down to S.  So no event that is missing does harm beyond its own slice.
 *
 * A thread may run on several stacks: coroutines, signal handlers on an alternate stack.  Each is
 * known by where it lies.  The first stack stays shown; another shows its frames on top of it, and
 * when control leaves it for a third they are ended (UNWOUND) and begun again (INFERRED) when it
 * goes on.  A handler's stack lies on top of whatever it interrupted.
 *
 * A stack may move: Go copies one that is too small, and the function that asked for more of it
 * begins anew (AGAIN).  Its frames go with it.
 *
 * What was open since before the segment becomes known by its ret, or from an unwinder (FRAME
 * events: at any moment, best at the segment's end, when no ring can have lost what they tell).
 *
 * Segments, gaps, marks and what the sink may rely on are as in trace/callstack.h, with the
 * difference that after a gap nothing is known to be open: it always ends the segment. */
#ifndef MT_TRACE_SP_STACK_H
#define MT_TRACE_SP_STACK_H

#include "trace/event.h"
#include "trace/slice.h"
#include "trace/symbolizer.h"

struct mt_sp_stack;

struct mt_sp_stack_options {
	struct mt_thread thread;
	struct mt_slice_sink sink;
	size_t log_memory_bytes; /* spill beyond; 0: 64 MiB */
};

/* Errors: NO_MEMORY. */
struct mt_error *mt_sp_stack_create(const struct mt_sp_stack_options *options,
				    struct mt_sp_stack **out);
void mt_sp_stack_destroy(struct mt_sp_stack *stack); /* without finishing; NULL is fine */

/* Whose names are true from the next event on.  Lent until the next call or the end.  The
 * functions it gives must live until mt_sp_stack_finish() has returned. */
void mt_sp_stack_set_symbolizer(struct mt_sp_stack *stack, const struct mt_symbolizer *symbolizer);

/* ENTRY, LEAVE, FRAME, AGAIN, SIGNAL, MARK and GAP count; others are passed over.
 * Errors: the sink's; SYSTEM (no room to spill); NO_MEMORY. */
struct mt_error *mt_sp_stack_push(struct mt_sp_stack *stack, const struct mt_event *events,
				  size_t count);

/* Ends the last segment. */
struct mt_error *mt_sp_stack_finish(struct mt_sp_stack *stack);

#endif
