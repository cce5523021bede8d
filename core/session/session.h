/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A session: a program under a target, an engine that records it, and triggers; from its start to
 * its end.  It writes who was mapped, named and signalled when into a recording, and has the engine
 * put its rings there at each snapshot: at a trigger, at Ctrl-C, before a signal that kills, when a
 * thread ends.
 *
 * One thread uses a session. */
#ifndef MT_SESSION_SESSION_H
#define MT_SESSION_SESSION_H

#include "base/progress.h"
#include "engine/engine.h"
#include "session/spec/options.h"
#include "session/spec/trigger.h"
#include "session/spec/values.h"
#include "session/state/result.h"

struct mt_session;

/* Errors: USAGE (a ring that is too small, or too large for this machine). */
struct mt_error *mt_session_check_ring(uint64_t ring_bytes);
/* Parses "sampled" or "full".  Errors: USAGE. */
struct mt_error *mt_parse_stamps(const char *text, enum mt_ring_stamps *stamps);

/* Chooses the engine and creates the recording, so that what cannot work fails before the program
 * runs.  The target is lent; options and what they point to must live as long as the session.
 * COMMAND: the program's words, for the recording, NULL at the end; or NULL.
 * Errors: those of mt_engine_choose() and of creating the recording; USAGE (a size that makes no
 * sense); TRIGGER (a trigger that is none). */
struct mt_error *mt_session_create(struct mt_target *target,
				   const struct mt_session_options *options,
				   const char *const *command, struct mt_session **out);
/* Leaves processes to the target's end.  A recording that was not finished is taken away.  NULL is
 * fine. */
void mt_session_destroy(struct mt_session *session);

/* Errors: the target's. */
struct mt_error *mt_session_launch(struct mt_session *session, const struct mt_launch *launch);
/* Instead, of a process that stands before its first instruction already. */
struct mt_error *mt_session_begin(struct mt_session *session, pid_t pid);
struct mt_error *mt_session_attach(struct mt_session *session, pid_t pid);

/* Until all processes of the session ended, or were let go: an attached one when the user asks for
 * attention, or its time is over.
 * Errors: the target's; the recording's (a full disk). */
struct mt_error *mt_session_run(struct mt_session *session);

/* Instead of mt_session_run(), for front ends whose loop is not ours: they say what happened, in
 * the same terms, and the target has no run control.  All threads stand still, but of a new thread
 * the child alone has to.  Errors: the target's; the recording's. */
struct mt_error *mt_session_take(struct mt_session *session, const struct mt_stop *stop);
/* A thread came to a trigger that the front end keeps itself. */
struct mt_session_hit {
	uint32_t trigger; /* its number */
	uint64_t pc;
	const char *location;
	const char *condition; /* NULL: none */
	const char *values;    /* what was printed: "x = 5, y = 7"; NULL: nothing */
	const char *registers; /* NULL: not known */
	const char *reason;    /* the program's, for mtrace_snapshot(); NULL: it is not that */
};
struct mt_error *mt_session_hit(struct mt_session *session, pid_t lwp,
				const struct mt_session_hit *hit);
/* Appends the program's reason if a thread that is hit, and stands still, is at the entry of
 * mtrace_snapshot(), by the trigger's text.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_session_read_reason(struct mt_session *session, pid_t lwp,
					const struct mt_trigger_spec *spec, struct mt_str *out);
/* LWP, which stands still, has come to the ENTRY of FUNCTION, by which Go's runtime ends the
 * program: appends why, as the runtime says it; that of the process that was recorded first is in
 * the result from now on.  Errors: the target's; NO_MEMORY. */
struct mt_error *mt_session_read_death(struct mt_session *session, pid_t lwp, const char *function,
				       uint64_t entry, struct mt_str *out);
/* Gates: see struct mt_engine_gate_ops.  What a debugger wants is said anew each time before its
 * program goes on: begin, set …, end. */
void mt_session_gates_begin(struct mt_session *session, pid_t pid);
struct mt_session_gate_places {
	uint64_t entry; /* of the function, for the entry or the returns; 0: it is not about one */
	uint64_t line;  /* 0: it cannot be evaluated at a line */
};
/* ADDRESS: where the debugger has its breakpoint for SPEC.  Errors: UNSUPPORTED (no gate can be for
 * it: the debugger must evaluate it itself). */
