/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gates of debuggers' breakpoints (engine/engine.h): which are wanted, with conditions as core/expr
 * understands them at the function's entry. */
#include "expr/expr.h"
#include "session/private.h"
#include "space/location.h"

#include <stdlib.h>
#include <string.h>

static const struct mt_engine_gate_ops *ops_of(const struct mt_session *session)
{
	return mt_session_engine_ops(session)->gates;
}

/* *ENTRY: of the function that the debugger's address lies in, if core/space means it by the same
 * text; else 0. */
static struct mt_error *find_entry(struct mt_session_process *process, const char *location,
				   uint64_t address, uint64_t *entry)
{
	const struct mt_location_options options = {.no_inlined = true, .quiet_missing = true};
	const struct mt_function *function = mt_space_function_at(process->code, address);
	struct mt_locations found;
	bool is_it = false;

	const uint64_t start = function ? function->start : 0;
	*entry = 0;
	struct mt_error *error = mt_location_resolve(process->code, location, &options, &found);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	for (size_t i = 0; !error && i < found.count; i++)
		is_it |= found.items[i].address == start && found.items[i].entry == start;
	if (!error)
		mt_locations_deinit(&found);
	mt_error_destroy(error);
	*entry = is_it ? start : 0;
	return NULL;
}

static struct mt_error *not_at_entry(void)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "it is not at the entry of a function");
}

/* The program has something to find out there, which is about no call. */
static bool may_be_at_line(const struct mt_trigger_spec *spec)
{
	return !spec->at_return && !spec->slower_ns && !spec->span_ns &&
	       (spec->condition || mt_engine_is_limited(&spec->limits));
}

static void forget(struct mt_session_gate *gate)
{
	mt_expr_destroy(gate->parsed);
	mt_session_forget_values(&gate->values);
	free(gate->text);
}

void mt_session_forget_gates(struct mt_session_process *process)
{
	mt_array_each (gate, &process->gates)
		forget(gate);
	mt_array_deinit(&process->gates);
	mt_array_deinit(&process->value_sets);
	mt_array_deinit(&process->words);
	process->words_mappings = 0;
}

static struct mt_session_gate *gate_of(struct mt_session_process *process,
				       const struct mt_session_gate *wanted)
{
	mt_array_each (gate, &process->gates)
		if (gate->gate.address == wanted->gate.address &&
		    gate->gate.trigger == wanted->gate.trigger &&
		    gate->is_begin == wanted->is_begin && gate->is_line == wanted->is_line)
			return gate;
	return NULL;
}

/* It is not set in the engine any more, which is done with its condition. */
static void drop(struct mt_session_process *process, struct mt_session_gate *gate)
{
	forget(gate);
	*gate = *mt_array_last(&process->gates);
	process->gates.count--;
}

/* Somewhere else, or later, it may mean something. */
static struct mt_error *not_here(struct mt_error *error)
{
	struct mt_error *other = mt_error_new(MT_ERROR_UNSUPPORTED, "%s", mt_error_message(error));

	mt_error_destroy(error);
	return other;
}

static struct mt_error *parse(struct mt_session *session, struct mt_session_process *process,
			      const struct mt_trigger_spec *spec, struct mt_session_gate *gate)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_trigger_spec_describe(spec, &text);
	gate->text = text.failed ? NULL : strdup(text.text);
	if (!gate->text)
		return mt_error_no_memory();
	if (!spec->condition || gate->is_begin)
		return NULL;
	struct mt_error *error = mt_session_parse_at(session, process, spec, gate->gate.address,
						     !gate->is_line, &gate->parsed);
	if (!error || mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	return not_here(error);
}

