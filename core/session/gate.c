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

struct seeing {
	struct mt_session *session;
	struct mt_session_process *process;
};

static struct mt_error *see(void *context, const struct mt_map *map)
{
	const struct seeing *seeing = context;
	const struct mt_mapping mapping = {.start = map->start,
					   .end = map->end,
					   .offset = map->offset,
					   .path = map->path[0] ? map->path : "//anon"};

	return map->executable && map->path[0] == '/' && !(map->start >> 63)
		   ? mt_space_add(seeing->process->code, &mapping)
		   : NULL;
}

/* From now on mt_session_see_code() adds what comes. */
static struct mt_error *see_all(struct mt_session *session, struct mt_session_process *process)
{
	struct seeing seeing = {session, process};

	if (process->program)
		return NULL;
	if (!session->pool)
		mt_try(mt_space_pool_create(NULL, &session->pool));
	if (!process->code)
		mt_try(mt_space_create(session->pool, process->pid, &process->code));
	mt_try(
	    mt_session_target_ops(session)->each_map(session->target, process->pid, see, &seeing));
	return mt_expr_program_create(process->code, &process->program);
}

/* The debugger's address lies in a function that core/space means by the same text. */
static struct mt_error *find_entry(struct mt_session_process *process, const char *location,
				   uint64_t address, uint64_t *entry)
{
	const struct mt_location_options options = {.no_inlined = true, .quiet_missing = true};
	const struct mt_function *function = mt_space_function_at(process->code, address);
	struct mt_locations found;
	bool is_it = false;

	*entry = function ? function->start : 0;
	struct mt_error *error = mt_location_resolve(process->code, location, &options, &found);
	if (error && mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	for (size_t i = 0; !error && i < found.count; i++)
		is_it |= found.items[i].address == *entry && found.items[i].entry == *entry;
	if (!error)
		mt_locations_deinit(&found);
	mt_error_destroy(error);
	return is_it ? NULL
		     : mt_error_new(MT_ERROR_UNSUPPORTED, "it is not at the entry of a function");
}

static void forget(struct mt_session_gate *gate)
{
	mt_expr_destroy(gate->parsed);
	free(gate->condition);
}

void mt_session_forget_gates(struct mt_session_process *process)
{
	mt_array_each (gate, &process->gates)
		forget(gate);
	mt_array_deinit(&process->gates);
}

static bool is_same(const char *one, const char *other)
{
	return one && other ? strcmp(one, other) == 0 : one == other;
}

static struct mt_session_gate *gate_at(struct mt_session_process *process, uint64_t entry)
{
	mt_array_each (gate, &process->gates)
		if (gate->entry == entry)
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

static struct mt_error *add(struct mt_session *session, struct mt_session_process *process,
			    uint64_t entry, const char *condition)
{
	struct mt_session_gate gate = {.entry = entry, .is_wanted = true};
	struct mt_error *error = NULL;

	if (condition)
		error = mt_session_parse_at(session, process, condition, entry, true, &gate.parsed);
	/* Somewhere else it may mean something. */
	if (error && mt_error_code(error) != MT_ERROR_NO_MEMORY) {
		struct mt_error *other =
		    mt_error_new(MT_ERROR_UNSUPPORTED, "%s", mt_error_message(error));
		mt_error_destroy(error);
		error = other;
	}
	if (!error && condition)
		gate.condition = strdup(condition);
	if (!error && condition && !gate.condition)
		error = mt_error_no_memory();
	const struct mt_engine_condition given = {.expr = gate.parsed, .text = gate.condition};
	if (!error)
		error = ops_of(session)->set(session->engine, process->pid, entry, &given);
	if (!error && mt_array_push(&process->gates, gate))
		error = mt_error_no_memory();
	if (error)
		forget(&gate);
	return error;
}

void mt_session_gates_begin(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (!process)
		return;
	mt_array_each (gate, &process->gates)
		gate->is_wanted = false;
}

struct mt_error *mt_session_gate_set(struct mt_session *session, pid_t pid, const char *location,
				     const char *condition, uint64_t address, uint64_t *entry)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);

	if (!process || !ops_of(session))
		return mt_error_new(MT_ERROR_UNSUPPORTED, "the engine %s runs none in the program",
				    mt_session_engine_ops(session)->name);
	mt_try(see_all(session, process));
	mt_try(find_entry(process, location, address, entry));
	struct mt_session_gate *gate = gate_at(process, *entry);
	if (gate && gate->is_wanted)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "another trigger is at the same place");
	if (gate && is_same(gate->condition, condition)) {
		gate->is_wanted = true;
		const struct mt_engine_condition given = {.expr = gate->parsed,
							  .text = gate->condition};
		return ops_of(session)->set(session->engine, pid, *entry, &given);
	}
	if (gate) {
		mt_try(ops_of(session)->clear(session->engine, pid, *entry));
		drop(process, gate);
	}
	return add(session, process, *entry, condition);
}

struct mt_error *mt_session_gates_end(struct mt_session *session, pid_t pid)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	struct mt_error *error = NULL;

	for (size_t i = process ? process->gates.count : 0; i-- > 0 && !error;) {
		struct mt_session_gate *gate = &process->gates.items[i];

		if (gate->is_wanted)
			continue;
		error = ops_of(session)->clear(session->engine, pid, gate->entry);
		if (!error)
			drop(process, gate);
	}
	return error;
}

bool mt_session_gate_holds(struct mt_session *session, pid_t pid, uint64_t entry, uint64_t address)
{
	struct mt_session_process *process = mt_session_find_process(session, pid);
	const struct mt_function *function =
	    process && process->code ? mt_space_function_at(process->code, address) : NULL;

	return function && function->start == entry;
}

uint64_t mt_session_gate_works(struct mt_session *session, pid_t pid, uint64_t entry)
{
	return ops_of(session) ? ops_of(session)->works(session->engine, pid, entry) : 0;
}

uint64_t mt_session_gate_hit(struct mt_session *session, pid_t lwp)
{
	return ops_of(session) ? ops_of(session)->hit(session->engine, lwp) : 0;
}

struct mt_error *mt_session_gate_enter(struct mt_session *session, pid_t lwp, uint64_t goal,
				       uint64_t *pc)
{
	return ops_of(session)->enter(session->engine, lwp, goal, pc);
}

struct mt_engine_gate_errors mt_session_gate_look(struct mt_session *session, pid_t pid,
						  uint64_t entry)
{
	return ops_of(session) ? ops_of(session)->look(session->engine, pid, entry)
			       : (struct mt_engine_gate_errors){0};
}
