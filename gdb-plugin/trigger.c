/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace trigger, mtrace delete.
 *
 * A trigger is a breakpoint with the condition "(COND) && $_mtrace_fire(N)".  GDB evaluates it in
 * the thread that came there, while the others run on, and the function takes the snapshot; it is
 * false, so that the program goes on, unless the trigger is to stop it.  A stop() of the
 * breakpoint's own would be called even if COND is false. */
#include "trigger.h"

#include "base/array.h"
#include "base/str.h"
#include "commands.h"
#include "gdb.h"
#include "live.h"

#include <string.h>

struct trigger {
	uint32_t number;
	char *location;
	char *condition; /* NULL: none */
	uint32_t hits;
	uint32_t most; /* snapshots; 0: no limit */
	bool stops;
	MT_ARRAY(char *) expressions; /* that are printed */
	PyObject *breakpoint;
};

static MT_ARRAY(struct trigger *) triggers;
static uint32_t last_number;
static uint32_t all_hits;

static void destroy(struct trigger *trigger)
{
	if (!trigger)
		return;
	mt_py_delete_breakpoint(trigger->breakpoint); /* the user may have done so */
	mt_array_each (expression, &trigger->expressions)
		free(*expression);
	mt_array_deinit(&trigger->expressions);
	free(trigger->location);
	free(trigger->condition);
	free(trigger);
}

static struct trigger *find(uint64_t number)
{
	mt_array_each (trigger, &triggers)
		if ((*trigger)->number == number)
			return *trigger;
	return NULL;
}

static bool is_there(const struct trigger *trigger)
{
	mt_auto(mt_py) PyObject *valid = PyObject_CallMethod(trigger->breakpoint, "is_valid", NULL);

	PyErr_Clear();
	return valid == Py_True;
}

/* "EXPR = VALUE", or why there is none. */
static void append_value(struct mt_str *out, const char *expression)
{
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parse_and_eval", "(s)", expression);
	mt_auto(mt_py) PyObject *text = value ? PyObject_Str(value) : NULL;
	char *said = text ? mt_py_text(text) : NULL;

	if (said) {
		mt_str_appendf(out, "%s = %s", expression, said);
	} else {
		struct mt_error *error = mt_py_error();

		mt_str_appendf(out, "%s: %s", expression, mt_error_message(error));
		mt_error_destroy(error);
	}
	free(said);
}

/* magic-trace's name for a place in a program that asks for a snapshot. */
#define INDICATOR "magic_trace_stop_indicator"

static void add_value(const char *value, size_t length, struct mt_str *out, struct mt_str *lines)
{
	mt_str_appendf(out, "%s%.*s", out->length ? ", " : "", (int)length, value);
	mt_str_appendf(lines, "  %.*s\n", (int)length, value);
}

/* Of the function where the thread stands: "x = 5", a line each. */
static void read_arguments(struct mt_str *out, struct mt_str *lines)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_error_destroy(mt_gdb_execute("info args", &text));
	for (const char *line = text.text; line && *line; line += strspn(line, "\n")) {
		size_t length = strcspn(line, "\n");

		if (memmem(line, length, " = ", 3))
			add_value(line, length, out, lines);
		line += length;
	}
}

/* In one string for the recording, and a line each for the user. */
static void read_values(const struct trigger *trigger, struct mt_str *out, struct mt_str *lines)
{
	if (strcmp(trigger->location, INDICATOR) == 0)
		read_arguments(out, lines);
	mt_array_each (expression, &trigger->expressions) {
		mt_auto(mt_str) struct mt_str value = {0};

		append_value(&value, *expression);
		if (value.failed || !value.text)
			continue;
		add_value(value.text, value.length, out, lines);
	}
}

static struct mt_error *fire(struct trigger *trigger)
{
	struct user_regs_struct registers = {0};
	struct mt_live *live = mt_live_selected();
	mt_auto(mt_str) struct mt_str values = {0}, lines = {0};
	char *path = NULL;
	pid_t lwp = mt_gdb_lwp();

