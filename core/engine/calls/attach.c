/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A process that runs already: one of its threads makes a remote call of dlopen(), which takes
 * the loader's locks and malloc's.  Another thread that holds them runs on meanwhile and gives them
 * back; the calling one must hold none itself (quiet.c).
 *
 * Nothing is left that would trap without a tracer: should we be killed, the process goes on. */
#include "engine/calls/private.h"

#include "base/clock.h"
#include "process/inject.h"
#include "process/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS   2000000000ull
#define PAUSE_NS      200000
#define MOST_PAUSE_NS 5000000
#define CALL_MS       100
#define RTLD_NOW_     2
#define TRIES         100
/* Of letting go. */
#define OUTSIDE_NS  2000000
#define FRAME_BYTES 16384

struct attach {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	uint64_t dlopen;
	bool has_agent;
	struct mt_calls_quiet *judge; /* NULL: any thread will do */
	pid_t quiet;
};

static struct mt_error *read_auxiliary(struct attach *attach)
{
	char path[64];
	Elf64_auxv_t entries[64];

	snprintf(path, sizeof(path), "/proc/%d/auxv", attach->space->pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, entries, sizeof(entries));
	int errnum = errno;
	if (fd >= 0)
		close(fd);
	if (size < 0)
		return mt_error_errno(errnum, "cannot read %s", path);
	for (size_t i = 0; i < (size_t)size / sizeof(entries[0]); i++) {
		if (entries[i].a_type == AT_BASE)
			attach->space->loader = entries[i].a_un.a_val;
	}
	return NULL;
}

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct attach *attach = context;
	const char *base = strrchr(map->path, '/');

	if (strcmp(map->path, attach->engine->agent.path) == 0)
		attach->has_agent = true;
	if (!base || map->offset ||
	    (strncmp(base, "/libc.", 6) != 0 && strncmp(base, "/libdl.", 7) != 0))
		return NULL;
	uint64_t address = mt_calls_dynamic_symbol(map->path, "dlopen");
	if (address && !attach->dlopen)
		attach->dlopen = map->start + address;
	return NULL;
}

static struct mt_error *try_thread(void *context, pid_t lwp)
{
	struct attach *attach = context;
	struct mt_target *target = attach->engine->target;
	struct user_regs_struct registers;
	const uint64_t nothing[6] = {0};
	int64_t ignored;

	if (attach->quiet)
		return NULL;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);
	/* A thread that cannot do getpid() cannot do more. */
	if (!error && registers.fs_base &&
	    (!attach->judge || mt_calls_is_quiet(attach->judge, &registers))) {
		error = target->ops->call_system(target, lwp, SYS_getpid, nothing, &ignored);
		if (!error)
			attach->quiet = lwp;
	}
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *resume_thread(void *context, pid_t lwp)
{
	struct attach *attach = context;

	if (lwp != attach->quiet)
		mt_error_destroy(
		    mt_target_resume(attach->engine->target, lwp, MT_RESUME_CONTINUE, 0));
	return NULL;
}

/* All but the calling thread. */
static void resume_all(struct attach *attach)
{
	mt_error_destroy(attach->engine->target->ops->each_thread(
	    attach->engine->target, attach->space->pid, resume_thread, attach));
}

/* Halted each time that they are looked at; let go on for longer and longer between. */
static struct mt_error *look_for_quiet(struct attach *attach)
{
	struct mt_target *target = attach->engine->target;
	const uint64_t end_ns = mt_clock_monotonic_ns() + PATIENCE_NS;
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		mt_try(target->ops->each_thread(target, attach->space->pid, try_thread, attach));
		if (attach->quiet || mt_clock_monotonic_ns() > end_ns)
			return NULL;
		resume_all(attach);
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < MOST_PAUSE_NS)
			pause.tv_nsec += PAUSE_NS;
		mt_try(mt_target_halt(target, attach->space->pid));
	}
}

static struct mt_error *find_quiet(struct attach *attach)
{
	if (!attach->has_agent) {
		resume_all(attach);
		mt_try(mt_calls_quiet_create(attach->engine, attach->space, &attach->judge));
		mt_error_destroy(mt_target_halt(attach->engine->target, attach->space->pid));
	}
	struct mt_error *error = look_for_quiet(attach);
	mt_calls_quiet_destroy(attach->judge);
	attach->judge = NULL;
	if (error || attach->quiet)
		return error;
	return mt_error_new(
	    MT_ERROR_BUSY,
	    "no thread of process %d could be made to load the agent: for %llu "
	    "seconds each was within the dynamic loader or malloc whenever it was "
	    "looked at, or could not do a system call (try again, or use --engine step)",
	    attach->space->pid, PATIENCE_NS / 1000000000);
}

/* The path lies at the bottom of the injected stack: far below of what is used. */
static struct mt_error *call_dlopen(struct attach *attach, uint64_t *handle)
{
	struct mt_target *target = attach->engine->target;
	const char *path = attach->engine->agent.path;
	const struct mt_target_call call = {.function = attach->dlopen,
					    .arguments = {attach->space->inject_stack, RTLD_NOW_},
					    .timeout_ms = CALL_MS};

