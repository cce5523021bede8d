/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Letting go of a process.  While all threads stand still, its texts get the files' pages again
 * (swap.c), a part of them at each stop; that nobody else has written there, or a clean text to put
 * in the place of the patched one, is seen to right before, while they run.  In the last stop they
 * leave the trampolines.  Then nobody comes to memory of ours any more, and it is unmapped, part by
 * part, in the name of a thread that alone stands still meanwhile: if there is one, one that waits
 * for something.
 *
 * Where it is not known that nobody is there (vfork() holds a thread), it stays mapped. */
#include "engine/calls/private.h"

#include "base/clock.h"
#include "process/proc.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define TRIES      100
#define MORE_TRIES 10 /* where all those were in vain */
#define OUTSIDE_NS 1000000
/* Each try may take long where the program hinders us. */
#define PATIENCE_NS 10000000000ull
/* At one stop no more is unmapped: of private memory, whose pages are freed, and of rings, which we
 * have as well. */
#define MOST_PRIVATE (2ull << 20)
#define MOST_SHARED  (16ull << 20)
#define MOST_CALLS   16u /* 40 us each, since there is no list of calls any more */
/* To stop so many takes as long as that. */
#define MOST_THREADS 16u
#define PAGE         4096ull

struct range {
	uint64_t start, end, most;
};

struct leaving {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	struct mt_calls_swap swap;
	MT_ARRAY(struct range) ranges; /* to be unmapped, the last one first */
	uint64_t end_ns;               /* of the tries */
	bool takes_left;               /* what a killed tracer left goes, too */
	bool is_alone;                 /* no thread could be borrowed in all those tries */
	struct mt_error *why;          /* the last one could not be; NULL: none was tried */
};

static void begin_tries(struct leaving *leaving)
{
	leaving->end_ns = mt_clock_monotonic_ns() + PATIENCE_NS;
}

static bool may_try(const struct leaving *leaving, int done)
{
	return done == 0 || (done < TRIES && mt_clock_monotonic_ns() < leaving->end_ns);
}

static struct mt_error *halt(const struct leaving *leaving)
{
	return mt_target_halt(leaving->engine->target, leaving->space->pid);
}

/* Who is stopped by a debugger stays so. */
static void release(const struct leaving *leaving)
{
	if (!leaving->engine->options.live)
		mt_target_release(leaving->engine->target, leaving->space->pid);
}

/* Those in a module's text went with its patches. */
static struct mt_error *remove_breaks(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	mt_array_each (one, &space->breaks) {
		if (one->stub)
			mt_try(mt_calls_stub_silence(engine, one, space->pid));
		if (!mt_calls_place_at(space, one->address))
			mt_try(mt_calls_break_put_back(engine, space->pid, one));
	}
	return NULL;
}

/* But for one, in whose name something is done. */
static void release_others(const struct leaving *leaving, pid_t able)
{
	if (!leaving->engine->options.live)
		mt_target_release_others(leaving->engine->target, leaving->space->pid, able);
}

/* For a moment; what threads have to report is handled. */
static struct mt_error *let_go_on(struct leaving *leaving)
{
	const struct timespec pause = {.tv_nsec = OUTSIDE_NS};

	release(leaving);
	leaving->engine->breathes = true;
	struct mt_error *error = mt_calls_breathe(leaving->engine, leaving->space);
	leaving->engine->breathes = false;
	nanosleep(&pause, NULL);
	return error;
}

/* Threads may all have something to report: then that is handled first.  Whoever goes into a
 * sandbox meanwhile does not come out of it. */
static struct mt_error *halt_able(struct leaving *leaving, pid_t *able)
{
	const int most = leaving->is_alone ? MORE_TRIES : TRIES;

	for (int i = 0; i < most && may_try(leaving, i); i++) {
		mt_try(halt(leaving));
		mt_error_destroy(leaving->why);
		*able = mt_calls_able_thread(leaving->engine, leaving->space, &leaving->why);
		leaving->is_alone &= !*able;
		if (*able || mt_calls_sandbox(leaving->engine, leaving->space))
			return NULL;
		mt_try(let_go_on(leaving));
	}
	leaving->is_alone = true;
	return NULL;
}

