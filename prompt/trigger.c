/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace trigger, mtrace delete: a trigger is a silent breakpoint; at its hits a snapshot is taken,
 * while the other threads run on. */
#include "prompt/record.h"

#include <string.h>

#define INDICATOR "magic_trace_stop_indicator"

static void destroy(struct prompt_trigger *trigger)
{
	mt_array_each (expression, &trigger->expressions)
		free(*expression);
	mt_array_deinit(&trigger->expressions);
	free(trigger->location);
	free(trigger->condition);
	free(trigger);
}

void prompt_triggers_deinit(struct prompt *prompt)
{
	mt_array_each (trigger, &prompt->record->triggers)
		destroy(*trigger);
	mt_array_deinit(&prompt->record->triggers);
}

/* ---- Hits ---- */

static void append_value(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			 const char *expression, struct mt_str *out)
{
	struct mt_expr *expr = NULL;
	struct mt_value *value = NULL;
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_error *error = mt_expr_parse(program, frame, expression, &expr);

	if (!error)
		error = mt_expr_evaluate(expr, frame, &value);
	if (!error)
		error = mt_value_print(value, frame, NULL, &text);
	mt_str_appendf(out, "%s%s%s%s", out->length ? ", " : "", expression, error ? ": " : " = ",
		       error       ? mt_error_message(error)
		       : text.text ? text.text
				   : "");
	mt_error_destroy(error);
	mt_value_destroy(value);
	mt_expr_destroy(expr);
}

/* "x = 5, y = 7"; of magic-trace's place its arguments. */
static struct mt_error *read_values(struct prompt *prompt, const struct prompt_trigger *trigger,
				    struct mt_str *out)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	if (strcmp(trigger->location, INDICATOR) == 0)
		mt_try(mt_expr_frame_arguments(program, &frame, out));
	mt_array_each (expression, &trigger->expressions)
		append_value(program, &frame, *expression, out);
	return out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *fire(struct prompt *prompt, struct prompt_trigger *trigger)
{
	const struct mt_debug_thread *thread = mt_debugger_selected(prompt->debugger);
	const struct mt_debug_frame *frame = mt_debugger_frame(prompt->debugger, 0);
	mt_auto(mt_str) struct mt_str values = {0};

	trigger->hits++;
	if (!mt_debugger_is_recording(prompt->debugger) ||
	    (trigger->most && trigger->hits > trigger->most))
		return NULL;
	mt_try(read_values(prompt, trigger, &values));
	const struct mt_session_hit hit = {
	    .trigger = trigger->number,
	    .pc = frame ? frame->pc : 0,
	    .location = trigger->location,
	    .condition = trigger->condition,
	    .values = values.text,
	};
	mt_try(mt_session_hit(mt_debugger_session(prompt->debugger), thread->lwp, &hit));
	mt_try(prompt_snapshot(prompt, NULL));
	prompt_printf("[mtrace: trigger %u, %s, hit %u in thread %d: %s]\n", trigger->number,
		      trigger->location, trigger->hits, thread->lwp,
		      prompt->record->last ? prompt->record->last : "");
	if (values.length)
		prompt_printf("  %s\n", values.text);
	return NULL;
}

bool prompt_trigger_hit(struct prompt *prompt, unsigned breakpoint)
{
	mt_array_each (one, &prompt->record->triggers) {
		if ((*one)->breakpoint != breakpoint)
			continue;
		struct mt_error *error = fire(prompt, *one);
		if (error)
			prompt->terminal->log.line(prompt->terminal, MT_LOG_WARNING,
						   mt_error_message(error));
		mt_error_destroy(error);
		return (*one)->stops;
	}
	return false;
}

/* ---- Commands ---- */

/* The word at *AT, a quoted one without its quotes; *AT moves behind it. */
static char *take_word(const char **at)
{
	char quote = **at == '"' || **at == '\'' ? **at : 0;
	const char *start = *at + (quote != 0);
	size_t length = quote ? strcspn(start, quote == '"' ? "\"" : "'") : strcspn(start, " \t");

	*at = prompt_skip_blanks(start + length + (quote && start[length]));
	return strndup(start, length);
}

static struct mt_error *take_option(struct prompt_trigger *trigger, const char **at)
{
	bool is_most = prompt_is_word(*at, "-max");
	char *value;

