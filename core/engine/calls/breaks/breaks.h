/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places at which a thread stops, or does something for us: breakpoints, their conditions, values.
 */
#ifndef MT_ENGINE_CALLS_BREAKS_H
#define MT_ENGINE_CALLS_BREAKS_H

#include "engine/calls/state/types.h"

/* break.c */
/* With all threads halted: one that can do system calls for us.  0: none can.  *WHY, the caller's:
 * why the last one that was tried cannot; NULL: none was.  WHY NULL is fine. */
pid_t mt_calls_able_thread(struct mt_calls_engine *engine, const struct mt_calls_space *space,
			   struct mt_error **why);
/* Where a jump to a stub does not fit, a program that outlives us gets none, and the log says so.
 */
struct mt_error *mt_calls_set_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    uint64_t address, bool loader,
				    struct mt_calls_condition *condition);

/* retire.c: no thread comes to ONE any more, which has a stub.  All threads are halted.  Errors:
 * the target's; those of mt_calls_text_write(). */
struct mt_error *mt_calls_break_retire(struct mt_calls_engine *engine, struct mt_calls_space *space,
				       struct mt_calls_break *one);
/* As the engine's. */
struct mt_error *mt_calls_retire(struct mt_engine *engine, pid_t pid, uint32_t trigger);
/* A gate (gate.c) at the entry of a patched function.  Errors: UNSUPPORTED; those of its condition;
 * the target's. */
struct mt_error *mt_calls_set_gate(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   uint64_t address, const struct mt_engine_condition *given);
/* Take note of what lies at its address.  *is_gone: what it was asked for does not, any more.
 * Errors: the target's. */
struct mt_error *mt_calls_find_code(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, struct mt_calls_break *one,
				    bool *is_gone);
/* Those that could not be made yet.  Errors: the target's. */
struct mt_error *mt_calls_set_waiting_breaks(struct mt_calls_engine *engine,
					     struct mt_calls_space *space);
/* A breakpoint at ADDRESS has the condition of that text; a child has those of its parent. */
bool mt_calls_has_condition(const struct mt_calls_space *space, uint64_t address, const char *text);
/* At which threads stop that come to the entry ADDRESS; NULL: none. */
struct mt_calls_break *mt_calls_stopping_break_at(struct mt_calls_space *space, uint64_t address);
/* Where threads that ONE stops at an entry go on behind all others that may stop them there, if
 * those can be evaluated by whoever asked for them, and nothing else is done between; else ONE's
 * next. */
uint64_t mt_calls_break_end_of_stops(const struct mt_calls_space *space,
				     const struct mt_calls_break *one);
/* LWP ran into an int3 of ours: where it goes on. */
struct mt_error *mt_calls_pass_break(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     pid_t lwp, struct mt_calls_break *there);
/* Take the breakpoints out of the memory of PID: the space's own, or a child's copy. */
struct mt_error *mt_calls_remove_breaks(struct mt_calls_engine *engine,
					struct mt_calls_space *space, pid_t pid);

/* stub.c */
/* Make a stub for a breakpoint, if there is room for its jump.  BYTES: the program's, from its
 * address on; at the end of a function, padding behind it counts.  Else one->stub stays 0.
 * Errors: NO_MEMORY; the target's. */
struct mt_error *mt_calls_stub_make(struct mt_calls_engine *engine, struct mt_calls_space *space,
				    pid_t lwp, struct mt_calls_break *one, const uint8_t *bytes,
				    size_t size);
/* One whose condition is compiled, in front of code at TARGET.  Errors: UNSUPPORTED (no memory is
 * free near it); the target's. */
struct mt_error *mt_calls_stub_make_before(struct mt_calls_engine *engine,
					   struct mt_calls_space *space, pid_t lwp,
					   struct mt_calls_break *one, uint64_t target);
/* Whether a thread at PC, in there, waits for us. */
bool mt_calls_stub_waits(const struct mt_calls_break *one, uint64_t pc);
/* Threads of the space may wait: from now on ticks are more frequent. */
void mt_calls_note_asked(struct mt_calls_engine *engine, const struct mt_calls_space *space);
/* Threads that wait stop soon with INTERRUPTED. */
void mt_calls_stub_answer(struct mt_calls_engine *engine);
/* LWP stands behind the stub's signal, or waits: it goes on as if it had not been there. */
struct mt_error *mt_calls_stub_leave(struct mt_calls_engine *engine,
				     const struct mt_calls_break *one, pid_t pid, pid_t lwp);
/* The same of one anywhere in the stub: it stands at the breakpoint's address again. */
struct mt_error *mt_calls_stub_retreat(struct mt_calls_engine *engine,
				       const struct mt_calls_thread *thread);
