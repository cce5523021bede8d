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
    {"stop", MT_RESUMPTION_FREE},   {"step", MT_RESUMPTION_STEP},     {"stepi", MT_RESUMPTION_STEP},
    {"next", MT_RESUMPTION_NEXT},   {"nexti", MT_RESUMPTION_NEXT},    {"until", MT_RESUMPTION_NEXT},
    {"finish", MT_RESUMPTION_FREE}, {"advance", MT_RESUMPTION_FREE},  {"jump", MT_RESUMPTION_FREE},
    {"signal", MT_RESUMPTION_FREE}, {"continue", MT_RESUMPTION_FREE},
};

/* `show user` prints a head, the lines indented, and an empty line. */
static const char *body_of(const char *shown)
{
	const char *line = strchr(shown, '\n');

	return line ? line + 1 : "";
}

static struct mt_error *define(const char *command)
{
	mt_auto(mt_str) struct mt_str shown = {0};
	struct mt_error *missing = mt_gdb_executef(&shown, "show user hook-%s", command);
	const char *body = missing || !shown.text ? "" : body_of(shown.text);

	mt_error_destroy(missing);
	if (strstr(body, CALL))
		return NULL;
	return mt_gdb_executef(NULL, "define hook-%s\npython " CALL "'%s')\n%send", command,
			       command, body);
}

struct mt_error *mt_hooks_define(void)
{
	for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
		mt_try(define(hooks[i].command));
	return NULL;
}

static struct mt_error *run(const char *name)
{
	if (!mt_inferior_next(NULL))
		return NULL;
	if (strcmp(name, "stop") == 0)
		return mt_inferiors_stopped(mt_gdb_lwp());
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
