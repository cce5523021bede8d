/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Handles each kind of stop for the session: snapshots, triggers, signals, births, execs, ends. */
#include "base/clock.h"
#include "process/proc.h"
#include "session/languages/python.h"
#include "session/languages/words.h"
#include "session/private.h"

#include <signal.h>

#define CODE_SEGMENT_64 0x33

struct mt_error *mt_session_read_rings(struct mt_session *session, pid_t lwp, uint32_t number,
				       struct mt_recording_writer *writer)
{
	mt_try(mt_session_engine_ops(session)->snapshot(session->engine, lwp, number, writer));
	return mt_tracks_snapshot(session->tracks, lwp, writer);
}

struct mt_error *mt_session_snapshot(struct mt_session *session)
{
	/* Who asked to let go wants more than this. */
	if (!session->attached)
		session->request_ns = 0;
	mt_try(mt_session_put_names(session));
	if (session->options->engine.live)
		return NULL;
	mt_try(mt_session_read_rings(session, 0, ++session->result.snapshots, session->writer));
	mt_try(mt_recording_writer_keep(session->writer));
	mt_session_tell_room(session);
	return NULL;
}

void mt_session_tell_duration(uint64_t ns, struct mt_str *out)
{
	static const char *const units[] = {"us", "ms", "s"};
	unsigned unit = 0;

	for (; ns >= 1000000 && unit < 2; unit++)
		ns /= 1000;
	mt_str_appendf(out, "took %llu.%03llu %s", (unsigned long long)ns / 1000,
		       (unsigned long long)ns % 1000, units[unit]);
}

static struct mt_error *registers_of(struct mt_session *session, pid_t lwp, struct mt_str *out)
{
	struct user_regs_struct values;

	/* Where functions are patched, a thread that is hit runs code of ours. */
	if (mt_session_engine_ops(session)->records_calls)
		return NULL;
	mt_try(mt_session_target_ops(session)->get_registers(session->target, lwp, &values));
	mt_breakpoint_registers_of(&values, out);
	return out->failed ? mt_error_no_memory() : NULL;
}

/* The engine says which condition it found to hold, or stopped for. */
static bool is_hit(struct mt_session *session, const struct mt_session_thread *thread,
		   const struct mt_session_site *site, const struct mt_engine_news *news)
{
	struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	const struct mt_trigger_spec *spec = &trigger->spec;

	if (site->address != news->pc || site->is_begin || trigger->values ||
	    (spec->most && trigger->snapshots >= spec->most))
		return false;
	if (news->asked ? trigger->text != news->asked
			: (spec->slower_ns || spec->at_return || spec->span_ns))
		return false;
	if (news->asked && news->holds)
		return true;
	if (spec->condition && !mt_session_condition_holds(session, thread, site, news->took_ns))
		return false;
	return mt_trigger_counts(&spec->limits, &trigger->count, news->time_ns);
}

/* With its last snapshot a trigger is done. */
static struct mt_error *count_snapshot(struct mt_session *session,
				       const struct mt_session_site *site)
{
	struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;

	if (++trigger->snapshots != trigger->spec.most || !breaks || !breaks->retire)
		return NULL;
	for (struct mt_session_process *process = session->processes; process;
	     process = process->hh.next)
		mt_try(breaks->retire(session->engine, process->pid, site->trigger));
	return NULL;
}