	mt_try(target->ops->write(target, attach->space->pid, attach->space->inject_stack, path,
				  strlen(path) + 1));
	resume_all(attach);
	struct mt_error *error = target->ops->call_function(target, attach->quiet, &call, handle);
	if (error && mt_error_code(error) == MT_ERROR_BUSY)
		attach->space->calling = attach->quiet;
	mt_error_destroy(mt_target_halt(target, attach->space->pid));
	return error;
}

static struct mt_error *load_agent(struct attach *attach)
{
	uint64_t handle = 0;
	struct mt_error *error = call_dlopen(attach, &handle);

	if (error || handle)
		return mt_error_wrap(error, "cannot load the agent");
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "the dynamic loader of process %d did not load %s", attach->space->pid,
			    attach->engine->agent.path);
}

static struct mt_error *cannot(const struct attach *attach, const char *why)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "cannot record the calls of process %d: %s (--engine step can)",
			    attach->space->pid, why);
}

static struct mt_error *check_sandbox(void *context, pid_t lwp)
{
	return mt_proc_is_sandboxed(lwp)
		   ? cannot(context, "it is under seccomp, and an injected system call may kill it")
		   : NULL;
}

/* The thread that an earlier attempt made call comes back by itself. */
static struct mt_error *await_calling(struct attach *attach)
{
	struct mt_target *target = attach->engine->target;
	struct mt_calls_space *space = attach->space;
	struct user_regs_struct registers;

	if (!space->calling)
		return NULL;
	mt_try(target->ops->get_registers(target, space->calling, &registers));
	if (registers.rsp - space->inject_stack < MT_INJECT_STACK_BYTES ||
	    registers.rip - space->inject_code < MT_INJECT_BYTES)
		return mt_error_new(
		    MT_ERROR_BUSY,
		    "thread %d of process %d is waiting for a lock in the dynamic loader",
		    space->calling, space->pid);
	space->calling = 0;
	return NULL;
}

/* Until no thread is within dlopen() or dlclose(): before that, nothing is known of libraries. */
static struct mt_error *await_whole(struct attach *attach)
{
	struct mt_target *target = attach->engine->target;
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (int i = 0; i < TRIES && attach->quiet; i++) {
		if (mt_calls_is_whole(attach->engine, attach->space))
			return NULL;
		attach->quiet = 0;
		resume_all(attach);
		nanosleep(&pause, NULL);
		mt_try(mt_target_halt(target, attach->space->pid));
		mt_try(look_for_quiet(attach));
	}
	return mt_error_new(MT_ERROR_BUSY, "process %d is loading or unloading libraries",
			    attach->space->pid);
}

static struct mt_error *take_over(struct attach *attach)
{
	struct mt_target *target = attach->engine->target;
	uint64_t stop_at = 0;

	mt_try(target->ops->each_thread(target, attach->space->pid, check_sandbox, attach));
	mt_try(mt_target_halt(target, attach->space->pid)); /* but for the first attempt */
	mt_try(await_calling(attach));
	mt_try(read_auxiliary(attach));
	if (!attach->space->loader)
		return cannot(attach, "it has no dynamic loader to load the agent (it is static)");
	mt_try(mt_calls_find_loader(attach->engine, attach->space, &stop_at));
	if (!stop_at)
		return cannot(attach, "its dynamic loader has no debugger interface");
	mt_try(target->ops->each_map(target, attach->space->pid, see_map, attach));
	if (!attach->has_agent && !attach->dlopen)
		return cannot(attach, "it has no dlopen function");
	if (target->ops->watch_libraries)
		mt_try(target->ops->watch_libraries(target, attach->space->pid,
						    attach->space->loader + stop_at));
	mt_try(mt_calls_inject_begin(attach->engine, attach->space));
	mt_try(find_quiet(attach));
	mt_try(mt_calls_inject(attach->engine, attach->space, attach->quiet));
	if (!attach->has_agent)
		mt_try(load_agent(attach));
	mt_try(await_whole(attach));
	mt_try(mt_calls_space_update(attach->engine, attach->space, attach->quiet));
	if (target->ops->watch_libraries)
		return NULL;
	return mt_calls_set_break(attach->engine, attach->space, attach->space->loader + stop_at,
				  true);
}

struct mt_error *mt_calls_attach(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct attach attach = {.engine = engine, .space = space};

	if (space->stage == MT_CALLS_NEW)
		space->stage = MT_CALLS_PREPARED;
	space->roots_pending = space->attached = true;
	struct mt_error *error = take_over(&attach);
	if (error)
		mt_error_destroy(mt_calls_inject_give_up(engine, space));
	mt_target_release(engine->target, space->pid);
	attach.quiet = 0;
	resume_all(&attach);
	return error;
}

