/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/session.h"

#include "kernel/clock.h"
#include "process/proc.h"
#include "session/languages/python.h"
#include "session/private.h"

#include <stdlib.h>
#include <unistd.h>

#define POLL_MS 100
/* Ctrl-C reaches the program too, as a rule: so long is waited for its SIGINT. */
#define REQUEST_PATIENCE_NS 300000000ull
#define ATTACH_PATIENCE_NS  4000000000ull
#define LEFT_PATIENCE_NS    1000000000ull

static uint64_t memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
}

struct mt_error *mt_parse_stamps(const char *text, enum mt_ring_stamps *stamps)
{
	if (strcmp(text, "sampled") != 0 && strcmp(text, "full") != 0)
		return mt_error_new(MT_ERROR_USAGE,
				    "invalid time stamps \"%s\": must be sampled or full", text);
	*stamps = strcmp(text, "full") == 0 ? MT_RING_FULL : MT_RING_SAMPLED;
	return NULL;
}

struct mt_error *mt_session_check_ring(uint64_t ring_bytes)
{
	if (ring_bytes && ring_bytes < MT_ENGINE_LEAST_RING_BYTES)
		return mt_error_new(MT_ERROR_USAGE,
				    "a ring of %llu bytes is too small: at least %u",
				    (unsigned long long)ring_bytes, MT_ENGINE_LEAST_RING_BYTES);
	if (ring_bytes > memory_bytes() / 2)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "a ring of %llu bytes per thread is too large: this machine has %llu bytes "
		    "of memory",
		    (unsigned long long)ring_bytes, (unsigned long long)memory_bytes());
	return NULL;
}

/* ASKED: an option for ENGINES alone, that the user named; NULL: none. */
static struct mt_error *check_option(const struct mt_session *session, const char *asked,
				     const char *engines, bool is_one)
{
	if (!asked || is_one)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "%s is only for the %s, not for %s", asked, engines,
			    session->why.text && !session->why.failed ? session->why.text
								      : session->result.engine);
}

static struct mt_error *check_options(const struct mt_session *session,
				      const struct mt_engine_ops *chosen)
{
	const struct mt_engine_options *options = &session->options->engine;
	const bool is_pt = chosen == &mt_engine_pt, is_sample = chosen == &mt_engine_sample;

	mt_try(check_option(session, options->pt.asked, "engine pt", is_pt));
	mt_try(check_option(session, options->sample.asked, "engine sample", is_sample));
	return check_option(session, options->kernel ? "--kernel" : NULL, "engines pt and sample",
			    is_pt || is_sample);
}

/* The others record everything, which is what nobody meant who named them. */
static void warn_of_calls_options(const struct mt_session *session,
				  const struct mt_engine_ops *chosen)
{
	const struct mt_engine_options *options = &session->options->engine;
	const char *asked = options->modules && *options->modules             ? "--modules"
			    : options->functions && *options->functions       ? "--functions"
			    : options->no_functions && *options->no_functions ? "--no-functions"
			    : options->throttle_ns                            ? "--throttle"
									      : NULL;

	if (asked && !chosen->records_calls)
		mt_log(options->log, MT_LOG_WARNING,
		       "%s is only for the engine calls: %s records everything", asked,
		       chosen->name);
}

/* All stops that are there, before any thread goes on: so that none is always the first. */
static struct mt_error *collect(struct mt_session *session, int patience_ms)
{
	struct mt_stop stop;

	session->stops.count = 0;
	mt_try(mt_target_wait(session->target, patience_ms, &stop));
	while (stop.kind != MT_STOP_NONE) {
		if (stop.kind == MT_STOP_REQUEST)
			session->request_ns = mt_clock_monotonic_ns();
		else if (stop.kind == MT_STOP_SNAPSHOT)
			session->is_asked = true;
		else if (mt_array_push(&session->stops, stop))
			return mt_error_no_memory();
		if (stop.kind == MT_STOP_EXITED || HASH_COUNT(session->threads) < 2)
			break;
		mt_try(mt_target_wait(session->target, 0, &stop));
	}
	return NULL;
}

static bool is_interrupted(const struct mt_error *error)
{
	return error && mt_error_code(error) == MT_ERROR_INTERRUPTED;
}

/* All that happened by now.  Who heard of a request to end while one stop was handled has heard it
 * for that alone: the others may have signals to deliver. */
static struct mt_error *take_all(struct mt_session *session, int patience_ms)
{
	struct mt_error *error = collect(session, patience_ms);

