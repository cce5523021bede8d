/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is recorded of interpreters of Python. */
#ifndef MT_SESSION_LANGUAGES_PYTHON_H
#define MT_SESSION_LANGUAGES_PYTHON_H

#include "runtime/python_stack.h"
#include "session/state/state.h"

/* python.c */
/* The process runs another program. */
void mt_session_forget_interpreter(struct mt_session_process *process);
/* The interpreter whose loop has PC.  False: it is none, or of another version, which is said once.
 * Of *OUT `read` and `context` are the caller's. */
bool mt_session_find_python(struct mt_session *session, const struct mt_session_process *process,
			    uint64_t pc, struct mt_python_memory *out);
/* What a loop ran, as a note has it: MT_NOTE_OPEN_CALL in perf/recording_writer.h. */
void mt_session_append_python(const struct mt_python_stack *stack,
			      const struct mt_python_loop *loop, struct mt_str *out);

/* python_calls.c */
/* A file was mapped at MAP: if it has an interpreter of Python, what its loop runs is recorded from
 * now on.  Errors: NO_MEMORY. */
struct mt_error *mt_session_see_python(struct mt_session *session,
				       struct mt_session_process *process,
				       struct mt_objfile *objfile, const struct mt_map *map);
/* What does that, but for where. */
extern const struct mt_session_trigger mt_session_python_calls;
/* What is recorded of a call of the loop. */
struct mt_error *mt_session_parse_python(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 struct mt_session_value_list *out);
/* What can be read of the functions whose calls are in rings goes into the recording.  Errors: the
 * writer's. */
struct mt_error *mt_session_put_python(struct mt_session *session);
/* python_where.c: which functions in Python the thread, which stands still, is in, innermost first,
 * if it is in any.  Errors: the writer's. */
struct mt_error *mt_session_put_python_where(struct mt_session *session,
					     const struct mt_session_thread *thread,
					     uint64_t time_ns);
void mt_session_forget_python(struct mt_session *session);

/* python_inline.c */
/* A file with an interpreter of Python was mapped: if that is wanted, those that are there have a
 * frame evaluator from now on, and others will have one when they come.  Errors: the target's;
 * NO_MEMORY. */
struct mt_error *mt_session_set_evaluators(struct mt_session *session,
					   struct mt_session_process *process,
					   struct mt_objfile *objfile);
/* Threads are to stop at the ENTRY of FUNCTION where CONDITION holds. */
typedef struct mt_error *mt_session_set_guard(void *context, const char *function,
					      const char *condition, uint64_t entry);
/* In a debugger's program they have them where the program has the gate that SET_GUARD sets.
 * Errors: the target's; SET_GUARD's. */
struct mt_error *mt_session_guard_evaluators(struct mt_session *session,
					     struct mt_session_process *process,
					     mt_session_set_guard *set_guard, void *context);
/* A thread is at the loop: its interpreter has none, or it recurses too deep for that, which it is
 * asked about no more. */
struct mt_error *mt_session_check_evaluators(struct mt_session *session,
					     struct mt_session_process *process);
/* PID, which is PROCESS or has a copy of its memory, is let go: they have none, as before. */
void mt_session_clear_evaluators(struct mt_session *session,
				 const struct mt_session_process *process, pid_t pid);

#endif
