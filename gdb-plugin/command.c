/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From the table to gdb.Command, and back when one is typed. */
#include "commands.h"

#include "base/str.h"
#include "gdb.h"

#include <string.h>

static const struct mt_gdb_command *const ours[] = {
    &mt_gdb_command_start,   &mt_gdb_command_stop,   &mt_gdb_command_snapshot,
    &mt_gdb_command_trigger, &mt_gdb_command_delete, &mt_gdb_command_history,
    &mt_gdb_command_save,    &mt_gdb_command_info,   &mt_gdb_command_view,
};

/* Those of mtdb that need no program of their own. */
static const char *const shared[] = {"decode", "dump", "plan", "doctor"};

/* Words as GDB splits them, with the command's name before them. */
struct words {
	int count;
	char **items;
};

static void words_cleanup(struct words *words)
{
	for (int i = 0; i < words->count; i++)
		free(words->items[i]);
	free(words->items);
}

static struct mt_error *split(const char *name, const char *text, struct words *words)
{
	mt_auto(mt_py) PyObject *list = mt_py_call_gdb("string_to_argv", "(s)", text);
	Py_ssize_t count = list ? PyList_Size(list) : 0;

	if (!list)
		return mt_py_error();
	words->items = calloc((size_t)count + 2, sizeof(char *));
	if (!words->items)
		return mt_error_no_memory();
	words->items[words->count++] = strdup(name);
	for (Py_ssize_t i = 0; i < count; i++)
		words->items[words->count++] = mt_py_text(PyList_GetItem(list, i));
	for (int i = 0; i < words->count; i++)
		if (!words->items[i])
			return mt_error_no_memory();
	return NULL;
}

/* A command of the core says all it has to say through its context. */
static struct mt_error *run_shared(const struct mt_command *command, const char *text)
{
	__attribute__((cleanup(words_cleanup))) struct words words = {0};
	struct mt_command_context context = mt_gdb_context();

	mt_try(split(command->name, text, &words));
	return command->run(&context, words.count, words.items);
}

static struct mt_error *run_ours(const struct mt_gdb_command *command, const char *text)
{
	__attribute__((cleanup(words_cleanup))) struct words words = {0};

	if (command->run_text)
		return command->run_text(text);
	mt_try(split(command->name, text, &words));
	return command->run(words.count, words.items);
}

static PyObject *end(struct mt_error *error)
{
	struct mt_error *interrupted = mt_gdb_interrupted();

	if (interrupted) {
		mt_error_destroy(error);
		error = interrupted;
	}
	return mt_py_answer(error);
}

static char *argument_of(PyObject *args)
{
	PyObject *text = PyTuple_GetItem(args, 0);
	char *argument = text ? mt_py_text(text) : NULL;

	PyErr_Clear();
	return argument;
}

static PyObject *invoke_shared(PyObject *self, PyObject *args)
{
	char *text = argument_of(args);
	PyObject *done = end(text ? run_shared(mt_py_context(self), text) : mt_error_no_memory());

	free(text);
	return done;
}

static PyObject *invoke_ours(PyObject *self, PyObject *args)
{
	char *text = argument_of(args);
	PyObject *done = end(text ? run_ours(mt_py_context(self), text) : mt_error_no_memory());

	free(text);
	return done;
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

static const char *const parameters[] = {"engine", "buffer-size", "timestamps",  "events",
					 "output", "on-crash",    "history-size"};

static struct mt_error *run_prefix(const struct prefix *prefix, const char *text)
{
	if (*text)
		return mt_error_new(MT_ERROR_USAGE,
				    "Undefined %s command: \"%s\".  Try \"help %s\".", prefix->name,
				    text, prefix->name);
	if (prefix->bare)
		return mt_gdb_execute(prefix->bare, NULL);
	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++) {
		mt_gdb_printf("%s:  ", parameters[i]);
		mt_try(mt_gdb_executef(NULL, "show mtrace %s", parameters[i]));
	}
	return NULL;
}

