/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and processes that come, and children that nobody wants to know of.  A forked process has
 * a copy of its parent's patches and breakpoints; a vfork child runs in its parent's memory until
 * it execs, and its parent waits for that.  A child by clone(CLONE_VM) does so beside its parent:
 * it has a ring of its own, or none, and as long as it may come to a breakpoint of ours it is
 * traced.
 */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

static struct mt_calls_space *share(struct mt_calls_space *space)
{
	space->references++;
	return space;
}

static bool take_birth(struct mt_calls_engine *engine, pid_t pid, struct mt_calls_birth *out)
{
	mt_array_each (birth, &engine->births) {
		if (birth->pid != pid)
			continue;
		*out = *birth;
		*birth = *mt_array_last(&engine->births);
		engine->births.count--;
		return true;
	}
	return false;
}

static bool can_read(const struct mt_calls_engine *engine, pid_t pid, uint64_t address)
{
	uint64_t word;

	return engine->target->ops->read(engine->target, pid, address, &word, sizeof(word)) ==
	       sizeof(word);
}

static bool can_read_stack(const struct mt_calls_engine *engine, pid_t pid)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, pid, &registers);
	bool known = !error;

	mt_error_destroy(error);
	return known && can_read(engine, pid, registers.rsp);
}

/* A child that was forked while its parent was being taken has a copy of the memory as it was
 * before: nothing of ours is in it, and nothing must be put there, as what a killed tracer left may
 * be.  Its birth is heard of afterwards.  (One that hides all of its memory is another matter.) */
static bool predates(const struct mt_calls_engine *engine, const struct mt_calls_birth *birth)
{
	const struct mt_calls_rings *rings = birth->parent->rings;

	return !birth->shares && rings && !can_read(engine, birth->pid, rings->address) &&
	       can_read_stack(engine, birth->pid);
}

/* The address space of a thread that comes: its process's, or one of its own. */
static struct mt_calls_space *space_for(struct mt_calls_engine *engine,
					struct mt_calls_thread *thread)
{
	const pid_t pid = thread->pid;
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_birth birth;

	if (space)
		return share(space);
	if (!take_birth(engine, pid, &birth))
		return mt_calls_space_create(pid);
	thread->guest = birth.shares && birth.waits;
	thread->forked = !birth.shares;
	if (predates(engine, &birth))
		space = mt_calls_space_create(pid);
	else
		space = birth.shares ? share(birth.parent) : mt_calls_space_copy(birth.parent, pid);
	mt_calls_space_unref(birth.parent);
	return space;
}

/* A process may let nobody but root write to it (PR_SET_DUMPABLE), or its children. */
static bool is_closed(const struct mt_error *error)
{
	return error && mt_error_code(error) != MT_ERROR_GONE &&
	       mt_error_code(error) != MT_ERROR_NO_MEMORY;
}

static struct mt_error *give_ring(struct mt_calls_engine *engine, struct mt_calls_thread *thread)
{
	struct mt_error *error = mt_calls_give_ring(engine, thread, true);

	if (!is_closed(error))
		return error;
	mt_error_destroy(error);
	thread->guest = true;
	return NULL;
}

struct mt_error *mt_calls_add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent)
{
	(void)parent;

	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return mt_error_no_memory();
	thread->pid = pid;
	thread->lwp = lwp;
	thread->space = space_for(engine, thread);
	if (thread->space)
		HASH_ADD_INT(engine->threads, lwp, thread);
	if (!mt_calls_find_thread(engine, lwp)) {
		mt_calls_space_unref(thread->space);
		free(thread);
		return mt_error_no_memory();
	}
	mt_try(give_ring(engine, thread));
	return mt_calls_move_thread(engine, thread->space, lwp);
}

/* By the arguments of the system call that a thread is in. */
static bool asks_to_share(const struct mt_calls_engine *engine, pid_t pid,
			  const struct user_regs_struct *registers)
{
	struct mt_target *target = engine->target;
	uint64_t flags = 0;

	switch (registers->orig_rax) {
	case SYS_vfork:
		return true;
	case SYS_clone:
		return registers->rdi & CLONE_VM;
	case SYS_clone3: /* clone(2): the flags come first */
		return target->ops->read(target, pid, registers->rdi, &flags, sizeof(flags)) ==
			   sizeof(flags) &&
		       flags & CLONE_VM;
	default:
		return false;
	}
}

