/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "target/session.h"

#include "target/proc.h"
#include "target/session_private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS         100
#define CODE_SEGMENT_64 0x33
/* Ctrl-C reaches the program too, as a rule: so long is waited for its SIGINT. */
#define REQUEST_PATIENCE_NS 300000000ull

static const struct mt_target_ops *target_ops(const struct mt_session *session)
{
	return session->target->ops;
}

static const struct mt_engine_ops *engine_ops(const struct mt_session *session)
{
	return session->engine->ops;
}

static uint64_t now_ns(const struct mt_session *session)
{
	return mt_tsc_to_ns(&session->conversion, mt_clock_tsc());
}

static struct mt_session_thread *find_thread(const struct mt_session *session, pid_t lwp)
{
	struct mt_session_thread *thread = NULL;

	HASH_FIND_INT(session->threads, &lwp, thread);
	return thread;
}

static struct mt_session_process *find_process(const struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = NULL;

	HASH_FIND_INT(session->processes, &pid, process);
	return process;
}

static uint64_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

static struct mt_error *create_engine(struct mt_session *session)
{
	const struct mt_engine_ops *chosen = NULL;
	mt_auto(mt_str) struct mt_str why = {0};
	struct mt_engine_options options = {
	    .ring_bytes = session->options->ring_bytes,
	    .conversion = session->conversion,
	    .log = session->options->log,
	    .share_cpu = session->options->share_cpu,
	    .stamps = session->options->stamps,
	    .modules = session->options->modules,
	    .functions = session->options->functions,
	    .no_functions = session->options->no_functions,
	    .seen = session->options->seen,
	    .seen_context = session->options->seen_context,
	};

	mt_try(mt_engine_choose(session->options->engine, &chosen, &why));
	if (options.ring_bytes && options.ring_bytes < MT_ENGINE_LEAST_RING_BYTES)
		return mt_error_new(
		    MT_ERROR_USAGE, "a ring of %llu bytes is too small: at least %u",
		    (unsigned long long)options.ring_bytes, MT_ENGINE_LEAST_RING_BYTES);
	if (options.ring_bytes > memory_bytes() / 2)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "a ring of %llu bytes a thread is too large: this machine's memory has %llu",
		    (unsigned long long)options.ring_bytes, (unsigned long long)memory_bytes());
	if (why.text && !why.failed)
		mt_log(session->options->log, MT_LOG_INFO, "recording with the engine %s",
		       why.text);
	session->result.engine = chosen->name;
	return chosen->create(session->target, &options, &session->engine);
}

static struct mt_error *create_writer(struct mt_session *session, const char *const *command)
{
	struct mt_recording_pt pt = {0};
	struct mt_recording_writer_options options = {
	    .pt = &pt,
	    .calls = engine_ops(session)->records_calls,
	    .conversion = session->conversion,
	    .command = command,
	};

	engine_ops(session)->describe(session->engine, &pt);
	return mt_recording_writer_create(session->options->recording_path, &options,
					  &session->writer);
}

struct mt_error *mt_session_create(struct mt_target *target,
				   const struct mt_session_options *options,
				   const char *const *command, struct mt_session **out)
{
	struct mt_session *session = calloc(1, sizeof(*session));

	*out = NULL;
	if (!session)
		return mt_error_no_memory();
	session->target = target;
	session->options = options;
	session->conversion = mt_time_conversion_measure();
	struct mt_error *error = mt_session_add_triggers(session);
	if (!error)
		error = create_engine(session);
	if (!error)
		error = create_writer(session, command);
	if (error)
		mt_session_destroy(session);
	else
		*out = session;
	return error;
}

static void remove_thread(struct mt_session *session, struct mt_session_thread *thread)
{
	engine_ops(session)->remove_thread(session->engine, thread->lwp);
	HASH_DEL(session->threads, thread);
	free(thread);
}

