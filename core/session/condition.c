/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conditions of triggers, and the times that calls may take.  They are bound where a trigger was
 * found, when the libraries that the program begins with are there; an engine may then evaluate
 * them in the program.  Else they are evaluated here, at each stop. */
#include "expr/expr.h"
#include "session/private.h"
#include "space/location.h"

#include "values/user.h"

#include <stdlib.h>
#include <string.h>

struct mt_error *mt_session_parse_at(struct mt_session *session, struct mt_session_process *process,
				     const struct mt_trigger_spec *spec, uint64_t address,
				     bool is_entry, struct mt_expr **out)
{
	struct mt_session_here here = {.session = session, .pid = process->pid, .pc = address};
	const struct mt_expr_frame frame = mt_session_frame_of(&here, is_entry, spec->at_return);

	return mt_expr_parse(process->program, &frame, spec->condition, out);
}

struct mt_error *mt_session_parse_values_at(struct mt_session *session,
					    const struct mt_session_process *process,
					    const struct mt_session_trigger *trigger,
					    uint64_t address, struct mt_session_value_list *out)
{
	struct mt_session_here here = {.session = session, .pid = process->pid, .pc = address};
	const struct mt_expr_frame frame =
	    mt_session_frame_of(&here, true, trigger->spec.at_return);

	return mt_session_parse_values(process, &frame, trigger, out);
}

