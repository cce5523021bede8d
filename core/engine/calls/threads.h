/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads: what they have in their rings, where they stand, what is open in them. */
#ifndef MT_ENGINE_CALLS_THREADS_H
#define MT_ENGINE_CALLS_THREADS_H

#include "engine/calls/state/types.h"

/* slots.c */
/* Give a thread that stands still its ring, if its space has rings.  Errors: the target's. */
struct mt_error *mt_calls_give_ring(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				    bool is_born);
/* See number() in engine/engine.h. */
void mt_calls_number_thread(struct mt_engine *base, pid_t lwp, unsigned number);
void mt_calls_take_ring(struct mt_calls_thread *thread);
/* Have pages ready for who comes next. */
void mt_calls_warm_ring(struct mt_calls_rings *rings);
/* Have a thread write into the discard ring. */
struct mt_error *mt_calls_discard(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space, pid_t lwp);
/* Whether a GS base leads to one of its slots. */
bool mt_calls_is_slot(const struct mt_calls_rings *rings, uint64_t gs_base);
/* How many bytes a thread that has a ring has written in all: never less than thread->begin. */
uint64_t mt_calls_written(const struct mt_calls_thread *thread);
/* It stands still: what it wrote from there on does not count. */
void mt_calls_unwrite(const struct mt_calls_thread *thread, uint64_t written);
/* Its bytes, and how many were written in all. */
struct mt_ring_view mt_calls_ring_view(const struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread);
struct mt_engine_ring mt_calls_ring_look(const struct mt_calls_engine *engine,
					 const struct mt_calls_thread *thread);

/* anchor.c */
/* It stands still since TSC, at the latest. */
void mt_calls_anchor(struct mt_calls_thread *thread, uint64_t tsc);
/* It stands still since TSC: of its ring counts from then on what lies behind thread->used. */
void mt_calls_begin_anew(struct mt_calls_thread *thread, uint64_t tsc);
/* It stood still up to TSC, and goes on. */
void mt_calls_note_resumed(struct mt_calls_thread *thread, uint64_t tsc);
/* It stands still, as was seen at TSC: for how long it may have done so before, by what it had of
 * the processor since it last went on. */
uint64_t mt_calls_stood_ns(const struct mt_calls_engine *engine,
			   const struct mt_calls_thread *thread, uint64_t tsc);
/* All of them, which run on; not more often than makes sense. */
void mt_calls_tick(struct mt_engine *base);
/* How far apart its calls are, when nothing happens. */
unsigned mt_calls_tick_ms(struct mt_engine *base);

/* history.c: 0, or -1 without memory. */
int mt_calls_history_create(const struct mt_calls_thread *thread, const struct mt_ring_view *view,
			    uint64_t tsc, struct mt_calls_history *out);
void mt_calls_history_deinit(struct mt_calls_history *history);
/* HISTORY goes over to the engine. */
int mt_calls_keep_ended(struct mt_calls_engine *engine, const struct mt_calls_history *history);
void mt_calls_forget_ended(struct mt_calls_engine *engine);

/* throttle.c */
/* A thread had written so much by then: take out what fills its ring too fast. */
void mt_calls_throttle(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
		       uint64_t written, uint64_t tsc);
struct mt_error *mt_calls_put_throttled(struct mt_calls_engine *engine,
					struct mt_recording_writer *writer);
void mt_calls_tell_throttled(const struct mt_calls_engine *engine);

/* interrupted.c */
enum { MT_CALLS_VALUES_RUNS = 4, MT_CALLS_RUN_VALUES = 128 };
/* Arguments whose entry has not come: of a call, of a handler's that came between, and so on. */
struct mt_calls_values_runs {
	size_t count;
	struct mt_calls_values_run {
		uint64_t sp;
		size_t first, count; /* where they are among the events */
	} items[MT_CALLS_VALUES_RUNS];
};
/* The last of a thread's EVENTS is new, and IS_RESULT, if it is a value: arguments come to stand
 * right in front of their entry, and results in front of their return. */
void mt_calls_join_values(struct mt_calls_values_runs *runs, struct mt_event *events, size_t count,
			  bool is_result);
/* The first COUNT events are gone. */
void mt_calls_values_written(struct mt_calls_values_runs *runs, size_t count);

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
/* REGISTERS in what trampolines share become those in the trampoline that called it. */
void mt_calls_leave_shared(struct mt_calls_engine *engine, struct mt_calls_space *space,
			   struct user_regs_struct *registers);
/* The thread stands where it does in effect, and has recorded nothing of it. */
struct mt_error *mt_calls_leave_trampoline(struct mt_calls_engine *engine,
					   struct mt_calls_thread *thread);
/* They stand where they do in effect: the text is clean.  *inside: one is, or may be, in other code
 * of ours: a stub, the agent; *in_left: in what a killed tracer left. */
struct mt_error *mt_calls_leave_trampolines(struct mt_calls_engine *engine,
					    struct mt_calls_space *space, bool *inside,
					    bool *in_left);
/* What handlers of signals return to, as far as it goes on alike in the text, which is clean: so a
 * debugger can unwind it. */
struct mt_error *mt_calls_leave_interrupted(struct mt_calls_engine *engine,
					    struct mt_calls_space *space);

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

#endif
