/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that runs already.
 *
 * Nothing is left that would trap without a tracer: should we be killed, the process goes on. */
#include "engine/calls/private.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

#define PATIENCE_NS   2000000000ull
#define PAUSE_NS      200000
#define MOST_PAUSE_NS 5000000
#define STILL_NS      20000000ull
#define REPORT_NS     300000000ull
#define BETWEEN_NS    1000000
#define MOST_UNMAPPED (4ull << 20) /* at one stop */

struct attach {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	pid_t able;                /* a thread that can do system calls; 0: none is known */
	uint64_t rings, rings_end; /* of a tracer of ours that was killed */
	struct mt_held_maps maps;  /* while all stand still */
};

static struct mt_error *resume_thread(void *context, pid_t lwp)
{
	const struct attach *attach = context;

	mt_error_destroy(mt_target_resume(attach->engine->target, lwp, MT_RESUME_CONTINUE, 0));
	return NULL;
}

static void resume_all(struct attach *attach)
{
	mt_error_destroy(attach->engine->target->ops->each_thread(
	    attach->engine->target, attach->space->pid, resume_thread, attach));
}

/* A thread with something to report stands still until that is handled. */
static struct mt_error *hear_reports(const struct attach *attach)
{
	attach->engine->breathes = true;
	struct mt_error *error = mt_calls_breathe(attach->engine, attach->space);
	attach->engine->breathes = false;
	return error;
}

static struct mt_error *cannot(const struct attach *attach, const char *why)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "cannot record the calls of process %d: %s (%s)",
			    attach->space->pid, why, mt_calls_who_can(attach->engine));
}

static struct mt_error *check_sandbox(void *context, pid_t lwp)
{
	const struct attach *attach = context;
	const char *sandbox = mt_calls_sandbox_of(attach->engine, lwp);
	mt_auto(mt_str) struct mt_str why = {0};

	if (sandbox)
		mt_str_appendf(&why, "it %s, and an injected system call may kill it", sandbox);
	return sandbox ? cannot(attach, why.text) : NULL;
}

/* WHY the last one that was tried could not; NULL: none was. */
static struct mt_error *no_able(const struct attach *attach, const struct mt_error *why)
{
	const pid_t pid = attach->space->pid;

	if (why)
		return mt_error_new(
		    MT_ERROR_BUSY, "no thread of process %d could be borrowed for %llu seconds: %s",
		    pid, PATIENCE_NS / 1000000000, mt_error_message(why));
	return mt_error_new(
	    MT_ERROR_BUSY,
	    "no thread of process %d could be borrowed: for %llu seconds none could "
	    "do a system call (try again, or use --engine step)",
	    pid, PATIENCE_NS / 1000000000);
}

/* What threads report is handled, and those that were let go on do so: for longer and longer. */
static struct mt_error *stop_later(const struct attach *attach, struct timespec *pause)
{
	mt_try(hear_reports(attach));
	nanosleep(pause, NULL);
	if (pause->tv_nsec < MOST_PAUSE_NS)
		pause->tv_nsec += PAUSE_NS;
	return mt_target_halt(attach->engine->target, attach->space->pid);
}

/* Halted each time that they are looked at. */
static struct mt_error *find_able(struct attach *attach)
{
	struct mt_target *target = attach->engine->target;
	const uint64_t end_ns = mt_clock_monotonic_ns() + PATIENCE_NS;
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		struct mt_error *why = NULL;

		attach->able = mt_calls_able_thread(attach->engine, attach->space, &why);
		struct mt_error *error = attach->able
					     ? NULL
					     : target->ops->each_thread(target, attach->space->pid,
									check_sandbox, attach);
		if (!attach->able && !error && mt_clock_monotonic_ns() > end_ns)
			error = no_able(attach, why);
		mt_error_destroy(why);
		if (attach->able || error)
			return error;
		resume_all(attach);
		mt_try(stop_later(attach, &pause));
	}
}

static struct mt_error *see_rings(void *context, const struct mt_map *map)
{
	struct attach *attach = context;