struct leaving {
	struct mt_calls_engine *engine;
	struct mt_calls_space *space;
	pid_t able; /* a thread that can do system calls */
	bool inside;
};

static bool is_ours(struct mt_calls_space *space, uint64_t address)
{
	if (mt_calls_place_of_room(space, address))
		return true;
	mt_array_each (room, &space->rooms)
		if (address - room->start < room->end - room->start)
			return true;
	return false;
}

/* By its PC, or by that in a signal's frame: trampolines leave no address on the stack. */
static bool is_inside(struct leaving *leaving, const struct user_regs_struct *registers)
{
	struct mt_target *target = leaving->engine->target;
	uint64_t words[FRAME_BYTES / sizeof(uint64_t)];
	size_t size =
	    target->ops->read(target, leaving->space->pid, registers->rsp, words, sizeof(words));

	if (is_ours(leaving->space, registers->rip))
		return true;
	for (size_t i = 0; i < size / sizeof(uint64_t); i++)
		if (is_ours(leaving->space, words[i]))
			return true;
	return false;
}

static struct mt_error *look_at(void *context, pid_t lwp)
{
	struct leaving *leaving = context;
	struct mt_target *target = leaving->engine->target;
	struct user_regs_struct registers;
	const uint64_t nothing[6] = {0};
	int64_t ignored;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);

	if (!error)
		leaving->inside |= is_inside(leaving, &registers);
	if (!error && !leaving->able) {
		error = target->ops->call_system(target, lwp, SYS_getpid, nothing, &ignored);
		if (!error)
			leaving->able = lwp;
	}
	mt_error_destroy(error);
	return NULL;
}

/* Threads that were within trampolines run out of them, now that no way leads in. */
static struct mt_error *wait_until_outside(struct leaving *leaving)
{
	struct mt_target *target = leaving->engine->target;
	const struct timespec pause = {.tv_nsec = OUTSIDE_NS};

	for (int i = 0; i < TRIES; i++) {
		leaving->inside = false;
		leaving->able = 0;
		mt_try(target->ops->each_thread(target, leaving->space->pid, look_at, leaving));
		if (!leaving->inside)
			return NULL;
		mt_target_release(target, leaving->space->pid);
		nanosleep(&pause, NULL);
		mt_try(mt_target_halt(target, leaving->space->pid));
	}
	return NULL;
}

/* What a tracer of ours that was killed here left in the text writes on, in modules that were
 * recorded then and not now: into memory that stays, and holds nothing. */
static struct mt_error *leave_rings(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;
	const struct mt_calls_space *space = leaving->space;
	const struct mt_ring_position nothing = {0};

	if (!space->inherited || engine->options.is_clean) {
		if (space->template)
			mt_try(engine->target->ops->write(engine->target, space->pid,
							  space->template, &nothing,
							  sizeof(nothing)));
		return mt_calls_rings_unmap(engine, space->rings, leaving->able);
	}
	for (struct mt_calls_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->space == space)
			mt_error_destroy(
			    mt_calls_give_discard_ring(engine, space, thread->pid, thread->lwp));
	mt_calls_rings_empty(space->rings);
	return NULL;
}

static struct mt_error *unmap_all(struct leaving *leaving)
{
	struct mt_calls_engine *engine = leaving->engine;

	mt_try(mt_calls_end_detour(engine, leaving->space));
	mt_array_each (place, &leaving->space->places) {
		mt_try(mt_calls_cfi_unlink(engine, leaving->space, place));
		mt_try(mt_calls_room_unmap(engine, leaving->able, place->module->room,
					   place->module->room_bytes));
	}
	mt_array_each (room, &leaving->space->rooms)
		if (!mt_calls_place_of_room(leaving->space, room->start))
			mt_try(mt_calls_room_unmap(engine, leaving->able, room->start,
						   room->end - room->start));
	mt_try(leave_rings(leaving));
	return mt_calls_inject_end(engine, leaving->space, leaving->able);
}

/* Those in a module's text went with its patches. */
static struct mt_error *remove_breaks(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	mt_array_each (one, &space->breaks) {
		if (one->stub)
			mt_try(mt_calls_stub_silence(engine, one, space->pid));
		if (!mt_calls_place_at(space, one->address))
			mt_try(engine->target->ops->write(engine->target, space->pid, one->address,
							  one->original, one->length));
	}
	return NULL;
}

struct mt_error *mt_calls_detach(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	struct leaving leaving = {.engine = engine, .space = space};

	if (!space->rings)
		return NULL;
	mt_try(mt_target_halt(engine->target, space->pid));
	mt_array_each (place, &space->places)
		mt_try(mt_calls_text_clean(engine, space, place));
	mt_try(remove_breaks(engine, space));
	if (mt_calls_is_sandboxed(engine, space))
		return NULL; /* its memory stays */
	mt_try(wait_until_outside(&leaving));
	if (leaving.inside || !leaving.able)
		return NULL;
	return unmap_all(&leaving);
}