/* Who runs in the memory, and is not ours, may be within bytes that are about to change: not for
 * long, as a rule. */
static struct mt_error *halt_calm(struct leaving *leaving, pid_t *able)
{
	mt_try(halt_able(leaving, able));
	for (int i = 0; may_try(leaving, i) && !leaving->engine->options.live &&
			mt_calls_is_bearing(leaving->engine, leaving->space);
	     i++) {
		mt_try(let_go_on(leaving));
		mt_try(halt_able(leaving, able));
	}
	return NULL;
}

/* No error: what is not known stays. */
static void find_left(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;
	struct mt_calls_space *space = leaving->space;

	mt_calls_left_destroy(space->left);
	struct mt_error *error = mt_calls_left_find(engine, space, &space->left);
	if (!error && space->left)
		error = mt_calls_left_add_texts(engine, space, space->left, &leaving->swap);
	leaving->takes_left = space->left && !error;
	mt_error_destroy(error);
}

/* In the name of a thread that alone stands still.  Errors: halt()'s. */
static struct mt_error *map_copies(struct leaving *leaving)
{
	pid_t able = 0;

	mt_try(halt_able(leaving, &able));
	release_others(leaving, able);
	if (able)
		mt_error_destroy(
		    mt_calls_swap_map(leaving->engine, leaving->space, &leaving->swap, able));
	release(leaving);
	return NULL;
}

/* No error but halt()'s: what cannot be made ready is written later. */
static struct mt_error *make_ready(struct leaving *leaving)
{
	struct mt_calls_space *space = leaving->space;
	const bool has_left = leaving->swap.copies.count; /* which is compared with copies */

	mt_array_each (place, &space->places)
		if (mt_calls_swap_add(&leaving->swap, place->module->start, place->module->end,
				      place->module->file->path))
			return NULL;
	if (has_left || mt_calls_swap_needs_copies())
		return map_copies(leaving);
	mt_error_destroy(mt_calls_swap_make_way(leaving->engine, space, &leaving->swap));
	return NULL;
}

/* The texts that are due.  No error: what was not compared is written in place. */
static void compare(struct leaving *leaving)
{
	struct mt_calls_space *space = leaving->space;
	struct mt_error *error = NULL;

	leaving->engine->breathes = true;
	for (size_t i = 0; i < space->places.count && !error; i++) {
		const struct mt_calls_place *place = &space->places.items[i];

		if (mt_calls_swap_is_due(&leaving->swap, place->module->start))
			error = mt_calls_text_prepare_clean(leaving->engine, space, place,
							    &leaving->swap);
	}
	if (leaving->takes_left && !error)
		error = mt_calls_left_fill(leaving->engine, space, space->left, &leaving->swap);
	leaving->engine->breathes = false;
	mt_error_destroy(error);
}

static struct mt_error *clean_place(struct leaving *leaving, struct mt_calls_place *place)
{
	if (!mt_calls_swap_is_exchanged(&leaving->swap, place->module->start))
		return mt_calls_text_clean(leaving->engine, leaving->space, place);
	mt_calls_text_note_written(leaving->space, place, false);
	return NULL;
}

/* The texts that are due.  ABLE 0: there is nobody. */
static struct mt_error *clean_due(struct leaving *leaving, pid_t able)
{
	struct mt_calls_engine *engine = leaving->engine;
	struct mt_calls_space *space = leaving->space;

	mt_try(mt_calls_leave_holes(engine, space));
	if (space->left)
		mt_try(mt_calls_left_follow(engine, space, space->left));
	if (able)
		mt_error_destroy(mt_calls_swap_exchange(engine, space, &leaving->swap, able));
	mt_array_each (place, &space->places)
		if (mt_calls_swap_is_due(&leaving->swap, place->module->start))
			mt_try(clean_place(leaving, place));
	return NULL;
}

/* What was patched since they were collected had no turn. */
static struct mt_error *end_clean(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;
	struct mt_calls_space *space = leaving->space;

	/* Whatever its threads report from now on, it is not recorded any more. */
	space->stage = MT_CALLS_REFUSED;
	mt_array_each (place, &space->places)
		if (!mt_calls_swap_had_turn(&leaving->swap, place->module->start))
			mt_try(mt_calls_text_clean(engine, space, place));
	leaving->takes_left &=
	    space->left && mt_calls_left_is_unreached(engine, space, space->left, &leaving->swap);
	mt_try(remove_breaks(engine, space));
	return mt_calls_end_detour(engine, space);
}