	session->taking = true;
	for (size_t i = 0; (!error || is_interrupted(error)) && i < session->stops.count; i++) {
		struct mt_error *own = mt_session_take(session, &session->stops.items[i]);

		if (!own)
			continue;
		mt_error_destroy(error);
		error = own;
	}
	session->taking = false;
	return error;
}

/* Not while one stop is handled: the others wait for that. */
static struct mt_error *breathe(void *context)
{
	struct mt_session *session = context;

	return session->taking ? NULL : take_all(session, 0);
}

/* What the kernel tells of it is read behind its calls, and would be overwritten meanwhile. */
static struct mt_error *let_hit_thread_go(void *context)
{
	struct mt_session *session = context;
	const pid_t lwp = session->hit_lwp;

	if (session->tracks)
		return NULL;
	session->hit_lwp = 0;
	return lwp ? mt_session_go_on(session, lwp, 0) : NULL;
}

static struct mt_error *create_engine(struct mt_session *session)
{
	const struct mt_engine_ops *chosen = NULL;
	struct mt_engine_options options = session->options->engine;

	options.conversion = session->conversion;
	options.breathe = breathe;
	options.breathe_context = session;
	options.copied = let_hit_thread_go;
	options.copied_context = session;
	mt_try(mt_engine_choose(session->options->engine_name, &chosen, &session->why));
	session->result.engine = chosen->name;
	mt_try(check_options(session, chosen));
	warn_of_calls_options(session, chosen);
	mt_try(mt_session_check_ring(options.ring_bytes));
	return chosen->create(session->target, &options, &session->engine);
}

static struct mt_error *create_writer(struct mt_session *session, const char *const *command)
{
	const struct mt_engine_sample_ops *samples = mt_session_engine_ops(session)->samples;
	struct mt_recording_pt pt = {0};
	struct perf_event_attr stacks;
	struct mt_recording_writer_options options = {
	    .pt = samples ? NULL : &pt,
	    .stacks = samples ? &stacks : NULL,
	    .calls = mt_session_engine_ops(session)->records_calls,
	    .conversion = session->conversion,
	    .beside = session->options->output_path,
	    .command = command,
	};

	mt_session_engine_ops(session)->describe(session->engine, &pt);
	if (samples)
		samples->describe(session->engine, &stacks);
	mt_try(mt_recording_writer_create(session->options->recording_path, &options,
					  &session->writer));
	return mt_session_find_room(session);
}

static void note_borrow(void *context, pid_t lwp, bool borrowed)
{
	const struct mt_session *session = context;

	mt_tracks_borrow(session->tracks, lwp, borrowed);
}

static struct mt_error *create_tracks(struct mt_session *session)
{
	const struct mt_tracks_options options = {
	    .events = session->options->events,
	    .counters = session->options->counters,
	    .conversion = session->conversion,
	    .log = session->options->engine.log,
	    .keep = session->options->engine.live,
	};

	mt_try(mt_tracks_create(&options, &session->tracks));
	if (session->tracks) {
		session->target->on_borrow = note_borrow;
		session->target->borrow_context = session;
	}
	return NULL;
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
	/* The clock of the kernel's own records, where it is made of the TSC. */
	struct mt_time_conversion conversion;
	session->conversion =
	    mt_perf_kernel_conversion(&conversion) ? conversion : mt_time_conversion_measure();
	struct mt_error *error = mt_session_add_triggers(session);
	if (!error)
		error = mt_session_add_watches(session);
	if (!error && (session->triggers.count || session->watches.count))
		error = mt_session_need_pool(session);
	if (!error)
		error = create_tracks(session);
	if (!error)
		error = create_engine(session);
	if (!error)
		error = mt_session_check_engine(session);
	if (!error)
		error = mt_session_check_registers(session);
	if (!error)
		error = create_writer(session, command);
	if (error)
		mt_session_destroy(session);
	else
		*out = session;
	return error;
}

void mt_session_destroy(struct mt_session *session)
{
	if (!session)
		return;
	while (session->processes)
		mt_session_remove_process(session, session->processes);
	if (session->engine)
		mt_session_engine_ops(session)->destroy(session->engine);
	mt_tracks_destroy(session->tracks);
	mt_recording_writer_destroy(session->writer);
	mt_space_pool_destroy(session->pool);
	mt_array_each (trigger, &session->triggers)
		mt_session_trigger_deinit(trigger);
	mt_array_deinit(&session->triggers);
	mt_array_each (watch, &session->watches)
		mt_watch_spec_deinit(watch);
	mt_array_deinit(&session->watches);
	mt_array_deinit(&session->stops);
	mt_str_deinit(&session->why);
	free(session->death);
	mt_session_forget_python(session);
	free(session);
}