/* What is said of a hit: how long the call took, and what the trigger prints. */
static struct mt_error *values_of(struct mt_session *session,
				  const struct mt_session_thread *thread,
				  const struct mt_session_site *site,
				  const struct mt_engine_news *news, struct mt_str *out)
{
	if (news->took_ns)
		mt_session_tell_duration(news->took_ns, out);
	mt_session_print(session, thread, site, news->took_ns, out);
	if (site->printed.count && !out->failed)
		mt_log(session->options->engine.log, MT_LOG_INFO,
		       "trigger %u, %s, in thread %d: %s", site->trigger,
		       session->triggers.items[site->trigger - 1].spec.location, thread->lwp,
		       out->text ? out->text : "");
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *check_evaluators(struct mt_session *session,
					 struct mt_session_process *process, uint32_t trigger)
{
	mt_try(mt_session_check_evaluators(session, process));
	return process->is_python_deep ? mt_session_engine_ops(session)->breaks->retire(
					     session->engine, process->pid, trigger)
				       : NULL;
}

/* All triggers at the thread's place: one snapshot is enough for them. */
static struct mt_error *hit(struct mt_session *session, struct mt_session_thread *thread,
			    const struct mt_engine_news *news)
{
	mt_auto(mt_str) struct mt_str registers = {0};
	const uint32_t before = session->result.hits;
	bool python_ends = false;

	thread->hit_pc = news->pc;
	mt_array_each (site, &thread->process->sites) {
		const struct mt_session_trigger *trigger =
		    &session->triggers.items[site->trigger - 1];
		struct mt_session_hit what = {
		    .trigger = site->trigger,
		    .pc = news->pc,
		    .location = trigger->spec.location,
		    .condition = trigger->spec.condition,
		};

		if (!is_hit(session, thread, site, news))
			continue;
		if (trigger->words == MT_WORDS_PYTHON_ENDS) {
			mt_try(mt_session_put_python(session));
			python_ends = !thread->process->has_python_ended;
			thread->process->has_python_ended = true;
			continue;
		}
		if (trigger->words == MT_WORDS_PYTHON_EVALUATOR) {
			mt_try(check_evaluators(session, thread->process, site->trigger));
			continue;
		}
		if (trigger->mark) {
			mt_try(mt_session_put_mark(session, thread, trigger, news));
			continue;
		}
		if (session->result.hits++ == before)
			mt_try(registers_of(session, thread->lwp, &registers));
		mt_auto(mt_str) struct mt_str values = {0}, reason = {0};
		mt_try(values_of(session, thread, site, news, &values));
		mt_try(trigger->words == MT_WORDS_DEATH
			   ? mt_session_read_death(session, thread->lwp, trigger->text, news->pc,
						   &reason)
			   : mt_session_read_reason(session, thread->lwp, &trigger->spec, &reason));
		if (trigger->words && !reason.length)
			mt_str_append(&reason, what.location);
		what.values = values.text;
		what.reason = reason.text;
		what.registers = registers.text;
		mt_try(mt_session_put_hit(session, thread, &what, news->time_ns));
		mt_try(count_snapshot(session, site));
	}
	if ((session->result.hits == before && !python_ends) || !mt_session_has_room(session))
		return NULL;
	if (session->result.hits != before)
		mt_try(mt_session_put_python_where(session, thread, news->time_ns));
	else /* an interpreter lets go of all that it has by more calls than a ring holds */
		session->asked++;
	return mt_session_snapshot(session);
}

/* A trigger with a breakpoint is hit each time that the breakpoint is.  Without one, it is the
 * dynamic loader's report that it has loaded a library. */
static struct mt_error *on_breakpoint(struct mt_session *session, struct mt_session_thread *thread,
				      const struct mt_stop *stop, const struct mt_engine_news *news)
{
	thread->last_pc = news->pc;
	if (!mt_session_has_site(thread->process, news->pc)) {
		mt_try(mt_session_put_maps(session, thread->process, news->time_ns));
		return mt_session_go_on(session, stop->lwp, 0);
	}
	/* It goes on as soon as the snapshot needs it no more. */
	session->hit_lwp = stop->lwp;
	struct mt_error *error = hit(session, thread, news);
	const bool stands = session->hit_lwp != 0;
	session->hit_lwp = 0;
	return error || !stands ? error : mt_session_go_on(session, stop->lwp, 0);
}

/* A trigger is hit when the thread comes to its instruction.  Coming back to it from a signal
 * handler that ran before the instruction did is the same hit. */
static struct mt_error *check_triggers(struct mt_session *session, struct mt_session_thread *thread,
				       const struct mt_stop *stop,
				       const struct mt_engine_news *news)
{
	if (stop->kind == MT_STOP_STEP && thread->last_pc == thread->hit_pc &&
	    news->pc != thread->hit_pc)
		thread->hit_pc = 0;
	thread->last_pc = news->pc;
	/* Who sees each instruction needs no report of the loader's. */
	if (!session->has_bound && news->pc == thread->process->entry)
		mt_try(mt_session_bind_conditions(session, thread->process));
	if (thread->process->objects && mt_jit_list_changes_at(thread->process->objects, news->pc))
		mt_try(mt_session_put_objects(session));
	return news->pc != thread->hit_pc && mt_session_has_site(thread->process, news->pc)
		   ? hit(session, thread, news)
		   : NULL;
}

static struct mt_error *on_signal(struct mt_session *session, struct mt_session_thread *thread,
				  const struct mt_stop *stop, const struct mt_engine_news *news)
{
	enum mt_signal_action action = mt_proc_signal_action(stop->lwp, stop->signal);

	const uint64_t late_ns = news->late_ns < UINT32_MAX ? news->late_ns : UINT32_MAX;

	mt_try(mt_session_put_note(session, thread, MT_NOTE_SIGNAL, news->pc, stop->address,
				   late_ns << 32 | (uint64_t)stop->signal, news->time_ns));
	if (mt_signal_is_fatal(stop->signal, action)) {
		session->result.fatal_signal = stop->signal;
		session->result.fatal_lwp = stop->lwp;
		if (!session->options->engine.live && !session->options->no_open_args)
			mt_try(mt_session_put_open_calls(session, stop->lwp, true,
							 session->result.snapshots + 1,
							 session->writer));
		mt_try(mt_session_snapshot(session));
	} else if (stop->signal == SIGINT) {
		mt_try(mt_session_put_python_where(session, thread, news->time_ns));
		mt_try(mt_session_snapshot(session));
	}
	return mt_session_go_on(session, stop->lwp, stop->signal);
}

/* Killed meanwhile: its end will be reported. */
static struct mt_error *ignore_gone(struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *add_child(struct mt_session *session,
				  const struct mt_session_thread *parent,
				  struct mt_session_process *process, const struct mt_stop *stop,
				  const struct mt_engine_news *news)
{
	struct mt_session_thread *thread;

	mt_try(mt_session_add_thread(session, process, stop->child, stop->lwp, &thread));
	mt_try(mt_session_put_birth(session, thread, parent->process->pid, parent->lwp,
				    news->time_ns));
	return mt_session_put_name(session, thread, false, news->time_ns);
}

static struct mt_error *on_new_thread(struct mt_session *session, struct mt_session_thread *parent,
				      const struct mt_stop *stop, const struct mt_engine_news *news)
{
	/* Who was killed has a way to go to its end, too. */
	mt_try(ignore_gone(add_child(session, parent, parent->process, stop, news)));
	mt_try(mt_session_go_on(session, stop->child, 0));
	return mt_session_go_on(session, stop->lwp, 0);
}

static struct mt_error *follow_child(struct mt_session *session, struct mt_session_thread *parent,
				     const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct mt_session_process *process;

	mt_try(mt_session_add_process(session, stop->child, &process));
	mt_try(ignore_gone(add_child(session, parent, process, stop, news)));
	mt_try(mt_session_put_maps(session, process, news->time_ns));
	return mt_session_go_on(session, stop->child, 0);
}

bool mt_session_clear(struct mt_session *session, pid_t pid)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;
	const struct mt_session_process *process = mt_session_find_process(session, pid);
	struct mt_error *error = NULL;
	bool keep = false;

	if (process)
		mt_session_clear_evaluators(session, process, pid);
	if (text)
		error = text->let_go(session->engine, pid, &keep);
	if (error && mt_error_code(error) != MT_ERROR_GONE && !mt_proc_is_dying(pid))
		mt_log(
		    session->options->engine.log, MT_LOG_WARNING,
		    "process %d runs on with patched code, which does no harm: %s (\"mtdb attach "
		    "--for=1ms %d\" restores it)",
		    pid, mt_error_message(error), pid);
	mt_error_destroy(error);
	return !keep;
}

struct mt_error *mt_session_leave(struct mt_session *session, pid_t pid)
{
	bool is_free = mt_session_clear(session, pid);
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (process)
		mt_session_remove_process(session, process);
	return is_free ? mt_target_detach(session->target, pid) : mt_session_go_on(session, pid, 0);
}

static struct mt_error *let_child_go(struct mt_session *session,
				     const struct mt_session_thread *parent,
				     const struct mt_stop *stop)
{
	if (stop->kind == MT_STOP_FORK)
		mt_session_clear_evaluators(session, parent->process, stop->child);
	return mt_session_leave(session, stop->child);
}

static struct mt_error *let_go(struct mt_session *session, struct mt_session_process *process,
			       const char *why)
{
	pid_t pid = process->pid;
	struct mt_session_thread *thread, *next;

	session->result.untraced |= pid == session->result.pid;
	mt_log(session->options->engine.log, MT_LOG_WARNING, "process %d runs on untraced: %s", pid,
	       why);
	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			mt_try(mt_session_read_rings(session, thread->lwp, 0, session->writer));
	return mt_session_leave(session, pid);
}

/* execve ends all other threads without a word from some of them. */
static struct mt_error *forget_others(struct mt_session *session,
				      struct mt_session_process *process, pid_t stays)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next) {
		if (thread->process != process || thread->lwp == stays)
			continue;
		mt_try(mt_session_read_rings(session, thread->lwp, 0, session->writer));
		mt_try(mt_session_put_end(session, thread, 0, mt_session_now(session)));
		mt_session_remove_thread(session, thread);
	}
	return NULL;
}

