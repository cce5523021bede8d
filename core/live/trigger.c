/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers: breakpoints at which a snapshot is taken, while the other threads run on. */
#include "live/live.h"

#include "base/clock.h"
#include "trace/words.h"

#include <stdlib.h>
#include <string.h>

void mt_live_destroy_trigger(struct mt_live_trigger *trigger)
{
	mt_array_deinit(&trigger->gates);
	mt_trigger_spec_deinit(&trigger->spec);
	free(trigger->why);
	free(trigger->problem);
	free(trigger);
}

void mt_live_debugger_deinit(struct mt_live_debugger *debugger)
{
	mt_array_each (trigger, &debugger->triggers)
		mt_live_destroy_trigger(*trigger);
	mt_array_deinit(&debugger->triggers);
	mt_array_each (trigger, &debugger->deleted)
		mt_live_destroy_trigger(*trigger);
	mt_array_deinit(&debugger->deleted);
	mt_array_each (trigger, &debugger->askers)
		mt_live_destroy_trigger(*trigger);
	mt_array_deinit(&debugger->askers);
	mt_array_each (values, &debugger->values) {
		mt_values_spec_deinit(&values->spec);
		free(values->why);
	}
	mt_array_deinit(&debugger->values);
	mt_view_destroy(debugger->window.view);
	mt_array_each (one, &debugger->written) {
		free(one->path);
		free(one->whole);
	}
	mt_array_deinit(&debugger->written);
}

static void tell(const struct mt_live_debugger *debugger, const struct mt_live_trigger *trigger)
{
	const struct mt_trigger_spec *spec = &trigger->spec;
	mt_auto(mt_str) struct mt_str what = {0}, limits = {0};

	mt_trigger_spec_describe(spec, &what);
	mt_trigger_describe_limits(&spec->limits, &limits);
	mt_live_printf(debugger, "Trigger %u: a snapshot at ", trigger->number);
	if (spec->most > 1)
		mt_live_printf(debugger, "the first %llu hits of", (unsigned long long)spec->most);
	else
		mt_live_printf(debugger, "%s hit of", spec->most ? "the first" : "each");
	mt_live_printf(debugger, " %s%s.\n", what.text ? what.text : "",
		       limits.text ? limits.text : "");
}

static struct mt_error *or_pending(struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_NOT_FOUND)
		return error;
	struct mt_error *whole =
	    mt_error_new(MT_ERROR_NOT_FOUND, "%s  (-pending waits for a library that has it)",
			 mt_error_message(error));
	mt_error_destroy(error);
	return whole;
}

struct mt_error *mt_live_add_trigger(struct mt_live_debugger *debugger, const char *text,
				     void *script)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	mt_auto(mt_str) struct mt_str said = {0};

	if (debugger->taking)
		return mt_error_new(MT_ERROR_USAGE,
				    "no trigger can be set while a hit is being handled");
	struct mt_live_trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return mt_error_no_memory();
	trigger->number = debugger->last_trigger + 1;
	struct mt_error *error = mt_trigger_spec_parse(text, true, &trigger->spec);
	if (!error)
		error = or_pending(ops->set_breakpoint(debugger->context, trigger, &said));
	const bool is_set = !error;
	if (is_set)
		error = mt_live_check_address(debugger, trigger);
	if (!error && mt_array_push(&debugger->triggers, trigger))
		error = mt_error_no_memory();
	if (error) {
		if (is_set)
			ops->delete_breakpoint(debugger->context, trigger);
		mt_live_destroy_trigger(trigger);
		return error;
	}
	trigger->script = script;
	debugger->last_trigger++;
	/* What the debugger's breakpoint cannot see. */
	if (mt_live_needs_gates(trigger)) {
		trigger->is_aside = true;
		ops->set_aside(debugger->context, trigger, true);
	}
	if (said.text)
		mt_live_printf(debugger, "%s", said.text);
	tell(debugger, trigger);
	const struct mt_live *any = ops->selected(debugger->context, false);
	if (!any || any->state == MT_LIVE_OFF)
		mt_live_printf(debugger,
			       "Nothing is being recorded yet (\"mtrace start\" begins).\n");
	/* How it will be evaluated. */
	struct mt_live *live = ops->selected(debugger->context, false);
	if (!mt_live_is_recording(live) || live->state != MT_LIVE_HIDDEN)
		return NULL;
	error = mt_live_place_triggers(debugger, live, NULL);
	mt_live_take_back_triggers(debugger);
	return error;
}

