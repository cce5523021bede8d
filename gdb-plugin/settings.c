/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/settings.h"

#include "gdb-plugin/gdb/py.h"
#include "tracks/tracks.h"

#include <string.h>

struct parameter {
	const char *name; /* behind "mtrace " */
	const char *kind; /* gdb.PARAM_… */
	const char *const *choices;
	const char *set_doc, *show_doc, *doc;
	const char *shown; /* by `show`, with %s for the value */
	PyObject *object;
	char *last; /* sound value; of those that are checked */
	struct mt_error *(*check)(const char *text);
};

static struct mt_error *check_size(const char *text)
{
	uint64_t size;

	mt_try(mt_parse_size(text, &size));
	return mt_session_check_ring(size);
}

/* Of marks GDB would have to stop the program, as it does for triggers. */
static struct mt_error *check_events(const char *text)
{
	const char *const events[] = {text, NULL};

	if (!*text)
		return NULL;
	mt_try(mt_tracks_check(events));
	return mt_tracks_want_marks(events)
		   ? mt_error_new(MT_ERROR_USAGE, "marks are recorded by mtdb alone; in GDB "
						  "\"mtrace trigger mtrace_mark\" stops at them")
		   : NULL;
}

static const char *const engines[] = {"auto", "calls", "pt", "sample", NULL};
static const char *const stamps[] = {"sampled", "full", NULL};

static struct parameter parameters[MT_LIVE_SETTINGS] = {
    [MT_LIVE_ENGINE] =
	{
	    .name = "engine",
	    .kind = "PARAM_ENUM",
	    .choices = engines,
	    .set_doc = "Set how mtrace records.",
	    .show_doc = "Show how mtrace records.",
	    .doc = "auto is calls, which patches the program's functions; pt is Intel PT.",
	    .shown = "mtrace records with the engine \"%s\".",
	},
    [MT_LIVE_BUFFER_SIZE] =
	{
	    .name = "buffer-size",
	    .kind = "PARAM_STRING_NOESCAPE",
	    .set_doc = "Set the size of each thread's ring.",
	    .show_doc = "Show the size of each thread's ring.",
	    .doc = "Such as 512k or 16M.  It holds for what is recorded from the next start on.",
	    .shown = "Per-thread ring size is %s.",
	    .check = check_size,
	},
    [MT_LIVE_TIMESTAMPS] =
	{
	    .name = "timestamps",
	    .kind = "PARAM_ENUM",
	    .choices = stamps,
	    .set_doc = "Set how often mtrace reads the clock.",
	    .show_doc = "Show how often mtrace reads the clock.",
	    .doc = "sampled: once for several calls, with estimates between; full: at each call.",
	    .shown = "Time stamps are \"%s\".",
	},
    [MT_LIVE_EVENTS] =
	{
	    .name = "events",
	    .kind = "PARAM_STRING_NOESCAPE",
	    .set_doc = "Set what mtrace records in addition to calls.",
	    .show_doc = "Show what mtrace records in addition to calls.",
	    .doc =
		"sched, faults, syscalls, or several with commas between them: where threads\n"
		"ran and why not, page faults, system calls, each on a track of its own.  Holds\n"
		"for what is recorded from the next start on.  Nothing: calls alone.",
	    .shown = "Recorded in addition to calls: \"%s\".",
	    .check = check_events,
	},
    [MT_LIVE_PYTHON_CALLS] =
	{
	    .name = "python-calls",
	    .kind = "PARAM_BOOLEAN",
	    .set_doc = "Set whether mtrace records calls that Python makes of functions in Python.",
	    .show_doc =
		"Show whether mtrace records calls that Python makes of functions in Python.",
	    .doc = "CPython 3.11 makes each of them a call in C then, which is slower and takes "
		   "stack.\nIt holds for what is recorded from the next start on.",
	    .shown = "Calls that Python makes of functions in Python are recorded: %s.",
	},
    [MT_LIVE_OUTPUT] =
	{
	    .name = "output",
	    .kind = "PARAM_FILENAME",
	    .set_doc = "Set where mtrace writes timelines.",
	    .show_doc = "Show where mtrace writes timelines.",
	    .doc =
		"%n stands for the snapshot's number.  The extension selects the format: .fxt or\n"
		".pftrace (open it in https://ui.perfetto.dev), .html (for any browser), .json,\n"
		".speedscope.json, .txt or .folded, and .gz or .zst behind it.",
	    .shown = "Timelines are written to \"%s\".",
	},
    [MT_LIVE_ON_CRASH] =
	{
	    .name = "on-crash",
	    .kind = "PARAM_BOOLEAN",
	    .set_doc = "Set whether mtrace takes a snapshot when the program crashes.",
	    .show_doc = "Show whether mtrace takes a snapshot when the program crashes.",
	    .doc = "At SIGSEGV, SIGABRT, SIGBUS, SIGFPE and SIGILL.",
	    .shown = "A snapshot at a crash is %s.",
	},
    [MT_LIVE_ON_EXIT] =
	{
	    .name = "on-exit",
	    .kind = "PARAM_BOOLEAN",
	    .set_doc = "Set whether mtrace takes a snapshot when the program ends.",
	    .show_doc = "Show whether mtrace takes a snapshot when the program ends.",
	    .doc = "When it exits or is killed, and when GDB detaches from it.  Without one,\n"
		   "\"mtrace history\" shows its last calls until the next \"run\".",
	    .shown = "A snapshot at the program's end is %s.",
	},
    [MT_LIVE_HISTORY_SIZE] =
	{
	    .name = "history-size",
	    .kind = "PARAM_UINTEGER",
	    .set_doc = "Set how many calls \"mtrace history\" shows.",
	    .show_doc = "Show how many calls \"mtrace history\" shows.",
	    .doc = "0 or unlimited: all there are.",
	    .shown = "\"mtrace history\" shows %s calls.",
	},
};