struct mt_error *mt_session_gate_find(struct mt_session *session, pid_t pid,
				      const struct mt_trigger_spec *spec, uint64_t address,
				      struct mt_session_gate_places *out);
/* At one of these.  Errors: UNSUPPORTED (why it cannot be there); BUSY (only yet); the engine's. */
struct mt_error *mt_session_gate_set(struct mt_session *session, pid_t pid,
				     const struct mt_trigger_spec *spec,
				     const struct mt_engine_gate *gate, bool is_line);
typedef struct mt_error *mt_session_entry_found(void *context, uint64_t entry);
/* In between, too: likewise where the span of SPEC begins, which nobody stops for.  Calls FOUND
 * with each such function's entry.  Errors: those of mt_session_gate_find() and
 * mt_session_gate_set(); NOT_FOUND; FOUND's. */
struct mt_error *mt_session_gate_set_begin(struct mt_session *session, pid_t pid,
					   const struct mt_trigger_spec *spec, uint32_t number,
					   mt_session_entry_found *found, void *context);
/* All threads stand still: what was not set again goes.  Errors: the engine's. */
struct mt_error *mt_session_gates_end(struct mt_session *session, pid_t pid);
/* In between, too: the values of SPEC are recorded with each call of the functions that are there
 * now.  NUMBER is none of a trigger's.  *FUNCTIONS: how many these are, also after an error.
 * Errors: BUSY (only yet); NOT_FOUND (no such function is there yet, or nothing of its file is
 * recorded); TRIGGER (SPEC means nothing); UNSUPPORTED (why they cannot be recorded). */
struct mt_error *mt_session_values_set(struct mt_session *session, pid_t pid,
				       const struct mt_values_spec *spec, uint32_t number,
				       size_t *functions);
/* The same of what the program says without being asked, as far as it is recorded; FOUND is called
 * where it asks for a snapshot, or dies, by FUNCTION; or, with a CONDITION, where a thread is to
 * stop for mt_session_check_python() if that holds.  Errors: FOUND's, but for those that say that
 * there can be no gate, or not now: BUSY, NOT_FOUND, UNSUPPORTED; the engine's. */
typedef struct mt_error *mt_session_asker_found(void *context, const char *function,
						const char *condition, uint64_t entry);
struct mt_error *mt_session_words_set(struct mt_session *session, pid_t pid,
				      mt_session_asker_found *found, void *context);
/* A thread of the process has stopped there.  Errors: the target's. */
struct mt_error *mt_session_check_python(struct mt_session *session, pid_t pid);
/* All threads stand still: those of TRIGGER go at once, for others there.  Errors: the engine's. */
struct mt_error *mt_session_gates_clear(struct mt_session *session, pid_t pid, uint32_t trigger);
/* Until then the gates of TRIGGER stop nobody any more. */
void mt_session_gate_mute(struct mt_session *session, uint32_t trigger);
/* Whether ADDRESS lies in the same function. */
bool mt_session_gate_shares(struct mt_session *session, pid_t pid,
			    const struct mt_engine_gate *gate, uint64_t address);
/* See struct mt_engine_gate_ops. */
uint64_t mt_session_gate_works(struct mt_session *session, pid_t pid,
			       const struct mt_engine_gate *gate);
struct mt_engine_gate_hit mt_session_gate_hit(struct mt_session *session, pid_t lwp);
struct mt_error *mt_session_gate_enter(struct mt_session *session, pid_t lwp, bool is_looked_at,
				       uint64_t *goal, uint64_t *pc);
struct mt_error *mt_session_gate_hold(struct mt_session *session, pid_t pid,
				      const struct mt_engine_gate *gate);
void mt_session_gate_leave(struct mt_session *session, pid_t lwp);
bool mt_session_gate_makes_call(struct mt_session *session, pid_t lwp, uint64_t pc);
/* What a debugger's $_thread is in LWP, which stands still; 0 until this is called.  (A session
 * with run control counts itself: from 1 on in each program, as threads begin.) */