static void remove_process(struct mt_session *session, struct mt_session_process *process)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			remove_thread(session, thread);
	HASH_DEL(session->processes, process);
	mt_array_deinit(&process->maps);
	mt_array_deinit(&process->sites);
	free(process);
}

void mt_session_destroy(struct mt_session *session)
{
	if (!session)
		return;
	while (session->processes)
		remove_process(session, session->processes);
	if (session->engine)
		engine_ops(session)->destroy(session->engine);
	mt_recording_writer_destroy(session->writer);
	mt_space_pool_destroy(session->pool);
	mt_array_deinit(&session->triggers);
	mt_array_deinit(&session->stops);
	free(session);
}

static struct mt_error *add_process(struct mt_session *session, pid_t pid,
				    struct mt_session_process **out)
{
	struct mt_session_process *process = calloc(1, sizeof(*process));

	if (process) {
		process->pid = pid;
		HASH_ADD_INT(session->processes, pid, process);
	}
	*out = find_process(session, pid);
	if (*out)
		return NULL;
	free(process);
	return mt_error_no_memory();
}

static struct mt_error *add_thread(struct mt_session *session, struct mt_session_process *process,
				   pid_t lwp, pid_t parent, struct mt_session_thread **out)
{
	struct mt_session_thread *thread = calloc(1, sizeof(*thread));

	if (thread) {
		thread->lwp = lwp;
		thread->process = process;
		HASH_ADD_INT(session->threads, lwp, thread);
	}
	*out = find_thread(session, lwp);
	if (!*out) {
		free(thread);
		return mt_error_no_memory();
	}
	return engine_ops(session)->add_thread(session->engine, process->pid, lwp, parent);
}

static struct mt_error *go_on(struct mt_session *session, pid_t lwp, int signal)
{
	struct mt_error *error = engine_ops(session)->resume(session->engine, lwp, signal);

	/* It died meanwhile: its end will be told. */
	if (error && mt_error_code(error) == MT_ERROR_GONE) {
		mt_error_destroy(error);
		error = NULL;
	}
	return error;
}

struct mt_error *mt_session_launch(struct mt_session *session, const struct mt_launch *launch)
{
	struct mt_session_process *process;
	struct mt_session_thread *thread;
	pid_t pid = 0;

	mt_try(target_ops(session)->launch(session->target, launch, &pid));
	session->result.pid = pid;
	mt_try(add_process(session, pid, &process));
	mt_try(add_thread(session, process, pid, 0, &thread));
	uint64_t time_ns = now_ns(session);
	mt_try(mt_session_put_name(session, thread, true, time_ns));
	mt_try(mt_session_put_birth(session, thread, 0, 0, time_ns));
	mt_try(mt_session_put_maps(session, process, time_ns));
	return go_on(session, pid, 0);
}

struct attaching {
	struct mt_session *session;
	struct mt_session_process *process;
	uint64_t time_ns;
};

static struct mt_error *take_thread(void *context, pid_t lwp)
{
	const struct attaching *attaching = context;
	struct mt_session *session = attaching->session;
	struct mt_session_thread *thread;

	mt_try(add_thread(session, attaching->process, lwp, 0, &thread));
	if (lwp != attaching->process->pid)
		mt_try(mt_session_put_birth(session, thread, attaching->process->pid,
					    attaching->process->pid, attaching->time_ns));
	else
		mt_try(mt_session_put_birth(session, thread, 0, 0, attaching->time_ns));
	return mt_session_put_name(session, thread, lwp == attaching->process->pid,
				   attaching->time_ns);
}

static struct mt_error *let_run(void *context, pid_t lwp)
{
	return go_on(context, lwp, 0);
}

struct mt_error *mt_session_attach(struct mt_session *session, pid_t pid)
{
	struct attaching attaching = {.session = session};

