/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB's commands of a user's can be replaced, but not removed, and `define` asks before it replaces
 * one; but not if that is a prefix without commands of its own, which is what our hooks are while
 * it runs.  A command that is deprecated is not in `help user-defined`.
 *
 * Behind a line that is a command GDB looks at the frame, which fails at a process that was killed.
 * So where no frame is needed the bodies are blocks of Python, which take 50 us longer.
 *
 * Ctrl-C in these 50 us would end such a block at its first instruction, before we are called, with
 * a traceback.  What Python does first with a block is to decode it, if that says how: so the codec
 * is ours, which is called from C, and SIGINT is held from there on. */
#include "gdb-plugin/inferior/hooks.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/inferior/pristine.h"

#include <string.h>

#define COMMAND "_mtrace-hook"
#define CODEC   "mtrace_hook"

struct hook {
	const char *name;
	struct mt_error *(*run)(void);
	bool has_frame; /* whoever has a process at all */
	PyObject *veil; /* the prefix; what is defined over it refers to it */
};

static bool veiled;
static struct mt_hold awaited; /* the outer one of that which the codec began */
static bool is_awaited;
static bool defined; /* all of them; whoever defines others goes by on_define() */

static struct mt_error *on_stop(void)
{
	return mt_inferior_next(NULL) ? mt_inferiors_stopped(mt_gdb_lwp()) : NULL;
}

/* A command before may have failed behind the event that told that the program goes on. */
static struct mt_error *expect(enum mt_resumption how)
{
	mt_try(mt_inferiors_settle());
	return mt_pristine_expect(how);
}

static struct mt_error *on_step(void)
{
	return expect(MT_RESUMPTION_STEP);
}

static struct mt_error *on_next(void)
{
	return expect(MT_RESUMPTION_NEXT);
}

/* To a place of its own, perhaps. */
static struct mt_error *on_until(void)
{
	mt_py_breakpoints_changed();
	return on_next();
}

static bool is_inlined(void)
{
	mt_auto(mt_py) PyObject *frame = mt_py_call_gdb("selected_frame", "()");
	mt_auto(mt_py) PyObject *type = frame ? PyObject_CallMethod(frame, "type", NULL) : NULL;
	mt_auto(mt_py) PyObject *inlined = mt_py_gdb("INLINE_FRAME");
	const bool is_one = type && inlined && PyObject_RichCompareBool(type, inlined, Py_EQ) == 1;

	PyErr_Clear();
	return is_one;
}

/* Out of an inlined function GDB steps. */
static struct mt_error *on_finish(void)
{
	return expect(is_inlined() ? MT_RESUMPTION_NEXT : MT_RESUMPTION_FREE);
}

static struct mt_error *on_continue(void)
{
	mt_try(mt_inferiors_continue());
	return expect(MT_RESUMPTION_CONTINUE);
}

static struct mt_error *on_detach(void)
{
	mt_try(mt_inferiors_settle());
	return mt_inferiors_detach();
}

static struct mt_error *on_define(void);

static struct hook hooks[] = {
    {"hook-stop", on_stop, true, NULL},
    {"hook-step", on_step, true, NULL},
    {"hook-stepi", on_step, true, NULL},
    {"hook-next", on_next, true, NULL},
    {"hook-nexti", on_next, true, NULL},
    {"hook-until", on_until, true, NULL},
    {"hook-finish", on_finish, true, NULL},
    {"hook-continue", on_continue, false, NULL},
    {"hook-detach", on_detach, false, NULL},
    {"hook-define", on_define, false, NULL},
    {"hookpost-define", mt_hooks_unveil, false, NULL},
};

#define HOOK_COUNT (sizeof(hooks) / sizeof(hooks[0]))

/* In the place of the one that has the name. */
static PyObject *put_command(const char *name, const char *class, bool is_prefix)
{
	mt_auto(mt_py) PyObject *type = mt_py_gdb("Command");
	mt_auto(mt_py) PyObject *number = mt_py_gdb(class);
	mt_auto(mt_py) PyObject *arguments =
	    number ? Py_BuildValue("(sOiO)", name, number, -1, is_prefix ? Py_True : Py_False)
		   : NULL;

	return type && arguments ? PyObject_CallObject(type, arguments) : NULL;
}

