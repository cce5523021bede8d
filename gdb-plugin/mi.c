/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/mi.h"

#include "base/str.h"
#include "command/command.h"
#include "gdb-plugin/debugger.h"
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"

#include <string.h>

struct mi_command {
	const char *name;
	const struct mt_command *command;
	/* When that has succeeded; NULL: nothing but ^done. */
	PyObject *(*answer)(void);
	/* In its place; NULL: it is run. */
	PyObject *(*query)(int argc, char **argv);
};

static const struct mi_command mi_commands[] = {
    {"-mtrace-start", &mt_command_start, mt_mi_started, NULL},
    {"-mtrace-stop", &mt_command_stop, NULL, NULL},
    {"-mtrace-trigger", &mt_command_trigger, mt_mi_trigger, NULL},
    {"-mtrace-delete", &mt_command_delete, NULL, NULL},
    {"-mtrace-snapshot", &mt_command_snapshot, mt_mi_taken, NULL},
    {"-mtrace-history", &mt_command_live_history, NULL, mt_mi_history},
    {"-mtrace-info", &mt_command_info, NULL, mt_mi_info},
};

/* MI has taken the quotes off; the value of an option with blanks in it needs them. */
static const char *quote_of(const char *before, const char *word)
{
	if (!before || strcmp(before, "-print") != 0 || !strchr(word, ' '))
		return "";
	return strchr(word, '"') ? "'" : "\"";
}

/* A raw command's words as one, as they would be typed. */
static struct mt_error *join(PyObject *words, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str before = {0};
	const Py_ssize_t count = PySequence_Size(words);

	for (Py_ssize_t i = 0; i < count; i++) {
		mt_auto(mt_py) PyObject *item = PySequence_GetItem(words, i);
		char *word = item ? mt_py_text(item) : NULL;

		if (!word)
			return mt_error_no_memory();
		const char *quote = quote_of(before.text, word);
		mt_str_appendf(out, "%s%s%s%s", i ? " " : "", quote, word, quote);
		mt_str_clear(&before);
		mt_str_append(&before, word);
		free(word);
	}
	return out->failed || before.failed ? mt_error_no_memory() : NULL;
}

struct words {
	MT_ARRAY(char *) items;
};

static void words_cleanup(struct words *words)
{
	mt_array_each (word, &words->items)
		free(*word);
	mt_array_deinit(&words->items);
}

/* WORD becomes theirs. */
static struct mt_error *push(struct words *words, char *word)
{
	if (word && mt_array_push(&words->items, word) == 0)
		return NULL;
	free(word);
	return mt_error_no_memory();
}

/* As main() gets them, but for the NULL at the end. */
static struct mt_error *take_words(const struct mt_command *command, PyObject *given,
				   struct words *words)
{
	mt_auto(mt_str) struct mt_str line = {0};
	const Py_ssize_t count = PySequence_Size(given);

	mt_try(push(words, strdup(command->name)));
	if (command->is_raw && count) {
		mt_try(join(given, &line));
		return push(words, strdup(line.text));
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		mt_auto(mt_py) PyObject *item = PySequence_GetItem(given, i);
		mt_try(push(words, item ? mt_py_text(item) : NULL));
	}
	return NULL;
}

static PyObject *run(const struct mi_command *one, PyObject *given)
{
	struct mt_command_context context = mt_debugger_context();
	mt_auto(words) struct words words = {0};
	struct mt_error *error = take_words(one->command, given, &words);
	const int argc = (int)words.items.count;

	if (!error && one->query)
		return one->query(argc, words.items.items);
	if (!error)
		error = one->command->run(&context, argc, words.items.items);
	return error || !one->answer ? mt_py_answer(error) : one->answer();
}

static PyObject *invoke(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	const struct mi_command *one = mt_py_context(self);
	PyObject *given = PyTuple_GetItem(args, 0);

	if (!one || !given)
		return NULL;
	PyObject *answer = run(one, given);
	struct mt_error *interrupted = mt_gdb_interrupted();
	if (!interrupted)
		return answer;
	Py_XDECREF(answer);
	return mt_py_answer(interrupted);
}

static struct mt_error *define(const struct mi_command *one)
{
	static PyMethodDef invoker = {"invoke", invoke, METH_VARARGS, NULL};
	mt_auto(mt_py) PyObject *invokes = mt_py_function(&invoker, (void *)one);
	mt_auto(mt_py) PyObject *attributes =
	    invokes ? Py_BuildValue("{s:O}", "invoke", invokes) : NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("MICommand", "MICommand", attributes);
	mt_auto(mt_py) PyObject *object =
	    class ? PyObject_CallFunction(class, "s", one->name) : NULL;

	return object ? NULL : mt_py_error();
}

struct mt_error *mt_mi_define(void)
{
	mt_auto(mt_py) PyObject *there = mt_py_gdb("MICommand");

	if (!there) {
		PyErr_Clear();
		return NULL;
	}
	for (size_t i = 0; i < sizeof(mi_commands) / sizeof(mi_commands[0]); i++)
		mt_try(define(&mi_commands[i]));
	return NULL;
}

void mt_mi_notify(const struct mt_live_written *snapshot)
{
	mt_auto(mt_py) PyObject *function = mt_py_gdb("notify_mi");
	mt_auto(mt_py) PyObject *fields = function ? mt_mi_snapshot(snapshot) : NULL;
	mt_auto(mt_py) PyObject *done =
	    fields ? PyObject_CallFunction(function, "sO", "mtrace-snapshot", fields) : NULL;

	(void)done;
	PyErr_Clear();
}
