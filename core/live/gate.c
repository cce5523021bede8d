/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers that the program evaluates itself, at nanoseconds a call: at the entry of a function
 * that is recorded, or at a line, stands a gate (engine/engine.h), and the debugger's breakpoint is
 * set aside for as long as the program runs.  All else is the debugger's to evaluate, as ever.
 *
 * The call that meets a condition enters its function before anybody looks, so it is in the
 * history, and stands where the breakpoint would have stopped it: behind the prologue. */
#include "expr/regex.h"
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

typedef MT_ARRAY(uint64_t) addresses;

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

static struct mt_error *add_gate(const struct placing *placing, const struct mt_live_gate *gate)
{
	for (size_t i = 0; placing->alone && i < placing->alone->functions.count; i++)
		if (mt_session_gate_shares(placing->live->session, placing->live->pid, &gate->gate,
					   placing->alone->functions.items[i]))
			return not_now();
	return mt_array_push(&placing->trigger->gates, *gate) ? mt_error_no_memory() : NULL;
}

/* Outside of literals; or the end. */
static const char *next_dollar(const char *at)
{
	for (char quote = 0; *at && (quote || *at != '$'); at++) {
		if (quote && *at == '\\' && at[1])
			at++;
		else if (*at == quote)
			quote = 0;
		else if (!quote && (*at == '"' || *at == '\''))
			quote = *at;
	}
	return at;
}

/* $xmm0, or one of the others, COUNT in all. */
static bool is_vector_register(const char *name, size_t length, unsigned count)
{
	char *end;

	return length > 3 && strncmp(name, "xmm", 3) == 0 && strtoul(name + 3, &end, 10) < count &&
	       end == name + length;
}

static bool is_one_of(const char *const *names, const char *name, size_t length)
{
	for (; *names; names++)
		if (strlen(*names) == length && strncmp(*names, name, length) == 0)
			return true;
	return false;
}

/* What the debugger alone knows, or what is another one behind the prologue; NULL: nothing. */
static struct mt_error *check_names(const struct mt_live_trigger *trigger, bool is_line)
{
	static const char *const functions[] = {"_streq", "_memeq",  "_strlen",
						"_regex", "_thread", NULL};
	static const char *const at_entry[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9", NULL};
	static const char *const at_return[] = {"_ret", "_duration", "rax", "rdx", NULL};
	static const char *const at_span[] = {"rdi", "rsi", "rdx",       "rcx",
					      "r8",  "r9",  "_duration", NULL};
	static const char *const at_line[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi",
					      "rbp", "rsp", "r8",  "r9",  "r10", "r11",
					      "r12", "r13", "r14", "r15", NULL};
	const char *const *same = is_line                   ? at_line
				  : trigger->spec.at_return ? at_return
				  : trigger->spec.span_ns   ? at_span
							    : at_entry;
	const unsigned vectors = same == at_line ? 16 : same == at_return ? 2 : 8;
	const char *at = trigger->spec.condition;

	while (at && *(at = next_dollar(at))) {
		size_t length = strcspn(++at, " \t()[]{}+-*/%&|^!=<>.,?:\"'");
		bool is_same = is_one_of(functions, at, length) || is_one_of(same, at, length);

		is_same |= same == at_return && strncmp(at, "_ret", 4) == 0 &&
			   strspn(at + 4, "0123456789") == length - 4;
		is_same |= is_vector_register(at, length, vectors);
		if (!is_same)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "$%.*s is known to the debugger alone", (int)length,
					    at);
	}
	return NULL;
}

static struct mt_error *set_gate(const struct placing *placing, const struct mt_engine_gate *gate,
				 bool is_line)
{
	const struct mt_live_trigger *trigger = placing->trigger;

	mt_try(check_names(trigger, is_line));
	return mt_session_gate_set(placing->live->session, placing->live->pid, &trigger->spec, gate,
				   is_line);
}

