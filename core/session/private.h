/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the session: core/session/. */
#ifndef MT_SESSION_PRIVATE_H
#define MT_SESSION_PRIVATE_H

#include "session/session.h"
#include "session/state/state.h"

/* How much the recording takes: room.c. */
/* What it may take.  Errors: SYSTEM. */
struct mt_error *mt_session_find_room(struct mt_session *session);
/* A snapshot after which others come: false if there is no room for it, which is said once. */
bool mt_session_has_room(struct mt_session *session);
/* Says how much it takes by now, at each doubling. */
void mt_session_tell_room(struct mt_session *session);

/* threads.c */
/* Errors: NO_MEMORY; the engine's. */
struct mt_error *mt_session_add_process(struct mt_session *session, pid_t pid,
					struct mt_session_process **out);
struct mt_error *mt_session_add_thread(struct mt_session *session,
				       struct mt_session_process *process, pid_t lwp, pid_t parent,
				       struct mt_session_thread **out);
void mt_session_remove_thread(struct mt_session *session, struct mt_session_thread *thread);
/* The process has a new program, and THREAD alone. */
void mt_session_count_anew(struct mt_session *session, struct mt_session_thread *thread);
/* With its threads. */
void mt_session_remove_process(struct mt_session *session, struct mt_session_process *process);
/* Let a thread go on with SIGNAL (0: none); that it is gone is no error. */
struct mt_error *mt_session_go_on(struct mt_session *session, pid_t lwp, int signal);

/* feed.c */
/* See drain() in engine/engine.h. */
struct mt_error *mt_session_drain(struct mt_session *session);

/* stop.c */
/* Whether the program of an LWP that stands still is one. */
bool mt_session_is_32_bit(const struct mt_session *session, pid_t lwp);
/* Lets go of a process, in which nothing of the engine's stays; one that must be kept for that is a
 * stranger from then on. */
struct mt_error *mt_session_leave(struct mt_session *session, pid_t pid);
/* The rings of one thread (0: all), the engine's and those of the side tracks, into WRITER: as the
 * engine's snapshot() does. */
struct mt_error *mt_session_read_rings(struct mt_session *session, pid_t lwp, uint32_t number,
				       struct mt_recording_writer *writer);
/* Of all threads. */
struct mt_error *mt_session_snapshot(struct mt_session *session);

/* sideband.c: records of who was there. */
/* Memory in which processes have made code since: nobody tells of that.  Of one that has ended
 * nothing is known. */
struct mt_error *mt_session_put_made(struct mt_session *session);
/* The same now and then while they run, ever more rarely: it may be gone before the next snapshot.
 */
struct mt_error *mt_session_look_for_made(struct mt_session *session);
struct mt_error *mt_session_put_maps(struct mt_session *session, struct mt_session_process *process,
				     uint64_t time_ns);
void mt_session_forget_maps(struct mt_session_process *process);
/* The thread's name, if the recording does not know it yet. */
struct mt_error *mt_session_put_name(struct mt_session *session, struct mt_session_thread *thread,
				     bool exec, uint64_t time_ns);
/* Those of all threads. */
struct mt_error *mt_session_put_names(struct mt_session *session);
struct mt_error *mt_session_put_birth(struct mt_session *session,
				      const struct mt_session_thread *thread, pid_t parent_pid,
				      pid_t parent_lwp, uint64_t time_ns);
struct mt_error *mt_session_put_end(struct mt_session *session,
				    const struct mt_session_thread *thread, int status,
				    uint64_t time_ns);
struct mt_error *mt_session_put_note(struct mt_session *session,
				     const struct mt_session_thread *thread,
				     enum mt_recording_note note, uint64_t pc, uint64_t address,
				     uint64_t weight, uint64_t time_ns);
struct mt_error *mt_session_put_hit(struct mt_session *session,
				    const struct mt_session_thread *thread,
				    const struct mt_session_hit *hit, uint64_t time_ns);

/* vdso.c */
/* Puts the vDSO of a process into a file that outlives it, so that whoever decodes the recording
 * has its code.  *path is the caller's to free; NULL: it could not be done. */
void mt_session_keep_vdso(struct mt_session *session, pid_t pid, const struct mt_map *map,
			  char **path, struct mt_build_id *id);

/* watchpoint.c */
/* Errors: USAGE (none that makes sense, or one too many). */
struct mt_error *mt_session_add_watches(struct mt_session *session);
/* Look for the variables that are not found yet in a mapping that has come.  Errors: USAGE (its
 * alignment); mt_perf_event_open()'s. */
struct mt_error *mt_session_find_watches(struct mt_session *session,
					 struct mt_session_process *process,
					 const struct mt_mapping *mapping);
/* A new thread has the process's watchpoints too.  Errors: mt_perf_event_open()'s. */
struct mt_error *mt_session_watch_thread(struct mt_session *session,
					 struct mt_session_thread *thread);