	mt_try(target_ops(session)->attach(session->target, pid));
	session->result.pid = pid;
	attaching.time_ns = now_ns(session);
	mt_try(add_process(session, pid, &attaching.process));
	session->attached = true;
	if (session->options->duration_ns)
		session->end_ns = mt_clock_monotonic_ns() + session->options->duration_ns;
	mt_try(target_ops(session)->each_thread(session->target, pid, take_thread, &attaching));
	/* After the name, which says that a program began there. */
	mt_try(mt_session_put_maps(session, attaching.process, attaching.time_ns));
	if (!engine_ops(session)->attach)
		return target_ops(session)->each_thread(session->target, pid, let_run, session);
	mt_try(engine_ops(session)->attach(session->engine, pid));
	return mt_session_put_maps(session, attaching.process, now_ns(session));
}

static struct mt_error *put_names(struct mt_session *session)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next)
		mt_try(mt_session_put_name(session, thread, false, now_ns(session)));
	return NULL;
}

static struct mt_error *take_snapshot(struct mt_session *session)
{
	session->request_ns = 0;
	mt_try(put_names(session));
	return engine_ops(session)->snapshot(session->engine, 0, ++session->result.snapshots,
					     session->writer);
}

static struct mt_error *hit(struct mt_session *session, struct mt_session_thread *thread,
			    uint32_t trigger, const struct mt_engine_news *news)
{
	thread->hit_pc = news->pc;
	session->result.hits++;
	mt_try(mt_session_put_note(session, thread, MT_NOTE_TRIGGER, news->pc, 0, trigger,
				   news->time_ns));
	return take_snapshot(session);
}

/* One that is seen by its breakpoint is hit each time that is. */
static struct mt_error *on_breakpoint(struct mt_session *session, struct mt_session_thread *thread,
				      const struct mt_stop *stop, const struct mt_engine_news *news)
{
	uint32_t trigger = mt_session_trigger_at(thread->process, news->pc);

	thread->last_pc = news->pc;
	if (trigger)
		mt_try(hit(session, thread, trigger, news));
	return go_on(session, stop->lwp, 0);
}

/* A trigger is hit when the thread comes to its instruction.  Coming back to it from a signal
 * handler that ran before the instruction did is the same hit. */
static struct mt_error *check_triggers(struct mt_session *session, struct mt_session_thread *thread,
				       const struct mt_stop *stop,
				       const struct mt_engine_news *news)
{
	uint32_t trigger = mt_session_trigger_at(thread->process, news->pc);

	if (stop->kind == MT_STOP_STEP && thread->last_pc == thread->hit_pc &&
	    news->pc != thread->hit_pc)
		thread->hit_pc = 0;
	thread->last_pc = news->pc;
	return trigger && news->pc != thread->hit_pc ? hit(session, thread, trigger, news) : NULL;
}

static struct mt_error *on_signal(struct mt_session *session, struct mt_session_thread *thread,
				  const struct mt_stop *stop, const struct mt_engine_news *news)
{
	enum mt_signal_action action = mt_proc_signal_action(stop->lwp, stop->signal);

	mt_try(mt_session_put_note(session, thread, MT_NOTE_SIGNAL, news->pc, stop->address,
				   (uint64_t)stop->signal, news->time_ns));
	if (mt_signal_is_fatal(stop->signal, action)) {
		session->result.fatal_signal = stop->signal;
		session->result.fatal_lwp = stop->lwp;
		mt_try(take_snapshot(session));
	} else if (stop->signal == SIGINT) {
		mt_try(take_snapshot(session));
	}
	return go_on(session, stop->lwp, stop->signal);
}

static struct mt_error *on_new_thread(struct mt_session *session, struct mt_session_thread *parent,
				      const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct mt_session_thread *thread;

	mt_try(add_thread(session, parent->process, stop->child, stop->lwp, &thread));
	mt_try(mt_session_put_birth(session, thread, parent->process->pid, parent->lwp,
				    news->time_ns));
	mt_try(mt_session_put_name(session, thread, false, news->time_ns));
	mt_try(go_on(session, stop->child, 0));
	return go_on(session, stop->lwp, 0);
}

