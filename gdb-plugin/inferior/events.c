/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cont and stop come for what the user sees, and for new threads (they "go on" when they are born);
 * in an inferior call the text stays pristine. */
#include "gdb-plugin/inferior/events.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/hooks.h"
#include "gdb-plugin/inferior/inferior.h"
#include "process/proc.h"

#include <signal.h>
#include <string.h>

static bool in_call; /* GDB calls a function of the program's */
static pid_t caller; /* in which thread; 0: that runs for its user meanwhile */
static bool runs;    /* so that what ends it may be its own doing */

/* GDB tells of no end of a call that it abandons; in one the thread does not seem to run. */
static bool is_in_call(void)
{
	in_call = in_call && !(caller && mt_gdb_thread_is_running(caller));
	return in_call;
}

/* It does not say which inferior it is about.  A new thread's comes while GDB waits, when any may
 * be the selected one. */
static struct mt_error *on_cont(PyObject *event)
{
	(void)event;
	runs = true;
	return is_in_call() || !mt_gdb_thread_is_running(0) ? NULL : mt_inferiors_resume();
}

static struct mt_error *on_call(PyObject *event)
{
	mt_auto(mt_py) PyObject *type = mt_py_get((PyObject *)Py_TYPE(event), "__name__");
	char *name = type ? mt_py_text(type) : NULL;

	PyErr_Clear();
	in_call = name && strcmp(name, "InferiorCallPreEvent") == 0;
	caller = mt_gdb_is_standing() ? mt_gdb_lwp() : 0;
	runs = in_call;
	free(name);
	return in_call ? mt_inferiors_unmask() : NULL;
}

/* If the user has a hook of his own by now, the program was not stopped for him before. */
static struct mt_error *on_stop(PyObject *event)
{
	(void)event;
	runs = in_call = false;
	if (!mt_inferior_next(NULL))
		return NULL;
	mt_try(mt_inferiors_stopped(mt_gdb_lwp()));
	struct mt_inferior *inferior = mt_inferior_selected();
	if (!inferior || !mt_live_is_recording(&inferior->live))
		return NULL;
	return mt_live_stopped(mt_gdb_debugger(), &inferior->live, inferior->crash);
}

static int inferior_of(PyObject *object)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_get(object, "inferior");

	return inferior ? (int)mt_py_number(inferior, "num", 0) : 0;
}

static struct mt_error *on_new_thread(PyObject *event)
{
	mt_auto(mt_py) PyObject *thread = mt_py_get(event, "inferior_thread");
	mt_auto(mt_py) PyObject *ptid = thread ? mt_py_get(thread, "ptid") : NULL;
	long pid = ptid ? PyLong_AsLong(PyTuple_GetItem(ptid, 0)) : 0;
	long lwp = ptid ? PyLong_AsLong(PyTuple_GetItem(ptid, 1)) : 0;
	int inferior = thread ? inferior_of(thread) : 0;

	PyErr_Clear();
	if (pid <= 0)
		return NULL;
	struct mt_live_thread born = {.number = (unsigned)mt_py_number(thread, "num", 0),
				      .lwp = lwp > 0 ? (pid_t)lwp : (pid_t)pid};
	PyErr_Clear();
	return mt_inferior_new_thread(inferior, (pid_t)pid, &born);
}

/* GDB keeps it in $_exitsignal, unless the program was killed while that was stopped. */
static int exit_signal(void)
{
	if (!runs)
		return SIGKILL;
	mt_auto(mt_py) PyObject *value =
	    mt_py_call_gdb("convenience_variable", "(s)", "_exitsignal");
	mt_auto(mt_py) PyObject *number = value && value != Py_None ? PyNumber_Long(value) : NULL;
	long signal = number ? PyLong_AsLong(number) : SIGKILL;

	PyErr_Clear();
	return (int)signal;
}

/* Then all stand still, and no stop tells so.  One that merely was let go, or became another
 * inferior by an exec, may leave others running; after vfork() GDB lets the parent go for the
 * child's sake, and that may end before it is looked at. */
static bool is_end(const struct mt_inferior *inferior, long long pid, long long code)
{
	if (code >= 0)
		return true;
	return pid > 0 && mt_proc_has_ended((pid_t)pid) && !(inferior && inferior->forked);
}

