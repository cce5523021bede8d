/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers that the program evaluates itself, at nanoseconds a call: at the entry of a function
 * that is recorded stands a gate (engine/engine.h), and the debugger's breakpoint is set aside for
 * as long as the program runs.  All else is the debugger's to evaluate, as ever.
 *
 * The call that meets a condition enters its function before anybody looks, so it is in the
 * history, and stands where the breakpoint would have stopped it: behind the prologue. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

struct placing {
	struct mt_live *live;
	const struct mt_live_alone *alone;
	struct mt_live_trigger *trigger;
};

#define NOT_NOW "its function is left alone at the moment, and not recorded"

static struct mt_error *not_now(void)
{
	return mt_error_new(MT_ERROR_NOT_FOUND, NOT_NOW);
}

static struct mt_error *place_at(void *context, uint64_t address)
{
	struct placing *placing = context;
	struct mt_live_trigger *trigger = placing->trigger;
	struct mt_live_gate gate = {.address = address};

	mt_try(mt_session_gate_set(placing->live->session, placing->live->pid, trigger->location,
				   trigger->condition, address, &gate.entry));
	for (size_t i = 0; placing->alone && i < placing->alone->functions.count; i++)
		if (mt_session_gate_holds(placing->live->session, placing->live->pid, gate.entry,
					  placing->alone->functions.items[i]))
			return not_now();
	return mt_array_push(&trigger->gates, gate) ? mt_error_no_memory() : NULL;
}

/* What the debugger alone knows, or what is another one behind the prologue; NULL: nothing. */
static struct mt_error *check_names(const struct mt_live_trigger *trigger)
{
	static const char *const same[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9"};
	const char *at = trigger->condition;

	while (at && (at = strchr(at, '$'))) {
		size_t length = strcspn(++at, " \t()[]{}+-*/%&|^!=<>.,?:");
		bool is_same = false;

		for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
			is_same |= strlen(same[i]) == length && strncmp(at, same[i], length) == 0;
		if (!is_same)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "$%.*s is known to the debugger alone", (int)length,
					    at);
	}
	return NULL;
}

static void set_aside(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
		      bool aside)
{
	if (trigger->is_aside != aside)
		debugger->ops->set_aside(debugger->context, trigger, aside);
	trigger->is_aside = aside;
}

static void set_reason(struct mt_live_trigger *trigger, const char *why)
{
	free(trigger->why);
	trigger->why = why ? strdup(why) : NULL;
}

/* The first one of a trigger. */
static void tell_reason(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	if (trigger->is_told || !trigger->condition || !trigger->why)
		return;
	trigger->is_told = true;
	mt_live_printf(debugger, "Trigger %u is evaluated by %s, %s: %s.\n", trigger->number,
		       debugger->ops->name, debugger->ops->cost, trigger->why);
}

