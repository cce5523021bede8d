/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trigger is a breakpoint with the condition "(COND) && $_mtrace_fire(N)".  GDB evaluates it in
 * the thread that came there, while the others run on, and the function takes the snapshot; it is
 * false, so that the program goes on, unless the trigger is to stop it.  A stop() of the
 * breakpoint's own would be called even if COND is false. */
#include "gdb-plugin/trigger.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/gdb/progress.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/trigger_type.h"

#include <string.h>

struct mt_error *mt_trigger_evaluate(void *context, const char *expression, struct mt_str *out)
{
	mt_hold_pause(); /* functions and printers of the user's */
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parse_and_eval", "(s)", expression);
	mt_auto(mt_py) PyObject *text = value ? PyObject_Str(value) : NULL;
	mt_hold_resume();
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

/* gdb.NAME */
static long long type_code(const char *name)
{
	mt_auto(mt_py) PyObject *code = mt_py_gdb(name);

	return code ? PyLong_AsLongLong(code) : -1;
}

static bool is_long_double(PyObject *type)
{
	mt_auto(mt_py) PyObject *name = PyObject_GetAttrString(type, "name");

	return name && PyUnicode_Check(name) &&
	       PyUnicode_CompareWithASCIIString(name, "long double") == 0;
}

/* TYPE's value where the ABI has it at a return; NULL: it is none of a register's. */
static PyObject *returned(PyObject *type)
{
	mt_auto(mt_py) PyObject *stripped = PyObject_CallMethod(type, "strip_typedefs", NULL);
	const long long code = stripped ? mt_py_number(stripped, "code", 0) : 0;
	const long long size = stripped ? mt_py_number(stripped, "sizeof", 0) : 0;
	const char *place = NULL;

	if (code == type_code("TYPE_CODE_FLT"))
		place = size == 8                  ? "$xmm0.v2_double[0]"
			: size == 4                ? "$xmm0.v4_float[0]"
			: is_long_double(stripped) ? "$st0"
						   : NULL;
	else if (size <= 8 && code != type_code("TYPE_CODE_STRUCT") &&
		 code != type_code("TYPE_CODE_UNION") && code != type_code("TYPE_CODE_ARRAY") &&
		 code != type_code("TYPE_CODE_VOID"))
		place = "$rax";
	mt_auto(mt_py) PyObject *value =
	    place ? mt_py_call_gdb("parse_and_eval", "(s)", place) : NULL;
	return value ? PyObject_CallMethod(value, "cast", "O", type) : NULL;
}

void mt_trigger_set_result(void *context)
{
	mt_auto(mt_py) PyObject *frame = mt_py_call_gdb("newest_frame", "()");
	mt_auto(mt_py) PyObject *function =
	    frame ? PyObject_CallMethod(frame, "function", NULL) : NULL;
	mt_auto(mt_py) PyObject *type =
	    function && function != Py_None ? PyObject_GetAttrString(function, "type") : NULL;
	mt_auto(mt_py) PyObject *target = type ? PyObject_CallMethod(type, "target", NULL) : NULL;
	mt_auto(mt_py) PyObject *value = target ? returned(target) : NULL;

	(void)context;
	PyErr_Clear();
	mt_auto(mt_py) PyObject *done =
	    mt_py_call_gdb("set_convenience_variable", "(sO)", "_ret", value ? value : Py_None);
	PyErr_Clear();
}

/* The thread that is to stop for its trigger, which has fired; 0: none. */
static struct {
	pid_t lwp;
	uint32_t number;
} told;

static PyObject *call_fire(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	PyObject *argument = PyTuple_GetItem(args, 0);
	mt_auto(mt_py) PyObject *number = argument ? PyNumber_Long(argument) : NULL;
	unsigned long long wanted = number ? PyLong_AsUnsignedLongLongMask(number) : 0;

	(void)self;
	PyErr_Clear();
	if (told.lwp && told.number == wanted && told.lwp == mt_gdb_lwp()) {
		told.lwp = 0;
		return PyLong_FromLong(1);
	}
	mt_array_each (trigger, &mt_gdb_debugger()->triggers) {
		bool stops;

		if ((*trigger)->number != wanted)
			continue;
		struct mt_error *error = mt_live_fire(mt_gdb_debugger(), *trigger, &stops);
		if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED)
			return mt_py_answer(error); /* which stops the program */
		mt_auto(mt_py) PyObject *none = mt_py_report(error);
		return PyLong_FromLong(stops);
	}
	return PyLong_FromLong(0);
}