/* In the memory of PID it asks for nobody any more, and nobody waits in it again. */
struct mt_error *mt_calls_stub_silence(struct mt_calls_engine *engine,
				       const struct mt_calls_break *one, pid_t pid);

/* line.c */
#define MT_CALLS_NO_JUMP "no jump fits there (try a line next to it)"
struct mt_calls_line {
	uint8_t length;      /* of what a jump to a condition may displace; 0: none fits */
	const char *why_not; /* NULL: one fits */
	char file[128];      /* holds that */
};
/* At ONE's address, which has a condition, and where an instruction of FIRST bytes begins; at the
 * most SIZE bytes.  place NULL: it is in no module.
 * Errors: NO_MEMORY. */
struct mt_error *mt_calls_line_room(const struct mt_calls_engine *engine,
				    const struct mt_calls_space *space,
				    const struct mt_calls_place *place,
				    const struct mt_calls_break *one, uint8_t first, size_t size,
				    struct mt_calls_line *out);
/* ONE, if it is a line's, is about to be in the text, if that is not hidden: no thread stands in
 * the bytes that it displaces.  Errors: the target's. */
struct mt_error *mt_calls_line_begin(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     struct mt_calls_break *one);
/* A breakpoint is to be at ADDRESS: one whose jump displaces that, or stands there and lets threads
 * pass by its condition alone, does without, and has its condition evaluated by others.  Errors:
 * those of mt_calls_set_break(). */
struct mt_error *mt_calls_line_yield(struct mt_calls_engine *engine, struct mt_calls_space *space,
				     uint64_t address);
/* What LENGTH of the BYTES do is put behind the condition's code, which is to lie at ADDRESS, with
 * the stub behind it.  COPY: where they are run then; 0: they cannot be.  Errors: NO_MEMORY. */
struct mt_error *mt_calls_line_displace(const struct mt_calls_engine *engine,
					struct mt_calls_break *one, uint64_t address,
					const uint8_t *bytes, uint8_t length, uint64_t *copy);

/* condition.c */
/* One more; NULL without memory. */
struct mt_calls_condition *mt_calls_condition_add(struct mt_calls_engine *engine,
						  const struct mt_engine_condition *given);
/* Whether threads stop there, and nothing else is about a call. */
bool mt_calls_may_be_at_line(const struct mt_calls_condition *condition);
/* That of a breakpoint at ADDRESS, if it can be; else the log says why not.  NO_ROOM: why no jump
 * to it fits there, which is not asked at an entry that is recorded; NULL: one does.  Errors: it
 * means nothing. */
struct mt_error *mt_calls_condition_compile(struct mt_calls_engine *engine,
					    struct mt_calls_space *space,
					    struct mt_calls_condition *condition, uint64_t address,
					    const char *no_room);
/* Of ERROR, which goes over to this: it means nothing.  NO_MEMORY stays as it is. */
struct mt_error *mt_calls_condition_invalid(const struct mt_calls_condition *condition,
					    struct mt_error *error);
/* The log says that others evaluate it, and WHY, which goes over to this. */
void mt_calls_condition_leave(const struct mt_calls_engine *engine,
			      const struct mt_calls_condition *condition, struct mt_error *why);
/* Of code for it at ADDRESS; nothing is measured. */
struct mt_condition_place mt_calls_condition_place(const struct mt_calls_engine *engine,
						   const struct mt_calls_space *space,
						   struct mt_calls_condition *condition,
						   uint64_t address);
/* Put its code to an address, at a multiple of 8; who does not meet it goes on in TRAMPOLINE. */
struct mt_error *mt_calls_condition_write(struct mt_calls_engine *engine,
					  struct mt_calls_space *space,
					  struct mt_calls_condition *condition, uint64_t address,
					  uint64_t trampoline);
/* Room for that and what describes it to unwinders, at the most. */
uint64_t mt_calls_condition_bytes(const struct mt_calls_condition *condition);
/* Tell the program's unwinder of it, by tables in what is left of ROOM. */
struct mt_error *mt_calls_condition_describe(struct mt_calls_engine *engine,
					     struct mt_calls_space *space,
					     struct mt_calls_condition *condition,
					     struct mt_calls_room *room);
/* The breakpoint whose condition's code holds PC; NULL: none. */
struct mt_calls_break *mt_calls_break_of_condition(struct mt_calls_space *space, uint64_t pc);
/* Whether code there records its function's entry, from its rows of MT_PHASE_RECORDED on. */
bool mt_calls_condition_records_entry(const struct mt_calls_space *space, uint64_t pc);
/* The code's row there; NULL: none. */
const struct mt_trampoline_row *mt_calls_condition_row(const struct mt_calls_space *space,
						       uint64_t pc);
