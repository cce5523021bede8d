/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the program evaluates a trigger's condition (live/gate.c), the breakpoint is disabled while
 * the program runs, and a catchpoint for SIGURG, which is the signal of a thread that is hit, has
 * the condition $_mtrace_gate(). */
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/trigger.h"

#include <string.h>

static PyObject *catchpoint; /* NULL: not needed yet */

void mt_trigger_drop_catchpoint(void)
{
	mt_py_delete_breakpoint(catchpoint);
	catchpoint = NULL;
}

static bool is_none(PyObject *object, const char *attribute)
{
	mt_auto(mt_py) PyObject *value = PyObject_GetAttrString(object, attribute);

	PyErr_Clear();
	return !value || value == Py_None;
}

static bool has_parameter(const char *name, const char *wanted)
{
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parameter", "(s)", name);
	mt_auto(mt_py) PyObject *text = value ? PyObject_Str(value) : NULL;
	char *is = text ? mt_py_text(text) : NULL;
	bool same = is && strcmp(is, wanted) == 0;

	PyErr_Clear();
	free(is);
	return same;
}

/* What the condition means to GDB alone; NULL: nothing. */
static struct mt_error *check_meaning(const struct mt_live_trigger *trigger, PyObject *breakpoint)
{
	mt_auto(mt_str) struct mt_str wanted = {0};

	if (!is_none(breakpoint, "commands") || mt_py_number(breakpoint, "ignore_count", 0) ||
	    !is_none(breakpoint, "thread") || !is_none(breakpoint, "task"))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "its breakpoint has commands, a thread or an ignore count");
	mt_auto(mt_py) PyObject *condition = PyObject_GetAttrString(breakpoint, "condition");
	char *text = condition && condition != Py_None ? mt_py_text(condition) : NULL;
	PyErr_Clear();
	mt_trigger_append_condition(&wanted, trigger);
	bool same = text && wanted.text && strcmp(text, wanted.text) == 0;
	free(text);
	if (!same)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "its breakpoint's condition was changed");
	if (trigger->spec.condition &&
	    (!has_parameter("input-radix", "10") || !has_parameter("language", "auto")))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "\"set input-radix\" or \"set language\" is in use");
	return NULL;
}

/* How many inferiors have it, and whether the selected one is one of them. */
static Py_ssize_t count_inferiors(PyObject *location, bool *is_here)
{
	mt_auto(mt_py) PyObject *groups = PyObject_GetAttrString(location, "thread_groups");
	const Py_ssize_t count = groups ? PySequence_Size(groups) : 0;

	*is_here = false;
	for (Py_ssize_t i = 0; i < count; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(groups, i);
		*is_here |= one && PyLong_AsLong(one) == mt_gdb_inferior();
	}
	PyErr_Clear();
	return count;
}

/* 0: it is nowhere, or disabled. */
static uint64_t address_of(PyObject *location)
{
	mt_auto(mt_py) PyObject *address =
	    location ? PyObject_GetAttrString(location, "address") : NULL;
	const uint64_t at = address ? PyLong_AsUnsignedLongLongMask(address) : 0;

	PyErr_Clear();
	return at && mt_py_number(location, "enabled", 0) ? at : 0;
}

static bool is_at(PyObject *breakpoint, uint64_t address)
{
	mt_auto(mt_py) PyObject *locations = PyObject_GetAttrString(breakpoint, "locations");
	const Py_ssize_t count = locations ? PySequence_Size(locations) : 0;
	bool found = false;

	PyErr_Clear(); /* a watchpoint has none */
	for (Py_ssize_t i = 0; i < count && !found; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(locations, i);
		found = address_of(one) == address;
	}
	return found;
}

/* It is the breakpoint of a trigger at which no thread stops, or is looked at. */
static bool passes(long long number)
{
	mt_array_each (one, &mt_gdb_debugger()->triggers)
		if (!mt_live_is_looked_at(*one) &&
		    mt_py_number((*one)->breakpoint, "number", 0) == number)
			return true;
	return false;
}

/* A thread that stops at it, or is stepped to it, is to have been asked by then; and GDB steps a
 * thread over it from its address, wherever the thread was led to. */