/* Before stopped(): from here on the calling thread has the number of the first. */
static struct mt_error *rename_thread(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_session_thread *thread = mt_session_find_thread(session, stop->child);

	if (!thread)
		return NULL;
	mt_try(mt_session_read_rings(session, stop->child, 0, session->writer));
	mt_try(forget_others(session, thread->process, stop->child));
	mt_session_engine_ops(session)->rename_thread(session->engine, stop->child, stop->lwp);
	mt_tracks_rename_thread(session->tracks, stop->child, stop->lwp);
	HASH_DEL(session->threads, thread);
	thread->lwp = stop->lwp;
	HASH_ADD_INT(session->threads, lwp, thread);
	return NULL;
}

bool mt_session_is_32_bit(const struct mt_session *session, pid_t lwp)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    mt_session_target_ops(session)->get_registers(session->target, lwp, &registers);
	bool is_32_bit = !error && registers.cs != CODE_SEGMENT_64;

	mt_error_destroy(error);
	return is_32_bit;
}

static struct mt_error *on_exec(struct mt_session *session, struct mt_session_thread *thread,
				const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct mt_session_process *process = thread->process;

	if (mt_session_is_32_bit(session, stop->lwp))
		return let_go(session, process,
			      "it became a 32-bit program; only x86-64 programs are supported");
	mt_session_forget_maps(process);
	mt_session_forget_sites(process);
	process->watch_sites.count = 0;
	process->probes.count = 0;
	process->loader = 0;
	mt_session_forget_objects(process);
	mt_session_forget_interpreter(process);
	mt_session_count_anew(session, thread);
	mt_event_set_deinit(&thread->watched);
	mt_try(mt_session_put_name(session, thread, true, news->time_ns));
	mt_try(mt_session_put_maps(session, process, news->time_ns));
	return mt_session_go_on(session, stop->lwp, 0);
}