static const char *engine_text(const struct mt_session *session)
{
	return session->why.text && !session->why.failed ? session->why.text
							 : session->result.engine;
}

struct mt_error *mt_session_launch(struct mt_session *session, const struct mt_launch *launch)
{
	pid_t pid;

	mt_try(session->target->run->launch(session->target, launch, &pid));
	if (!mt_session_is_32_bit(session, pid))
		return mt_session_begin(session, pid);
	session->result.pid = pid;
	session->result.untraced = true;
	mt_log(session->options->engine.log, MT_LOG_WARNING,
	       "process %d runs on untraced: it is a 32-bit program; only x86-64 programs are "
	       "supported",
	       pid);
	return mt_session_leave(session, pid);
}

struct mt_error *mt_session_begin(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process;
	struct mt_session_thread *thread;

	session->result.pid = pid;
	mt_log(session->options->engine.log, MT_LOG_INFO, "recording with the engine %s",
	       engine_text(session));
	mt_try(mt_session_add_process(session, pid, &process));
	mt_try(mt_session_add_thread(session, process, pid, 0, &thread));
	uint64_t time_ns = mt_session_now(session);
	mt_try(mt_session_put_name(session, thread, true, time_ns));
	mt_try(mt_session_put_birth(session, thread, 0, 0, time_ns));
	mt_try(mt_session_put_maps(session, process, time_ns));
	return mt_session_go_on(session, pid, 0);
}

static int tick_ms(const struct mt_session *session)
{
	const struct mt_engine_live_ops *live = mt_session_engine_ops(session)->live;

	if (!live)
		return POLL_MS;
	return live->tick_ms ? (int)live->tick_ms(session->engine) : MT_ENGINE_TICK_MS;
}

/* All that happened by now, or the next thing that happens. */
static struct mt_error *turn(struct mt_session *session)
{
	mt_try(take_all(session, tick_ms(session)));
	mt_session_tick(session);
	mt_try(mt_session_look_for_made(session));
	return mt_session_drain(session);
}

/* A thread that reports a child or a signal may hold what keeps an engine from attaching: its
 * report is handled before the next attempt. */
static struct mt_error *attach_engine(struct mt_session *session, pid_t pid)
{
	const uint64_t end_ns = mt_clock_monotonic_ns() + ATTACH_PATIENCE_NS;

	for (;;) {
		struct mt_error *error =
		    mt_session_engine_ops(session)->text->attach(session->engine, pid);

		if (!error || mt_error_code(error) != MT_ERROR_BUSY ||
		    mt_clock_monotonic_ns() > end_ns)
			return error;
		mt_error_destroy(error);
		mt_try(turn(session));
	}
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

	mt_try(mt_session_add_thread(session, attaching->process, lwp, 0, &thread));
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
	return mt_session_go_on(context, lwp, 0);
}

struct mt_error *mt_session_attach(struct mt_session *session, pid_t pid)
{
	const struct mt_engine_text_ops *text = mt_session_engine_ops(session)->text;
	struct attaching attaching = {.session = session};

	if (text)
		mt_try(text->prepare_attach(session->engine, pid));
	mt_try(mt_target_attach(session->target, pid));
	session->result.pid = pid;
	attaching.time_ns = mt_session_now(session);
	mt_try(mt_session_add_process(session, pid, &attaching.process));
	session->attached = true;
	mt_try(mt_session_target_ops(session)->each_thread(session->target, pid, take_thread,
							   &attaching));
	if (session->options->engine.live)
		mt_try(mt_session_hide(session, pid));
	if (text)
		mt_try(attach_engine(session, pid));
	/* The front end of a live session reports it in its own words. */
	if (!session->options->engine.live)
		mt_log(session->options->engine.log, MT_LOG_INFO,
		       "recording process %d with the engine %s%s", pid, engine_text(session),
		       session->options->duration_ns ? "" : "; press Ctrl-C to stop");
	if (session->options->duration_ns)
		session->end_ns = mt_clock_monotonic_ns() + session->options->duration_ns;
	/* After the name, which says that a program began there; and breakpoints of triggers come
	 * after the engine, which can then make them harmless. */
	mt_try(mt_session_put_maps(session, attaching.process, attaching.time_ns));
	if (text)
		return NULL;
	return mt_session_target_ops(session)->each_thread(session->target, pid, let_run, session);
}

struct mt_error *mt_session_leave_all(struct mt_session *session)
{
	struct mt_error *first = NULL;