/* At one stop. */
static struct mt_error *clean_all(struct leaving *leaving)
{
	mt_calls_swap_make_due(&leaving->swap, UINT64_MAX);
	mt_try(clean_due(leaving, 0));
	return end_clean(leaving);
}

/* Texts do not depend on each other.  A thread that runs between two stops has its ring. */
static struct mt_error *clean_in_parts(struct leaving *leaving)
{
	const bool live = leaving->engine->options.live; /* it stands still all the time */
	pid_t able = 0;

	for (;;) {
		begin_tries(leaving);
		mt_calls_swap_make_due(&leaving->swap, live ? UINT64_MAX : MT_CALLS_SWAP_AT_ONCE);
		compare(leaving);
		mt_try(halt_calm(leaving, &able));
		if (!able)
			mt_try(halt(leaving));
		mt_try(clean_due(leaving, able));
		if (mt_calls_swap_all_had_turn(&leaving->swap))
			return end_clean(leaving);
		mt_try(let_go_on(leaving));
	}
}

/* A stub has sent a thread a signal that it has blocked, as in the signal's handler: it would come
 * to the program when we are gone. */
static bool is_urged(const struct leaving *leaving)
{
	const struct mt_target *target = leaving->engine->target;
	struct user_regs_struct registers;
	bool is_any = false;

	for (struct mt_calls_thread *thread = leaving->engine->threads; thread;
	     thread = thread->hh.next) {
		if (thread->space != leaving->space)
			continue;
		struct mt_error *error =
		    target->ops->get_registers(leaving->engine->target, thread->lwp, &registers);
		if (!error && mt_calls_break_of_stub(leaving->space, registers.rip))
			thread->urged |= mt_proc_is_queued(thread->lwp, SIGURG);
		is_any |= !error && thread->urged;
		mt_error_destroy(error); /* it ended */
	}
	return is_any;
}

/* Threads in stubs and the agent run out of them, now that no way leads in, and get what stubs have
 * sent them. */
static struct mt_error *wait_until_outside(struct leaving *leaving, bool *inside)
{
	bool in_left = false;

	for (int i = 0; may_try(leaving, i); i++) {
		mt_try(
		    mt_calls_leave_trampolines(leaving->engine, leaving->space, inside, &in_left));
		in_left &= leaving->takes_left;
		const bool urged = is_urged(leaving); /* which is seen in the stub alone */
		if ((!*inside && !in_left && !urged) || leaving->engine->options.live)
			break;
		mt_try(let_go_on(leaving));
		mt_try(halt(leaving));
	}
	leaving->takes_left &= !in_left;
	return NULL;
}

/* What a tracer of ours that was killed here left in the text writes on, in modules that were
 * recorded then and not now: into memory that stays, and holds nothing. */
static bool rings_stay(const struct leaving *leaving)
{
	return leaving->space->inherited && !leaving->engine->options.is_clean &&
	       !leaving->takes_left;
}

/* A GS base that the program set is its own. */
static bool is_slot(const struct mt_calls_space *space, uint64_t gs_base)
{
	return (space->rings && mt_calls_is_slot(space->rings, gs_base)) ||
	       mt_calls_left_holds(space->left, MT_CALLS_LEFT_RINGS, gs_base);
}

static struct mt_error *leave_ring(void *context, pid_t lwp)
{
	const struct leaving *leaving = context;
	struct mt_calls_engine *engine = leaving->engine;
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, lwp, &registers);

	if (!error && is_slot(leaving->space, registers.gs_base))
		error = rings_stay(leaving)
			    ? mt_calls_discard(engine, leaving->space, lwp)
			    : engine->target->ops->set_gs_base(engine->target, lwp, 0);
	mt_error_destroy(error); /* it ended */
	return NULL;
}

static struct mt_error *leave_rings(struct leaving *leaving)
{
	struct mt_target *target = leaving->engine->target;