/* Those of its gates that could be set are not used. */
static struct mt_error *place(struct mt_live_debugger *debugger, struct mt_live *live,
			      const struct mt_live_alone *alone, struct mt_live_trigger *trigger)
{
	struct placing placing = {live, alone, trigger};

	trigger->gates.count = 0;
	set_reason(trigger, NULL);
	struct mt_error *error = check_names(trigger);
	if (!error)
		error =
		    debugger->ops->each_location(debugger->context, trigger, place_at, &placing);
	/* Before the program is patched, it comes to no function of its own. */
	bool waits = error && mt_error_code(error) == MT_ERROR_BUSY;
	if (error && !waits)
		trigger->gates.count = 0;
	set_aside(debugger, trigger, waits || trigger->gates.count);
	if (!error || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	bool is_for_now = mt_error_code(error) == MT_ERROR_NOT_FOUND;
	if (!waits)
		set_reason(trigger, mt_error_message(error));
	mt_error_destroy(error);
	if (!is_for_now)
		tell_reason(debugger, trigger);
	return NULL;
}

struct mt_error *mt_live_place_triggers(struct mt_live_debugger *debugger, struct mt_live *live,
					const struct mt_live_alone *alone)
{
	if (!mt_live_session(live) || !debugger->ops->each_location)
		return NULL;
	mt_session_gates_begin(live->session, live->pid);
	mt_array_each (trigger, &debugger->triggers)
		mt_try(place(debugger, live, alone, *trigger));
	return live->state == MT_LIVE_HIDDEN ? mt_session_gates_end(live->session, live->pid)
					     : NULL;
}

/* Not by its gate again. */
static void go_on(struct mt_live *live)
{
	struct user_regs_struct registers;
	const pid_t lwp = live->passing.lwp;

	live->passing.lwp = 0;
	if (!lwp || live->state != MT_LIVE_SHOWN)
		return;
	const uint64_t behind = mt_session_gate_works(live->session, live->pid, live->passing.at);
	struct mt_error *error = live->target->ops->get_registers(live->target, lwp, &registers);
	if (!error && behind && registers.rip == live->passing.at &&
	    registers.rsp == live->passing.sp) {
		registers.rip = live->passing.pc ? live->passing.pc : behind;
		error = live->target->ops->set_registers(live->target, lwp, &registers);
	}
	mt_error_destroy(error); /* it ended */
}

void mt_live_check_triggers(struct mt_live_debugger *debugger, struct mt_live *live)
{
	if (!mt_live_session(live))
		return;
	go_on(live);
	mt_array_each (one, &debugger->triggers) {
		struct mt_live_trigger *trigger = *one;
		bool works = true;

		mt_array_each (gate, &trigger->gates)
			works &= mt_session_gate_works(live->session, live->pid, gate->entry) != 0;
		if (works)
			continue;
		set_reason(trigger, NOT_NOW);
		set_aside(debugger, trigger, false);
	}
}

void mt_live_take_back_trigger(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	set_aside(debugger, trigger, false);
}

void mt_live_take_back_triggers(struct mt_live_debugger *debugger)
{
	mt_array_each (trigger, &debugger->triggers)
		set_aside(debugger, *trigger, false);
}

static struct mt_live_trigger *trigger_of(const struct mt_live_debugger *debugger, uint64_t entry,
					  uint64_t *goal)
{
	mt_array_each (trigger, &debugger->triggers)
		mt_array_each (gate, &(*trigger)->gates) {
			if (!(*trigger)->is_aside || gate->entry != entry)
				continue;
			*goal = gate->address;
			return *trigger;
		}
	return NULL;
}

static struct mt_error *set_pc(const struct mt_live *live, pid_t lwp, uint64_t pc)
{
	struct user_regs_struct registers;

	mt_try(live->target->ops->get_registers(live->target, lwp, &registers));
	registers.rip = pc;
	return live->target->ops->set_registers(live->target, lwp, &registers);
}

static void moved(const struct mt_live_debugger *debugger, struct mt_live *live)
{
	if (debugger->ops->moved)
		debugger->ops->moved(debugger->context, live);
}

/* The thread goes on in the trampoline where it stands really. */
static struct mt_error *go_back(const struct mt_live_debugger *debugger, struct mt_live *live,
				pid_t lwp, uint64_t pc)
{
	mt_try(set_pc(live, lwp, pc));
	moved(debugger, live);
	return NULL;
}

bool mt_live_pass_gate(struct mt_live_debugger *debugger, struct mt_live *live,
		       struct mt_live_passed *passed)
{
	const pid_t lwp = debugger->ops->lwp(debugger->context);
	const uint64_t entry = mt_live_session(live) && live->state >= MT_LIVE_SHOWN
				   ? mt_session_gate_hit(live->session, lwp)
				   : 0;
	uint64_t goal = entry, pc = 0;

	*passed = (struct mt_live_passed){0};
	if (!entry)
		return false;
	passed->trigger = trigger_of(debugger, entry, &goal);
	passed->error = mt_session_gate_enter(live->session, lwp, goal, &pc);
	/* In a trampoline the debugger would be lost. */
	if (!passed->error && pc && pc != goal)
		passed->error = set_pc(live, lwp, goal);
	moved(debugger, live);
	if (passed->error || !passed->trigger)
		return true;
	passed->error = mt_live_fire(debugger, passed->trigger);
	passed->stops = passed->trigger->stops;
	passed->can_break = pc && (pc == goal || goal == entry);
	if (!pc || pc == goal)
		return true;
	if (passed->stops) {
		live->passing.pc = pc;
		return true;
	}
	struct mt_error *error = go_back(debugger, live, lwp, pc);
	if (passed->error)
		mt_error_destroy(error);
	else
		passed->error = error;
	return true;
}

void mt_live_tell_gates(const struct mt_live_debugger *debugger,
			const struct mt_live_trigger *trigger, struct mt_str *out)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct mt_engine_gate_errors sum = {0};

	if (trigger->why)
		mt_str_appendf(out, "  evaluated by %s, %s: %s\n", debugger->ops->name,
			       debugger->ops->cost, trigger->why);
	mt_array_each (gate, &trigger->gates) {
		if (!mt_live_session(live))
			break;
		const struct mt_engine_gate_errors one =
		    mt_session_gate_look(live->session, live->pid, gate->entry);

		sum.reads += one.reads;
		sum.divisions += one.divisions;
		sum.missed = one.missed;
		sum.address = one.reads ? one.address : sum.address;
	}
	if (sum.reads)
		mt_str_appendf(
		    out,
		    "  could not be evaluated %u time%s: Cannot access memory at address 0x%llx\n",
		    sum.reads, sum.reads == 1 ? "" : "s", (unsigned long long)sum.address);
	if (sum.divisions)
		mt_str_appendf(out, "  could not be evaluated %u time%s: Division by zero\n",
			       sum.divisions, sum.divisions == 1 ? "" : "s");
	if (sum.missed)
		mt_str_appendf(out,
			       "  missed %u time%s: threads block SIGURG, by which they stop\n",
			       sum.missed, sum.missed == 1 ? "" : "s");
}
