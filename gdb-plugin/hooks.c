/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hooks.h"

#include "gdb.h"
#include "inferior.h"
#include "pristine.h"

#include <string.h>

#define CALL "__import__('mtrace')._hook("

static const struct hook {
	const char *command;
	enum mt_resumption how;
} hooks[] = {
    {"stop", MT_RESUMPTION_FREE},     {"step", MT_RESUMPTION_STEP},   {"stepi", MT_RESUMPTION_STEP},
    {"next", MT_RESUMPTION_NEXT},     {"nexti", MT_RESUMPTION_NEXT},  {"until", MT_RESUMPTION_NEXT},
    {"continue", MT_RESUMPTION_FREE}, {"detach", MT_RESUMPTION_FREE},
};

/* SHOWN has "User command "NAME":", the lines indented, and an empty line, of each command. */
static struct mt_error *define(const char *shown, const char *command)
{
	mt_auto(mt_str) struct mt_str head = {0}, call = {0};

	mt_str_appendf(&head, "User command \"hook-%s\":\n", command);
	mt_str_appendf(&call, "python " CALL "'%s')\n", command);
	if (head.failed || call.failed)
		return mt_error_no_memory();
	if (strstr(shown, call.text))
		return NULL;
	const char *body = strstr(shown, head.text), *end;
	if (!body)
		return mt_gdb_executef(NULL,
				       "define hook-%s\n%send\ndocument hook-%s\nPart of mtrace: "
				       "what it changed in the program is not to be seen.\nend",
				       command, call.text, command);
	body += head.length;
	end = strstr(body, "\n\n");
	return mt_gdb_executef(NULL, "define hook-%s\n%s%.*s\nend", command, call.text,
			       (int)(end ? end - body : 0), body);
}

struct mt_error *mt_hooks_define(void)
{
	mt_auto(mt_str) struct mt_str shown = {0};

	mt_try(mt_gdb_execute("show user", &shown));
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		mt_try(define(shown.text ? shown.text : "", hooks[i].command));
	return NULL;
}

static struct mt_error *run(const char *name)
{
	if (!mt_inferior_next(NULL))
		return NULL;
	if (strcmp(name, "stop") == 0)
		return mt_inferiors_stopped(mt_gdb_lwp());
	if (strcmp(name, "detach") == 0)
		return mt_inferiors_detach();
	if (strcmp(name, "continue") == 0)
		mt_try(mt_inferiors_continue());
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		if (strcmp(name, hooks[i].command) == 0)
			return mt_pristine_expect(hooks[i].how);
	return NULL;
}

PyObject *mt_hooks_run(PyObject *self, PyObject *name)
{
	char *text = mt_py_text(name);
	PyObject *done = mt_py_report(text ? run(text) : mt_error_no_memory());

	(void)self;
	free(text);
	return done;
}
