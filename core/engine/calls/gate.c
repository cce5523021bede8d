/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gates, for debuggers whose breakpoints are their own.  A gate is a breakpoint at a function's
 * entry (break.c), with a stub (stub.c) and a condition (condition.c), but the debugger sees the
 * signal that the stub sends, and asks whether it is a gate's.  Then the thread enters the
 * function, so that the call is in its ring, and is stepped to where the debugger would have
 * stopped it: behind the prologue, as a rule. */
#include "engine/calls/private.h"

#include "process/proc.h"

#include <signal.h>
#include <string.h>

static struct mt_calls_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_calls_engine *)base;
}

static struct mt_calls_break *break_at(struct mt_calls_space *space, uint64_t address)
{
	for (size_t i = 0; space && i < space->breaks.count; i++) {
		struct mt_calls_break *one = &space->breaks.items[i];

		if (one->address == address || one->asked == address)
			return one;
	}
	return NULL;
}

static struct mt_calls_break *gate_at(struct mt_calls_space *space, uint64_t address)
{
	struct mt_calls_break *one = break_at(space, address);

	return one && one->gate ? one : NULL;
}

/* Why none can be there; NULL: it can. */
static struct mt_error *refuse(const struct mt_calls_engine *engine, struct mt_calls_space *space,
			       uint64_t address)
{
	if (!space || space->stage == MT_CALLS_REFUSED)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "the program's calls are not recorded");
	if (space->stage != MT_CALLS_LOADED || !space->rings)
		return mt_error_new(MT_ERROR_BUSY, "the program is not patched yet");
	if (!mt_calls_place_at(space, address))
		return mt_error_new(MT_ERROR_NOT_FOUND, "no calls are recorded in its file");
	if (mt_calls_is_sandboxed(engine, space))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "process %d is under seccomp",
				    space->pid);
	if (mt_proc_signal_action(space->pid, SIGURG) == MT_SIGNAL_CAUGHT)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "process %d has a handler for SIGURG, by which threads stop",
				    space->pid);
	return NULL;
}

static struct mt_error *set(struct mt_engine *base, pid_t pid, uint64_t address,
			    const struct mt_engine_condition *given)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_break *there = break_at(space, address);

	mt_try(refuse(engine, space, address));
	if (there && there->gate)
		return NULL;
	if (there)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "the function is watched by the engine");
	return mt_calls_set_gate(engine, space, address, given);
}

static struct mt_error *clear(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_break *one = gate_at(space, address);

	if (!one)
		return NULL;
	struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	if (one->condition)
		mt_try(mt_calls_cfi_unlink(engine, space, &one->condition->entry));
	*one = *mt_array_last(&space->breaks);
	space->breaks.count--;
	return place ? mt_calls_text_write(engine, space, place) : NULL;
}

static uint64_t works(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);
	const struct mt_calls_break *one = gate_at(space, address);
	const struct mt_calls_place *place = one ? mt_calls_place_at(space, one->address) : NULL;
	ssize_t patch = place ? mt_calls_patch_at(place, one->address) : -1;

	return patch >= 0 && !space->hidden && place->written[patch] ? one->copy : 0;
}

/* The gate that LWP is at, which has sent the signal. */
static struct mt_calls_break *raised_by(struct mt_calls_engine *engine,
					const struct mt_calls_thread *thread)
{
	struct user_regs_struct registers;
	struct mt_error *error =
	    engine->target->ops->get_registers(engine->target, thread->lwp, &registers);

	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	struct mt_calls_break *one = mt_calls_break_of_stub(thread->space, registers.rip);
	return one && one->gate && one->raised == registers.rip ? one : NULL;
}

static uint64_t hit(struct mt_engine *base, pid_t lwp)
{
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);
	const struct mt_calls_break *one = thread ? raised_by(engine_of(base), thread) : NULL;

	return !one ? 0 : one->asked ? one->asked : one->address;
}

/* Where the instruction at GOAL is run. */
static uint64_t place_of(struct mt_calls_space *space, uint64_t goal)
{
	const struct mt_calls_place *place = mt_calls_place_at(space, goal);
	ssize_t patch = place ? mt_calls_patch_at(place, goal) : -1;
	uint64_t copy = patch >= 0 && place->written[patch]
			    ? mt_calls_module_copy_of(place->module, (size_t)patch, goal)
			    : 0;

	return copy ? copy : goal;
}

static struct mt_error *enter(struct mt_engine *base, pid_t lwp, uint64_t goal, uint64_t *pc)
{
	struct mt_calls_engine *engine = engine_of(base);
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);
	struct mt_calls_break *one = thread ? raised_by(engine, thread) : NULL;
	bool arrived = false;

	*pc = 0;
	if (!one)
		return NULL;
	/* What stands before the patch, an endbr64, was run already. */
	if (goal < one->address)
		goal = one->address;
	mt_try(mt_calls_pass_break(engine, thread->space, lwp, one));
	const uint64_t at = place_of(thread->space, goal);
	mt_try(engine->target->ops->run_to(engine->target, lwp, at, &arrived));
	if (arrived)
		*pc = at;
	return NULL;
}

static struct mt_engine_gate_errors look(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);
	const struct mt_calls_break *one = gate_at(space, address);
	struct mt_engine_gate_errors errors = {0};

	if (!one)
		return errors;
	if (one->condition && one->condition->is_compiled) {
		const struct mt_condition_errors seen = mt_calls_condition_errors(one->condition);

		errors.reads = seen.reads;
		errors.divisions = seen.divisions;
		errors.address = seen.address;
	}
	memcpy(&errors.missed, space->rings->slots + MT_CALLS_MISSED, sizeof(errors.missed));
	return errors;
}

const struct mt_engine_gate_ops mt_calls_gates = {
    .set = set, .clear = clear, .works = works, .hit = hit, .enter = enter, .look = look};
