/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers: breakpoints at which a snapshot is taken, while the other threads run on. */
#include "live/live.h"

#include <stdlib.h>
#include <string.h>

#define BLANKS " \t"

/* magic-trace's name for a function by which a program asks for a snapshot. */
#define INDICATOR "magic_trace_stop_indicator"

static void destroy(struct mt_live_trigger *trigger)
{
	mt_array_each (expression, &trigger->expressions)
		free(*expression);
	mt_array_deinit(&trigger->expressions);
	mt_array_deinit(&trigger->gates);
	free(trigger->location);
	free(trigger->condition);
	free(trigger->why);
	free(trigger);
}

void mt_live_debugger_deinit(struct mt_live_debugger *debugger)
{
	mt_array_each (trigger, &debugger->triggers)
		destroy(*trigger);
	mt_array_deinit(&debugger->triggers);
	mt_array_each (one, &debugger->written) {
		free(one->path);
		free(one->whole);
	}
	mt_array_deinit(&debugger->written);
}

/* ---- Parsing ---- */

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

static bool is_word(const char *at, const char *word, const char *ends)
{
	size_t length = strlen(word);

	return strncmp(at, word, length) == 0 && (!at[length] || strchr(ends, at[length]));
}

/* NULL: at none. */
static const char *option_at(const char *at)
{
	static const char *const options[] = {"-stop", "-max", "-print"};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (is_word(at, options[i], BLANKS))
			return options[i];
	return NULL;
}

static struct mt_error *take_option(struct mt_live_trigger *trigger, const char *option,
				    const char **at)
{
	*at = skip_blanks(*at + strlen(option));
	if (strcmp(option, "-stop") == 0) {
		trigger->stops = true;
		return NULL;
	}
	char quote = **at == '"' || **at == '\'' ? **at : 0;
	const char ends[] = {quote, '\0'}, *start = *at + (quote != 0);
	size_t length = strcspn(start, quote ? ends : BLANKS);
	if (!**at)
		return mt_error_new(MT_ERROR_USAGE, "%s requires a value", option);
	char *value = strndup(start, length);
	if (!value)
		return mt_error_no_memory();
	*at = skip_blanks(start + length + (quote && start[length]));
	if (strcmp(option, "-print") == 0) {
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

static struct mt_error *parse(struct mt_live_trigger *trigger, const char *text)
{
	const char *at = skip_blanks(text), *option;

	while ((option = option_at(at)))
		mt_try(take_option(trigger, option, &at));
	const char *condition = mt_session_find_condition(at),
		   *end = condition ? condition : strchr(at, 0);
	while (end > at && strchr(BLANKS, end[-1]))
		end--;
	if (end == at)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "mtrace trigger requires a location (see \"help mtrace trigger\")");
	for (const char *word = at; word < end; word = skip_blanks(word + strcspn(word, BLANKS)))
		if (option_at(word))
			return mt_error_new(MT_ERROR_USAGE,
					    "the options of mtrace trigger precede the location");
	if (condition) {
		condition = skip_blanks(condition + 2);
		if (!*condition)
			return mt_error_new(MT_ERROR_USAGE, "no condition after \"if\"");
		trigger->condition = strdup(condition);
	}
	trigger->location =
	    end == at + 1 && *at == '.' ? strdup(INDICATOR) : strndup(at, (size_t)(end - at));
	return trigger->location && (!condition || trigger->condition) ? NULL
								       : mt_error_no_memory();
}

struct mt_error *mt_live_add_trigger(struct mt_live_debugger *debugger, const char *text)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	struct mt_live_trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return mt_error_no_memory();
	trigger->number = debugger->last_trigger + 1;
	struct mt_error *error = parse(trigger, text);
	if (!error)
		error = ops->set_breakpoint(debugger->context, trigger);
	if (!error && mt_array_push(&debugger->triggers, trigger)) {
		ops->delete_breakpoint(debugger->context, trigger);
		error = mt_error_no_memory();
	}
	if (error) {
		destroy(trigger);
		return error;
	}
	debugger->last_trigger++;
	mt_live_printf(debugger, "Trigger %u: a snapshot at %s hit of %s%s%s.\n", trigger->number,
		       trigger->most == 1 ? "the first" : "each", trigger->location,
		       trigger->condition ? " if " : "",
		       trigger->condition ? trigger->condition : "");
	/* How it will be evaluated. */
	struct mt_live *live = ops->selected(debugger->context, false);
	if (!mt_live_is_recording(live) || live->state != MT_LIVE_HIDDEN)
		return NULL;
	error = mt_live_place_triggers(debugger, live, NULL);
	mt_live_take_back_triggers(debugger);
	return error;
}

struct mt_error *mt_live_delete_trigger(struct mt_live_debugger *debugger, const char *text)
{
	uint64_t number = 0;

	mt_try(mt_parse_number(text, "trigger", 1, UINT32_MAX, &number));
	mt_array_each (one, &debugger->triggers) {
		struct mt_live_trigger *trigger = *one;

		if (trigger->number != number)
			continue;
		debugger->ops->delete_breakpoint(debugger->context, trigger);
		destroy(trigger);
		debugger->triggers.count--;
		memmove(one, one + 1,
			(size_t)(debugger->triggers.items + debugger->triggers.count - one) *
			    sizeof(*one));
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "No trigger number %s.", text);
}

/* ---- Hits ---- */

/* "NAME = VALUE", a line each. */
static struct mt_error *read_values(const struct mt_live_debugger *debugger,
				    const struct mt_live_trigger *trigger, struct mt_str *out)
{
	if (strcmp(trigger->location, INDICATOR) == 0)
		mt_error_destroy(debugger->ops->arguments(debugger->context, out));
	mt_array_each (expression, &trigger->expressions) {
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

struct mt_error *mt_live_fire(struct mt_live_debugger *debugger, struct mt_live_trigger *trigger)
{
	const struct mt_live_debugger_ops *ops = debugger->ops;
	struct mt_live *live = ops->selected(debugger->context, false);
	mt_auto(mt_str) struct mt_str values = {0}, joined = {0}, lines = {0};
	struct user_regs_struct registers = {0};
	pid_t lwp = ops->lwp(debugger->context);
	const char *path;

	trigger->hits++;
	ops->set_variable(debugger->context, "_mtrace_hits", ++debugger->hits);
	if (!mt_live_is_recording(live) || (trigger->most && trigger->hits > trigger->most))
		return NULL;
	mt_try(live->target->ops->get_registers(live->target, lwp, &registers));
	if (trigger->stops) {
		live->passing.lwp = lwp;
		live->passing.at = registers.rip;
		live->passing.sp = registers.rsp;
		live->passing.pc = 0;
	}
	mt_try(read_values(debugger, trigger, &values));
	append_lines(&joined, values.text, "", ", ");
	append_lines(&lines, values.text, "  ", "\n");
	const struct mt_session_hit hit = {
	    .trigger = trigger->number,
	    .pc = registers.rip,
	    .location = trigger->location,
	    .condition = trigger->condition,
	    .values = joined.text,
	};
	mt_try(mt_session_hit(live->session, lwp, &hit));
	mt_try(mt_live_snapshot(debugger, live, NULL, &path, NULL));
	mt_live_printf(debugger, "[mtrace: trigger %u, %s, hit %u in thread %d: %s]\n",
		       trigger->number, trigger->location, trigger->hits, lwp, path);
	if (lines.text)
		mt_live_printf(debugger, "%s\n", lines.text);
	return NULL;
}