/* Another one may be set at the same place before the program goes on. */
static struct mt_error *clear_gates(const struct mt_live_debugger *debugger, uint32_t number)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);

	return mt_live_session(live) && live->state == MT_LIVE_HIDDEN
		   ? mt_session_gates_clear(live->session, live->pid, number)
		   : NULL;
}

static void drop(const struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	debugger->ops->delete_breakpoint(debugger->context, trigger);
	mt_live_destroy_trigger(trigger);
}

/* The debugger may be in the midst of evaluating its breakpoint's condition. */
static struct mt_error *delete_later(struct mt_live_debugger *debugger,
				     struct mt_live_trigger *trigger)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);

	if (mt_array_push(&debugger->deleted, trigger))
		return mt_error_no_memory();
	if (mt_live_session(live))
		mt_session_gate_mute(live->session, trigger->number);
	return NULL;
}

void mt_live_drop_deleted(struct mt_live_debugger *debugger)
{
	if (debugger->taking)
		return;
	mt_array_each (trigger, &debugger->deleted)
		drop(debugger, *trigger);
	debugger->deleted.count = 0;
}

struct mt_error *mt_live_delete_trigger(struct mt_live_debugger *debugger, const char *text)
{
	uint64_t number = 0;

	mt_try(mt_parse_number(text, "trigger", 1, UINT32_MAX, &number));
	mt_array_each (one, &debugger->triggers) {
		struct mt_live_trigger *trigger = *one;

		if (trigger->number != number)
			continue;
		struct mt_error *error = NULL;
		if (debugger->taking) {
			mt_try(delete_later(debugger, trigger));
		} else {
			error = clear_gates(debugger, trigger->number);
			drop(debugger, trigger);
		}
		debugger->triggers.count--;
		memmove(one, one + 1,
			(size_t)(debugger->triggers.items + debugger->triggers.count - one) *
			    sizeof(*one));
		return error;
	}
	return mt_error_new(MT_ERROR_USAGE, "No trigger number %s.", text);
}

/* ---- Hits ---- */

void mt_live_note_problem(struct mt_live_trigger *trigger, const char *why)
{
	if (!trigger->problems++)
		trigger->problem = strdup(why);
}

/* "NAME = VALUE", a line each. */
static struct mt_error *read_values(const struct mt_live_debugger *debugger,
				    const struct mt_live_trigger *trigger, struct mt_str *out)
{
	if (strcmp(trigger->spec.location, MT_TRIGGER_INDICATOR) == 0)
		mt_error_destroy(debugger->ops->arguments(debugger->context, out));
	mt_array_each (expression, &trigger->spec.expressions) {
		struct mt_error *error =
		    debugger->ops->evaluate(debugger->context, *expression, out);

		if (error)
			mt_str_appendf(out, "%s: %s", *expression, mt_error_message(error));
		mt_error_destroy(error);
		mt_str_append(out, "\n");
	}
	return out->failed ? mt_error_no_memory() : NULL;
}

/* The lines of TEXT, with HEAD before each and SEPARATOR between them. */
static void append_lines(struct mt_str *out, const char *text, const char *head,
			 const char *separator)
{
	for (const char *line = text; line && *line; line += strspn(line, "\n")) {
		size_t length = strcspn(line, "\n");

		mt_str_appendf(out, "%s%s%.*s", out->length ? separator : "", head, (int)length,
			       line);
		line += length;
	}
}