	if (strncmp(map->path, "/memfd:" MT_CALLS_RINGS_NAME,
		    sizeof("/memfd:" MT_CALLS_RINGS_NAME) - 1) != 0)
		return NULL;
	if (!attach->rings || map->start < attach->rings)
		attach->rings = map->start;
	if (map->end > attach->rings_end)
		attach->rings_end = map->end;
	return NULL;
}

static struct mt_error *check_gs(void *context, pid_t lwp)
{
	struct attach *attach = context;
	struct user_regs_struct registers;
	struct mt_error *error =
	    attach->engine->target->ops->get_registers(attach->engine->target, lwp, &registers);

	/* It is about to end. */
	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	if (registers.gs_base - attach->rings < attach->rings_end - attach->rings ||
	    !registers.gs_base)
		return NULL;
	return cannot(attach, "it uses the GS register, which the engine calls needs");
}

static struct mt_error *check_gs_users(const struct attach *attach)
{
	const struct mt_calls_space *space = attach->space;
	mt_auto(mt_str) struct mt_str why = {0};

	mt_try(mt_calls_check_gs(attach->engine, space->pid,
				 space->loader_is_libc ? NULL : space->loader_path, &why));
	return why.length ? cannot(attach, why.text) : NULL;
}

static struct mt_error *is_busy(const struct attach *attach, bool is_whole)
{
	const pid_t pid = attach->space->pid;

	return is_whole ? mt_error_new(MT_ERROR_BUSY,
				       "a child of process %d runs in its memory, and did not call "
				       "exec or end for %llu seconds (vfork())",
				       pid, PATIENCE_NS / 1000000000)
			: mt_error_new(MT_ERROR_BUSY,
				       "process %d is loading or unloading libraries", pid);
}

/* Until no thread is within dlopen() or dlclose(), before which nothing is known of libraries; and
 * until nobody is in the memory who is not ours, since patches need a ring.  Whose birth was not
 * told yet is let go on his way while others stand still, so that no more are born; but not for
 * long, since he may wait for them. */
static struct mt_error *await_calm(struct attach *attach)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		bool is_whole = mt_calls_is_whole(attach->engine, attach->space);
		uint64_t waited_ns = mt_clock_monotonic_ns() - begin_ns;

		if (is_whole && attach->space->shared)
			return mt_error_new(MT_ERROR_BUSY,
					    "a child of process %d shares its memory (clone() with "
					    "CLONE_VM)",
					    attach->space->pid);
		if (is_whole && !mt_calls_is_bearing(attach->engine, attach->space))
			return NULL;
		if (waited_ns > PATIENCE_NS)
			return is_busy(attach, is_whole);
		attach->able = 0;
		if (!is_whole || waited_ns > STILL_NS)
			resume_all(attach);
		mt_try(stop_later(attach, &pause));
		mt_try(find_able(attach));
	}
}

static struct mt_error *stop_again(struct attach *attach)
{
	mt_try(mt_target_halt(attach->engine->target, attach->space->pid));
	return find_able(attach);
}

/* All run between two stops: none of them takes as long as both. */
static void let_run(struct attach *attach)
{
	const struct timespec pause = {.tv_nsec = BETWEEN_NS};

	mt_target_let_maps_go(attach->engine->target, &attach->maps);
	resume_all(attach);
	attach->able = 0;
	nanosleep(&pause, NULL);
}

/* A stop of its own for what comes; but who is stopped by a debugger stays so. */
static struct mt_error *stop_anew(struct attach *attach)
{
	if (attach->space->hidden)
		return find_able(attach);
	let_run(attach);
	return stop_again(attach);
}

/* In the stops behind the first: texts do not depend on each other.  A thread that runs in between
 * has its ring, and each text that was exchanged is as it will be, should we be killed. */
static struct mt_error *join(struct attach *attach, struct mt_calls_entering *entering)
{
	for (;;) {
		mt_try(await_calm(attach));
		mt_target_hold_maps(attach->engine->target, attach->space->pid, &attach->maps);
		mt_try(mt_calls_enter_join(entering, attach->able));
		if (mt_calls_enter_has_joined(entering))
			return NULL;
		let_run(attach);
		mt_try(stop_again(attach));
	}
}

