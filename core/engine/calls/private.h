/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of the engine `calls`, by the headers that declare what they share:
 *
 *	engine.c      the engine's ops: stops, threads, execs
 *
 *  processes.h
 *	agent.c       what is mapped into the program for its unwinders
 *	birth.c       threads and processes that come
 *	start.c       a new program, and its dynamic loader
 *	space.c       an address space: what is mapped, patched and broken in it
 *	attach.c      a process that runs already
 *	enter.c       patches into a running process
 *	left.c        what a killed tracer of ours left in a process
 *	left_texts.c  texts that lead there
 *	leave.c       letting go of a process
 *
 *  modules.h
 *	file.c        object files and their plans
 *	plan_cache.c  plans that are kept from run to run
 *	module.c      an object file's plan and trampolines at a place
 *	cfi.c         what unwinders learn of trampolines
 *	detour.c      the program's own unwinder
 *
 *  texts.h
 *	compose.c     what is to be in the text
 *	text.c        patches and breakpoints into the text, and out of it
 *	text_begin.c  the same for the first time, in a new program
 *	text_break.c  a breakpoint alone
 *	intact.c      what of ours is still there
 *	exclude.c     patches that stay out of the text
 *	beneath.c     patches beneath a debugger's breakpoints
 *	order.c       a text changes so that it is a program's all the while
 *	swap.c        a text exchanged at once, by one that was made ready beside it
 *	hide.c        the text as it would be without us, for a while
 *	mask.c        the same for whoever asks us what is in it
 *	shown.c       a text that is shown again as it was
 *
 *  breaks.h
 *	break.c       breakpoints, and threads that stand in displaced bytes
 *	retire.c      breakpoints that nobody comes to any more
 *	stub.c        breakpoints that do no harm when we are gone
 *	condition.c   their conditions, in the program
 *	line.c        conditions at lines
 *	values.c      arguments and results, recorded
 *	gate.c        breakpoints of a debugger's, which runs the threads itself
 *	slow.c        where calls that are measured end
 *	missed.c      a debugger's breakpoints at entries
 *
 *  memory.h
 *	inject.c      what remote calls need in the program
 *	room.c        memory in the program, near its text
 *	alive.c       whether we live, and what of us is mapped in the program
 *	rings.c       the memory of rings
 *	slots.c       threads' rings: who writes where
 *	anchor.c      how far threads had written when
 *	history.c     what rings held, of ended threads too
 *	throttle.c    functions that fill the rings
 *
 *  here
 *	frames.c      which calls are open, by unwinding
 *	outside.c     threads out of trampolines
 *	entry.c       calls that we write for threads that stand still
 *	unwritten.c   events that are not whole in a ring
 *	functions.c   which functions are recorded, and why not
 *	snapshot.c    rings into the recording
 *
 * What they work on is in types.h. */
#ifndef MT_ENGINE_CALLS_PRIVATE_H
#define MT_ENGINE_CALLS_PRIVATE_H

#include "engine/calls/breaks.h"
#include "engine/calls/memory.h"
#include "engine/calls/modules.h"
#include "engine/calls/processes.h"
#include "engine/calls/texts.h"

/* frames.c */
/* The calls that are open in a thread, innermost first, without times.  None if it does not stand
 * still, or is not in this space any more.  COPIED: its ring, in which events are cleared that are
 * not whole; or NULL.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_find_frames(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *thread,
				      const struct mt_calls_history *copied,
				      struct mt_calls_frames *out);
/* 0, or -1 without memory. */
int mt_calls_frames_copy(struct mt_calls_frames *to, const struct mt_calls_frames *from);
/* The number of innermost frames that are new, if the thread's ring has all events since its own
 * frames were found: up to the first that these contain, too. */
size_t mt_calls_unreported_frames(const struct mt_calls_thread *thread,
				  const struct mt_calls_frames *frames);
/* For all threads of a space, that stand still: what was open before recording began. */
struct mt_error *mt_calls_note_roots(struct mt_calls_engine *engine, struct mt_calls_space *space);
/* See struct mt_engine_text_ops. */
void mt_calls_mend(struct mt_engine *engine, pid_t lwp, struct mt_registers *registers);
/* The mappings have changed. */
void mt_calls_forget_code(struct mt_calls_space *space);

/* outside.c */
/* The thread stands where it does in effect, and has recorded nothing of it. */
struct mt_error *mt_calls_leave_trampoline(struct mt_calls_engine *engine,
					   struct mt_calls_thread *thread);