static struct mt_error *follow_child(struct mt_session *session, struct mt_session_thread *parent,
				     const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct mt_session_process *process;
	struct mt_session_thread *thread;

	mt_try(add_process(session, stop->child, &process));
	mt_try(add_thread(session, process, stop->child, stop->lwp, &thread));
	mt_try(mt_session_put_birth(session, thread, parent->process->pid, parent->lwp,
				    news->time_ns));
	mt_try(mt_session_put_name(session, thread, false, news->time_ns));
	mt_try(mt_session_put_maps(session, process, news->time_ns));
	return go_on(session, stop->child, 0);
}

/* Nothing of the engine's stays in it; one that must be kept for that is a stranger. */
static struct mt_error *leave_child(struct mt_session *session, pid_t child)
{
	bool keep = false;

	if (engine_ops(session)->let_go)
		mt_try(engine_ops(session)->let_go(session->engine, child, &keep));
	return keep ? go_on(session, child, 0)
		    : target_ops(session)->detach(session->target, child, 0);
}

static struct mt_error *on_fork(struct mt_session *session, struct mt_session_thread *parent,
				const struct mt_stop *stop, const struct mt_engine_news *news)
{
	if (session->options->follow_forks) {
		mt_try(follow_child(session, parent, stop, news));
	} else {
		if (engine_ops(session)->disown)
			engine_ops(session)->disown(session->engine, stop->child, stop->lwp);
		mt_try(leave_child(session, stop->child));
	}
	return go_on(session, stop->lwp, 0);
}

static struct mt_error *let_go(struct mt_session *session, struct mt_session_process *process,
			       const char *why)
{
	pid_t pid = process->pid;
	struct mt_session_thread *thread, *next;
	bool keep = false;

	mt_log(session->options->log, MT_LOG_WARNING, "process %d goes on untraced: %s", pid, why);
	HASH_ITER (hh, session->threads, thread, next)
		if (thread->process == process)
			mt_try(engine_ops(session)->snapshot(session->engine, thread->lwp, 0,
							     session->writer));
	if (engine_ops(session)->let_go)
		mt_try(engine_ops(session)->let_go(session->engine, pid, &keep));
	remove_process(session, process);
	return target_ops(session)->detach(session->target, pid, 0);
}

static bool is_64_bit(struct mt_session *session, pid_t lwp)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    target_ops(session)->get_registers(session->target, lwp, &registers);
	bool other = !error && registers.cs != CODE_SEGMENT_64;

	mt_error_destroy(error);
	return !other;
}

/* execve ends all other threads without a word from some of them. */
static struct mt_error *forget_others(struct mt_session *session,
				      struct mt_session_process *process, pid_t stays)
{
	struct mt_session_thread *thread, *next;

	HASH_ITER (hh, session->threads, thread, next) {
		if (thread->process != process || thread->lwp == stays)
			continue;
		mt_try(engine_ops(session)->snapshot(session->engine, thread->lwp, 0,
						     session->writer));
		mt_try(mt_session_put_end(session, thread, 0, now_ns(session)));
		remove_thread(session, thread);
	}
	return NULL;
}

/* Before stopped(): from here on the calling thread has the number of the first. */
static struct mt_error *rename_thread(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_session_thread *thread = find_thread(session, stop->child);

	if (!thread)
		return NULL;
	mt_try(engine_ops(session)->snapshot(session->engine, stop->child, 0, session->writer));
	mt_try(forget_others(session, thread->process, stop->child));
	engine_ops(session)->rename_thread(session->engine, stop->child, stop->lwp);
	HASH_DEL(session->threads, thread);
	thread->lwp = stop->lwp;
	HASH_ADD_INT(session->threads, lwp, thread);
	return NULL;
}