/* What cannot be found out at the entry maybe can be where the breakpoint is. */
static struct mt_error *place_at(void *context, uint64_t address)
{
	const struct placing *placing = context;
	const struct mt_live_trigger *trigger = placing->trigger;
	struct mt_session_gate_places places;
	struct mt_error *error = NULL;

	mt_try(mt_session_gate_find(placing->live->session, placing->live->pid, &trigger->spec,
				    address, &places));
	const struct mt_live_gate entry = {.address = address,
					   .gate = {places.entry, trigger->number}};
	const struct mt_live_gate line = {.address = address,
					  .gate = {places.line, trigger->number}};
	if (places.entry)
		error = set_gate(placing, &entry.gate, false);
	if (places.entry &&
	    (!error || !places.line || mt_error_code(error) != MT_ERROR_UNSUPPORTED))
		return error ? error : add_gate(placing, &entry);
	struct mt_error *other = set_gate(placing, &line.gate, true);
	if (other && error && mt_error_code(other) == MT_ERROR_UNSUPPORTED) {
		mt_error_destroy(other);
		return error;
	}
	mt_error_destroy(error);
	return other ? other : add_gate(placing, &line);
}

static struct mt_error *place_begin(void *context, uint64_t entry)
{
	const struct placing *placing = context;
	const struct mt_live_gate gate = {
	    .gate = {.address = entry, .trigger = placing->trigger->number}, .is_begin = true};

	return add_gate(placing, &gate);
}

static void set_aside(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
		      bool aside)
{
	if (trigger->is_aside != aside)
		debugger->ops->set_aside(debugger->context, trigger, aside);
	trigger->is_aside = aside;
}

/* As it is while people look. */
static void take_back(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	set_aside(debugger, trigger, mt_live_needs_gates(trigger) || mt_live_is_done(trigger));
}

static void set_reason(struct mt_live_trigger *trigger, const char *why)
{
	free(trigger->why);
	trigger->why = why ? strdup(why) : NULL;
	if (trigger->why && *trigger->why && trigger->why[strlen(trigger->why) - 1] == '.')
		trigger->why[strlen(trigger->why) - 1] = 0; /* it stands within a sentence */
}

static void append_reason(const struct mt_live_debugger *debugger,
			  const struct mt_live_trigger *trigger, struct mt_str *out)
{
	if (mt_live_needs_gates(trigger))
		mt_str_appendf(out, "sees no calls: %s", trigger->why);
	else
		mt_str_appendf(out, "evaluated by %s, %s: %s", debugger->ops->name,
			       debugger->ops->cost, trigger->why);
}

/* The first one of a trigger. */
static void tell_reason(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	mt_auto(mt_str) struct mt_str reason = {0};

	if (trigger->is_told || !trigger->why ||
	    (!trigger->spec.condition && !mt_live_needs_gates(trigger)))
		return;
	trigger->is_told = true;
	append_reason(debugger, trigger, &reason);
	mt_live_printf(debugger, "Trigger %u %s%s.\n", trigger->number,
		       mt_live_needs_gates(trigger) ? "" : "is ", reason.text ? reason.text : "");
}

/* KNOWN: where they are; NULL: the debugger says so. */
static struct mt_error *set_gates(struct mt_live_debugger *debugger, struct placing *placing,
				  const addresses *known)
{
	struct mt_live_trigger *trigger = placing->trigger;

	if (trigger->spec.begin) {
		mt_try(check_names(trigger, false));
		mt_try(mt_session_gate_set_begin(placing->live->session, placing->live->pid,
						 &trigger->spec, trigger->number, place_begin,
						 placing));
	}
	if (!known)
		return debugger->ops->each_location(debugger->context, trigger, place_at, placing);
	mt_array_each (address, known)
		mt_try(place_at(placing, *address));
	return known->count ? NULL : not_now();
}