/* Whether PC, in such code, is where registers are a system call's: a copy of the program's own
 * instructions is not. */
bool mt_calls_condition_is_probe(const struct mt_calls_space *space, uint64_t pc);
/* A thread in such code, or what a signal handler returns to, gets back those registers that its
 * rows do not tell of. */
void mt_calls_condition_end_probe(struct mt_calls_engine *engine,
				  const struct mt_calls_space *space,
				  struct user_regs_struct *registers);
/* A thread read memory at FAULT that is not there any more: that is counted. */
void mt_calls_condition_fault(const struct mt_calls_engine *engine,
			      const struct mt_calls_space *space,
			      struct mt_calls_condition *condition, uint64_t fault);
/* The log says which of them failed how often. */
void mt_calls_conditions_end(struct mt_calls_engine *engine);
/* Hits of its trigger's conditions in the same memory, if they can end, do not count any more. */
void mt_calls_condition_mute(const struct mt_calls_engine *engine,
			     struct mt_calls_condition *condition);
/* What it could not do until now. */
struct mt_condition_errors mt_calls_condition_errors(const struct mt_calls_condition *condition);

/* values.c */
/* Number those of a breakpoint's that can be recorded; the log says why others cannot.  Errors: one
 * means nothing; NO_MEMORY. */
struct mt_error *mt_calls_values_find(struct mt_calls_engine *engine, struct mt_calls_space *space,
				      const struct mt_calls_break *one);
/* What went wrong with all of a breakpoint's: the log says it, unless it means nothing, which is
 * returned. */
struct mt_error *mt_calls_values_tell(struct mt_calls_engine *engine,
				      const struct mt_calls_condition *condition,
				      struct mt_error *error);
/* Likewise of a result, at LEFT of ALL ends of its function. */
struct mt_error *mt_calls_values_tell_ends(struct mt_calls_engine *engine,
					   const struct mt_calls_condition *condition, size_t left,
					   size_t all, const char *why);
/* WHERE is to record them. */
void mt_calls_values_into(const struct mt_calls_engine *engine, struct mt_calls_space *space,
			  const struct mt_calls_condition *condition,
			  struct mt_condition_place *where);
/* The number of the value that an event of SITE has.  False: it has none. */
bool mt_calls_value_of(const struct mt_calls_engine *engine, uint32_t site, uint32_t *number);
bool mt_calls_value_is_named(const struct mt_calls_engine *engine, uint32_t number,
			     const char *name);
bool mt_calls_value_is_result(const struct mt_calls_engine *engine, uint32_t number);
/* What the numbers mean, unless that was put.  Errors: the writer's. */
struct mt_error *mt_calls_put_values(struct mt_calls_engine *engine,
				     struct mt_recording_writer *writer);
void mt_calls_values_end(struct mt_calls_engine *engine);

/* slow.c */
/* BEGIN notes when calls begin: have those that count stop where they end.  The log says which ends
 * are left out.  Errors: TRIGGER (all are); NO_MEMORY; the target's. */
struct mt_error *mt_calls_add_ends(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t lwp, const struct mt_calls_break *begin);
/* Whether anything has to be noted where calls begin. */
bool mt_calls_needs_begin(struct mt_calls_space *space, const struct mt_calls_break *begin);
/* The error. */
struct mt_error *mt_calls_cannot_measure(const struct mt_calls_condition *condition,
					 const char *why);
/* Of the time stamp counter. */
uint64_t mt_calls_ticks(const struct mt_calls_engine *engine, uint64_t ns);
/* A thread that was about to stop for the end of a span comes to it again: so it begins when it
 * did.
 */
void mt_calls_reopen_span(const struct mt_calls_thread *thread,
			  const struct mt_calls_condition *condition);
/* How long the call or span took for whose end a thread stops; 0: that is not known. */
uint64_t mt_calls_slow_ns(const struct mt_calls_engine *engine,
			  const struct mt_calls_thread *thread);
/* What is measured of THREAD does not contain so many ticks. */
void mt_calls_hold(const struct mt_calls_thread *thread, uint64_t ticks);
/* Those since its held_tsc, which is over. */
void mt_calls_let_run(struct mt_calls_thread *thread);
/* The instruction in a trampoline at HOOK leads on to NEXT, which lies behind a step over the red
 * zone: that of some code, or its own. */
struct mt_error *mt_calls_hook_lead(struct mt_calls_engine *engine,
				    const struct mt_calls_space *space, uint64_t hook,
				    uint64_t next);

#endif
