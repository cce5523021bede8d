/* SPDX-License-Identifier: GPL-3.0-or-later */
/* At the prompt the program's text is its own.  When it goes on, the engine's patches come back,
 * but for those in whose displaced bytes somebody may stand, or come to: GDB's breakpoints, its own
 * hidden ones too, and the threads, now or when their signal handlers return.  What GDB steps
 * through must be untouched as a whole: at `next` and `until` the functions on the stack, at `step`
 * and `stepi` everything. */
#include "pristine.h"

#include "base/array.h"
#include "gdb.h"
#include "process/interrupted.h"

#include <string.h>

#define MOST_FRAMES 1000

typedef MT_ARRAY(uint64_t) addresses;

static enum mt_resumption expected;
static addresses stack; /* at the last expectation of NEXT */

static PyObject *older(PyObject *frame)
{
	PyObject *next = PyObject_CallMethod(frame, "older", NULL);

	Py_DECREF(frame);
	return next;
}

static struct mt_error *note_frame(PyObject *frame, bool innermost)
{
	mt_auto(mt_py) PyObject *pc = PyObject_CallMethod(frame, "pc", NULL);

	if (!pc)
		return mt_py_error();
	/* A call may be its function's last instruction. */
	uint64_t address = PyLong_AsUnsignedLongLongMask(pc) - !innermost;
	return mt_array_push(&stack, address) ? mt_error_no_memory() : NULL;
}

static struct mt_error *note_stack(void)
{
	PyObject *frame = mt_py_call_gdb("newest_frame", "()");
	struct mt_error *error = NULL;

	for (size_t i = 0; frame && frame != Py_None && !error && i < MOST_FRAMES; i++) {
		error = note_frame(frame, i == 0);
		frame = older(frame);
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return error;
}

struct mt_error *mt_pristine_expect(enum mt_resumption how)
{
	expected = how;
	stack.count = 0;
	return how == MT_RESUMPTION_NEXT ? note_stack() : NULL;
}

/* GDB has no list of all its breakpoints, but prints one. */
static struct mt_error *add_breakpoints(addresses *places)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_try(mt_gdb_execute("maintenance info breakpoints", &text));
	for (const char *at = text.text; at && (at = strstr(at, "0x")); at += 2)
		if (mt_array_push(places, strtoull(at, NULL, 16)))
			return mt_error_no_memory();
	return NULL;
}

struct threads {
	struct mt_target *target;
	pid_t pid;
	addresses *places;
};

static struct mt_error *add_place(void *context, uint64_t pc)
{
	const struct threads *threads = context;

	return mt_array_push(threads->places, pc) ? mt_error_no_memory() : NULL;
}

static struct mt_error *add_thread(void *context, pid_t lwp)
{
	const struct threads *threads = context;
	struct user_regs_struct registers;
	struct mt_error *error =
	    threads->target->ops->get_registers(threads->target, lwp, &registers);

	if (error) { /* it ended */
		mt_error_destroy(error);
		return NULL;
	}
	mt_try(add_place(context, registers.rip));
	return mt_interrupted_each(threads->target, threads->pid, registers.rsp, add_place,
				   context);
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

static void sort(const addresses *places)
{
	if (places->count)
		qsort(places->items, places->count, sizeof(*places->items), compare);
}

static struct mt_error *find_places(struct mt_target *target, pid_t pid, addresses *places)
{
	struct threads threads = {target, pid, places};

	mt_try(add_breakpoints(places));
	mt_try(target->ops->each_thread(target, pid, add_thread, &threads));
	sort(places);
	sort(&stack);
	return NULL;
}

struct mt_error *mt_pristine_show(struct mt_session *session, struct mt_target *target, pid_t pid,
				  bool is_expected, bool *hidden)
{
	addresses places = {0};

	if (is_expected && expected == MT_RESUMPTION_STEP)
		return NULL;
	struct mt_error *error = find_places(target, pid, &places);
	const struct mt_engine_alone alone = {places.items, places.count, stack.items,
					      is_expected ? stack.count : 0};
	if (!error) {
		*hidden = false;
		error = mt_session_show(session, pid, &alone);
	}
	mt_array_deinit(&places);
	return error;
}

void mt_pristine_expect_nothing(void)
{
	expected = MT_RESUMPTION_FREE;
	stack.count = 0;
}