/* Without what `define` would keep of the one that was there. */
static struct mt_error *define(const char *name, const char *body)
{
	mt_auto(mt_py) PyObject *nothing = put_command(name, "COMMAND_OBSCURE", false);

	return nothing ? mt_gdb_executef(NULL, "define %s\n%s\nend", name, body) : mt_py_error();
}

static void append_call(struct mt_str *text, const struct hook *hook)
{
	mt_str_appendf(text,
		       hook->has_frame ? COMMAND " %s\n" : "__import__('mtrace')._hook('%s')\n",
		       hook->name);
}

/* USERS is what the user's own hook does. */
static struct mt_error *define_ours(const struct hook *hook, const char *users)
{
	mt_auto(mt_str) struct mt_str body = {0}, ignored = {0};
	const char *name = hook->name;

	mt_str_append(&body, hook->has_frame ? "" : "python\n# coding: " CODEC "\n");
	append_call(&body, hook);
	mt_str_appendf(&body, "%s%s", hook->has_frame ? "" : "end\n", users);
	if (body.failed)
		return mt_error_no_memory();
	mt_try(define(name, body.text));
	if (*users)
		return NULL;
	mt_try(mt_gdb_executef(NULL, "maintenance deprecate %s", name));
	/* Whoever asks for it first is told that it is deprecated. */
	return mt_gdb_executef(&ignored, "help %s", name);
}

/* A line "User command "NAME":" is followed by the lines, indented, and an empty one. */
static struct mt_error *read_body(const char *name, struct mt_str *shown, const char **body)
{
	const char *lines;

	mt_try(mt_gdb_executef(shown, "show user %s", name));
	if (shown->failed)
		return mt_error_no_memory();
	lines = shown->text ? strchr(shown->text, '\n') : NULL;
	*body = lines ? lines + 1 : "";
	return NULL;
}

static bool is_in(const char *shown, const char *name)
{
	mt_auto(mt_str) struct mt_str command = {0}, prefix = {0};

	mt_str_appendf(&command, "User command \"%s\":\n", name);
	mt_str_appendf(&prefix, "User prefixcommand \"%s\":\n", name);
	return command.text && prefix.text &&
	       (strstr(shown, command.text) || strstr(shown, prefix.text));
}

/* What is behind ours in the text; NULL: it has none. */
static const char *behind_call(const char *text, const struct hook *hook)
{
	mt_auto(mt_str) struct mt_str call = {0};

	append_call(&call, hook);
	const char *ours = call.text && text ? strstr(text, call.text) : NULL;
	const char *end = ours ? strchr(ours, '\n') + 1 : NULL;
	if (!end || hook->has_frame)
		return end;
	end = strstr(end, "end\n");
	return end ? end + strlen("end\n") : NULL;
}

static PyObject *invoke(PyObject *self, PyObject *arguments)
{
	(void)self;
	return mt_hooks_run(NULL, PyTuple_GetItem(arguments, 0));
}

/* What bodies call; nobody is told of it. */
static struct mt_error *define_command(void)
{
	static PyMethodDef definition = {"invoke", invoke, METH_VARARGS, NULL};
	static PyObject *command;
	mt_auto(mt_str) struct mt_str ignored = {0};

	if (command)
		return NULL;
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, NULL);
	mt_auto(mt_py) PyObject *attributes =
	    function ? Py_BuildValue("{s:O}", "invoke", function) : NULL;
	mt_auto(mt_py) PyObject *class =
	    attributes ? mt_py_class("Hook", "Command", attributes) : NULL;
	mt_auto(mt_py) PyObject *number = mt_py_gdb("COMMAND_OBSCURE");
	command = class && number ? PyObject_CallFunction(class, "sO", COMMAND, number) : NULL;
	if (!command)
		return mt_py_error();
	mt_try(mt_gdb_execute("maintenance deprecate " COMMAND, &ignored));
	/* Whoever uses it first is told that it is deprecated. */
	return mt_gdb_execute(COMMAND " nothing", &ignored);
}

/* Whether a block that is decoded now will come to mt_hooks_run(). */
static bool calls_ours(void)
{
	PyObject *module = PyDict_GetItemString(PyImport_GetModuleDict(), "mtrace");

	return module && PyObject_HasAttrString(module, "_hook");
}