static struct mt_error *end_thread(struct mt_session *session, struct mt_session_thread *thread,
				   int status)
{
	/* It is among the last that can be asked. */
	if (thread->lwp == thread->process->pid) {
		mt_try(mt_session_put_made(session));
		mt_try(mt_session_put_objects(session));
	}
	mt_try(mt_session_put_python(session));
	mt_try(mt_session_put_name(session, thread, false, mt_session_now(session)));
	mt_try(mt_session_read_rings(session, thread->lwp, 0, session->writer));
	mt_try(mt_session_put_end(session, thread, status, mt_session_now(session)));
	mt_session_remove_thread(session, thread);
	return NULL;
}

/* Debuggers report no thread's end. */
static struct mt_error *end_others(struct mt_session *session,
				   const struct mt_session_process *process)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process && thread->lwp != process->pid)
			mt_try(end_thread(session, thread, 0));
	return NULL;
}

/* Also of threads that are not known any more. */
static struct mt_error *on_exited(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_session_thread *thread = mt_session_find_thread(session, stop->lwp);
	struct mt_session_process *process = mt_session_find_process(session, stop->pid);

	if (process && stop->lwp == stop->pid)
		mt_try(end_others(session, process));
	if (thread)
		mt_try(end_thread(session, thread, stop->status));
	else
		mt_session_engine_ops(session)->remove_thread(session->engine, stop->lwp);
	if (stop->lwp == session->result.pid) {
		session->result.ended = true;
		session->result.wait_status = stop->status;
		session->ended_ns = mt_clock_monotonic_ns();
		session->request_ns = 0; /* its Ctrl-C, maybe */
	}
	if (process && stop->lwp == stop->pid)
		mt_session_remove_process(session, process);
	return NULL;
}