struct mt_error *mt_session_invalid(const struct mt_session_trigger *trigger, const char *what,
				    struct mt_error *error)
{
	if (mt_error_code(error) == MT_ERROR_NO_MEMORY)
		return error;
	struct mt_error *whole =
	    mt_error_new(MT_ERROR_TRIGGER, "invalid %s of the trigger \"%s\": %s", what,
			 trigger->text, mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

static struct mt_error *bind(struct mt_session *session, struct mt_session_process *process,
			     struct mt_session_site *site)
{
	const struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	const struct mt_engine_break_ops *breaks = mt_session_engine_ops(session)->breaks;
	struct mt_session_here here = {
	    .session = session, .pid = process->pid, .pc = site->address};
	const struct mt_expr_frame frame =
	    mt_session_frame_of(&here, site->is_entry, trigger->spec.at_return);
	struct mt_error *error = NULL;

	if (trigger->spec.condition && !site->is_begin)
		error = mt_expr_parse(process->program, &frame, trigger->spec.condition,
				      &site->condition);
	if (!error && site->condition)
		error = mt_expr_check_alone(site->condition);
	if (error)
		return mt_session_invalid(trigger, "condition", error);
	if (!site->is_begin)
		mt_try(mt_session_parse_printed(session, process, site));
	if (trigger->values)
		mt_try(mt_session_parse_values(process, &frame, trigger, &site->values));
	site->is_bound = true;
	const struct mt_engine_condition condition = {
	    .expr = site->condition,
	    .text = trigger->text,
	    .trigger = site->trigger,
	    .slower_ns = trigger->spec.slower_ns,
	    .at_return = trigger->spec.at_return,
	    .span = mt_trigger_span(&trigger->spec, site->is_begin),
	    .span_ns = mt_trigger_span_ns(&trigger->spec),
	    .wants_duration = mt_trigger_wants_duration(&trigger->spec),
	    .option = trigger->option,
	    .values = site->values.items,
	    .value_count = site->values.count,
	    .is_one_of_many = trigger->is_glob,
	    .is_implied = trigger->words,
	    .is_of_runtime = trigger->words >= MT_WORDS_GOROUTINE,
	    .limits = trigger->spec.limits};
	return breaks ? breaks->set(session->engine, process->pid, site->address, &condition)
		      : NULL;
}

/* Why the program, and the libraries that it begins with, have no such place. */
static struct mt_error *explain_missing(const struct mt_session_process *process,
					const struct mt_session_trigger *trigger,
					const char *location)
{
	const struct mt_location_options options = {.no_stubs = true};
	struct mt_locations locations;
	struct mt_error *reason =
	    mt_location_resolve(process->code, location, &options, &locations);
	const char *message = reason ? mt_error_message(reason)
			      : locations.kind == MT_LOCATION_ADDRESS
				  ? "No code is there."
				  : "It was inlined wherever it is called.";
	const char *cure = reason || locations.kind == MT_LOCATION_ADDRESS
			       ? "--pending waits for a library or a program that has it"
			       : "try FILE:LINE";
	mt_auto(mt_str) struct mt_str name = {0};
	mt_session_name_trigger(trigger, &name);
	struct mt_error *error =
	    name.failed ? mt_error_no_memory()
			: mt_error_new(MT_ERROR_TRIGGER, "%s: %s  (%s)", name.text, message, cure);

	if (!reason)
		mt_locations_deinit(&locations);
	mt_error_destroy(reason);
	return error;
}

struct mt_error *mt_session_tolerate_later(const struct mt_session *session, struct mt_error *error)
{
	if (!error || !session->has_bound || mt_error_code(error) != MT_ERROR_TRIGGER)
		return error;
	mt_log(session->options->engine.log, MT_LOG_WARNING, "%s", mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *check_found(const struct mt_session *session,
				    const struct mt_session_process *process)
{
	mt_array_each (trigger, &session->triggers) {
		if (trigger->mark || trigger->words || session->options->pending)
			continue;
		if (trigger->spec.begin && !trigger->begin_found)
			return explain_missing(process, trigger, trigger->spec.begin);
		if (!trigger->found)
			return explain_missing(process, trigger, trigger->spec.location);
	}
	return NULL;
}

/* The dynamic loader, which is not recorded, has some functions of libc's. */
static bool is_one_of_many(const struct mt_session_process *process,
			   const struct mt_session_site *site)
{
	mt_array_each (other, &process->sites)
		if (other != site && other->trigger == site->trigger &&
		    other->is_begin == site->is_begin)
			return true;
	return false;
}

/* Functions of one name, in namespaces and libraries: a condition may be about some of them. */
static void leave_to_others(const struct mt_session *session,
			    const struct mt_session_trigger *trigger,
			    const struct mt_session_site *site, struct mt_error *error)
{
	if (trigger->spec.condition || trigger->spec.span_ns || trigger->values ||
	    trigger->spec.expressions.count)
		mt_log(session->options->engine.log, MT_LOG_WARNING,
		       "left out at 0x%llx, one place of several: %s",
		       (unsigned long long)site->address, mt_error_message(error));
	mt_error_destroy(error);
}

/* Some function of each glob's has what is to be recorded. */
static struct mt_error *check_globs(const struct mt_session *session,
				    const struct mt_session_process *process)
{
	mt_array_each (trigger, &session->triggers) {
		const uint32_t number = (uint32_t)(trigger - session->triggers.items) + 1;
		mt_auto(mt_str) struct mt_str name = {0};
		bool is_used = !trigger->is_glob || !trigger->found;

		mt_array_each (site, &process->sites)
			is_used |= site->trigger == number;
		if (is_used)
			continue;
		mt_session_name_trigger(trigger, &name);
		return name.failed ? mt_error_no_memory()
				   : mt_error_new(MT_ERROR_TRIGGER,
						  "%s: none of the functions has that", name.text);
	}
	return NULL;
}

struct mt_error *mt_session_bind_conditions(struct mt_session *session,
					    struct mt_session_process *process)
{
	if (!process->program || !mt_session_has_begun(session, process))
		return NULL;
	if (!session->has_bound)
		mt_try(check_found(session, process));
	mt_array_each (site, &process->sites) {
		if (!mt_session_is_bound_late(&session->triggers.items[site->trigger - 1]) ||
		    site->is_bound)
			continue;
		struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
		struct mt_error *error = bind(session, process, site);
		if (!error)
			continue;
		if (trigger->is_glob)
			mt_try(
			    mt_session_leave_out(session, process, trigger, site->address, error));
		else if (!is_one_of_many(process, site))
			mt_try(mt_session_tolerate_later(session, error));
		else
			leave_to_others(session, trigger, site, error);
		mt_session_forget_site(site);
		*site-- = *mt_array_last(&process->sites);
		process->sites.count--;
	}
	if (!session->has_bound)
		mt_try(check_globs(session, process));
	session->has_bound = true;
	return NULL;
}

int mt_session_set_variables(const struct mt_session_thread *thread, uint64_t took_ns)
{
	struct mt_expr_program *program = thread->process->program;
	const struct mt_value took =
	    mt_value_integer(mt_type_builtin(program, MT_BUILTIN_LONG), took_ns);
	struct mt_error *error = mt_convenience_set(program, "_duration", &took);

	if (!error)
		error = mt_expr_set_integer(program, "_thread", thread->number);
	int failed = error ? -1 : 0;

	mt_error_destroy(error);
	return failed;
}

bool mt_session_condition_holds(struct mt_session *session, const struct mt_session_thread *thread,
				const struct mt_session_site *site, uint64_t took_ns)
{
	struct mt_session_trigger *trigger = &session->triggers.items[site->trigger - 1];
	struct mt_session_here here = {.session = session,
				       .pid = thread->process->pid,
				       .lwp = thread->lwp,
				       .pc = site->address};
	const struct mt_expr_frame frame =
	    mt_session_frame_of(&here, site->is_entry, trigger->spec.at_return);
	bool holds = false;

	if (!site->condition || mt_session_set_variables(thread, took_ns))
		return false;
	struct mt_error *error = mt_expr_is_true(site->condition, &frame, &holds);
	if (!error)
		return holds;
	if (!trigger->problems++)
		trigger->problem = strdup(mt_error_message(error));
	mt_error_destroy(error);
	return false;
}

void mt_session_tell_problems(const struct mt_session *session)
{
	mt_array_each (trigger, &session->triggers)
		if (trigger->problems)
			mt_log(session->options->engine.log, MT_LOG_WARNING,
			       "the condition of the trigger \"%s\" could not be evaluated %u "
			       "times: %s",
			       trigger->text, trigger->problems,
			       trigger->problem ? trigger->problem : "no memory");
}