static bool has_another(const struct mt_live_trigger *trigger, uint64_t address)
{
	const bool is_looked_at = mt_live_is_looked_at(trigger);
	const long long number = mt_py_number(trigger->breakpoint, "number", 0);
	mt_auto(mt_py) PyObject *all = mt_py_call_gdb("breakpoints", "()");
	const Py_ssize_t count = all ? PySequence_Size(all) : 0;
	bool found = false;

	PyErr_Clear();
	for (Py_ssize_t i = 0; i < count && !found; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(all, i);
		const long long other = mt_py_number(one, "number", 0);
		found = one && other != number && mt_py_number(one, "enabled", 0) &&
			(is_looked_at || !passes(other)) && is_at(one, address);
	}
	return found;
}

static struct mt_error *give_location(const struct mt_live_trigger *trigger, PyObject *location,
				      mt_live_location_found *found, void *context,
				      Py_ssize_t *here)
{
	const uint64_t at = address_of(location);
	bool is_here;
	const Py_ssize_t inferiors = count_inferiors(location, &is_here);

	/* Others stand still while this one runs. */
	if (!is_here && !mt_gdb_parameter("schedule-multiple"))
		return NULL;
	(*here)++;
	if (!at)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "a location of it is disabled");
	if (!is_here || inferiors != 1)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "another inferior has it, too");
	if (mt_live_is_asked_at_entry(trigger) && has_another(trigger, at))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "another breakpoint is at the same place");
	return found(context, at);
}

struct mt_error *mt_trigger_locations(void *context, const struct mt_live_trigger *trigger,
				      mt_live_location_found *found, void *found_context)
{
	PyObject *breakpoint = trigger->breakpoint;
	struct mt_error *error = NULL;

	if (!mt_trigger_is_set(context, trigger))
		return mt_error_new(MT_ERROR_NOT_FOUND, "its breakpoint was deleted");
	if (!trigger->is_aside && !mt_py_number(breakpoint, "enabled", 0))
		return mt_error_new(MT_ERROR_NOT_FOUND, "its breakpoint is disabled");
	mt_auto(mt_py) PyObject *locations = PyObject_GetAttrString(breakpoint, "locations");
	Py_ssize_t count = locations ? PySequence_Size(locations) : 0, here = 0;
	PyErr_Clear();
	if (count > 0)
		mt_try(check_meaning(trigger, breakpoint));
	for (Py_ssize_t i = 0; i < count && !error; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(locations, i);
		error = give_location(trigger, one, found, found_context, &here);
	}
	return here ? error : mt_error_new(MT_ERROR_NOT_FOUND, "it is nowhere in the program yet");
}

static void enable(PyObject *breakpoint, bool on)
{
	if (!breakpoint || PyObject_SetAttrString(breakpoint, "enabled", on ? Py_True : Py_False))
		PyErr_Clear(); /* deleted */
}

/* The user may have deleted it. */
void mt_trigger_expect_gates(void *context)
{
	mt_auto(mt_str) struct mt_str ignored = {0};
	mt_auto(mt_py) PyObject *valid =
	    catchpoint ? PyObject_CallMethod(catchpoint, "is_valid", NULL) : NULL;
	PyObject *before;

	(void)context;
	PyErr_Clear();
	if (valid == Py_True)
		return;
	Py_CLEAR(catchpoint);
	long long last = mt_trigger_last_breakpoint(&before);
	Py_XDECREF(before);
	mt_error_destroy(mt_gdb_execute("catch signal SIGURG", &ignored));
	if (mt_trigger_last_breakpoint(&catchpoint) <= last) {
		Py_CLEAR(catchpoint);
		return;
	}
	mt_auto(mt_py) PyObject *condition = PyUnicode_FromString("$_mtrace_gate()");
	if (PyObject_SetAttrString(catchpoint, "condition", condition))
		PyErr_Clear();
}

/* One that has no more hits has no gates.  It ends as its stop is told, when no command may be
 * executed: GDB would run those of the breakpoint before it prints that. */
void mt_trigger_set_aside(void *context, const struct mt_live_trigger *trigger, bool aside)
{
	if (aside && !mt_live_is_done(trigger))
		mt_trigger_expect_gates(context);
	enable(trigger->breakpoint, !aside);
}

void mt_trigger_moved(void *context, struct mt_live *live)
{
	(void)context;
	mt_error_destroy(mt_gdb_target_moved(live->target));
}