/* Comes for a detached program, too; one that a signal ended has no exit code. */
static struct mt_error *on_exited(PyObject *event)
{
	mt_auto(mt_py) PyObject *object = mt_py_get(event, "inferior");
	long long pid = object ? mt_py_number(object, "pid", 0) : 0;
	long long code = mt_py_number(event, "exit_code", -1);
	struct mt_inferior *inferior = pid ? mt_inferior_find((pid_t)pid) : NULL;
	bool stood_still = !runs;

	PyErr_Clear();
	int signal = code >= 0 ? 0 : exit_signal();
	if (is_end(inferior, pid, code))
		runs = false;
	if (!inferior)
		return NULL;
	struct mt_live *live = &inferior->live;
	mt_try(mt_inferior_ended(inferior, signal ? signal : (int)(code & 0xff) << 8, stood_still));
	return mt_live_ended(mt_gdb_debugger(), live, signal, !mt_proc_has_ended(live->pid));
}

static struct mt_error *on_inferior_deleted(PyObject *event)
{
	int number = inferior_of(event);

	PyErr_Clear();
	mt_inferior_forget(number);
	return NULL;
}

static struct mt_error *on_new_objfile(PyObject *event)
{
	(void)event;
	mt_py_breakpoints_changed(); /* GDB has some of its own in libraries */
	return mt_inferior_check_exec();
}

static struct mt_error *on_breakpoint(PyObject *event)
{
	(void)event;
	mt_py_breakpoints_changed();
	return NULL;
}

/* So it is told of one that was hit, which is where it was. */
static struct mt_error *on_breakpoint_modified(PyObject *event)
{
	static struct state {
		long long number, hits, enabled;
	} kept[64];
	const struct state now = {mt_py_number(event, "number", 0),
				  mt_py_number(event, "hit_count", 0),
				  mt_py_number(event, "enabled", 0)};
	struct state *last =
	    &kept[(unsigned long long)now.number % (sizeof(kept) / sizeof(kept[0]))];
	const bool is_hit =
	    now.number == last->number && now.hits != last->hits && now.enabled == last->enabled;

	*last = now;
	PyErr_Clear();
	return is_hit ? NULL : on_breakpoint(event);
}

static struct mt_error *on_prompt(PyObject *event)
{
	(void)event;
	mt_try(mt_inferiors_settle());
	return mt_hooks_unveil();
}

/* Where SIGTERM ends GDB, deleting a breakpoint would make GDB exit once more, within its exit. */
static struct mt_error *on_gdb_exiting(PyObject *event)
{
	(void)event;
	mt_py_keep_breakpoints();
	struct mt_error *error = mt_inferiors_settle();
	mt_inferiors_destroy();
	return error;
}

static struct event {
	const char *name;
	struct mt_error *(*take)(PyObject *event);
	bool optional; /* older GDBs lack it */
} events[] = {
    {"cont", on_cont, false},
    {"inferior_call", on_call, false},
    {"stop", on_stop, false},
    {"new_thread", on_new_thread, false},
    {"new_objfile", on_new_objfile, false},
    {"clear_objfiles", on_breakpoint, false},
    {"breakpoint_created", on_breakpoint, false},
    {"breakpoint_modified", on_breakpoint_modified, false},
    {"breakpoint_deleted", on_breakpoint, false},
    {"exited", on_exited, false},
    {"inferior_deleted", on_inferior_deleted, false},
    {"before_prompt", on_prompt, false},
    {"gdb_exiting", on_gdb_exiting, true},
};

/* A prompt is no object. */
static PyObject *take(PyObject *self, PyObject *arguments)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct event *event = mt_py_context(self);
	PyObject *what = PyTuple_Size(arguments) > 0 ? PyTuple_GetItem(arguments, 0) : Py_None;

	return event && what ? mt_py_report(event->take(what)) : NULL;
}

static struct mt_error *connect(PyObject *registries, struct event *event)
{
	static PyMethodDef definition = {"mtrace", take, METH_VARARGS, NULL};
	mt_auto(mt_py) PyObject *registry = mt_py_get(registries, event->name);
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, event);

	if (!registry && event->optional) {
		PyErr_Clear();
		return NULL;
	}
	mt_auto(mt_py) PyObject *done =
	    registry && function ? PyObject_CallMethod(registry, "connect", "O", function) : NULL;
	return done ? NULL : mt_py_error();
}

struct mt_error *mt_events_connect(void)
{
	mt_auto(mt_py) PyObject *registries = mt_py_gdb("events");

	if (!registries)
		return mt_py_error();
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
		mt_try(connect(registries, &events[i]));
	return NULL;
}