	session->leaving = true;
	while (session->processes) {
		struct mt_error *error = mt_session_leave(session, session->processes->pid);

		if (first)
			mt_error_destroy(error);
		else
			first = error;
	}
	return first;
}

/* The program has ended, and others that it started have not: once, if that lasts. */
static void say_who_is_left(struct mt_session *session)
{
	const struct mt_session_process *process = session->processes;
	mt_auto(mt_str) struct mt_str more = {0};
	char name[16];

	if (!process || !session->ended_ns ||
	    mt_clock_monotonic_ns() - session->ended_ns < LEFT_PATIENCE_NS)
		return;
	session->ended_ns = 0;
	mt_proc_name(process->pid, name);
	if (HASH_COUNT(session->processes) > 1)
		mt_str_appendf(&more, " and %u more", HASH_COUNT(session->processes) - 1);
	mt_log(session->options->engine.log, MT_LOG_INFO,
	       "the program has ended; waiting for process %d (%s)%s that it started (press Ctrl-C "
	       "to let %s go)",
	       process->pid, name, more.text ? more.text : "", more.text ? "them" : "it");
}

/* It does not count for who waits for a trigger. */
static struct mt_error *take_asked(struct mt_session *session)
{
	session->is_asked = false;
	if (!mt_session_has_room(session))
		return NULL;
	mt_try(mt_session_snapshot(session));
	session->asked++;
	mt_log(session->options->engine.log, MT_LOG_INFO, "snapshot %u was taken",
	       session->result.snapshots);
	return NULL;
}

static struct mt_error *check_request(struct mt_session *session)
{
	if (session->is_asked)
		mt_try(take_asked(session));
	if (session->attached && session->options->most_snapshots &&
	    session->result.snapshots - session->asked >= session->options->most_snapshots)
		return mt_session_leave_all(session);
	if (session->result.ended)
		say_who_is_left(session);
	if (session->result.ended && session->request_ns)
		return mt_session_leave_all(session);
	if (session->attached && (session->request_ns ||
				  (session->end_ns && mt_clock_monotonic_ns() > session->end_ns))) {
		mt_try(mt_session_snapshot(session));
		return mt_session_leave_all(session);
	}
	if (session->request_ns &&
	    mt_clock_monotonic_ns() - session->request_ns > REQUEST_PATIENCE_NS)
		return mt_session_snapshot(session);
	return NULL;
}

struct mt_error *mt_session_run(struct mt_session *session)
{
	while (session->processes || !(session->result.ended || session->attached)) {
		struct mt_error *error = turn(session);

		if (error && mt_error_code(error) == MT_ERROR_GONE) {
			mt_error_destroy(error); /* nothing is left, and its end was not for us */
			return NULL;
		}
		/* Planning heard of a request before we did, which comes with the next turn. */
		if ((session->attached || session->result.ended) && is_interrupted(error)) {
			mt_error_destroy(error);
			continue;
		}
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
		if (!session->triggers.items[i].found && !session->triggers.items[i].words)
			mt_log(session->options->engine.log, MT_LOG_WARNING,
			       "%s %s: no such function or line",
			       session->triggers.items[i].mark ? "marks will be missing:"
							       : "the trigger",
			       session->triggers.items[i].text);
	mt_session_tell_problems(session);
	if (session->options->python_calls && !session->has_evaluators && !session->python_is_told)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "--python-calls: no interpreter of CPython 3.11 came");
	if (session->left_out)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "%llu snapshots were not taken, for lack of space",
		       (unsigned long long)session->left_out);
	mt_array_each (watch, &session->watches)
		if (!watch->found)
			mt_log(session->options->engine.log, MT_LOG_WARNING,
			       "%s was not watched: no such variable", watch->text);
	/* The history of threads that ended since the last one. */
	mt_try(mt_session_read_rings(session, 0, 0, session->writer));
	mt_try(mt_recording_writer_keep(session->writer));
	mt_try(mt_recording_writer_finish(session->writer));
	return mt_recording_writer_reopen(session->writer, out);
}

const char *mt_session_kept(const struct mt_session *session)
{
	return mt_recording_writer_kept(session->writer);
}

bool mt_session_recording_failed(const struct mt_session *session)
{
	return mt_recording_writer_has_failed(session->writer);
}

struct mt_error *mt_session_rescue(struct mt_session *session)
{
	return mt_recording_writer_rescue(session->writer);
}

void mt_session_drop(struct mt_session *session)
{
	mt_recording_writer_drop(session->writer);
}

struct mt_session_result mt_session_result(const struct mt_session *session)
{
	return session->result;
}