	mt_try(target->ops->each_thread(target, leaving->space->pid, leave_ring, leaving));
	if (leaving->space->rings && rings_stay(leaving))
		mt_calls_rings_empty(leaving->space->rings);
	return NULL;
}

static int add_range(struct leaving *leaving, uint64_t start, uint64_t bytes, uint64_t most)
{
	struct range range = {start, (start + bytes + PAGE - 1) & ~(PAGE - 1), most};

	return bytes ? mt_array_push(&leaving->ranges, range) : 0;
}

static int add_rest(void *context, uint64_t start, uint64_t bytes)
{
	return add_range(context, start, bytes, MOST_PRIVATE);
}

/* Each at once: no part of it could be found later. */
static int collect_left(struct leaving *leaving, bool directories)
{
	const struct mt_calls_left *left = leaving->takes_left ? leaving->space->left : NULL;
	int failed = 0;

	if (!left)
		return 0;
	mt_array_each (range, &left->ranges)
		if ((range->kind == MT_CALLS_LEFT_ALIVE) == directories)
			failed |= add_range(leaving, range->start, range->end - range->start,
					    range->end - range->start);
	return failed;
}

static struct mt_error *collect(struct leaving *leaving)
{
	struct mt_calls_space *space = leaving->space;
	const struct mt_calls_rings *rings = space->rings;
	uint64_t used = rings ? mt_calls_rings_used_bytes(rings) : 0;
	uint64_t all = rings ? mt_calls_rings_bytes(rings) : 0;
	int failed = 0;

	/* The directories go last: what they list can be found until then. */
	if (rings && !rings_stay(leaving))
		failed |=
		    add_range(leaving, rings->alive_address, MT_CALLS_ALIVE_BYTES, MOST_SHARED);
	failed |= collect_left(leaving, true) | collect_left(leaving, false);
	mt_array_each (place, &space->places)
		failed |= add_range(leaving, place->module->room, place->module->room_bytes,
				    MOST_PRIVATE);
	mt_array_each (room, &space->rooms)
		if (!mt_calls_place_of_room(space, room->start))
			failed |=
			    add_range(leaving, room->start, room->end - room->start, MOST_PRIVATE);
	if (space->agent)
		failed |= add_range(leaving, space->agent, MT_AGENT_BYTES, MOST_PRIVATE);
	failed |= mt_calls_swap_each_rest(&leaving->swap, add_rest, leaving);
	if (rings && !rings_stay(leaving)) {
		failed |= add_range(leaving, rings->address, used, MOST_SHARED);
		failed |= add_range(leaving, rings->address + used, all - used, all);
	}
	return failed ? mt_error_no_memory() : NULL;
}

/* Of a stop of all threads: it takes no longer than to stop them does. */
static double most_work(const struct leaving *leaving)
{
	double threads = 0;

	for (const struct mt_calls_thread *thread = leaving->engine->threads; thread;
	     thread = thread->hh.next)
		threads += thread->space == leaving->space;
	return threads > MOST_THREADS ? threads / MOST_THREADS : 1;
}

/* The next calls to make at one stop: how many. */
static size_t next_part(struct leaving *leaving, struct mt_system_call *calls)
{
	const double most = most_work(leaving);
	double work = 0; /* in what one stop allows where threads are few */
	size_t count = 0;

	while (leaving->ranges.count && work < most && count < MOST_CALLS) {
		struct range *range = mt_array_last(&leaving->ranges);
		uint64_t bytes = range->end - range->start;

		if (bytes > range->most)
			bytes = range->most;
		calls[count++] = (struct mt_system_call){.number = SYS_munmap,
							 .arguments = {range->start, bytes}};
		if (range->start + bytes < range->end)
			mt_calls_unlist(leaving->space, range->start, bytes);
		range->start += bytes;
		work += (double)bytes / (double)range->most;
		if (range->start == range->end)
			leaving->ranges.count--;
	}
	return count;
}

