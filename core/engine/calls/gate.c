/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gates, for debuggers whose breakpoints are their own.  A gate is a breakpoint at a function's
 * entry (break.c), at its returns (slow.c), or at a line (line.c), with a stub (stub.c) and a
 * condition (condition.c), but the debugger sees the signal that the stub sends, and asks whether
 * it is a gate's.  Then the thread enters the function: we write the call into its ring, and it
 * goes on behind the code that would have done so.  Only if people are to look at it there is it
 * stepped to where the debugger would have stopped it, behind the prologue, as a rule: should we be
 * killed meanwhile, it would be left to be stepped, which SIGTRAP ends.  At a return
 * the call's end is in its ring by then, and the instruction itself is to be run, as it is at a
 * line. */
#include "engine/calls/private.h"

#include "base/clock.h"
#include "process/proc.h"

#include <signal.h>
#include <string.h>

static struct mt_calls_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_calls_engine *)base;
}

/* Its first one: a gate at returns has one for each, and one where calls begin maybe. */
static struct mt_calls_break *gate_of(struct mt_calls_space *space,
				      const struct mt_engine_gate *gate)
{
	for (size_t i = 0; space && i < space->breaks.count; i++) {
		struct mt_calls_break *one = &space->breaks.items[i];

		if (one->gate && one->trigger == gate->trigger &&
		    mt_calls_break_is_at(one, gate->address))
			return one;
	}
	return NULL;
}

/* Why none can be there; NULL: it can. */
static struct mt_error *refuse(const struct mt_calls_engine *engine, struct mt_calls_space *space,
			       uint64_t address, bool stops)
{
	if (!space || space->stage == MT_CALLS_REFUSED)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "the program's calls are not recorded");
	if (space->stage != MT_CALLS_LOADED || !space->rings)
		return mt_error_new(MT_ERROR_BUSY, "the program is not patched yet");
	if (!mt_calls_place_at(space, address))
		return mt_error_new(MT_ERROR_NOT_FOUND, "no calls are recorded in its file");
	if (!stops)
		return NULL;
	const char *sandbox = mt_calls_sandbox(engine, space);
	if (sandbox)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "process %d %s", space->pid, sandbox);
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
	const struct mt_engine_gate gate = {.address = address, .trigger = given->trigger};

	const bool stops = !given->values && given->span != MT_ENGINE_SPAN_BEGIN;

	mt_try(refuse(engine, space, address, stops));
	if (gate_of(space, &gate))
		return NULL;
	if (!given->at_return && !given->slower_ns && stops &&
	    mt_calls_stopping_break_at(space, address))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "another trigger is at the same place");
	return mt_calls_set_gate(engine, space, address, given);
}

static struct mt_error *clear(struct mt_engine *base, pid_t pid, const struct mt_engine_gate *gate)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_space *space = mt_calls_find_space(engine, pid);
	struct mt_calls_break *one;

	while ((one = gate_of(space, gate)))
		mt_try(mt_calls_break_retire(engine, space, one));
	return NULL;
}

static void mute(struct mt_engine *base, uint32_t trigger)
{
	const struct mt_calls_engine *engine = engine_of(base);

	mt_array_each (condition, &engine->conditions)
		if ((*condition)->is_gate && (*condition)->rings &&
		    (*condition)->given.trigger == trigger)
			mt_calls_condition_mute(engine, *condition);
}

static bool is_written(struct mt_calls_space *space, const struct mt_calls_break *one)
{
	if (mt_calls_break_is_line(one))
		return one->written;
	const struct mt_calls_place *place = mt_calls_place_at(space, one->address);
	ssize_t patch = place ? mt_calls_patch_at(place, one->address) : -1;

	return patch >= 0 && !space->hidden && place->written[patch];
}