/* The variable of a site of the process's, by its index, is not there any more: no thread has an
 * event for it.  Errors: those of mt_session_watch_thread() and mt_session_take_hits(). */
struct mt_error *mt_session_forget_watch(struct mt_session *session,
					 struct mt_session_process *process, size_t index);
/* A thread stands still: what it hit goes into the recording, with a snapshot. */
struct mt_error *mt_session_take_hits(struct mt_session *session, struct mt_session_thread *thread,
				      const struct mt_stop *stop,
				      const struct mt_engine_news *news);
/* A stop for a hit and nothing else: the signal is ours. */
bool mt_session_is_hit(const struct mt_stop *stop);

/* debug_registers.c */
#define MT_SESSION_WATCH_RING_BYTES 16384
/* All that was asked for can have a debug register, and is stopped at by one.  Errors: USAGE (who
 * wants them); mt_breakpoint_probe()'s. */
struct mt_error *mt_session_check_registers(const struct mt_session *session);
/* One is left for the process. */
bool mt_session_has_register(const struct mt_session *session,
			     const struct mt_session_process *process);
/* TEXT, which was found, is to stop threads at ADDRESS.  False: no register is left, which was
 * said. */
bool mt_session_take_register(struct mt_session *session, struct mt_session_process *process,
			      const char *text, uint64_t address);

/* mark.c */
#define MT_SESSION_MARK_FUNCTION "mtrace_mark"
#define MT_SESSION_MARK_BYTES    256
/* A thread is at the first instruction of that function, or of TRIGGER's, one of mtrace.h.  Errors:
 * the target's; NO_MEMORY; the writer's. */
struct mt_error *mt_session_put_mark(struct mt_session *session,
				     const struct mt_session_thread *thread,
				     const struct mt_session_trigger *trigger,
				     const struct mt_engine_news *news);
/* Of a thread's process, up to its NUL or its LENGTH: whatever of it can be read. */
struct mt_error *mt_session_read_text(struct mt_session *session,
				      const struct mt_session_thread *thread, uint64_t address,
				      uint64_t length, struct mt_str *out);

/* objects.c */
/* A file was mapped at MAP: if it has a list of object files in memory (process/jit_list.h), that
 * is looked at from now on.  Errors: NO_MEMORY. */
struct mt_error *mt_session_see_objects(struct mt_session_process *process,
					struct mt_objfile *objfile, const struct mt_map *map);
/* What came and went in them since the last time goes into the recording.  Errors: the writer's. */
struct mt_error *mt_session_put_objects(struct mt_session *session);
/* The process runs another program. */
void mt_session_forget_objects(struct mt_session_process *process);

/* live_values.c */
/* What TRIGGER says is recorded with each call of the function at ADDRESS, by a gate with NUMBER;
 * one that is there already stays.  Errors: those of mt_session_values_set(). */
struct mt_error *mt_session_record_values(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_session_trigger *trigger, uint32_t number,
					  uint64_t address);

/* probe.c */
/* The executable's probes become marks, if marks are wanted. */
struct mt_error *mt_session_find_probes(struct mt_session *session,
					struct mt_session_process *process,
					const struct mt_mapping *mapping);
/* The words of the one at ADDRESS; nothing where none is.  Errors: NO_MEMORY. */
struct mt_error *mt_session_tell_probe(struct mt_session *session,
				       const struct mt_session_process *process, uint64_t address,
				       const struct user_regs_struct *registers,
				       struct mt_str *out);

/* Whether it is told to the engine once the program's libraries are there. */
static inline bool mt_session_is_bound_late(const struct mt_session_trigger *trigger)
{
	const struct mt_trigger_spec *spec = &trigger->spec;

	return spec->condition || spec->slower_ns || spec->at_return || spec->span_ns ||
	       trigger->values || spec->most || spec->expressions.count ||
	       mt_engine_is_limited(&spec->limits);
}

/* trigger.c */
/* Marks are said at ADDRESS, too.  Errors: the engine's. */
struct mt_error *mt_session_add_mark(struct mt_session *session, struct mt_session_process *process,
				     uint64_t address);
/* Errors: USAGE (not even the form of a location). */
struct mt_error *mt_session_add_triggers(struct mt_session *session);
/* The engine can do what triggers want.  Errors: UNSUPPORTED. */
struct mt_error *mt_session_check_engine(const struct mt_session *session);
/* Look for the triggers that are not found yet in a mapping that has come. */
struct mt_error *mt_session_find_triggers(struct mt_session *session,
					  struct mt_session_process *process,
					  const struct mt_mapping *mapping);

/* open_calls.c */
/* The functions in Python that are open in LWP, which stands still, for the snapshot of that
 * number, and, if it IS_DYING, the arguments of all its open calls, as far as they can be had.
 * Errors: the writer's. */
struct mt_error *mt_session_put_open_calls(struct mt_session *session, pid_t lwp, bool is_dying,
					   uint32_t snapshot, struct mt_recording_writer *writer);