static bool child_shares(const struct mt_calls_engine *engine, const struct mt_calls_thread *thread,
			 pid_t child)
{
	int shares = mt_proc_share_memory(thread->pid, child);
	struct user_regs_struct registers;

	if (shares >= 0)
		return shares;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);
	shares = !error && asks_to_share(engine, thread->pid, &registers);
	mt_error_destroy(error);
	return shares;
}

struct bearing {
	const struct mt_calls_engine *engine;
	pid_t pid;
	bool is_bearing;
};

/* Before it has the result, its event was not told, or its child is still there.  One that cannot
 * be asked is held by vfork(), or was until now, and has no ring yet. */
static struct mt_error *see_bearing(void *context, pid_t lwp)
{
	struct bearing *bearing = context;
	struct mt_target *target = bearing->engine->target;
	struct user_regs_struct registers;
	struct mt_error *error = target->ops->get_registers(target, lwp, &registers);

	if (!error) {
		bearing->is_bearing |= (int64_t)registers.rax == -ENOSYS &&
				       asks_to_share(bearing->engine, bearing->pid, &registers);
		return NULL;
	}
	mt_error_destroy(error);
	bearing->is_bearing |= !mt_proc_is_exiting(lwp);
	return NULL;
}

bool mt_calls_is_bearing(const struct mt_calls_engine *engine, const struct mt_calls_space *space)
{
	struct mt_target *target = engine->target;
	struct bearing bearing = {engine, space->pid, false};

	mt_error_destroy(target->ops->each_thread(target, space->pid, see_bearing, &bearing));
	return bearing.is_bearing;
}

struct mt_error *mt_calls_note_birth(struct mt_calls_engine *engine, struct mt_calls_thread *thread,
				     const struct mt_stop *stop)
{
	struct mt_calls_birth birth = {.pid = stop->child,
				       .parent = thread->space,
				       .shares = child_shares(engine, thread, stop->child),
				       .waits = stop->kind == MT_STOP_VFORK};

	if (mt_array_push(&engine->births, birth))
		return mt_error_no_memory();
	share(thread->space)->shared |= birth.shares && !birth.waits;
	if (thread->space->rings && !birth.shares)
		thread->space->rings->is_forked = true;
	return NULL;
}

/* Where a child of vfork() may come to. */
static bool has_triggers(const struct mt_calls_space *space)
{
	mt_array_each (one, &space->breaks)
		if (!one->loader && !(one->condition && one->condition->given.is_of_runtime))
			return true;
	return false;
}

/* Signals of a child that is let go are not told to us.  Its parent is described with it, so that
 * the next child is.  */
static struct mt_error *describe_copy(struct mt_calls_engine *engine,
				      const struct mt_calls_birth *birth)
{
	struct mt_calls_space *copy = mt_calls_space_copy(birth->parent, birth->pid);
	struct mt_error *error = copy ? mt_calls_describe_all(engine, copy) : mt_error_no_memory();

	mt_calls_space_unref(copy);
	return error ? error : mt_calls_describe_all(engine, birth->parent);
}

static struct mt_error *remove_from_copy(struct mt_calls_engine *engine,
					 const struct mt_calls_birth *birth)
{
	mt_try(describe_copy(engine, birth));
	mt_try(mt_calls_remove_breaks(engine, birth->parent, birth->pid));
	return mt_calls_discard(engine, birth->parent, birth->pid);
}

static struct mt_error *keep_child(struct mt_calls_engine *engine, struct mt_calls_birth *birth,
				   bool *keep)
{
	*keep = true;
	if (mt_array_push(&engine->births, *birth))
		return mt_error_no_memory();
	mt_try(mt_calls_add_thread(&engine->base, birth->pid, birth->pid, 0));
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, birth->pid);
	thread->kept = true;
	if (!birth->shares || birth->waits)
		return NULL;
	mt_calls_take_ring(thread);
	thread->guest = true;
	return mt_calls_discard(engine, thread->space, thread->lwp);
}