static uint64_t works(struct mt_engine *base, pid_t pid, const struct mt_engine_gate *gate)
{
	struct mt_calls_space *space = mt_calls_find_space(engine_of(base), pid);
	uint64_t copy = 0;

	if (!space)
		return 0;
	mt_array_each (one, &space->breaks) {
		if (!one->gate || one->trigger != gate->trigger ||
		    !mt_calls_break_is_at(one, gate->address))
			continue;
		/* Some returns are caught elsewhere: at the jumps to them. */
		if (is_written(space, one))
			copy = one->copy;
		else if (!one->hook)
			return 0;
	}
	return copy;
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

static struct mt_engine_gate_hit hit(struct mt_engine *base, pid_t lwp)
{
	struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);
	const struct mt_calls_break *one = thread ? raised_by(engine_of(base), thread) : NULL;

	if (!one)
		return (struct mt_engine_gate_hit){0};
	thread->held_tsc = mt_clock_tsc();
	return (struct mt_engine_gate_hit){
	    .gate = {.address = one->asked ? one->asked : one->address, .trigger = one->trigger},
	    .at_return = one->hook,
	    .took_ns =
		mt_calls_break_is_timed(one) ? mt_calls_slow_ns(engine_of(base), thread) : 0};
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

static struct mt_error *enter(struct mt_engine *base, pid_t lwp, bool is_looked_at, uint64_t *goal,
			      uint64_t *pc)
{
	struct mt_calls_engine *engine = engine_of(base);
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine, lwp);
	struct mt_calls_break *one = thread ? raised_by(engine, thread) : NULL;
	bool arrived = false;

	*pc = 0;
	if (!one)
		return NULL;
	mt_try(mt_calls_pass_break(engine, thread->space, lwp, one));
	if (one->hook || mt_calls_break_is_line(one)) {
		*goal = one->address;
		*pc = one->copy;
		return NULL;
	}
	mt_try(mt_calls_enter_function(engine, thread, one, one->next, pc));
	if (*pc && !is_looked_at)
		return NULL;
	*pc = 0;
	/* What stands before the patch, an endbr64, was run already. */
	if (*goal < one->address)
		*goal = one->address;
	const uint64_t at = place_of(thread->space, *goal);
	mt_try(engine->target->ops->run_to(engine->target, lwp, at, &arrived));
	if (arrived)
		*pc = at;
	return NULL;
}

static struct mt_error *hold(struct mt_engine *base, pid_t pid, const struct mt_engine_gate *gate)
{
	struct mt_calls_engine *engine = engine_of(base);
	struct mt_calls_break *one = gate_of(mt_calls_find_space(engine, pid), gate);

	if (!one || !mt_calls_break_is_line(one) || !one->written)
		return NULL;
	one->held = true;
	one->written = false;
	mt_try(mt_target_halt(engine->target, pid));
	struct mt_error *error = mt_calls_break_put_back(engine, pid, one);
	mt_target_release(engine->target, pid);
	return error;
}

static void leave(struct mt_engine *base, pid_t lwp)
{
	struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);

	if (thread)
		mt_calls_let_run(thread);
}

static bool makes_call(struct mt_engine *base, pid_t lwp, uint64_t pc)
{
	const struct mt_calls_thread *thread = mt_calls_find_thread(engine_of(base), lwp);
	const struct mt_calls_break *one =
	    thread ? mt_calls_break_of_stub(thread->space, pc) : NULL;

	if (one)
		return pc <= one->raised; /* copies of the program's instructions are behind it */
	return thread && mt_calls_condition_is_probe(thread->space, pc);
}

/* Conditions, and the memory with their counts, outlive the process. */
static struct mt_engine_gate_errors look(struct mt_engine *base, uint32_t trigger)
{
	const struct mt_calls_engine *engine = engine_of(base);
	const struct mt_calls_rings *values_of = NULL;
	struct mt_engine_gate_errors errors = {0};

	mt_array_each (each, &engine->conditions) {
		const struct mt_calls_condition *one = *each;

		if (!one->is_gate || !one->is_compiled || one->given.trigger != trigger)
			continue;
		errors.lost += one->lost;
		if (one->is_end) { /* the rest it shares with its beginning */
			errors.reads += one->faults;
			continue;
		}
		if (mt_calls_records_values(one) && one->rings == values_of)
			continue; /* those of a process count in its first one */
		values_of = one->rings;
		const struct mt_condition_errors seen = mt_calls_condition_errors(one);
		errors.reads += seen.reads;
		errors.divisions += seen.divisions;
		errors.unset += seen.unset;
		errors.undecided += seen.undecided;
		errors.left += seen.lost;
		errors.address = seen.reads ? seen.address : errors.address;
		memcpy(&errors.missed, one->rings->slots + MT_CALLS_MISSED, sizeof(errors.missed));
	}
	return errors;
}

const struct mt_engine_gate_ops mt_calls_gates = {.set = set,
						  .clear = clear,
						  .mute = mute,
						  .works = works,
						  .hit = hit,
						  .enter = enter,
						  .hold = hold,
						  .leave = leave,
						  .makes_call = makes_call,
						  .look = look};