static void tell_of_rest(const struct leaving *leaving)
{
	const pid_t pid = leaving->space->pid;
	const char *sandbox = mt_calls_sandbox(leaving->engine, leaving->space);
	const char *why =
	    leaving->why ? mt_error_message(leaving->why) : "none stands in code of its own";

	if (sandbox)
		mt_log(leaving->engine->options.log, MT_LOG_WARNING,
		       "what was mapped into process %d stays there, unused, up to its end: it %s, "
		       "and an injected system call may kill it",
		       pid, sandbox);
	else
		mt_log(leaving->engine->options.log, MT_LOG_WARNING,
		       "what was mapped into process %d stays there, unused, up to its end, or up "
		       "to \"mtdb attach --for=1ms %d\": no thread of it could be borrowed (%s)",
		       pid, pid, why);
}

static struct mt_error *unmap_ranges(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;
	struct mt_system_call calls[MOST_CALLS];

	while (leaving->ranges.count) {
		pid_t able = 0;

		mt_try(halt_able(leaving, &able));
		if (!able) {
			tell_of_rest(leaving);
			return NULL;
		}
		release_others(leaving, able);
		size_t count = next_part(leaving, calls);
		struct mt_error *error = mt_target_call_systems(engine->target, able, calls, count);
		for (size_t i = 0; i < count && !error; i++)
			mt_calls_unlist(leaving->space, calls[i].arguments[0],
					calls[i].arguments[1]);
		/* It may be the only one, and then gets its turn between two parts. */
		if (!error && !engine->options.live)
			error = let_go_on(leaving);
		else
			release(leaving);
		if (error)
			return error;
		begin_tries(leaving);
	}
	return NULL;
}

/* No other thread can give the numbers another meaning meanwhile. */
static struct mt_error *close_left(struct leaving *leaving)
{
	const struct mt_calls_left *left = leaving->space->left;
	char path[PATH_MAX];
	uint64_t ignored;
	pid_t able = 0;

	if (!left || !left->descriptors.count)
		return NULL;
	mt_try(halt_able(leaving, &able));
	struct mt_error *error = NULL;
	mt_array_each (fd, &left->descriptors)
		if (able && !error && mt_calls_left_is_descriptor(leaving->space->pid, *fd, path))
			error = mt_calls_system(leaving->engine, able, "close a memfd", SYS_close,
						(uint64_t[6]){(uint64_t)*fd}, &ignored);
	release(leaving);
	return error;
}

static struct mt_error *unmap_all(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;

	mt_try(close_left(leaving));
	mt_try(mt_calls_inject_lists(engine, leaving->space, false));
	mt_try(collect(leaving));
	mt_try(unmap_ranges(leaving));
	pid_t able = 0;
	mt_try(halt_able(leaving, &able));
	return able ? mt_calls_inject_end(engine, leaving->space, able) : NULL;
}

static struct mt_error *leave(struct leaving *leaving)
{
	struct mt_calls_space *space = leaving->space;
	bool inside = true;

	find_left(leaving);
	space->is_left = true;
	mt_try(halt(leaving));
	if (mt_calls_sandbox(leaving->engine, space) || space->shared)
		return clean_all(leaving); /* its memory stays */
	release(leaving);
	mt_try(make_ready(leaving));
	mt_try(clean_in_parts(leaving));
	mt_try(wait_until_outside(leaving, &inside));
	if (inside)
		return NULL;
	if (space->left && space->left->ranges.count && !leaving->takes_left)
		mt_log(leaving->engine->options.log, MT_LOG_DEBUG,
		       "what a killed tracer left in process %d stays mapped: it is not certain "
		       "that no thread comes there",
		       space->pid);
	mt_try(leave_rings(leaving));
	release(leaving);
	return unmap_all(leaving);
}

struct mt_error *mt_calls_detach(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct leaving leaving = {.engine = engine, .space = space, .swap.pid = space->pid};

	begin_tries(&leaving);
	if (!space->rings && !space->inject_code)
		return NULL;
	space->references++;
	space->swap = &leaving.swap;
	struct mt_error *error = leave(&leaving);
	space->swap = NULL;
	/* It ended, or became another program, while it was left. */
	if (error && mt_calls_find_space(engine, space->pid) != space) {
		mt_error_destroy(error);
		error = NULL;
	}
	mt_calls_space_unref(space);
	mt_array_deinit(&leaving.swap.copies);
	mt_array_deinit(&leaving.ranges);
	mt_error_destroy(leaving.why);
	return error;
}
