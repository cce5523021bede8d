/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trigger is a breakpoint with the condition "(COND) && $_mtrace_fire(N)".  GDB evaluates it in
 * the thread that came there, while the others run on, and the function takes the snapshot; it is
 * false, so that the program goes on, unless the trigger is to stop it.  A stop() of the
 * breakpoint's own would be called even if COND is false. */
#include "trigger.h"

#include "gdb.h"
#include "inferior.h"
#include "progress.h"

#include <string.h>

struct mt_error *mt_trigger_evaluate(void *context, const char *expression, struct mt_str *out)
{
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parse_and_eval", "(s)", expression);
	mt_auto(mt_py) PyObject *text = value ? PyObject_Str(value) : NULL;
	char *printed = text ? mt_py_text(text) : NULL;

	(void)context;
	if (!printed)
		return mt_py_error();
	mt_str_appendf(out, "%s = %s", expression, printed);
	free(printed);
	return NULL;
}

struct mt_error *mt_trigger_arguments(void *context, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str text = {0};

	(void)context;
	mt_try(mt_gdb_execute("info args", &text));
	for (const char *line = text.text; line && *line; line += strspn(line, "\n")) {
		size_t length = strcspn(line, "\n");

		if (memmem(line, length, " = ", 3))
			mt_str_appendf(out, "%.*s\n", (int)length, line);
		line += length;
	}
	return NULL;
}

static PyObject *call_fire(PyObject *self, PyObject *args)
{
	PyObject *argument = PyTuple_GetItem(args, 0);
	mt_auto(mt_py) PyObject *number = argument ? PyNumber_Long(argument) : NULL;
	unsigned long long wanted = number ? PyLong_AsUnsignedLongLongMask(number) : 0;

	(void)self;
	PyErr_Clear();
	mt_array_each (trigger, &mt_gdb_debugger()->triggers) {
		bool stops = (*trigger)->stops;

		if ((*trigger)->number != wanted)
			continue;
		struct mt_error *error = mt_live_fire(mt_gdb_debugger(), *trigger);
		if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED)
			return mt_py_answer(error); /* which stops the program */
		mt_auto(mt_py) PyObject *none = mt_py_report(error);
		return PyLong_FromLong(stops);
	}
	return PyLong_FromLong(0);
}

static PyObject *call_snapshot(PyObject *self, PyObject *args)
{
	struct mt_inferior *inferior = mt_inferior_selected();
	const char *path;
	struct mt_error *error = mt_live_snapshot(
	    mt_gdb_debugger(), inferior ? &inferior->live : NULL, NULL, &path, NULL);

	(void)self;
	(void)args;
	mt_gdb_progress_erase();
	return error ? mt_py_answer(error) : PyLong_FromLong(mt_gdb_debugger()->snapshots);
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

/* GDB's number of the newest breakpoint. */
static long long last_breakpoint(PyObject **out)
{
	mt_auto(mt_py) PyObject *all = mt_py_call_gdb("breakpoints", "()");
	Py_ssize_t count = all ? PySequence_Size(all) : 0;

	*out = count > 0 ? PySequence_GetItem(all, count - 1) : NULL;
	PyErr_Clear();
	return *out ? mt_py_number(*out, "number", 0) : 0;
}

/* By "break", which takes more than gdb.Breakpoint() does, and leaves none if the condition is
 * wrong.  A condition that is set where there is no location yet would have GDB disable the
 * breakpoint at the next library in which it is not either. */
struct mt_error *mt_trigger_set(void *context, struct mt_live_trigger *trigger)
{
	mt_auto(mt_str) struct mt_str message = {0};
	PyObject *breakpoint;
	long long last = last_breakpoint(&breakpoint);

	(void)context;
	Py_XDECREF(breakpoint);
	mt_try(mt_gdb_executef(&message,
			       "with breakpoint pending on -- break %s if %s%s%s$_mtrace_fire(%u)",
			       trigger->location, trigger->condition ? "(" : "",
			       trigger->condition ? trigger->condition : "",
			       trigger->condition ? ") && " : "", trigger->number));
	long long number = last_breakpoint(&breakpoint);
	if (number <= last) {
		Py_XDECREF(breakpoint);
		return mt_error_new(MT_ERROR_USAGE, "GDB set no breakpoint at \"%s\"",
				    trigger->location);
	}
	trigger->breakpoint = breakpoint;
	mt_auto(mt_py) PyObject *pending = PyObject_GetAttrString(breakpoint, "pending");
	PyErr_Clear();
	/* GDB's message for a pending one contains our condition. */
	if (pending == Py_True)
		mt_gdb_printf("Breakpoint %lld (%s) pending.\n", number, trigger->location);
	else
		mt_gdb_print(message.text ? message.text : "");
	return NULL;
}

void mt_trigger_delete(void *context, struct mt_live_trigger *trigger)
{
	(void)context;
	mt_py_delete_breakpoint(trigger->breakpoint); /* the user may have done so */
}

bool mt_trigger_is_set(void *context, const struct mt_live_trigger *trigger)
{
	mt_auto(mt_py) PyObject *valid = PyObject_CallMethod(trigger->breakpoint, "is_valid", NULL);

	(void)context;
	PyErr_Clear();
	return valid == Py_True;
}

PyObject *mt_triggers_list(void)
{
	PyObject *list = PyList_New(0);

	mt_array_each (one, &mt_gdb_debugger()->triggers) {
		const struct mt_live_trigger *trigger = *one;
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
