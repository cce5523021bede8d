/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hold.h"

#include "base/clock.h"
#include "py.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#define PATIENCE_NS 200000000ull

static struct {
	unsigned depth;
	unsigned pauses; /* functions of the user's call ours, which call others of the user's */
	sigset_t before; /* while `depth` is not 0 */
	uint64_t began_ns;
	bool passes_on; /* GDB gets one at the end */
} hold;

static void fill(sigset_t *interrupt)
{
	sigemptyset(interrupt);
	sigaddset(interrupt, SIGINT);
}

static void block(sigset_t *before)
{
	sigset_t interrupt;

	fill(&interrupt);
	pthread_sigmask(SIG_BLOCK, &interrupt, before);
}

bool mt_hold_begin(void)
{
	if (hold.depth++)
		return true;
	hold.began_ns = mt_clock_monotonic_ns();
	block(&hold.before);
	return true;
}

/* From GDB's event loop: within Python, but in none of its code that would raise an exception, so
 * that GDB takes the interrupt over when it leaves Python. */
static PyObject *interrupt_gdb(PyObject *self, PyObject *ignored)
{
	(void)self;
	(void)ignored;
	raise(SIGINT);
	Py_RETURN_NONE;
}

static void post(void)
{
	static PyMethodDef definition = {"interrupt", interrupt_gdb, METH_NOARGS, NULL};
	mt_auto(mt_py) PyObject *function = mt_py_function(&definition, NULL);
	mt_auto(mt_py) PyObject *done =
	    function ? mt_py_call_gdb("post_event", "(O)", function) : NULL;

	(void)done;
	PyErr_Clear();
}

/* Also where an exception is pending, which stays. */
static void end(void)
{
	const struct timespec at_once = {0};
	PyObject *type, *value, *traceback;
	sigset_t interrupt;

	fill(&interrupt);
	if (!sigismember(&hold.before, SIGINT) &&
	    sigtimedwait(&interrupt, NULL, &at_once) == SIGINT)
		hold.passes_on = true;
	if (hold.passes_on) {
		PyErr_Fetch(&type, &value, &traceback);
		post();
		PyErr_Restore(type, value, traceback);
	}
	hold.passes_on = false;
	pthread_sigmask(SIG_SETMASK, &hold.before, NULL);
}

void mt_hold_end(void)
{
	if (--hold.depth == 0)
		end();
}

void mt_hold_pause(void)
{
	if (hold.depth && !hold.pauses++)
		pthread_sigmask(SIG_SETMASK, &hold.before, NULL);
}

void mt_hold_resume(void)
{
	if (hold.depth && !--hold.pauses)
		block(NULL);
}

bool mt_hold_is_urgent(void)
{
	sigset_t pending;

	return hold.depth && mt_clock_monotonic_ns() - hold.began_ns > PATIENCE_NS &&
	       sigpending(&pending) == 0 && sigismember(&pending, SIGINT);
}

void mt_hold_pass_on(void)
{
	hold.passes_on = hold.depth;
}