static PyObject *decode(PyObject *self, PyObject *arguments)
{
	PyObject *block = PyTuple_GetItem(arguments, 0);
	mt_auto(mt_py) PyObject *text =
	    block ? PyUnicode_FromEncodedObject(block, "utf-8", NULL) : NULL;

	(void)self;
	if (text && !is_awaited && calls_ours()) {
		awaited = mt_hold_begin(MT_HOLD_EVENT);
		is_awaited = true;
	}
	return text ? Py_BuildValue("(On)", text, PyObject_Size(block)) : NULL;
}

static PyObject *find_codec(PyObject *self, PyObject *name)
{
	static PyMethodDef definition = {"decode", decode, METH_VARARGS, NULL};

	(void)self;
	if (PyUnicode_CompareWithASCIIString(name, CODEC) != 0)
		Py_RETURN_NONE;
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, NULL);
	return function ? Py_BuildValue("(OOOO)", Py_None, function, Py_None, Py_None) : NULL;
}

/* And have Python find it, which the codecs that others look for may need code in Python for. */
static struct mt_error *register_codec(void)
{
	static PyMethodDef definition = {"codec", find_codec, METH_O, NULL};
	static bool registered;

	if (registered)
		return NULL;
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, NULL);
	if (!function || PyCodec_Register(function) < 0)
		return mt_py_error();
	mt_auto(mt_py) PyObject *found = PyCodec_Decoder(CODEC);
	registered = found != NULL;
	return found ? NULL : mt_py_error();
}

struct mt_error *mt_hooks_define(void)
{
	mt_auto(mt_str) struct mt_str all = {0};

	mt_try(mt_gdb_execute("show user", &all));
	if (all.failed)
		return mt_error_no_memory();
	mt_try(define_command());
	mt_try(register_codec());
	veiled = false;
	for (size_t i = 0; i < HOOK_COUNT; i++) {
		const char *name = hooks[i].name, *body = "";
		mt_auto(mt_str) struct mt_str shown = {0};

		if (behind_call(all.text, &hooks[i]))
			continue;
		if (all.text && is_in(all.text, name))
			mt_try(read_body(name, &shown, &body));
		mt_try(define_ours(&hooks[i], body));
	}
	defined = true;
	return NULL;
}

struct mt_error *mt_hooks_ensure(void)
{
	return defined ? NULL : mt_hooks_define();
}

static struct mt_error *veil(struct hook *hook)
{
	Py_XDECREF(hook->veil);
	hook->veil = put_command(hook->name, "COMMAND_USER", true);
	return hook->veil ? NULL : mt_py_error();
}

/* The user's own hook, as it was; or what looks like none. */
static struct mt_error *withdraw(struct hook *hook)
{
	mt_auto(mt_str) struct mt_str shown = {0};
	const char *body = "";

	mt_try(read_body(hook->name, &shown, &body));
	const char *users = behind_call(body, hook);

	if (!users)
		return NULL;
	return users[strspn(users, "\n")] ? define(hook->name, users) : veil(hook);
}

/* Until it is done, every command might be one that steps. */
static struct mt_error *on_define(void)
{
	if (veiled)
		return NULL;
	veiled = true;
	defined = false;
	mt_try(mt_pristine_expect(MT_RESUMPTION_STEP));
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (hooks[i].run != mt_hooks_unveil)
			mt_try(withdraw(&hooks[i]));
	return NULL;
}

struct mt_error *mt_hooks_unveil(void)
{
	if (!veiled)
		return NULL;
	mt_try(mt_hooks_define());
	return mt_pristine_expect(MT_RESUMPTION_FREE);
}

static struct mt_error *run(const char *name)
{
	for (size_t i = 0; i < HOOK_COUNT; i++)
		if (strcmp(name, hooks[i].name) == 0)
			return hooks[i].run();
	return NULL;
}

static struct mt_hold begin_hold(void)
{
	if (!is_awaited)
		return mt_hold_begin(MT_HOLD_EVENT);
	is_awaited = false;
	return awaited;
}

PyObject *mt_hooks_run(PyObject *self, PyObject *name)
{
	mt_auto(mt_hold) struct mt_hold outer = begin_hold();
	char *text = mt_py_text(name);
	PyObject *done = mt_py_report(text ? run(text) : mt_error_no_memory());

	(void)self;
	free(text);
	return done;
}