/* The value is stored already: an invalid one is replaced by the last. */
static PyObject *set(PyObject *self, PyObject *ignored)
{
	struct parameter *parameter = mt_py_context(self);
	mt_auto(mt_py) PyObject *value = PyObject_GetAttrString(parameter->object, "value");
	char *text = value ? mt_py_text(value) : NULL;
	struct mt_error *error = parameter->check(text ? text : "");

	(void)ignored;
	PyErr_Clear();
	if (error) {
		mt_auto(mt_py) PyObject *last = PyUnicode_FromString(parameter->last);

		free(text);
		if (last && PyObject_SetAttrString(parameter->object, "value", last))
			PyErr_Clear();
		return mt_py_answer(error);
	}
	free(parameter->last);
	parameter->last = text;
	return PyUnicode_FromString("");
}

static PyObject *show(PyObject *self, PyObject *value)
{
	struct parameter *parameter = mt_py_context(self);
	mt_auto(mt_str) struct mt_str line = {0};
	char *text = mt_py_text(value);

	for (const char *at = parameter->shown; *at; at++) {
		if (at[0] == '%' && at[1] == 's') {
			mt_str_append(&line, text ? text : "");
			at++;
		} else {
			mt_str_append_bytes(&line, at, 1);
		}
	}
	free(text);
	return PyUnicode_FromString(line.text && !line.failed ? line.text : "");
}

static PyObject *attributes_of(struct parameter *parameter)
{
	static PyMethodDef setter = {"get_set_string", set, METH_NOARGS, NULL};
	static PyMethodDef shower = {"get_show_string", show, METH_O, NULL};
	mt_auto(mt_py) PyObject *show_function = mt_py_function(&shower, parameter);
	mt_auto(mt_py) PyObject *set_function = mt_py_function(&setter, parameter);

	if (!show_function || !set_function)
		return NULL;
	if (parameter->check)
		return Py_BuildValue("{s:s,s:s,s:s,s:O,s:O}", "__doc__", parameter->doc, "set_doc",
				     parameter->set_doc, "show_doc", parameter->show_doc,
				     "get_show_string", show_function, "get_set_string",
				     set_function);
	return Py_BuildValue("{s:s,s:s,s:s,s:O}", "__doc__", parameter->doc, "set_doc",
			     parameter->set_doc, "show_doc", parameter->show_doc, "get_show_string",
			     show_function);
}

static PyObject *choices_of(const struct parameter *parameter)
{
	PyObject *list = PyList_New(0);

	for (const char *const *choice = parameter->choices; list && *choice; choice++) {
		mt_auto(mt_py) PyObject *text = PyUnicode_FromString(*choice);

		if (!text || PyList_Append(list, text)) {
			Py_CLEAR(list);
		}
	}
	return list;
}

static PyObject *create(struct parameter *parameter)
{
	mt_auto(mt_str) struct mt_str name = {0};
	mt_auto(mt_py) PyObject *attributes = attributes_of(parameter);
	mt_auto(mt_py) PyObject *class = mt_py_class("Parameter", "Parameter", attributes);
	mt_auto(mt_py) PyObject *group = mt_py_gdb("COMMAND_DATA");
	mt_auto(mt_py) PyObject *kind = mt_py_gdb(parameter->kind);

	mt_str_appendf(&name, "mtrace %s", parameter->name);
	if (!class || !group || !kind || name.failed)
		return NULL;
	if (!parameter->choices)
		return PyObject_CallFunction(class, "sOO", name.text, group, kind);
	mt_auto(mt_py) PyObject *choices = choices_of(parameter);
	return choices ? PyObject_CallFunction(class, "sOOO", name.text, group, kind, choices)
		       : NULL;
}

static bool is_boolean(enum mt_live_setting which)
{
	return strcmp(parameters[which].kind, "PARAM_BOOLEAN") == 0;
}

static struct mt_error *define(enum mt_live_setting which)
{
	struct parameter *parameter = &parameters[which];
	const char *text = mt_live_defaults[which];

	parameter->last = strdup(text);
	if (!parameter->last)
		return mt_error_no_memory();
	parameter->object = create(parameter);
	if (!parameter->object)
		return mt_py_error();
	mt_auto(mt_py) PyObject *initial =
	    is_boolean(which)               ? PyBool_FromLong(strcmp(text, "on") == 0)
	    : which == MT_LIVE_HISTORY_SIZE ? PyLong_FromString(text, NULL, 10)
					    : PyUnicode_FromString(text);
	if (!initial || PyObject_SetAttrString(parameter->object, "value", initial))
		return mt_py_error();
	return NULL;
}

struct mt_error *mt_settings_define(void)
{
	for (enum mt_live_setting which = 0; which < MT_LIVE_SETTINGS; which++)
		mt_try(define(which));
	return NULL;
}

const char *mt_setting_name(enum mt_live_setting which)
{
	return parameters[which].name;
}

/* None is "unlimited", which is 0. */
char *mt_setting(void *context, enum mt_live_setting which)
{
	mt_auto(mt_py) PyObject *value = PyObject_GetAttrString(parameters[which].object, "value");
	char *text;

	(void)context;
	if (value && is_boolean(which)) {
		text = strdup(value == Py_True ? "on" : "off");
	} else {
		mt_auto(mt_py) PyObject *string =
		    value && value != Py_None ? PyObject_Str(value) : NULL;

		text = string ? mt_py_text(string) : NULL;
		if (!text && value == Py_None)
			text = strdup(which == MT_LIVE_HISTORY_SIZE ? "0" : "");
	}
	PyErr_Clear();
	return text;
}