/* GDB reports a stop best at a breakpoint of its own: where that can be in the program at once, the
 * thread is let go on, right into it. */
static PyObject *call_gate(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct mt_inferior *inferior = mt_inferior_selected();
	struct mt_live_passed passed = {0};

	(void)self;
	(void)args;
	if (!inferior || !mt_live_pass_gate(mt_gdb_debugger(), &inferior->live, &passed))
		return PyLong_FromLong(0);
	if (passed.error && mt_error_code(passed.error) == MT_ERROR_INTERRUPTED)
		return mt_py_answer(passed.error);
	mt_auto(mt_py) PyObject *none = mt_py_report(passed.error);
	if (!passed.stops || !passed.can_break)
		return PyLong_FromLong(passed.stops);
	told.lwp = mt_gdb_lwp();
	told.number = passed.trigger->number;
	mt_live_take_back_trigger(mt_gdb_debugger(), passed.trigger);
	return PyLong_FromLong(0);
}

static PyObject *call_snapshot(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
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
	static PyMethodDef invoke_gate = {"invoke", call_gate, METH_VARARGS, NULL};
	static PyMethodDef invoke_snapshot = {"invoke", call_snapshot, METH_VARARGS, NULL};

	mt_gdb_set_convenience("_mtrace_hits", 0);
	mt_gdb_set_convenience("_mtrace_snapshots", 0);
	mt_try(define("_mtrace_fire",
		      "Part of mtrace's triggers: takes the snapshot of trigger N.\n"
		      "Usage: $_mtrace_fire (N)",
		      &invoke_fire));
	mt_try(define("_mtrace_gate",
		      "Part of mtrace's triggers: whether the selected thread is to stop for one.\n"
		      "Usage: $_mtrace_gate ()",
		      &invoke_gate));
	return define("_mtrace_snapshot",
		      "Take a snapshot of what mtrace recorded, and return its number.\n"
		      "Usage: $_mtrace_snapshot ()",
		      &invoke_snapshot);
}

long long mt_trigger_last_breakpoint(PyObject **out)
{
	mt_auto(mt_py) PyObject *all = mt_py_call_gdb("breakpoints", "()");
	Py_ssize_t count = all ? PySequence_Size(all) : 0;

	*out = count > 0 ? PySequence_GetItem(all, count - 1) : NULL;
	PyErr_Clear();
	return *out ? mt_py_number(*out, "number", 0) : 0;
}

void mt_trigger_append_condition(struct mt_str *out, const struct mt_live_trigger *trigger)
{
	if (trigger->spec.condition)
		mt_str_appendf(out, "(%s) && ", trigger->spec.condition);
	mt_str_appendf(out, "$_mtrace_fire(%u)", trigger->number);
}

/* CONDITION NULL: none. */
static struct mt_error *execute_break(const struct mt_live_trigger *trigger, const char *condition,
				      struct mt_str *message)
{
	const bool is_pending = trigger->spec.is_pending || mt_gdb_parameter("breakpoint pending");

	mt_hold_pause(); /* reading symbols */
	struct mt_error *error = mt_gdb_executef(
	    message, "with breakpoint pending %s -- break %s%s%s", is_pending ? "on" : "off",
	    trigger->spec.location, condition ? " if " : "", condition ? condition : "");
	mt_hold_resume();
	return error;
}

/* By GDB's words for it: its errors have no codes in Python. */
static bool is_missing(const char *message)
{
	static const char *const words[] = {"No source file named ", "No line ",
					    "No symbol table is loaded"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(message, words[i], strlen(words[i])) == 0)
			return true;
	return strncmp(message, "Function \"", 10) == 0 && strstr(message, " not defined");
}