/* Its breakpoints are those of who made it. */
struct mt_error *mt_calls_keep_thread(struct mt_calls_engine *engine,
				      const struct mt_calls_thread *maker, pid_t lwp)
{
	struct mt_calls_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return mt_error_no_memory();
	*thread = (struct mt_calls_thread){.pid = maker->pid,
					   .lwp = lwp,
					   .space = share(maker->space),
					   .kept = true,
					   .guest = true};
	HASH_ADD_INT(engine->threads, lwp, thread);
	return NULL;
}

/* Somebody whose calls are wanted, of the process that is asked for if possible; NULL: there is
 * nobody. */
static const struct mt_calls_thread *find_recorded(const struct mt_calls_engine *engine,
						   const struct mt_calls_space *space)
{
	const struct mt_calls_thread *found = NULL;

	for (const struct mt_calls_thread *thread = engine->threads; thread;
	     thread = thread->hh.next)
		if (thread->space == space && !thread->kept &&
		    (!found || thread->pid == space->pid))
			found = thread;
	return found;
}

static struct mt_error *leave_kept(struct mt_calls_engine *engine, struct mt_calls_space *space,
				   pid_t pid)
{
	struct mt_calls_thread *thread, *next;

	space->pid = pid;
	space->shared = true;
	struct mt_error *error = mt_calls_detach(engine, space);
	HASH_ITER (hh, engine->threads, thread, next)
		if (thread->pid == pid)
			mt_calls_thread_destroy(engine, thread);
	mt_error_destroy(error);
	return mt_target_detach(engine->target, pid);
}

struct mt_error *mt_calls_leave_memory(struct mt_calls_engine *engine, struct mt_calls_space *space)
{
	const struct mt_calls_thread *other = find_recorded(engine, space);
	struct mt_calls_thread *thread, *next;

	if (other)
		space->pid = other->pid;
	HASH_ITER (hh, engine->threads, thread, next)
		if (!other && thread->space == space && thread->lwp == thread->pid)
			mt_try(leave_kept(engine, space, thread->pid));
	return NULL;
}

/* A child that nobody wants to know of.  One that borrows its parent's memory has the breakpoints
 * in it, and is kept until it has memory of its own, or nobody is recorded in there any more.  But
 * not a vfork child for the loader's breakpoint, nor for what is recorded in a language's runtime,
 * which it does not come to, since it may want to be traced by its parent. */
static struct mt_error *let_go_child(struct mt_calls_engine *engine, struct mt_calls_birth *birth,
				     bool *keep)
{
	struct mt_error *error = NULL;

	if (birth->shares && (!birth->waits || has_triggers(birth->parent)))
		return keep_child(engine, birth, keep);
	if (!birth->shares && !predates(engine, birth))
		error = remove_from_copy(engine, birth);
	if (is_closed(error)) {
		mt_error_destroy(error);
		return keep_child(engine, birth, keep);
	}
	mt_calls_space_unref(birth->parent);
	return error;
}

struct mt_error *mt_calls_disown(struct mt_engine *base, const struct mt_stop *stop)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_thread *thread = mt_calls_find_thread(engine, stop->lwp);
	struct mt_error *error = NULL;
	struct mt_calls_birth birth;

	if (!thread || !thread->space->rings)
		return NULL;
	mt_try(mt_calls_note_birth(engine, thread, stop));
	take_birth(engine, stop->child, &birth);
	if (!birth.shares || !birth.waits)
		error = mt_calls_discard(engine, birth.parent, birth.pid);
	if (!error && !birth.shares && !predates(engine, &birth))
		error = mt_calls_remove_breaks(engine, birth.parent, birth.pid);
	mt_calls_space_unref(birth.parent);
	return error;
}

struct mt_error *mt_calls_let_go(struct mt_engine *base, pid_t pid, bool *keep)
{
	struct mt_calls_engine *engine = (struct mt_calls_engine *)base;
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_birth birth;

	*keep = false;
	if (take_birth(engine, pid, &birth))
		return let_go_child(engine, &birth, keep);
	if (!space)
		return NULL;
	mt_try(mt_calls_unmask(engine, space));
	return mt_calls_detach(engine, space);
}