void mt_session_number_thread(struct mt_session *session, pid_t lwp, unsigned number);
struct mt_engine_gate_errors mt_session_gate_look(struct mt_session *session, uint32_t trigger);
/* Appends "took 5.1 ms". */
void mt_session_tell_duration(uint64_t ns, struct mt_str *out);
/* See hide() and show() in engine/engine.h.  A live session attaches hidden. */
struct mt_error *mt_session_hide(struct mt_session *session, pid_t pid);
struct mt_error *mt_session_show(struct mt_session *session, pid_t pid,
				 const struct mt_engine_alone *alone);
/* See original(), unmask(), give_way() and step_through() there. */
bool mt_session_original(struct mt_session *session, pid_t pid, uint64_t address, uint8_t *bytes,
			 size_t size);
struct mt_error *mt_session_unmask(struct mt_session *session, pid_t pid);
struct mt_error *mt_session_give_way(struct mt_session *session, pid_t pid, uint64_t address);
struct mt_error *mt_session_step_through(struct mt_session *session, pid_t lwp);
/* See mend_copy() there. */
struct mt_error *mt_session_mend_copy(struct mt_session *session, pid_t lwp, uint64_t fault,
				      bool *is_mended);
/* See disown() and discard() in engine/engine.h. */
struct mt_error *mt_session_disown(struct mt_session *session, const struct mt_stop *stop);
struct mt_error *mt_session_discard(struct mt_session *session, pid_t lwp);
/* See missed() there: where a debugger stops threads, and says so. */
const uint64_t *mt_session_missed(struct mt_session *session, pid_t pid, size_t *count);
struct mt_error *mt_session_record_missed(struct mt_session *session, pid_t lwp);
/* See clean() in engine/engine.h. */
struct mt_error *mt_session_clean(struct mt_session *session, pid_t parent, pid_t child);
/* See tick() in engine/engine.h. */
void mt_session_tick(struct mt_session *session);
/* See each_function() in engine/engine.h.  Errors: also UNSUPPORTED (the engine records them all).
 */
struct mt_error *mt_session_each_function(struct mt_session *session, pid_t pid,
					  mt_engine_function_found *found, void *context);
/* See look() in engine/engine.h. */
bool mt_session_look(struct mt_session *session, pid_t lwp, struct mt_engine_ring *ring);
/* Removes threads whose end was not reported. */
struct mt_error *mt_session_reap(struct mt_session *session);
/* All threads of a process stood still until it ended, by what waitpid(2) gives as STATUS; so did
 * each of them. */
struct mt_error *mt_session_end_standing(struct mt_session *session, pid_t pid, int status);
/* A live session: all that is known now, as a recording of its own at PATH (NULL: a file without a
 * name).  NUMBER: of the snapshot; 0: it has none.  STANDING: a thread that stands still, with the
 * functions in Python that are open there; IS_DYING: with its open calls' arguments as well; 0:
 * none.  Errors: the engine's; the recording's. */
struct mt_error *mt_session_copy(struct mt_session *session, const char *path, uint32_t number,
				 pid_t standing, bool is_dying, struct mt_recording **out);

/* Takes what is ours out of a process, as far as it goes; a warning says what stays, and why.
 * False: the engine keeps the process for a while (let_go() in engine/engine.h). */
bool mt_session_clear(struct mt_session *session, pid_t pid);
/* Takes what is ours out of all processes, and lets them go; where that fails, a warning says so.
 * After an error too. */
struct mt_error *mt_session_leave_all(struct mt_session *session);

/* Finishes the recording and opens it for reading. */
struct mt_error *mt_session_finish(struct mt_session *session, struct mt_recording **out);

/* Where the recording lies, with all snapshots that were taken.  NULL: none was, or it has no name.
 * Lent. */
const char *mt_session_kept(const struct mt_session *session);
/* It could not be written: it has what it had at the last snapshot. */
bool mt_session_recording_failed(const struct mt_session *session);
/* Its directory is gone: puts it into $TMPDIR or /tmp.  Errors: as creating a file; SYSTEM. */
struct mt_error *mt_session_rescue(struct mt_session *session);
/* The recording is not needed any more, unless its path was given. */
void mt_session_drop(struct mt_session *session);

struct mt_session_result mt_session_result(const struct mt_session *session);

#endif