	if (prompt_is_word(*at, "-stop")) {
		trigger->stops = true;
		*at = prompt_skip_blanks(*at + 5);
		return NULL;
	}
	*at = prompt_skip_blanks(*at + (is_most ? 4 : 6));
	if (!**at)
		return mt_error_new(MT_ERROR_USAGE, "%s needs a value",
				    is_most ? "-max" : "-print");
	value = take_word(at);
	if (!value)
		return mt_error_no_memory();
	if (!is_most) {
		if (!mt_array_push(&trigger->expressions, value))
			return NULL;
		free(value);
		return mt_error_no_memory();
	}
	struct mt_error *error =
	    mt_parse_number(value, "number of snapshots", 1, UINT32_MAX, &trigger->most);
	free(value);
	return error;
}

static struct mt_error *parse(struct prompt_trigger *trigger, const char *at)
{
	const char *condition, *end;

	while (prompt_is_word(at, "-stop") || prompt_is_word(at, "-max") ||
	       prompt_is_word(at, "-print"))
		mt_try(take_option(trigger, &at));
	condition = prompt_find_word(at, "if");
	end = condition ? condition : at + strlen(at);
	while (end > at && strchr(" \t", end[-1]))
		end--;
	if (end == at)
		return mt_error_new(MT_ERROR_USAGE,
				    "mtrace trigger needs a location (see \"help mtrace "
				    "trigger\")");
	trigger->location =
	    end == at + 1 && *at == '.' ? strdup(INDICATOR) : strndup(at, (size_t)(end - at));
	if (condition)
		trigger->condition = strdup(prompt_skip_blanks(condition + 2));
	return trigger->location && (!condition || trigger->condition) ? NULL
								       : mt_error_no_memory();
}

static struct mt_error *set(struct prompt *prompt, struct prompt_trigger *trigger, const char *text)
{
	char *chosen;

	mt_try(parse(trigger, text));
	mt_try(prompt_choose_function(prompt, trigger->location, &chosen));
	free(trigger->location);
	trigger->location = chosen;
	const struct mt_debug_new_breakpoint what = {
	    .location = trigger->location, .condition = trigger->condition, .silent = true};
	mt_try(mt_debugger_break(prompt->debugger, &what, &trigger->breakpoint));
	if (!mt_array_push(&prompt->record->triggers, trigger))
		return NULL;
	mt_error_destroy(mt_debugger_delete(prompt->debugger, trigger->breakpoint));
	return mt_error_no_memory();
}

struct mt_error *prompt_run_trigger(struct prompt *prompt, const char *rest)
{
	struct prompt_trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return mt_error_no_memory();
	struct mt_error *error = set(prompt, trigger, rest);
	if (error) {
		destroy(trigger);
		return error;
	}
	trigger->number = ++prompt->record->last_trigger;
	prompt_printf("Trigger %u: a snapshot %s%s%s%s.\n", trigger->number,
		      trigger->most == 1 ? "at the first hit of " : "at each hit of ",
		      trigger->location, trigger->condition ? " if " : "",
		      trigger->condition ? trigger->condition : "");
	return NULL;
}

struct mt_error *prompt_run_delete_trigger(struct prompt *prompt, const char *rest)
{
	struct prompt_record *record = prompt->record;
	uint64_t number;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "mtrace delete needs a trigger's number");
	mt_try(mt_parse_number(rest, "trigger", 1, UINT32_MAX, &number));
	for (size_t i = 0; i < record->triggers.count; i++) {
		struct prompt_trigger *trigger = record->triggers.items[i];

		if (trigger->number != number)
			continue;
		mt_error_destroy(mt_debugger_delete(prompt->debugger, trigger->breakpoint));
		destroy(trigger);
		memmove(&record->triggers.items[i], &record->triggers.items[i + 1],
			(--record->triggers.count - i) * sizeof(record->triggers.items[0]));
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "No trigger number %s.", rest);
}

void prompt_print_triggers(struct prompt *prompt)
{
	mt_array_each (one, &prompt->record->triggers) {
		const struct prompt_trigger *trigger = *one;

		prompt_printf("Trigger %u: %s%s%s: %u %s\n", trigger->number, trigger->location,
			      trigger->condition ? " if " : "",
			      trigger->condition ? trigger->condition : "", trigger->hits,
			      trigger->hits == 1 ? "hit" : "hits");
	}
}