/* Those of its gates that could be set are not used. */
static struct mt_error *place(struct mt_live_debugger *debugger, struct mt_live *live,
			      const struct mt_live_alone *alone, struct mt_live_trigger *trigger,
			      const addresses *known)
{
	struct placing placing = {live, alone, trigger};

	trigger->gates.count = 0;
	set_reason(trigger, NULL);
	if (mt_live_is_done(trigger)) {
		set_aside(debugger, trigger, true);
		return NULL;
	}
	struct mt_error *error = set_gates(debugger, &placing, known);
	/* Before the program is patched, it comes to no function of its own. */
	bool waits = error && mt_error_code(error) == MT_ERROR_BUSY;
	if (error && !waits)
		trigger->gates.count = 0;
	if (waits || trigger->gates.count)
		set_aside(debugger, trigger, true);
	else
		take_back(debugger, trigger);
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

/* Whether the thread that was stopped still stands there. */
static bool stands_there(const struct mt_live *live, struct user_regs_struct *registers)
{
	struct mt_error *error =
	    live->target->ops->get_registers(live->target, live->passing.lwp, registers);
	const bool stands =
	    !error && registers->rip == live->passing.at && registers->rsp == live->passing.sp;

	mt_error_destroy(error); /* it ended */
	return stands;
}

static bool has_gate_at(const struct mt_live_trigger *trigger, uint64_t address)
{
	mt_array_each (gate, &trigger->gates)
		if (!gate->is_begin && gate->address == address && gate->gate.address == address)
			return true;
	return false;
}

/* Where the breakpoint of a gate's trigger is, the selected thread was asked when it came there, by
 * the debugger, which does not ask it again; unless that was aside. */
static void note_standing(const struct mt_live_debugger *debugger, struct mt_live *live)
{
	const pid_t lwp = debugger->ops->lwp(debugger->context);
	struct user_regs_struct registers;

	if (live->passing.lwp || !lwp)
		return;
	struct mt_error *error = live->target->ops->get_registers(live->target, lwp, &registers);
	mt_array_each (trigger, &debugger->triggers)
		if (!error && !mt_live_needs_gates(*trigger) && !(*trigger)->was_aside &&
		    has_gate_at(*trigger, registers.rip)) {
			live->passing.lwp = lwp;
			live->passing.at = registers.rip;
			live->passing.sp = registers.rsp;
			live->passing.pc = 0;
			live->passing.at_return = false;
		}
	mt_error_destroy(error);
}

/* Its call has ended in its ring: the instruction that returns is run in its trampoline. */
static void go_on_returning(struct mt_live *live)
{
	struct user_regs_struct registers;

	if (!live->passing.lwp || !live->passing.at_return)
		return;
	if (stands_there(live, &registers)) {
		registers.rip = live->passing.pc;
		mt_error_destroy(
		    live->target->ops->set_registers(live->target, live->passing.lwp, &registers));
	}
	live->passing.lwp = 0;
}

/* Where a span begins nobody was stopped. */
static bool begins_at(const struct mt_live_trigger *trigger, uint64_t function)
{
	mt_array_each (gate, &trigger->gates)
		if (gate->is_begin && gate->gate.address == function)
			return true;
	return false;
}

/* Not by its gate again. */
static void go_on(const struct mt_live_debugger *debugger, struct mt_live *live)
{
	struct mt_engine_gate gate = {.address = live->passing.at};
	struct user_regs_struct registers;
	uint64_t behind = 0;

	if (live->passing.lwp && live->state == MT_LIVE_SHOWN && stands_there(live, &registers))
		mt_array_each (trigger, &debugger->triggers) {
			gate.trigger = (*trigger)->number;
			if (!behind && !begins_at(*trigger, gate.address))
				behind = mt_session_gate_works(live->session, live->pid, &gate);
		}
	if (behind) {
		registers.rip = live->passing.pc ? live->passing.pc : behind;
		mt_error_destroy(
		    live->target->ops->set_registers(live->target, live->passing.lwp, &registers));
	}
	live->passing.lwp = 0;
}

static void number_thread(void *context, const struct mt_live_thread *thread)
{
	struct mt_session *session = context;

	mt_session_number_thread(session, thread->lwp, thread->number);
}

/* Of threads that come while it runs, the debugger tells the numbers. */
static void number_threads(const struct mt_live_debugger *debugger, const struct mt_live *live)
{
	mt_array_each (trigger, &debugger->triggers)
		if ((*trigger)->spec.condition && strstr((*trigger)->spec.condition, "$_thread")) {
			debugger->ops->each_thread(debugger->context, number_thread, live->session);
			return;
		}
}

struct mt_error *mt_live_place_triggers(struct mt_live_debugger *debugger, struct mt_live *live,
					const struct mt_live_alone *alone)
{
	if (!mt_live_session(live) || !debugger->ops->each_location)
		return NULL;
	if (alone)
		go_on_returning(live);
	number_threads(debugger, live);
	mt_session_gates_begin(live->session, live->pid);
	mt_try(mt_live_make_way(debugger, live));
	mt_array_each (trigger, &debugger->triggers)
		mt_try(place(debugger, live, alone, *trigger, NULL));
	if (alone)
		note_standing(debugger, live);
	mt_try(mt_live_place_values(debugger, live));
	mt_try(mt_live_place_words(debugger, live));
	return live->state == MT_LIVE_HIDDEN ? mt_session_gates_end(live->session, live->pid)
					     : NULL;
}

struct mt_error *mt_live_inherit_gates(struct mt_live_debugger *debugger, struct mt_live *live)
{
	struct mt_error *error = NULL;

	if (!mt_live_session(live) || !debugger->ops->each_location)
		return NULL;
	mt_session_number_thread(live->session, live->pid, 1);
	mt_array_each (trigger, &debugger->triggers) {
		addresses known = {0};

		if (!mt_live_needs_gates(*trigger))
			continue;
		mt_array_each (gate, &(*trigger)->gates)
			if (!gate->is_begin && !error && mt_array_push(&known, gate->address))
				error = mt_error_no_memory();
		if (!error)
			error = place(debugger, live, NULL, *trigger, &known);
		mt_array_deinit(&known);
		mt_try(error);
	}
	mt_try(mt_live_place_values(debugger, live));
	return mt_live_place_words(debugger, live);
}

void mt_live_check_triggers(struct mt_live_debugger *debugger, struct mt_live *live)
{
	if (!mt_live_session(live))
		return;
	go_on(debugger, live);
	mt_array_each (one, &debugger->triggers) {
		struct mt_live_trigger *trigger = *one;
		bool works = true;

		mt_array_each (gate, &trigger->gates)
			works &= mt_session_gate_works(live->session, live->pid, &gate->gate) != 0;
		if (works)
			continue;
		set_reason(trigger, NOT_NOW);
		take_back(debugger, trigger);
	}
}

void mt_live_take_back_trigger(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	set_aside(debugger, trigger, false);
}

void mt_live_take_back_triggers(struct mt_live_debugger *debugger)
{
	mt_live_drop_deleted(debugger);
	mt_array_each (trigger, &debugger->triggers)
		take_back(debugger, *trigger);
}

void mt_live_stop_triggers(struct mt_live_debugger *debugger)
{
	mt_array_each (trigger, &debugger->triggers)
		(*trigger)->was_aside = (*trigger)->is_aside;
	mt_live_take_back_triggers(debugger);
}

static struct mt_live_trigger *trigger_of(const struct mt_live_debugger *debugger,
					  const struct mt_engine_gate *hit, uint64_t *goal)
{
	mt_array_each (trigger, &debugger->triggers)
		mt_array_each (gate, &(*trigger)->gates) {
			if (!(*trigger)->is_aside || (*trigger)->number != hit->trigger ||
			    gate->gate.address != hit->address || gate->is_begin)
				continue;
			*goal = gate->address;
			return *trigger;
		}
	mt_array_each (asker, &debugger->askers)
		if ((*asker)->number == hit->trigger)
			return *asker;
	return NULL;
}

static void moved(const struct mt_live_debugger *debugger, struct mt_live *live)
{
	if (debugger->ops->moved)
		debugger->ops->moved(debugger->context, live);
}

static void pass(struct mt_live_debugger *debugger, struct mt_live *live,
		 const struct mt_engine_gate_hit *gate, struct mt_live_passed *passed)
{
	struct mt_live_hit hit = {
	    .pc = gate->gate.address, .took_ns = gate->took_ns, .at_return = gate->at_return};

	passed->trigger = trigger_of(debugger, &gate->gate, &hit.pc);
	passed->error = mt_session_gate_enter(
	    live->session, debugger->ops->lwp(debugger->context),
	    passed->trigger && mt_live_is_looked_at(passed->trigger), &hit.pc, &hit.real_pc);
	moved(debugger, live);
	if (passed->error || !passed->trigger)
		return;
	if (passed->trigger->is_own && passed->trigger->spec.condition) {
		passed->error = mt_session_check_python(live->session, live->pid);
		return;
	}
	passed->error = mt_live_take(debugger, passed->trigger, &hit, &passed->stops);
	if (!passed->error && passed->stops)
		passed->error = mt_session_gate_hold(live->session, live->pid, &gate->gate);
	if (mt_live_is_done(passed->trigger))
		mt_session_gate_mute(live->session, passed->trigger->number);
	/* Others, who come there in time, would be taken for hits at the breakpoint. */
	passed->can_break = !passed->trigger->is_own && !mt_live_needs_gates(passed->trigger) &&
			    hit.real_pc && (hit.real_pc == hit.pc || hit.pc == gate->gate.address);
}

bool mt_live_pass_gate(struct mt_live_debugger *debugger, struct mt_live *live,
		       struct mt_live_passed *passed)
{
	const pid_t lwp = debugger->ops->lwp(debugger->context);

	*passed = (struct mt_live_passed){0};
	if (!mt_live_session(live) || live->state < MT_LIVE_SHOWN)
		return false;
	const struct mt_engine_gate_hit hit = mt_session_gate_hit(live->session, lwp);
	if (!hit.gate.address)
		return false;
	pass(debugger, live, &hit, passed);
	mt_session_gate_leave(live->session, lwp);
	return true;
}

static void append_count(struct mt_str *out, const char *what, uint32_t count, const char *why)
{
	if (count)
		mt_str_appendf(out, "  %s %u time%s: %s\n", what, count, count == 1 ? "" : "s",
			       why);
}

void mt_live_tell_gates(const struct mt_live_debugger *debugger,
			const struct mt_live_trigger *trigger, struct mt_str *out)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct mt_engine_gate_errors sum = {0};

	if (trigger->why) {
		mt_str_append(out, "  ");
		append_reason(debugger, trigger, out);
		mt_str_append(out, "\n");
	}
	if (live && live->session)
		sum = mt_session_gate_look(live->session, trigger->number);
	mt_auto(mt_str) struct mt_str memory = {0};
	mt_str_appendf(&memory, "Cannot access memory at address 0x%llx",
		       (unsigned long long)sum.address);
	append_count(out, "could not be evaluated", sum.reads, memory.text ? memory.text : "");
	append_count(out, "could not be evaluated", sum.divisions, "Division by zero");
	append_count(out, "could not be evaluated", sum.unset,
		     "the thread has no copy yet of thread-local variables of a library");
	append_count(out, "could not be evaluated", sum.undecided,
		     "$_regex: " MT_REGEX_WHY_UNDECIDED);
	append_count(out, "could not be evaluated", trigger->problems,
		     trigger->problem ? trigger->problem : "no memory");
	append_count(out, "missed", sum.missed,
		     "threads block SIGURG, by which they stop, "
		     "or belong to a child that is not recorded");
	append_count(out, "missed", sum.lost, "the program was stopped for something else");
	append_count(out, "not measured", sum.left,
		     "calls ended by an exception, longjmp() or a jump to another function");
}