/* print.c */
/* Of SITE's trigger, where FRAME stands.  Errors: TRIGGER (one that means nothing); NO_MEMORY. */
struct mt_error *mt_session_parse_printed(const struct mt_session *session,
					  const struct mt_session_process *process,
					  struct mt_session_site *site);
/* Appends ", s->len = 5" for each, or why it cannot be had; nothing where the trigger has none.
 * TOOK_NS: see struct mt_engine_news. */
void mt_session_print(struct mt_session *session, const struct mt_session_thread *thread,
		      const struct mt_session_site *site, uint64_t took_ns, struct mt_str *out);
void mt_session_forget_printed(struct mt_session_site *site);

/* sites.c */
static inline bool mt_session_has_site(const struct mt_session_process *process, uint64_t pc)
{
	mt_array_each (site, &process->sites)
		if (site->address == pc)
			return true;
	return false;
}
void mt_session_forget_site(struct mt_session_site *site);
/* All that is known of the process's code. */
void mt_session_forget_sites(struct mt_session_process *process);
/* What is known of GONE alone, a mapping that is out of process->maps by now.  Errors: NO_MEMORY;
 * those of mt_session_forget_watch(). */
struct mt_error *mt_session_forget_code(struct mt_session *session,
					struct mt_session_process *process,
					const struct mt_session_map *gone);

/* condition.c */
/* All mappings were seen: bind the conditions of triggers that were found, and set their
 * breakpoints.  Errors: TRIGGER (one that means nothing, before the program began);
 * the engine's. */
struct mt_error *mt_session_bind_conditions(struct mt_session *session,
					    struct mt_session_process *process);
/* As soon as the program runs, a trigger that means nothing where a library came is no error but a
 * warning. */
struct mt_error *mt_session_tolerate_later(const struct mt_session *session,
					   struct mt_error *error);
/* The thread is at SITE, which has a condition; TOOK_NS: see struct mt_engine_news.  One that
 * cannot be evaluated does not hold. */
bool mt_session_condition_holds(struct mt_session *session, const struct mt_session_thread *thread,
				const struct mt_session_site *site, uint64_t took_ns);
/* $_duration and $_thread.  0, or -1. */
int mt_session_set_variables(const struct mt_session_thread *thread, uint64_t took_ns);
/* ERROR, which goes over to this, is about WHAT of TRIGGER. */
struct mt_error *mt_session_invalid(const struct mt_session_trigger *trigger, const char *what,
				    struct mt_error *error);
/* The log says which could not be evaluated here, and how often. */
void mt_session_tell_problems(const struct mt_session *session);
/* SPEC's condition as it means something at ADDRESS.  Errors: mt_expr_parse()'s. */
struct mt_error *mt_session_parse_at(struct mt_session *session, struct mt_session_process *process,
				     const struct mt_trigger_spec *spec, uint64_t address,
				     bool is_entry, struct mt_expr **out);
/* The same of the values of TRIGGER at the function at ADDRESS.  Errors: those of
 * mt_session_parse_values(). */
struct mt_error *mt_session_parse_values_at(struct mt_session *session,
					    const struct mt_session_process *process,
					    const struct mt_session_trigger *trigger,
					    uint64_t address, struct mt_session_value_list *out);

/* values.c */
/* `the trigger "foo"`, `--args "foo(x)"`: what the user gave, for messages. */
void mt_session_name_trigger(const struct mt_session_trigger *trigger, struct mt_str *out);
/* With all but the text of SPEC, which is lent. */
struct mt_session_trigger mt_session_values_trigger(const struct mt_values_spec *spec);
/* Of --args and --returns.  Errors: TRIGGER (not even the form of one); NO_MEMORY. */
struct mt_error *mt_session_add_values(struct mt_session *session);
typedef struct mt_error *mt_session_function_found(void *context, uint64_t address);
/* Whatever in MAPPING, which is SPACE's, is called as TRIGGER's glob says and has debug
 * information, which tells its parameters; until an error.  Errors: FOUND's. */
struct mt_error *mt_session_each_of_glob(struct mt_space *space, const struct mt_mapping *mapping,
					 const struct mt_session_trigger *trigger,
					 mt_session_function_found *found, void *context);
/* ERROR, which goes over to this, is about a function of TRIGGER's glob.  Errors: NO_MEMORY. */
struct mt_error *mt_session_leave_out(struct mt_session *session,
				      const struct mt_session_process *process,
				      struct mt_session_trigger *trigger, uint64_t address,
				      struct mt_error *error);
/* Parse what TRIGGER is to record at FRAME.  Errors: TRIGGER (a name that means nothing);
 * NOT_FOUND (of a glob's: the function has no such thing); NO_MEMORY. */
struct mt_error *mt_session_parse_values(const struct mt_session_process *process,
					 const struct mt_expr_frame *frame,
					 const struct mt_session_trigger *trigger,
					 struct mt_session_value_list *out);

/* gate.c */
void mt_session_forget_gates(struct mt_session_process *process);

#endif