static PyObject *invoke_prefix(PyObject *self, PyObject *args)
{
	char *text = argument_of(args);
	PyObject *done = end(text ? run_prefix(mt_py_context(self), text) : mt_error_no_memory());

	free(text);
	return done;
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
static PyObject *complete(const struct mt_completion *how, PyObject *args)
{
	PyObject *text_given = PyTuple_GetItem(args, 0), *word_given = PyTuple_GetItem(args, 1);

	if (!text_given || !word_given)
		return NULL;
	if (word_given == Py_None)
		Py_RETURN_NONE;
	char *text = mt_py_text(text_given), *word = mt_py_text(word_given);
	PyObject *list = text && word ? mt_complete(how, text, word) : PyList_New(0);
	free(text);
	free(word);
	return list;
}

static PyObject *complete_ours(PyObject *self, PyObject *args)
{
	const struct mt_gdb_command *command = mt_py_context(self);

	return command ? complete(&command->completion, args) : NULL;
}

static PyObject *complete_shared(PyObject *self, PyObject *args)
{
	const struct mt_command *command = mt_py_context(self);
	const struct mt_completion how = {.options = command ? command->options : NULL,
					  .like = "file"};

	return command ? complete(&how, args) : NULL;
}

static struct mt_error *make(const char *name, const char *group, PyMethodDef *run,
			     PyMethodDef *completer, const void *context, const char *doc)
{
	mt_auto(mt_str) struct mt_str full = {0};
	mt_auto(mt_py) PyObject *invoke = mt_py_function(run, (void *)context);
	mt_auto(mt_py) PyObject *completes = mt_py_function(completer, (void *)context);
	mt_auto(mt_py) PyObject *attributes =
	    invoke && completes ? Py_BuildValue("{s:s,s:O,s:O}", "__doc__", doc, "invoke", invoke,
						"complete", completes)
				: NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("Command", "Command", attributes);
	mt_auto(mt_py) PyObject *kind = mt_py_gdb(group);

	mt_str_appendf(&full, "mtrace %s", name);
	if (full.failed)
		return mt_error_no_memory();
	mt_auto(mt_py) PyObject *object =
	    class && kind ? PyObject_CallFunction(class, "sO", full.text, kind) : NULL;
	return object ? NULL : mt_py_error();
}

/* "Summary.\nUsage: mtrace NAME …\n\nThe rest." */
static struct mt_error *make_ours(const struct mt_gdb_command *command)
{
	static PyMethodDef invoke = {"invoke", invoke_ours, METH_VARARGS, NULL};
	static PyMethodDef completer = {"complete", complete_ours, METH_VARARGS, NULL};
	mt_auto(mt_str) struct mt_str doc = {0};
	size_t summary = strcspn(command->help, "\n");

	mt_str_append_bytes(&doc, command->help, summary);
	mt_str_appendf(&doc, "\n\nUsage: mtrace %s%s%s", command->name, *command->usage ? " " : "",
		       command->usage);
	if (command->help[summary])
		mt_str_appendf(&doc, "\n%s", command->help + summary);
	if (doc.failed)
		return mt_error_no_memory();
	return make(command->name, command->group, &invoke, &completer, command, doc.text);
}

static struct mt_error *make_shared(const struct mt_command *command)
{
	static PyMethodDef invoke = {"invoke", invoke_shared, METH_VARARGS, NULL};
	static PyMethodDef completer = {"complete", complete_shared, METH_VARARGS, NULL};
	mt_auto(mt_str) struct mt_str doc = {0};

	mt_str_appendf(&doc, "%s.\n\nUsage: mtrace %s %s\n\n%s", command->summary, command->name,
		       command->usage, command->help);
	while (doc.length && doc.text[doc.length - 1] == '\n')
		doc.text[--doc.length] = '\0';
	if (doc.failed)
		return mt_error_no_memory();
	return make(command->name, "COMMAND_DATA", &invoke, &completer, command, doc.text);
}

struct mt_error *mt_commands_define(void)
{
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		mt_try(make_prefix(&prefixes[i]));
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		mt_try(make_ours(ours[i]));
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		if (mt_command_find(shared[i]))
			mt_try(make_shared(mt_command_find(shared[i])));
	return NULL;
}
