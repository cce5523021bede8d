/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the program goes on, the engine's patches come back, but for those in whose displaced bytes
 * somebody may stand, or come to: GDB's breakpoints, its own hidden ones too, and the threads. What
 * GDB steps through must be untouched as a whole: at `next` and `until` the functions on the stack,
 * at `step` and `stepi` everything. */
#include "pristine.h"

#include "gdb.h"

#include <string.h>

#define MOST_FRAMES 1000

static enum mt_resumption expected;
static struct mt_live_alone stepped; /* functions: on the stack, at the last expectation of NEXT */

static struct mt_error *note_stack(void)
{
	PyObject *frame = mt_py_call_gdb("newest_frame", "()");
	struct mt_error *error = NULL;

	for (size_t i = 0; frame && frame != Py_None && !error && i < MOST_FRAMES; i++) {
		mt_auto(mt_py) PyObject *pc = PyObject_CallMethod(frame, "pc", NULL);
		/* A call may be its function's last instruction. */
		error =
		    pc ? mt_live_add_function(&stepped, PyLong_AsUnsignedLongLongMask(pc) - (i > 0))
		       : mt_py_error();
		PyObject *older = PyObject_CallMethod(frame, "older", NULL);
		Py_DECREF(frame);
		frame = older;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return error;
}

struct mt_error *mt_pristine_expect(enum mt_resumption how)
{
	expected = how;
	stepped.functions.count = 0;
	return how == MT_RESUMPTION_NEXT ? note_stack() : NULL;
}

struct mt_error *mt_pristine_show(struct mt_live *live, bool is_expected)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_live_alone none = {0}, *alone = is_expected ? &stepped : &none;
	struct mt_error *error = NULL;

	if (is_expected && expected == MT_RESUMPTION_STEP)
		return NULL;
	stepped.places.count = 0;
	/* GDB has no list of all its breakpoints, but prints one. */
	mt_try(mt_gdb_execute("maintenance info breakpoints", &text));
	for (const char *at = text.text; !error && at && (at = strstr(at, "0x")); at += 2)
		error = mt_live_add_place(alone, strtoull(at, NULL, 16));
	if (!error)
		error = mt_live_show(live, alone);
	mt_live_alone_deinit(&none);
	return error;
}

void mt_pristine_expect_nothing(void)
{
	expected = MT_RESUMPTION_FREE;
	stepped.functions.count = 0;
}