static struct mt_error *set(struct mt_session *session, const struct mt_session_process *process,
			    const struct mt_trigger_spec *spec, const struct mt_session_gate *gate)
{
	struct mt_engine_condition given = {.expr = gate->parsed,
					    .text = gate->text,
					    .trigger = gate->gate.trigger,
					    .slower_ns = spec->slower_ns,
					    .at_return = spec->at_return,
					    .span = mt_trigger_span(spec, gate->is_begin),
					    .span_ns = mt_trigger_span_ns(spec),
					    .wants_duration = mt_trigger_wants_duration(spec),
					    .limits = spec->limits};

	given.limits.can_end = spec->most;
	return ops_of(session)->set(session->engine, process->pid, gate->gate.address, &given);
}

static struct mt_error *add(struct mt_session *session, struct mt_session_process *process,
			    const struct mt_trigger_spec *spec,
			    const struct mt_session_gate *wanted)
{
	struct mt_session_gate gate = *wanted;
	struct mt_error *error = parse(session, process, spec, &gate);

	if (!error)
		error = set(session, process, spec, &gate);
	if (!error && mt_array_push(&process->gates, gate))
		error = mt_error_no_memory();
	if (error)
		forget(&gate);
	return error;
}

static struct mt_error *want(struct mt_session *session, struct mt_session_process *process,
			     const struct mt_trigger_spec *spec,
			     const struct mt_session_gate *wanted)
{
	struct mt_session_gate *gate = gate_of(process, wanted);

	if (!gate)
		return add(session, process, spec, wanted);
	gate->is_wanted = true;
	return set(session, process, spec, gate);
}

/* "begin_request: it is not …" */
static struct mt_error *where_it_begins(const struct mt_trigger_spec *spec, struct mt_error *error)
{
	if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	struct mt_error *whole =
	    mt_error_new(mt_error_code(error), "%s: %s", spec->begin, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

void mt_session_gates_begin(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (!process)
		return;
	mt_array_each (gate, &process->gates)
		gate->is_wanted = false;
}

static struct mt_error *runs_none(const struct mt_session *session)
{
	return mt_error_new(MT_ERROR_UNSUPPORTED, "the engine %s runs none in the program",
			    mt_session_engine_ops(session)->name);
}

struct mt_error *mt_session_gate_find(struct mt_session *session, pid_t pid,
				      const struct mt_trigger_spec *spec, uint64_t address,
				      struct mt_session_gate_places *out)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	*out = (struct mt_session_gate_places){.line = may_be_at_line(spec) ? address : 0};
	if (!process || !ops_of(session))
		return runs_none(session);
	mt_try(mt_session_see_all(session, process));
	mt_try(find_entry(process, spec->location, address, &out->entry));
	return out->entry || out->line ? NULL : not_at_entry();
}

struct mt_error *mt_session_gate_set(struct mt_session *session, pid_t pid,
				     const struct mt_trigger_spec *spec,
				     const struct mt_engine_gate *gate, bool is_line)
{
	const struct mt_session_gate wanted = {
	    .gate = *gate, .is_wanted = true, .is_line = is_line};

	return want(session, mt_session_find_process(session, pid), spec, &wanted);
}

/* What is not there once the program's libraries are is said at once. */
static struct mt_error *find_begins(struct mt_session *session, struct mt_session_process *process,
				    const char *text, struct mt_locations *out)
{
	const struct mt_location_options entries = {.no_inlined = true, .no_stubs = true};
	const struct mt_location_options all = {.no_stubs = true};
	struct mt_error *error = mt_location_resolve(process->code, text, &entries, out);

	if (!error || mt_error_code(error) != MT_ERROR_NOT_FOUND ||
	    !mt_session_has_begun(session, process))
		return error;
	struct mt_error *none = mt_location_resolve(process->code, text, &all, out);
	if (none) {
		mt_error_destroy(none);
		return not_here(error);
	}
	mt_locations_deinit(out);
	mt_error_destroy(error);
	return mt_error_new(MT_ERROR_UNSUPPORTED, "%s: it was inlined wherever it is called", text);
}

struct mt_error *mt_session_gate_set_begin(struct mt_session *session, pid_t pid,
					   const struct mt_trigger_spec *spec, uint32_t number,
					   mt_session_entry_found *found, void *context)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	struct mt_session_gate wanted = {
	    .gate.trigger = number, .is_wanted = true, .is_begin = true};
	struct mt_locations places;
	struct mt_error *error = NULL;
	size_t left = 0;

