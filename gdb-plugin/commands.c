/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the table to gdb.Command, and back when one is typed. */
#include "gdb-plugin/commands.h"

#include "base/str.h"
#include "command/command.h"
#include "gdb-plugin/complete.h"
#include "gdb-plugin/debugger.h"
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/settings.h"

/* RUN gets what self knows, and the arguments as they were typed. */
static PyObject *call(PyObject *self, PyObject *args,
		      struct mt_error *(*run)(const void *what, const char *text))
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	PyObject *argument = PyTuple_GetItem(args, 0);
	char *text = argument ? mt_py_text(argument) : NULL;

	PyErr_Clear();
	struct mt_error *error = text ? run(mt_py_context(self), text) : mt_error_no_memory();
	struct mt_error *interrupted = mt_gdb_interrupted();
	free(text);
	if (!interrupted)
		return mt_py_answer(error);
	mt_error_destroy(error);
	return mt_py_answer(interrupted);
}

static struct mt_error *run_command(const void *command, const char *text)
{
	struct mt_command_context context = mt_debugger_context();

	mt_try(mt_inferiors_settle());
	return mt_command_run_line(&context, command, text);
}

static PyObject *invoke(PyObject *self, PyObject *args)
{
	return call(self, args, run_command);
}

struct prefix {
	const char *name;
	const char *doc;
	const char *bare; /* what it does alone: a command line, %s its argument */
};

static const struct prefix prefixes[] = {
    {"mtrace",
     "Record the program's function calls, and look back.\n\n"
     "\"mtrace start\" before \"run\", or while the program is stopped; when it crashes,\n"
     "\"mtrace history\" shows the calls that led there, and a timeline of them is written,\n"
     "for https://ui.perfetto.dev.",
     "help mtrace"},
    {"set mtrace", "Change how mtrace records and writes.", "help set mtrace"},
    {"show mtrace", "Show how mtrace records and writes.", NULL},
};

static struct mt_error *run_prefix(const void *what, const char *text)
{
	const struct prefix *prefix = what;

	if (*text)
		return mt_error_new(MT_ERROR_USAGE,
				    "Undefined %s command: \"%s\".  Try \"help %s\".", prefix->name,
				    text, prefix->name);
	if (prefix->bare)
		return mt_gdb_execute(prefix->bare, NULL);
	for (enum mt_live_setting which = 0; which < MT_LIVE_SETTINGS; which++) {
		mt_gdb_printf("%s:  ", mt_setting_name(which));
		mt_try(mt_gdb_executef(NULL, "show mtrace %s", mt_setting_name(which)));
	}
	return NULL;
}

static PyObject *invoke_prefix(PyObject *self, PyObject *args)
{
	return call(self, args, run_prefix);
}

static struct mt_error *make_prefix(const struct prefix *prefix)
{
	static PyMethodDef invoke = {"invoke", invoke_prefix, METH_VARARGS, NULL};
	mt_auto(mt_py) PyObject *function = mt_py_function(&invoke, (void *)prefix);
	mt_auto(mt_py) PyObject *attributes =
	    function ? Py_BuildValue("{s:s,s:O}", "__doc__", prefix->doc, "invoke", function)
		     : NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("Prefix", "Command", attributes);
	mt_auto(mt_py) PyObject *group = mt_py_gdb("COMMAND_RUNNING");
	mt_auto(mt_py) PyObject *none = mt_py_gdb("COMPLETE_NONE");
	mt_auto(mt_py) PyObject *object =
	    class && group && none
		? PyObject_CallFunction(class, "sOOO", prefix->name, group, none, Py_True)
		: NULL;

	return object ? NULL : mt_py_error();
}

/* GDB asks first, without a word, only where the word begins: as ever, is the answer. */
static PyObject *complete(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	PyObject *text_given = PyTuple_GetItem(args, 0), *word_given = PyTuple_GetItem(args, 1);
	const struct mt_command *command = mt_py_context(self);

	if (!text_given || !word_given || !command)
		return NULL;
	if (word_given == Py_None)
		Py_RETURN_NONE;
	char *text = mt_py_text(text_given), *word = mt_py_text(word_given);
	PyObject *list = text && word ? mt_complete(command, text, word) : PyList_New(0);
	free(text);
	free(word);
	return list;
}

/* "Summary.\n\nUsage: mtrace NAME …\n\nThe rest." */
static struct mt_error *make(const struct mt_command *command)
{
	static PyMethodDef invoker = {"invoke", invoke, METH_VARARGS, NULL};
	static PyMethodDef completer = {"complete", complete, METH_VARARGS, NULL};
	mt_auto(mt_str) struct mt_str doc = {0}, full = {0};

	mt_str_appendf(&full, "mtrace %s", command->name);
	mt_str_appendf(&doc, "%s.\n\nUsage: mtrace %s%s%s\n\n%s", command->summary, command->name,
		       *command->usage ? " " : "", command->usage, command->help);
	while (doc.length && doc.text[doc.length - 1] == '\n')
		doc.text[--doc.length] = '\0';
	if (full.failed || doc.failed)
		return mt_error_no_memory();
	mt_auto(mt_py) PyObject *invokes = mt_py_function(&invoker, (void *)command);
	mt_auto(mt_py) PyObject *completes = mt_py_function(&completer, (void *)command);
	mt_auto(mt_py) PyObject *attributes =
	    invokes && completes ? Py_BuildValue("{s:s,s:O,s:O}", "__doc__", doc.text, "invoke",
						 invokes, "complete", completes)
				 : NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("Command", "Command", attributes);
	mt_auto(mt_py) PyObject *group =
	    mt_py_gdb(command->group ? command->group : "COMMAND_DATA");
	mt_auto(mt_py) PyObject *object =
	    class && group ? PyObject_CallFunction(class, "sO", full.text, group) : NULL;
	return object ? NULL : mt_py_error();
}

struct mt_error *mt_commands_define(void)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		mt_try(make_prefix(&prefixes[i]));
	for (const struct mt_command *const *one = mt_commands; *one; one++)
		if ((*one)->where & MT_COMMAND_IN_DEBUGGER)
			mt_try(make(*one));
	return NULL;
}