	trigger->hits++;
	mt_gdb_set_convenience("_mtrace_hits", ++all_hits);
	if (!mt_live_session(live) || (trigger->most && trigger->hits > trigger->most))
		return NULL;
	mt_try(live->target->ops->get_registers(live->target, lwp, &registers));
	read_values(trigger, &values, &lines);
	const struct mt_session_hit hit = {
	    .trigger = trigger->number,
	    .pc = registers.rip,
	    .location = trigger->location,
	    .condition = trigger->condition,
	    .values = values.text,
	};
	mt_try(mt_session_hit(live->session, lwp, &hit));
	mt_try(mt_live_snapshot(live, NULL, &path, NULL));
	mt_gdb_printf("[mtrace: trigger %u, %s, hit %u in thread %d: %s]\n", trigger->number,
		      trigger->location, trigger->hits, lwp, path);
	free(path);
	if (lines.length && !lines.failed)
		mt_gdb_print(lines.text);
	return NULL;
}

static PyObject *call_fire(PyObject *self, PyObject *args)
{
	PyObject *argument = PyTuple_GetItem(args, 0);
	mt_auto(mt_py) PyObject *number = argument ? PyNumber_Long(argument) : NULL;
	struct trigger *trigger = number ? find(PyLong_AsUnsignedLongLongMask(number)) : NULL;

	(void)self;
	PyErr_Clear();
	if (trigger) {
		struct mt_error *error = fire(trigger);

		if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED)
			return mt_py_answer(error); /* which stops the program */
		mt_auto(mt_py) PyObject *told = mt_py_tell(error);
	}
	return PyLong_FromLong(trigger && trigger->stops);
}

static PyObject *call_snapshot(PyObject *self, PyObject *args)
{
	char *path = NULL;
	struct mt_error *error = mt_live_snapshot(mt_live_selected(), NULL, &path, NULL);

	(void)self;
	(void)args;
	free(path);
	return error ? mt_py_answer(error) : PyLong_FromLong(mt_live_snapshots());
}

static struct mt_error *define(const char *name, const char *doc, PyMethodDef *invoke)
{
	mt_auto(mt_py) PyObject *function = mt_py_function(invoke, NULL);
	mt_auto(mt_py) PyObject *attributes =
	    function ? Py_BuildValue("{s:s,s:O}", "__doc__", doc, "invoke", function) : NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("Function", "Function", attributes);
	mt_auto(mt_py) PyObject *object = class ? PyObject_CallFunction(class, "s", name) : NULL;

	return object ? NULL : mt_py_error();
}

struct mt_error *mt_triggers_define(void)
{
	static PyMethodDef invoke_fire = {"invoke", call_fire, METH_VARARGS, NULL};
	static PyMethodDef invoke_snapshot = {"invoke", call_snapshot, METH_VARARGS, NULL};

	mt_gdb_set_convenience("_mtrace_hits", 0);
	mt_gdb_set_convenience("_mtrace_snapshots", 0);
	mt_try(define("_mtrace_fire",
		      "Part of mtrace's triggers: takes the snapshot of trigger N.\n"
		      "Usage: $_mtrace_fire (N)",
		      &invoke_fire));
	return define("_mtrace_snapshot",
		      "Take a snapshot of what mtrace recorded, and return its number.\n"
		      "Usage: $_mtrace_snapshot ()",
		      &invoke_snapshot);
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* The word at *AT, a quoted one without its quotes; *AT moves behind it. */
static char *take_word(const char **at)
{
	char quote = **at == '"' || **at == '\'' ? **at : 0;
	const char *start = *at + (quote != 0);
	size_t length = quote ? strcspn(start, quote == '"' ? "\"" : "'") : strcspn(start, " \t");

	*at = start + length;
	if (quote && **at)
		(*at)++;
	*at = skip_blanks(*at);
	return strndup(start, length);
}

static bool is_word(const char *at, const char *word)
{
	size_t length = strlen(word);

	return strncmp(at, word, length) == 0 && (!at[length] || strchr(" \t(", at[length]));
}

static struct mt_error *take_option(struct trigger *trigger, const char **at)
{
	char *value;
	uint64_t number = 0;