struct mt_error *mt_live_fire(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
			      bool *stops)
{
	const struct mt_live *live = debugger->ops->selected(debugger->context, false);
	struct user_regs_struct registers = {0};

	*stops = false;
	if (!mt_trigger_counts(&trigger->spec.limits, &trigger->count, mt_clock_monotonic_ns()))
		return NULL;
	if (mt_live_is_recording(live))
		mt_try(live->target->ops->get_registers(
		    live->target, debugger->ops->lwp(debugger->context), &registers));
	const struct mt_live_hit hit = {.pc = registers.rip};
	return mt_live_take(debugger, trigger, &hit, stops);
}

static struct mt_error *set_pc(const struct mt_live_debugger *debugger, struct mt_live *live,
			       uint64_t pc)
{
	const pid_t lwp = debugger->ops->lwp(debugger->context);
	struct user_regs_struct registers;

	mt_try(live->target->ops->get_registers(live->target, lwp, &registers));
	registers.rip = pc;
	mt_try(live->target->ops->set_registers(live->target, lwp, &registers));
	if (debugger->ops->moved)
		debugger->ops->moved(debugger->context, live);
	return NULL;
}

/* The thread stands where the debugger is to see it. */
static struct mt_error *present(const struct mt_live_debugger *debugger, struct mt_live *live,
				const struct mt_live_hit *hit)
{
	if (hit->real_pc && hit->real_pc != hit->pc)
		mt_try(set_pc(debugger, live, hit->pc));
	if (hit->took_ns)
		debugger->ops->set_variable(debugger->context, "_duration", hit->took_ns);
	if (hit->at_return && debugger->ops->set_result)
		debugger->ops->set_result(debugger->context);
	return NULL;
}

/* And where it goes on, after ERROR or nothing, unless it STAYS. */
static struct mt_error *go_back(const struct mt_live_debugger *debugger, struct mt_live *live,
				const struct mt_live_hit *hit, bool stays, struct mt_error *error)
{
	if (!hit->real_pc || hit->real_pc == hit->pc || (stays && !error))
		return error;
	struct mt_error *back = set_pc(debugger, live, hit->real_pc);
	if (!error)
		return back;
	mt_error_destroy(back);
	return error;
}

/* What the debugger has to look at the thread for. */
static struct mt_error *look(struct mt_live_debugger *debugger, struct mt_live *live,
			     const struct mt_live_trigger *trigger, const struct mt_live_hit *hit,
			     struct mt_str *values)
{
	if (!mt_live_is_looked_at(trigger))
		return NULL;
	mt_try(present(debugger, live, hit));
	return go_back(debugger, live, hit, trigger->spec.stops,
		       read_values(debugger, trigger, values));
}

/* Where it is not to be asked again. */
static struct mt_error *note_stop(const struct mt_live_debugger *debugger, struct mt_live *live,
				  const struct mt_live_hit *hit)
{
	const pid_t lwp = debugger->ops->lwp(debugger->context);
	struct user_regs_struct registers;

	mt_try(live->target->ops->get_registers(live->target, lwp, &registers));
	live->passing.lwp = lwp;
	live->passing.at = registers.rip;
	live->passing.sp = registers.rsp;
	live->passing.pc = hit->real_pc == hit->pc ? 0 : hit->real_pc;
	live->passing.at_return = hit->at_return;
	return NULL;
}

/* PATH: of the snapshot, as mt_live_snapshot() lent it; NULL: none was taken. */
static struct mt_error *tell_script(struct mt_live_debugger *debugger,
				    const struct mt_live_trigger *trigger, const char *path,
				    struct mt_recording *recording, bool *stops)
{
	struct mt_live_written snapshot = {0};

	mt_array_each (one, &debugger->written)
		if (path && one->path == path)
			snapshot = *one;
	return debugger->ops->tell_script(debugger->context, trigger, path ? &snapshot : NULL,
					  recording, stops);
}

