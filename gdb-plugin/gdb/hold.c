/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/hold.h"

#include "base/clock.h"
#include "gdb-plugin/gdb/gdb.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 200000000ull

static struct mt_hold now;
static unsigned posted; /* to GDB's event loop, which has not come to them */

static void fill(sigset_t *interrupt)
{
	sigemptyset(interrupt);
	sigaddset(interrupt, SIGINT);
}

/* One that Python has noted by now would come out of its next function. */
static void block(sigset_t *before)
{
	PyObject *type, *value, *traceback;
	sigset_t interrupt;

	fill(&interrupt);
	pthread_sigmask(SIG_BLOCK, &interrupt, before);
	PyErr_Fetch(&type, &value, &traceback);
	now.passes_on |= PyErr_CheckSignals() != 0;
	PyErr_Restore(type, value, traceback);
}

static bool holds(const struct mt_hold *hold)
{
	return hold->kind && !hold->pauses;
}

struct mt_hold mt_hold_begin(enum mt_hold_kind kind)
{
	const struct mt_hold outer = now;

	if (holds(&outer))
		return outer;
	now = (struct mt_hold){.kind = kind, .began_ns = mt_clock_monotonic_ns()};
	block(&now.before);
	return outer;
}

/* From GDB's event loop: within Python, but in none of its code that would raise an exception, so
 * that GDB takes the interrupt over when it leaves Python. */
static PyObject *interrupt_gdb(PyObject *self, PyObject *ignored)
{
	(void)self;
	(void)ignored;
	posted--;
	raise(SIGINT);
	Py_RETURN_NONE;
}

/* What GDB's event loop did not come to, GDB destroys behind the end of Python, and dies of it (GDB
 * 13: PyGILState_Ensure() in a static destructor). */
static void leave_posted(int status, void *ignored)
{
	(void)ignored;
	if (!posted)
		return;
	fflush(NULL);
	_exit(status);
}

static void post(void)
{
	static PyMethodDef definition = {"interrupt", interrupt_gdb, METH_NOARGS, NULL};
	static bool is_safe;

	is_safe = is_safe || !on_exit(leave_posted, NULL);
	if (!is_safe)
		return;
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, NULL);
	mt_auto(mt_py) PyObject *done =
	    function ? mt_py_call_gdb("post_event", "(O)", function) : NULL;

	posted += done != NULL;
	PyErr_Clear();
}

static bool take(const struct mt_hold *hold)
{
	const struct timespec at_once = {0};
	sigset_t interrupt;

	fill(&interrupt);
	return !sigismember(&hold->before, SIGINT) &&
	       sigtimedwait(&interrupt, NULL, &at_once) == SIGINT;
}

/* Also where an exception is pending, which stays. */
static void end_event(struct mt_hold *hold)
{
	PyObject *type, *value, *traceback;

	hold->passes_on |= take(hold);
	if (hold->passes_on) {
		PyErr_Fetch(&type, &value, &traceback);
		post();
		PyErr_Restore(type, value, traceback);
	}
	pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
}

static void end_call(struct mt_hold *hold)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	mt_auto(mt_error) struct mt_error *noted = mt_gdb_interrupted();
	PyErr_Restore(type, value, traceback);
	hold->passes_on |= take(hold) || noted;
	pthread_sigmask(SIG_SETMASK, &hold->before, NULL);
	if (hold->passes_on && !PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		raise(SIGINT);
}

void mt_hold_end(const struct mt_hold *outer)
{
	struct mt_hold ended = now;

	if (holds(outer))
		return;
	now = *outer;
	if (ended.kind == MT_HOLD_EVENT)
		end_event(&ended);
	else
		end_call(&ended);
}

void mt_hold_pause(void)
{
	if (now.kind && !now.pauses++)
		pthread_sigmask(SIG_SETMASK, &now.before, NULL);
}

void mt_hold_resume(void)
{
	if (now.kind && !--now.pauses)
		block(NULL);
}

bool mt_hold_is_urgent(void)
{
	sigset_t pending;

	if (!now.kind || mt_clock_monotonic_ns() - now.began_ns <= PATIENCE_NS)
		return false;
	return now.passes_on || (sigpending(&pending) == 0 && sigismember(&pending, SIGINT));
}

void mt_hold_pass_on(void)
{
	now.passes_on = now.kind;
}