	if (!process || !ops_of(session))
		return runs_none(session);
	mt_try(mt_session_see_all(session, process));
	mt_try(find_begins(session, process, spec->begin, &places));
	for (size_t i = 0; i < places.count && !error; i++) {
		wanted.gate.address = places.items[i].address;
		if (places.items[i].entry != wanted.gate.address)
			error = not_at_entry();
		if (!error)
			error = want(session, process, spec, &wanted);
		/* The dynamic loader, which is not recorded, has some functions of libc's. */
		if (error && mt_error_code(error) == MT_ERROR_NOT_FOUND && ++left < places.count) {
			mt_error_destroy(error);
			error = NULL;
			continue;
		}
		if (!error)
			error = found(context, wanted.gate.address);
	}
	mt_locations_deinit(&places);
	return error ? where_it_begins(spec, error) : NULL;
}

struct mt_error *mt_session_gates_end(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	struct mt_error *error = NULL;

	for (size_t i = process ? process->gates.count : 0; i-- > 0 && !error;) {
		struct mt_session_gate *gate = &process->gates.items[i];

		if (gate->is_wanted)
			continue;
		error = ops_of(session)->clear(session->engine, pid, &gate->gate);
		if (!error)
			drop(process, gate);
	}
	return error;
}

struct mt_error *mt_session_gates_clear(struct mt_session *session, pid_t pid, uint32_t trigger)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	for (size_t i = process ? process->gates.count : 0; i-- > 0;) {
		struct mt_session_gate *gate = &process->gates.items[i];

		if (gate->gate.trigger != trigger)
			continue;
		mt_try(ops_of(session)->clear(session->engine, pid, &gate->gate));
		drop(process, gate);
	}
	return NULL;
}

void mt_session_gate_mute(struct mt_session *session, uint32_t trigger)
{
	ops_of(session)->mute(session->engine, trigger);
}

bool mt_session_gate_shares(struct mt_session *session, pid_t pid,
			    const struct mt_engine_gate *gate, uint64_t address)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	const struct mt_function *function =
	    process && process->code ? mt_space_function_at(process->code, address) : NULL;

	return function && gate->address >= function->start && gate->address < function->end;
}

uint64_t mt_session_gate_works(struct mt_session *session, pid_t pid,
			       const struct mt_engine_gate *gate)
{
	return ops_of(session) ? ops_of(session)->works(session->engine, pid, gate) : 0;
}

struct mt_engine_gate_hit mt_session_gate_hit(struct mt_session *session, pid_t lwp)
{
	return ops_of(session) ? ops_of(session)->hit(session->engine, lwp)
			       : (struct mt_engine_gate_hit){0};
}

struct mt_error *mt_session_gate_enter(struct mt_session *session, pid_t lwp, bool is_looked_at,
				       uint64_t *goal, uint64_t *pc)
{
	return ops_of(session)->enter(session->engine, lwp, is_looked_at, goal, pc);
}

struct mt_error *mt_session_gate_hold(struct mt_session *session, pid_t pid,
				      const struct mt_engine_gate *gate)
{
	return ops_of(session)->hold(session->engine, pid, gate);
}

void mt_session_gate_leave(struct mt_session *session, pid_t lwp)
{
	ops_of(session)->leave(session->engine, lwp);
}

bool mt_session_gate_makes_call(struct mt_session *session, pid_t lwp, uint64_t pc)
{
	return ops_of(session) && ops_of(session)->makes_call(session->engine, lwp, pc);
}

struct mt_engine_gate_errors mt_session_gate_look(struct mt_session *session, uint32_t trigger)
{
	return ops_of(session) ? ops_of(session)->look(session->engine, trigger)
			       : (struct mt_engine_gate_errors){0};
}