/* What is wrong with a trigger's words, told of these alone. */
static struct mt_error *explain(const struct mt_live_trigger *trigger, struct mt_error *error)
{
	mt_auto(mt_str) struct mt_str message = {0};
	PyObject *breakpoint = NULL;
	struct mt_error *own = execute_break(trigger, trigger->spec.condition, &message);

	if (!own) {
		mt_trigger_last_breakpoint(&breakpoint);
		mt_py_delete_breakpoint(breakpoint);
		return error;
	}
	mt_error_destroy(error);
	if (!is_missing(mt_error_message(own)))
		return own;
	error = mt_error_new(MT_ERROR_NOT_FOUND, "%s", mt_error_message(own));
	mt_error_destroy(own);
	return error;
}

/* Python has no object for a breakpoint at a function that is chosen when the program starts. */
static struct mt_error *refuse_unseen(const struct mt_live_trigger *trigger, long long last)
{
	mt_auto(mt_py) PyObject *number = mt_py_call_gdb("parse_and_eval", "(s)", "$bpnum");
	mt_auto(mt_py) PyObject *whole = number ? PyNumber_Long(number) : NULL;
	const long long newest = whole ? PyLong_AsLongLong(whole) : 0;
	mt_auto(mt_str) struct mt_str ignored = {0};

	PyErr_Clear();
	if (newest <= last)
		return mt_error_new(MT_ERROR_USAGE, "GDB set no breakpoint at \"%s\"",
				    trigger->spec.location);
	mt_error_destroy(mt_gdb_executef(&ignored, "delete %lld", newest));
	return mt_error_new(MT_ERROR_USAGE,
			    "GDB does not know yet which function \"%s\" stands for: the program "
			    "chooses it when it starts (name that function)",
			    trigger->spec.location);
}

/* By "break", which takes more than gdb.Breakpoint() does, and leaves none if the condition is
 * wrong.  A condition that is set where there is no location yet would have GDB disable the
 * breakpoint at the next library in which it is not either. */
struct mt_error *mt_trigger_set(void *context, struct mt_live_trigger *trigger, struct mt_str *said)
{
	mt_auto(mt_str) struct mt_str message = {0}, condition = {0};
	const struct mt_inferior *inferior = mt_inferior_selected();
	PyObject *breakpoint;

	/* GDB's `commands` and $bpnum mean the last breakpoint, which is to be the trigger's. */
	if (inferior && mt_live_is_recording(&inferior->live))
		mt_trigger_expect_gates(context);
	long long last = mt_trigger_last_breakpoint(&breakpoint);
	Py_XDECREF(breakpoint);
	mt_trigger_append_condition(&condition, trigger);
	struct mt_error *error =
	    execute_break(trigger, condition.text ? condition.text : "", &message);
	if (error)
		return mt_error_code(error) == MT_ERROR_INTERRUPTED ? error
								    : explain(trigger, error);
	long long number = mt_trigger_last_breakpoint(&breakpoint);
	if (number <= last) {
		Py_XDECREF(breakpoint);
		return refuse_unseen(trigger, last);
	}
	trigger->breakpoint = breakpoint;
	mt_auto(mt_py) PyObject *pending = PyObject_GetAttrString(breakpoint, "pending");
	PyErr_Clear();
	/* GDB's message for a pending one contains our condition. */
	if (pending == Py_True)
		mt_str_appendf(said, "Breakpoint %lld (%s) pending.\n", number,
			       trigger->spec.location);
	else
		mt_str_append(said, message.text ? message.text : "");
	return NULL;
}

void mt_trigger_delete(void *context, struct mt_live_trigger *trigger)
{
	(void)context;
	mt_py_delete_breakpoint(trigger->breakpoint); /* the user may have done so */
	mt_trigger_forget_object(trigger);
	mt_array_each (other, &mt_gdb_debugger()->triggers)
		if (*other != trigger)
			return;
	if (!mt_gdb_debugger()->askers.count)
		mt_trigger_drop_catchpoint();
}

bool mt_trigger_is_set(void *context, const struct mt_live_trigger *trigger)
{
	mt_auto(mt_py) PyObject *valid = PyObject_CallMethod(trigger->breakpoint, "is_valid", NULL);

	(void)context;
	PyErr_Clear();
	return valid == Py_True;
}