static struct mt_error *on_exec(struct mt_session *session, struct mt_session_thread *thread,
				const struct mt_stop *stop, const struct mt_engine_news *news)
{
	struct mt_session_process *process = thread->process;

	if (!is_64_bit(session, stop->lwp))
		return let_go(session, process,
			      "it became a 32-bit program, and only x86-64 ones can be traced");
	process->maps.count = 0;
	process->sites.count = 0;
	mt_try(mt_session_put_name(session, thread, true, news->time_ns));
	mt_try(mt_session_put_maps(session, process, news->time_ns));
	return go_on(session, stop->lwp, 0);
}

static struct mt_error *end_thread(struct mt_session *session, struct mt_session_thread *thread,
				   int status)
{
	mt_try(mt_session_put_name(session, thread, false, now_ns(session)));
	mt_try(engine_ops(session)->snapshot(session->engine, thread->lwp, 0, session->writer));
	mt_try(mt_session_put_end(session, thread, status, now_ns(session)));
	remove_thread(session, thread);
	return NULL;
}

static struct mt_error *on_exiting(struct mt_session *session, struct mt_session_thread *thread,
				   const struct mt_stop *stop)
{
	mt_try(end_thread(session, thread, stop->status));
	return go_on(session, stop->lwp, 0);
}

/* Also of threads that are not known any more. */
static struct mt_error *on_exited(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_session_thread *thread = find_thread(session, stop->lwp);
	struct mt_session_process *process = find_process(session, stop->pid);

	if (thread)
		mt_try(end_thread(session, thread, stop->status));
	else
		engine_ops(session)->remove_thread(session->engine, stop->lwp);
	if (stop->lwp == session->result.pid) {
		session->result.ended = true;
		session->result.wait_status = stop->status;
	}
	if (process && stop->lwp == stop->pid)
		remove_process(session, process);
	return NULL;
}

/* A process that is nobody's, but has to be kept for a while. */
static struct mt_error *on_stranger(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_engine_news news;

	mt_try(engine_ops(session)->stopped(session->engine, stop, &news));
	switch (stop->kind) {
	case MT_STOP_SIGNAL:
		return go_on(session, stop->lwp, stop->signal);
	case MT_STOP_BREAKPOINT:
		return go_on(session, stop->lwp,
			     news.ordinary || news.breakpoint ? 0 : stop->signal);
	case MT_STOP_GROUP:
		return target_ops(session)->resume(session->target, stop->lwp, MT_RESUME_LISTEN, 0);
	case MT_STOP_NEW_THREAD:
		mt_try(go_on(session, stop->child, 0));
		return go_on(session, stop->lwp, 0);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		mt_try(leave_child(session, stop->child));
		return go_on(session, stop->lwp, 0);
	case MT_STOP_EXEC:
		if (!news.left)
			return go_on(session, stop->lwp, 0);
		engine_ops(session)->remove_thread(session->engine, stop->lwp);
		return target_ops(session)->detach(session->target, stop->pid, 0);
	default:
		return go_on(session, stop->lwp, 0);
	}
}

static struct mt_error *on_thread_stop(struct mt_session *session, struct mt_session_thread *thread,
				       const struct mt_stop *stop,
				       const struct mt_engine_news *news)
{
	if (news->breakpoint)
		return on_breakpoint(session, thread, stop, news);
	if (news->ordinary && stop->kind == MT_STOP_BREAKPOINT)
		return go_on(session, stop->lwp, 0);
	switch (stop->kind) {
	case MT_STOP_SIGNAL:
	case MT_STOP_BREAKPOINT:
		return on_signal(session, thread, stop, news);
	case MT_STOP_NEW_THREAD:
		return on_new_thread(session, thread, stop, news);
	case MT_STOP_FORK:
	case MT_STOP_VFORK:
		return on_fork(session, thread, stop, news);
	case MT_STOP_EXEC:
		return on_exec(session, thread, stop, news);
	case MT_STOP_EXITING:
		return on_exiting(session, thread, stop);
	case MT_STOP_GROUP:
		return target_ops(session)->resume(session->target, stop->lwp, MT_RESUME_LISTEN, 0);
	default:
		mt_try(check_triggers(session, thread, stop, news));
		return go_on(session, stop->lwp, 0);
	}
}