	if (is_word(*at, "-stop")) {
		trigger->stops = true;
		*at = skip_blanks(*at + 5);
		return NULL;
	}
	bool is_most = is_word(*at, "-max");
	*at = skip_blanks(*at + (is_most ? 4 : 6));
	if (!**at)
		return mt_error_new(MT_ERROR_USAGE, "%s needs a value",
				    is_most ? "-max" : "-print");
	value = take_word(at);
	if (!value)
		return mt_error_no_memory();
	if (!is_most)
		return mt_array_push(&trigger->expressions, value) ? mt_error_no_memory() : NULL;
	struct mt_error *error =
	    mt_parse_number(value, "number of snapshots", 1, UINT32_MAX, &number);
	free(value);
	trigger->most = (uint32_t)number;
	return error;
}

/* The " if " that begins the condition: outside of quotes and parentheses. */
static const char *find_condition(const char *text)
{
	int depth = 0;

	for (const char *at = text; *at; at++) {
		if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);

			at = end ? end : at;
		}
		depth += (*at == '(') - (*at == ')');
		if (depth == 0 && (at == text || at[-1] == ' ' || at[-1] == '\t') &&
		    is_word(at, "if"))
			return at;
	}
	return NULL;
}

static size_t trimmed(const char *text, size_t length)
{
	while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;
	return length;
}

static struct mt_error *parse(struct trigger *trigger, const char *text)
{
	const char *at = skip_blanks(text), *condition;

	while (is_word(at, "-stop") || is_word(at, "-max") || is_word(at, "-print"))
		mt_try(take_option(trigger, &at));
	condition = find_condition(at);
	size_t length = trimmed(at, condition ? (size_t)(condition - at) : strlen(at));
	if (!length)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "mtrace trigger needs a location (see \"help mtrace trigger\")");
	trigger->location = length == 1 && *at == '.' ? strdup(INDICATOR) : strndup(at, length);
	if (condition && !*skip_blanks(condition + 2))
		return mt_error_new(MT_ERROR_USAGE, "the condition behind \"if\" is missing");
	for (const char *option = at; option < at + length; option = skip_blanks(option)) {
		if (is_word(option, "-stop") || is_word(option, "-max") ||
		    is_word(option, "-print"))
			return mt_error_new(MT_ERROR_USAGE,
					    "options of mtrace trigger come before the location");
		option += strcspn(option, " \t");
	}
	if (condition)
		trigger->condition = strdup(skip_blanks(condition + 2));
	return trigger->location && (!condition || trigger->condition) ? NULL
								       : mt_error_no_memory();
}

static bool is_pending(PyObject *breakpoint)
{
	mt_auto(mt_py) PyObject *pending = PyObject_GetAttrString(breakpoint, "pending");

	PyErr_Clear();
	return pending == Py_True;
}

/* GDB's number of the newest breakpoint. */
static long long last_breakpoint(PyObject **out)
{
	mt_auto(mt_py) PyObject *all = mt_py_call_gdb("breakpoints", "()");
	Py_ssize_t count = all ? PySequence_Size(all) : 0;

	*out = count > 0 ? PySequence_GetItem(all, count - 1) : NULL;
	PyErr_Clear();
	return *out ? mt_py_number(*out, "number", 0) : 0;
}

/* GDB's own words, but that a pending one has a condition of ours in it. */
static void tell_breakpoint(const struct trigger *trigger, long long number, const char *said)
{
	if (is_pending(trigger->breakpoint))
		mt_gdb_printf("Breakpoint %lld (%s) pending.\n", number, trigger->location);
	else
		mt_gdb_print(said);
}

/* By "break", which takes more than gdb.Breakpoint() does, and leaves none if the condition is
 * wrong.  A condition that is set where there is no location yet would have GDB disable the
 * breakpoint at the next library in which it is not either. */
static struct mt_error *make_breakpoint(struct trigger *trigger)
{
	mt_auto(mt_str) struct mt_str said = {0};
	PyObject *before;
	long long last = last_breakpoint(&before);

	Py_XDECREF(before);
	mt_try(mt_gdb_executef(&said,
			       "with breakpoint pending on -- break %s if %s%s%s$_mtrace_fire(%u)",
			       trigger->location, trigger->condition ? "(" : "",
			       trigger->condition ? trigger->condition : "",
			       trigger->condition ? ") && " : "", trigger->number));
	long long number = last_breakpoint(&trigger->breakpoint);
	if (number > last) {
		tell_breakpoint(trigger, number, said.text ? said.text : "");
		return NULL;
	}
	Py_CLEAR(trigger->breakpoint);
	return mt_error_new(MT_ERROR_USAGE, "no breakpoint came of \"%s\"", trigger->location);
}