/* Whether it changed them: rip, rsp, and those that code of ours uses. */
typedef bool mt_calls_move(void *context, struct user_regs_struct *registers);
/* Calls it for each thread, and for what handlers of signals return to.  *is_whole: none was left
 * out that may run on.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_calls_move_all(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   mt_calls_move *move, void *context, bool *is_whole);
/* Code of ours lies at ADDRESS. */
bool mt_calls_is_ours(struct mt_calls_space *space, uint64_t address);
/* They stand where they do in effect: the text is clean.  *inside: one is, or may be, in other code
 * of ours: a stub, the agent; *in_left: in what a killed tracer left. */
struct mt_error *mt_calls_leave_trampolines(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, bool *inside,
					    bool *in_left);
/* What handlers of signals return to, as far as it goes on alike in the text, which is clean: so a
 * debugger can unwind it. */
struct mt_error *mt_calls_leave_interrupted(struct mt_calls_engine *engine,
					    struct mt_calls_space *space);
/* Those within displaced bytes go on in trampolines; so do those on their way through holes. */
struct mt_error *mt_calls_displace_all(struct mt_calls_engine *engine,
				       struct mt_calls_space *space);
struct mt_error *mt_calls_leave_holes(struct mt_calls_engine *engine, struct mt_calls_space *space);

/* entry.c */
/* THREAD stands at PATCH, an entry, before the first instruction, with REGISTERS: its call comes
 * into its ring now, with the time TSC, unless it is not to be recorded.  It is not to record it
 * once more. */
void mt_calls_write_entry(const struct mt_calls_engine *engine,
			  const struct mt_calls_thread *thread, const struct mt_calls_place *place,
			  size_t patch, uint64_t tsc, const struct user_regs_struct *registers);
/* THREAD, stopped since its held_tsc or only just, has passed ONE's stub, and was to go on at NEXT.
 * Where that is the trampoline of an entry, the call is written, with that time, and *PC is where
 * the thread goes on, behind the code that would have recorded it; else *PC stays 0.  Errors: the
 * target's. */
struct mt_error *mt_calls_enter_function(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread,
					 const struct mt_calls_break *one, uint64_t next,
					 uint64_t *pc);

/* functions.c */
/* See each_function() in engine/engine.h. */
struct mt_error *mt_calls_each_function(struct mt_engine *base, pid_t pid,
					mt_engine_function_found *found, void *context);
/* An entry whose jump a breakpoint of the debugger's keeps out: see missed.c. */
bool mt_calls_is_missed(const struct mt_calls_space *space, uint64_t address);
/* Whether it stands at the entry yet whose call was recorded so. */
bool mt_calls_has_entered(const struct mt_calls_thread *thread,
			  const struct user_regs_struct *registers);
/* As mt_calls_leave_trampoline(), in a text that is clean; past a breakpoint that it was let over.
 */
struct mt_error *mt_calls_leave_covered(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread);

/* unwritten.c */
/* Part of a thread's ring, AT bytes from its first beginning. */
struct mt_calls_unwritten {
	uint64_t at;
	unsigned bytes;
};
/* What a thread with rings that stands at PC, or goes on there when a signal's handler returns,
 * with these registers, has reserved and not filled.  False: nothing. */
bool mt_calls_find_unwritten(const struct mt_calls_thread *thread, uint64_t pc, uint64_t rax,
			     uint64_t rcx, struct mt_calls_unwritten *out);
/* No event is there, until the thread writes it. */
void mt_calls_clear_unwritten(const struct mt_calls_thread *thread,
			      const struct mt_calls_unwritten *unwritten);
/* WRITTEN, without what a thread that stands still is about to write at its end. */
uint64_t mt_calls_written_whole(struct mt_calls_engine *engine,
				const struct mt_calls_thread *thread, uint64_t written);

/* snapshot.c */
struct mt_error *mt_calls_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				   struct mt_recording_writer *writer);

/* Of a process of its own; NULL: there is none. */
struct mt_calls_space *mt_calls_find_space(const struct mt_calls_engine *engine, pid_t pid);
void mt_calls_thread_destroy(struct mt_calls_engine *engine, struct mt_calls_thread *thread);
struct mt_calls_thread *mt_calls_find_thread(const struct mt_calls_engine *engine, pid_t lwp);

#endif