static struct mt_error *first_of(struct mt_error *error, struct mt_error *other)
{
	if (!error)
		return other;
	mt_error_destroy(other);
	return error;
}

/* A thread that can do system calls, which alone stands still then. */
static struct mt_error *borrow_another(struct attach *attach)
{
	let_run(attach);
	mt_try(stop_again(attach));
	mt_target_release_others(attach->engine->target, attach->space->pid, attach->able);
	return NULL;
}

/* Step by step, for which one thread alone stands still: it may be the program's only one. */
static struct mt_error *map_all(struct attach *attach, struct mt_calls_entering *entering)
{
	mt_try(borrow_another(attach));
	mt_try(mt_calls_enter_map_rings(entering, attach->able));
	mt_try(borrow_another(attach));
	mt_try(mt_calls_enter_map_agent(entering, attach->able));
	mt_try(borrow_another(attach));
	mt_try(mt_calls_enter_map_rooms(entering, attach->able));
	mt_try(borrow_another(attach));
	return mt_calls_enter_map_copies(entering, attach->able);
}

/* The way in and out of which nobody notices much.  A text that is hidden is not written now, and
 * one with another tracer's patches is cleaned first. */
static struct mt_error *enter(struct attach *attach, struct mt_calls_entering *entering)
{
	struct mt_error *error = map_all(attach, entering);
	/* That one alone: another may stand for a signal by now, which must not be lost. */
	if (attach->able)
		resume_thread(attach, attach->able);
	attach->able = 0;
	if (!error)
		error = mt_calls_enter_fill(entering);
	struct mt_error *lost = stop_again(attach);
	if (!error && !lost)
		error = join(attach, entering);
	return first_of(error, lost);
}

/* Part by part, for each of which one thread alone stands still. */
static struct mt_error *end_enter(struct attach *attach, struct mt_calls_entering *entering)
{
	struct mt_error *error = NULL;

	while (!error && mt_calls_enter_has_rest(entering)) {
		error = borrow_another(attach);
		if (!error)
			error = mt_calls_enter_unmap(entering, attach->able, MOST_UNMAPPED);
	}
	mt_calls_enter_end(entering);
	return error;
}

/* That nothing is against it, and what is there of another tracer. */
static struct mt_error *look_around(struct attach *attach, uint64_t *stop_at)
{
	struct mt_target *target = attach->engine->target;

	mt_try(target->ops->each_thread(target, attach->space->pid, check_sandbox, attach));
	mt_try(mt_calls_find_loader(attach->engine, attach->space, stop_at));
	if (attach->space->loader && !*stop_at)
		return cannot(attach, "its dynamic loader does not tell debuggers of itself");
	mt_try(mt_target_each_map(target, attach->space->pid, see_rings, attach));
	mt_try(target->ops->each_thread(target, attach->space->pid, check_gs, attach));
	mt_try(check_gs_users(attach));
	attach->space->inherited = attach->rings;
	mt_try(mt_calls_left_find(attach->engine, attach->space, &attach->space->left));
	if (target->ops->watch_libraries && *stop_at)
		mt_try(target->ops->watch_libraries(target, attach->space->pid, *stop_at));
	return mt_calls_inject_begin(attach->engine, attach->space);
}

/* Threads have run since the last stop, and the loader did not tell us of libraries yet.  From now
 * on it does: who is amid it says so soon. */
static struct mt_error *catch_up(struct attach *attach)
{
	mt_target_let_maps_go(attach->engine->target, &attach->maps);
	if (mt_calls_space_is_current(attach->engine, attach->space))
		return NULL;
	mt_try(stop_again(attach));
	return mt_calls_space_update(attach->engine, attach->space, attach->able);
}

/* Behind the exchange: what libraries came meanwhile, and what was open when recording began, which
 * is here. */
static struct mt_error *look_again(struct attach *attach)
{
	let_run(attach);
	mt_try(stop_again(attach));
	mt_target_hold_maps(attach->engine->target, attach->space->pid, &attach->maps);
	if (mt_calls_is_whole(attach->engine, attach->space) &&
	    mt_calls_space_is_current(attach->engine, attach->space))
		return NULL;
	/* Their texts are to change. */
	mt_target_let_maps_go(attach->engine->target, &attach->maps);
	return await_calm(attach);
}