static struct mt_error *run_trigger(const char *text)
{
	struct trigger *trigger = calloc(1, sizeof(*trigger));

	if (!trigger)
		return mt_error_no_memory();
	trigger->number = last_number + 1;
	struct mt_error *error = parse(trigger, text);
	if (!error)
		error = make_breakpoint(trigger);
	if (!error && mt_array_push(&triggers, trigger))
		error = mt_error_no_memory();
	if (error) {
		destroy(trigger);
		return error;
	}
	last_number++;
	mt_gdb_printf("Trigger %u: a snapshot %s%s%s%s.\n", trigger->number,
		      trigger->most == 1 ? "at the first hit of " : "at each hit of ",
		      trigger->location, trigger->condition ? " if " : "",
		      trigger->condition ? trigger->condition : "");
	return NULL;
}

static const char *const options[] = {"-max COUNT", "-stop", "-print EXPRESSION", NULL};

const struct mt_gdb_command mt_gdb_command_trigger = {
    .name = "trigger",
    .group = "COMMAND_BREAKPOINTS",
    .usage = "[-max COUNT] [-stop] [-print EXPRESSION]... LOCATION [if CONDITION]",
    .help = "Take a snapshot whenever a thread comes to LOCATION and CONDITION holds.\n"
	    "LOCATION is what \"break\" takes; \".\" stands for the function\n"
	    "magic_trace_stop_indicator, whose arguments are shown.  The program goes on.\n\n"
	    "Options:\n"
	    "  -max COUNT          take so many snapshots at the most\n"
	    "  -stop               stop the program, too\n"
	    "  -print EXPRESSION   show its value there; quote one that holds blanks",
    .completion = {.options = options, .like = "break"},
    .run_text = run_trigger,
};

static struct mt_error *run_delete(int argc, char **argv)
{
	uint64_t number = 0;

	if (argc != 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace delete needs a trigger's number");
	mt_try(mt_parse_number(argv[1], "trigger", 1, UINT32_MAX, &number));
	for (size_t i = 0; i < triggers.count; i++) {
		if (triggers.items[i]->number != number)
			continue;
		destroy(triggers.items[i]);
		memmove(&triggers.items[i], &triggers.items[i + 1],
			(--triggers.count - i) * sizeof(triggers.items[0]));
		return NULL;
	}
	return mt_error_new(MT_ERROR_USAGE, "No trigger number %s.", argv[1]);
}

static void numbers(struct mt_str *words)
{
	mt_array_each (trigger, &triggers)
		mt_str_appendf(words, "%u ", (*trigger)->number);
}

const struct mt_gdb_command mt_gdb_command_delete = {
    .name = "delete",
    .group = "COMMAND_BREAKPOINTS",
    .usage = "NUMBER",
    .help = "Delete a trigger.\n\"mtrace info\" lists them with their numbers.",
    .completion = {.words = numbers},
    .run = run_delete,
};

void mt_triggers_print(void)
{
	mt_array_each (one, &triggers) {
		const struct trigger *trigger = *one;
		const char *hits = trigger->hits == 1 ? "hit" : "hits";

		mt_gdb_printf("Trigger %u: %s%s%s: %u %s%s\n", trigger->number, trigger->location,
			      trigger->condition ? " if " : "",
			      trigger->condition ? trigger->condition : "", trigger->hits, hits,
			      is_there(trigger) ? "" : " (its breakpoint was deleted)");
	}
}

PyObject *mt_triggers_list(void)
{
	PyObject *list = PyList_New(0);

	mt_array_each (one, &triggers) {
		const struct trigger *trigger = *one;
		mt_auto(mt_py) PyObject *item = Py_BuildValue(
		    "{s:I,s:s,s:z,s:I}", "number", trigger->number, "location", trigger->location,
		    "condition", trigger->condition, "hits", trigger->hits);

		if (!item || !list || PyList_Append(list, item)) {
			Py_XDECREF(list);
			return NULL;
		}
	}
	return list;
}