/* A process that is nobody's, but has to be kept for a while. */
static struct mt_error *on_stranger(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_engine_news news;

	mt_try(mt_session_engine_ops(session)->stopped(session->engine, stop, &news));
	switch (stop->kind) {
	case MT_STOP_SIGNAL:
	case MT_STOP_BREAKPOINT:
		return mt_session_go_on(session, stop->lwp,
					news.ordinary || news.breakpoint ? 0 : stop->signal);
	case MT_STOP_GROUP:
		return mt_target_resume(session->target, stop->lwp, MT_RESUME_LISTEN, 0);
	case MT_STOP_NEW_THREAD:
		mt_try(mt_session_go_on(session, stop->child, 0));
		return mt_session_go_on(session, stop->lwp, 0);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		mt_try(mt_session_leave(session, stop->child));
		return mt_session_go_on(session, stop->lwp, 0);
	case MT_STOP_EXEC:
		if (!news.left)
			return mt_session_go_on(session, stop->lwp, 0);
		mt_session_engine_ops(session)->remove_thread(session->engine, stop->lwp);
		return mt_target_detach(session->target, stop->pid);
	default:
		return mt_session_go_on(session, stop->lwp, 0);
	}
}

static struct mt_error *on_thread_stop(struct mt_session *session, struct mt_session_thread *thread,
				       const struct mt_stop *stop,
				       const struct mt_engine_news *news)
{
	if (news->breakpoint && session->leaving)
		return mt_session_go_on(session, stop->lwp, 0);
	if (news->breakpoint)
		return on_breakpoint(session, thread, stop, news);
	if (news->ordinary &&
	    (stop->kind == MT_STOP_BREAKPOINT || stop->kind == MT_STOP_SIGNAL ||
	     stop->kind == MT_STOP_LIBRARIES || stop->kind == MT_STOP_INTERRUPTED))
		return mt_session_go_on(session, stop->lwp, 0);
	switch (stop->kind) {
	case MT_STOP_SIGNAL:
	case MT_STOP_BREAKPOINT:
		return mt_session_is_hit(stop) ? mt_session_go_on(session, stop->lwp, 0)
					       : on_signal(session, thread, stop, news);
	case MT_STOP_NEW_THREAD:
		return on_new_thread(session, thread, stop, news);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		if (session->options->engine.follow_forks)
			mt_try(follow_child(session, thread, stop, news));
		else
			mt_try(let_child_go(session, thread, stop));
		return mt_session_go_on(session, stop->lwp, 0);
	case MT_STOP_EXEC:
		return on_exec(session, thread, stop, news);
	case MT_STOP_EXITING:
		mt_try(end_thread(session, thread, stop->status));
		return mt_session_go_on(session, stop->lwp, 0);
	case MT_STOP_GROUP:
		return mt_target_resume(session->target, stop->lwp, MT_RESUME_LISTEN, 0);
	default:
		mt_try(check_triggers(session, thread, stop, news));
		return mt_session_go_on(session, stop->lwp, 0);
	}
}

/* Whom the stop is of was killed meanwhile, or another one.  It goes on in any case: what it stands
 * for may be its end. */
static struct mt_error *pass_over_gone(struct mt_session *session, const struct mt_stop *stop,
				       struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error);
	return mt_session_go_on(session, stop->lwp, 0);
}

struct mt_error *mt_session_take(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_engine_news news;

	if (stop->kind == MT_STOP_EXITED)
		return on_exited(session, stop);
	if (stop->kind == MT_STOP_EXEC)
		mt_try(rename_thread(session, stop));
	struct mt_session_thread *thread = mt_session_find_thread(session, stop->lwp);
	struct mt_error *error =
	    thread ? mt_session_engine_ops(session)->stopped(session->engine, stop, &news)
		   : on_stranger(session, stop);
	if (!thread)
		return pass_over_gone(session, stop, error);
	if (!error && news.maps_changed && stop->kind != MT_STOP_EXEC)
		error = mt_session_put_maps(session, thread->process, news.time_ns);
	if (!error && !session->leaving)
		error = mt_session_take_hits(session, thread, stop, &news);
	if (!error)
		error = on_thread_stop(session, thread, stop, &news);
	return pass_over_gone(session, stop, error);
}