/* The same with the thread where the script, too, is to see it. */
static struct mt_error *show_script(struct mt_live_debugger *debugger, struct mt_live *live,
				    const struct mt_live_trigger *trigger,
				    const struct mt_live_hit *hit, const char *path,
				    struct mt_recording *recording, bool *stops)
{
	if (*stops)
		return tell_script(debugger, trigger, path, recording, stops);
	mt_try(present(debugger, live, hit));
	struct mt_error *error = tell_script(debugger, trigger, path, recording, stops);
	if (!error && *stops)
		error = note_stop(debugger, live, hit);
	return go_back(debugger, live, hit, *stops, error);
}

/* A language's runtime ends the program. */
static bool is_death(const struct mt_live_trigger *trigger)
{
	return trigger->is_own && mt_words_is_death(trigger->spec.location);
}

static void tell_hit(const struct mt_live_debugger *debugger, const struct mt_live_trigger *trigger,
		     const char *reason, const char *path)
{
	mt_auto(mt_str) struct mt_str name = {0};

	const pid_t lwp = debugger->ops->lwp(debugger->context);

	if (reason && *reason && is_death(trigger))
		mt_str_append(&name, reason);
	else if (reason && *reason)
		mt_str_appendf(&name, MT_WORDS_SNAPSHOT_FORMAT, reason);
	const char *what = name.text ? name.text : trigger->spec.location;
	/* Its number is none that the user knows. */
	if (trigger->is_own)
		mt_live_printf(debugger, "[mtrace: %s, in thread %d: %s]\n", what, lwp, path);
	else
		mt_live_printf(debugger, "[mtrace: trigger %u, %s, hit %u in thread %d: %s]\n",
			       trigger->number, what, trigger->hits, lwp, path);
}

static struct mt_error *take(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
			     const struct mt_live_hit *hit, bool *stops)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	struct mt_live *live = ops->selected(debugger->context, false);
	mt_auto(mt_str) struct mt_str values = {0}, joined = {0}, lines = {0}, reason = {0};
	const pid_t lwp = ops->lwp(debugger->context);
	const char *path;

	struct mt_recording *recording = NULL;

	*stops = false;
	if (mt_live_is_done(trigger))
		return NULL;
	trigger->hits++;
	ops->set_variable(debugger->context, "_mtrace_hits", ++debugger->hits);
	if (mt_live_is_recording(live)) {
		mt_try(look(debugger, live, trigger, hit, &values));
		if (trigger->spec.stops)
			mt_try(note_stop(debugger, live, hit));
	}
	*stops = trigger->spec.stops;
	if (!mt_live_is_recording(live))
		return trigger->script ? tell_script(debugger, trigger, NULL, NULL, stops) : NULL;
	if (hit->took_ns)
		mt_session_tell_duration(hit->took_ns, &joined);
	append_lines(&joined, values.text, "", ", ");
	append_lines(&lines, values.text, "  ", "\n");
	mt_try(is_death(trigger)
		   ? mt_session_read_death(live->session, lwp, trigger->spec.location, hit->pc,
					   &reason)
		   : mt_session_read_reason(live->session, lwp, &trigger->spec, &reason));
	if (trigger->is_own && !reason.length)
		mt_str_append(&reason, trigger->spec.location);
	const struct mt_session_hit told = {
	    .trigger = trigger->is_own ? 0 : trigger->number,
	    .pc = hit->pc,
	    .location = trigger->spec.location,
	    .condition = trigger->spec.condition,
	    .values = joined.text,
	    .reason = reason.text,
	};
	mt_try(mt_session_hit(live->session, lwp, &told));
	mt_try(mt_live_snapshot(debugger, live, NULL, &path, trigger->script ? &recording : NULL));
	tell_hit(debugger, trigger, reason.text, path);
	if (lines.text)
		mt_live_printf(debugger, "%s\n", lines.text);
	if (!recording)
		return NULL;
	struct mt_error *error = show_script(debugger, live, trigger, hit, path, recording, stops);
	mt_recording_close(recording);
	return error;
}

struct mt_error *mt_live_take(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger,
			      const struct mt_live_hit *hit, bool *stops)
{
	debugger->taking++;
	struct mt_error *error = take(debugger, trigger, hit, stops);
	debugger->taking--;
	return error;
}
