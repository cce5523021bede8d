/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the engine `calls`.  Its folders, each over those before it:
 *
 *	ring/ plan/ trampoline/ condition/   rings, patches, and the code behind them
 *	state/                               what is known of a program: types.h, and what is where
 *	memory/                              what is mapped into it
 *	modules/                             its object files, and what is made of them
 *	texts/                               patches and breakpoints in its text
 *	breaks/                              where threads stop, or do something for us
 *
 *  here
 *	engine.c      the engine's ops: stops, threads, execs
 *	functions.c   which functions are recorded, and why not
 *	snapshot.c    rings into the recording
 *
 *  processes.h
 *	birth.c       threads and processes that come
 *	start.c       a new program, and its dynamic loader
 *	space.c       an address space: what is mapped, patched and broken in it
 *	attach.c      a process that runs already
 *	enter.c       patches into a running process
 *	left_texts.c  texts that lead to what a killed tracer left
 *	leave.c       letting go of a process
 *
 *  threads.h
 *	slots.c       threads' rings: who writes where
 *	anchor.c      how far threads had written when
 *	history.c     what rings held, of ended threads too
 *	throttle.c    functions that fill the rings
 *	interrupted.c values that a signal parted from their call
 *	unwritten.c   events that are not whole in a ring
 *	frames.c      which calls are open, by unwinding
 *	outside.c     threads out of trampolines
 *	entry.c       calls that we write for threads that stand still
 *
 *  debuggers.h
 *	hide.c        the text as it would be without us, for a while
 *	give_way.c    breakpoints of a debugger's that come while the program runs
 *	step_through.c  functions that it steps into all the same
 *	gate.c        breakpoints of a debugger's, which runs the threads itself
 *	missed.c      a debugger's breakpoints at entries */
#ifndef MT_ENGINE_CALLS_PRIVATE_H
#define MT_ENGINE_CALLS_PRIVATE_H

#include "engine/calls/breaks/breaks.h"
#include "engine/calls/debuggers.h"
#include "engine/calls/memory/left.h"
#include "engine/calls/memory/memory.h"
#include "engine/calls/memory/swap.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/processes.h"
#include "engine/calls/state/state.h"
#include "engine/calls/texts/texts.h"
#include "engine/calls/threads.h"

/* What begins there is a second mapping of a text, made by us, or by a tracer of ours that was
 * killed: not the program's. */
static inline bool mt_calls_is_copy(const struct mt_calls_space *space, uint64_t start)
{
	return mt_calls_swap_holds(space->swap, start) ||
	       mt_calls_left_has_copy(space->left, start);
}

/* functions.c */
/* See each_value() in engine/engine.h. */
struct mt_error *mt_calls_each_value(struct mt_engine *base, const char *name,
				     mt_engine_value_found *found, void *context);
/* See each_function() in engine/engine.h. */
struct mt_error *mt_calls_each_function(struct mt_engine *base, pid_t pid,
					mt_engine_function_found *found, void *context);

/* snapshot.c */
struct mt_error *mt_calls_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				   struct mt_recording_writer *writer);

void mt_calls_thread_destroy(struct mt_calls_engine *engine, struct mt_calls_thread *thread);

#endif