/* Killed under our hands: its end will be told. */
static struct mt_error *ignore_gone(struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *on_stop(struct mt_session *session, const struct mt_stop *stop)
{
	struct mt_engine_news news;

	if (stop->kind == MT_STOP_EXITED)
		return on_exited(session, stop);
	if (stop->kind == MT_STOP_EXEC)
		mt_try(rename_thread(session, stop));
	struct mt_session_thread *thread = find_thread(session, stop->lwp);
	struct mt_error *error = thread ? engine_ops(session)->stopped(session->engine, stop, &news)
					: on_stranger(session, stop);
	if (!thread)
		return ignore_gone(error);
	if (!error && news.maps_changed && stop->kind != MT_STOP_EXEC)
		error = mt_session_put_maps(session, thread->process, news.time_ns);
	if (!error)
		error = on_thread_stop(session, thread, stop, &news);
	return ignore_gone(error);
}

static struct mt_error *leave_all(struct mt_session *session)
{
	mt_try(take_snapshot(session));
	while (session->processes) {
		pid_t pid = session->processes->pid;
		bool keep = false;

		if (engine_ops(session)->let_go)
			mt_try(engine_ops(session)->let_go(session->engine, pid, &keep));
		remove_process(session, session->processes);
		mt_try(target_ops(session)->detach(session->target, pid, 0));
	}
	return NULL;
}

static struct mt_error *check_request(struct mt_session *session)
{
	if (session->attached &&
	    (session->request_ns || (session->end_ns && mt_clock_monotonic_ns() > session->end_ns)))
		return leave_all(session);
	if (session->request_ns &&
	    mt_clock_monotonic_ns() - session->request_ns > REQUEST_PATIENCE_NS)
		return take_snapshot(session);
	return NULL;
}

/* All stops that are there, before any thread goes on: so that none is always the first. */
static struct mt_error *collect(struct mt_session *session)
{
	struct mt_stop stop;

	session->stops.count = 0;
	mt_try(target_ops(session)->wait(session->target, POLL_MS, &stop));
	while (stop.kind != MT_STOP_NONE) {
		if (stop.kind == MT_STOP_REQUEST)
			session->request_ns = mt_clock_monotonic_ns();
		else if (mt_array_push(&session->stops, stop))
			return mt_error_no_memory();
		if (stop.kind == MT_STOP_EXITED || HASH_COUNT(session->threads) < 2)
			break;
		mt_try(target_ops(session)->wait(session->target, 0, &stop));
	}
	return NULL;
}

static bool is_over(const struct mt_session *session)
{
	return !session->processes && (session->result.ended || session->attached);
}

struct mt_error *mt_session_run(struct mt_session *session)
{
	while (!is_over(session)) {
		struct mt_error *error = collect(session);

		if (error && mt_error_code(error) == MT_ERROR_GONE) {
			mt_error_destroy(error); /* nothing is left, and its end was not for us */
			return NULL;
		}
		for (size_t i = 0; !error && i < session->stops.count; i++)
			error = on_stop(session, &session->stops.items[i]);
		if (!error)
			error = check_request(session);
		if (error)
			return error;
	}
	return NULL;
}

struct mt_error *mt_session_finish(struct mt_session *session, struct mt_recording **out)
{
	for (size_t i = 0; i < session->triggers.count; i++)
		if (!session->triggers.items[i].found)
			mt_log(session->options->log, MT_LOG_WARNING,
			       "the trigger %s was found nowhere: no function or line of that name",
			       session->triggers.items[i].text);
	mt_try(mt_recording_writer_finish(session->writer));
	return mt_recording_writer_reopen(session->writer, out);
}

struct mt_session_result mt_session_result(const struct mt_session *session)
{
	return session->result;
}