static struct mt_error *patch(struct attach *attach, struct mt_calls_entering *entering,
			      uint64_t stop_at)
{
	if (!attach->space->hidden && !attach->space->inherited) {
		mt_try(enter(attach, entering));
		mt_try(look_again(attach));
	} else {
		mt_try(mt_calls_rings_create(attach->engine, attach->space, attach->able));
	}
	mt_try(mt_calls_space_update(attach->engine, attach->space, attach->able));
	if (attach->engine->target->ops->watch_libraries || !stop_at)
		return NULL;
	if (!attach->space->hidden)
		let_run(attach);
	mt_try(mt_calls_set_break(attach->engine, attach->space, stop_at, true, NULL));
	return catch_up(attach);
}

static struct mt_error *take_over(struct attach *attach)
{
	struct mt_calls_entering entering = {.engine = attach->engine, .space = attach->space};
	struct mt_target *target = attach->engine->target;
	uint64_t stop_at = 0;

	mt_target_hold_maps(target, attach->space->pid, &attach->maps);
	struct mt_error *error = look_around(attach, &stop_at);
	mt_target_let_maps_go(target, &attach->maps);
	if (error)
		return error;
	mt_try(stop_anew(attach));
	mt_try(mt_calls_inject(attach->engine, attach->space, attach->able));
	mt_try(await_calm(attach));
	error = patch(attach, &entering, stop_at);
	if (!error)
		return end_enter(attach, &entering);
	/* They stand still already, or nobody can do it. */
	struct mt_error *left = NULL;
	while (attach->able && !left && mt_calls_enter_has_rest(&entering))
		left = mt_calls_enter_unmap(&entering, attach->able, UINT64_MAX);
	mt_calls_enter_end(&entering);
	return first_of(error, left);
}

/* Whose memory or threads are not there any more has become another program, or is about to, and
 * says so soon. */
static void hear_why(struct attach *attach, const struct mt_error *error)
{
	const struct mt_calls_engine *engine = attach->engine;
	const enum mt_error_code code = mt_error_code(error);
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	const uint64_t end_ns = mt_clock_monotonic_ns() + REPORT_NS;

	if (code != MT_ERROR_GONE && code != MT_ERROR_SYSTEM && code != MT_ERROR_NOT_FOUND)
		return;
	while (engine->options.breathe && mt_clock_monotonic_ns() < end_ns &&
	       mt_calls_find_space(engine, attach->space->pid) == attach->space) {
		resume_all(attach);
		mt_error_destroy(hear_reports(attach));
		nanosleep(&pause, NULL);
	}
}

/* What was made for this attempt is in the program, and used up: there is no second one. */
static struct mt_error *try_no_more(struct mt_error *error)
{
	struct mt_error *last = mt_error_new(MT_ERROR_SYSTEM, "%s", mt_error_message(error));

	mt_error_destroy(error);
	return last;
}

struct mt_error *mt_calls_attach(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct attach attach = {.engine = engine, .space = space};

	if (space->stage == MT_CALLS_NEW)
		space->stage = MT_CALLS_PREPARED;
	space->roots_pending = space->attached = true;
	space->references++;
	struct mt_error *error = take_over(&attach);
	if (error)
		hear_why(&attach, error);
	/* It became another program meanwhile, which is recorded as one, and has code of its own
	 * for remote calls. */
	const struct mt_calls_space *now = mt_calls_find_space(engine, space->pid);
	if (error && now && now != space) {
		mt_error_destroy(error);
		error = NULL;
	} else if (error) {
		mt_error_destroy(mt_calls_inject_give_up(engine, space));
		if (mt_error_code(error) == MT_ERROR_BUSY && space->stage != MT_CALLS_PREPARED)
			error = try_no_more(error);
	}
	mt_target_let_maps_go(engine->target, &attach.maps);
	resume_all(&attach);
	mt_calls_space_unref(space);
	return error;
}
