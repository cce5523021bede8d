/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unwinding all of a deep stack takes many times as long as GDB's own step, and unwinding any of it
 * a part of that.  So the stack of the last `next` is kept: a thread that is where it was, or has
 * returned from there, has the same callers. */
#include "gdb-plugin/inferior/stack.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/interpose.h"
#include "gdb-plugin/inferior/inferior.h"

#include <string.h>

#define MOST_FRAMES 1000

/* A frame on the stack. */
struct noted {
	uint64_t pc, stack;
};

struct code {
	uint64_t start, end;
};

/* The whole stack at the last `next`, behind which came no other resumption: the frames of then
 * that are still there have those behind them that they had. */
static struct {
	pid_t lwp; /* of which thread; 0: of none */
	MT_ARRAY(struct noted) frames;
	struct code function; /* of the innermost; empty: it was not looked for, or is not known */
} noted;

static struct mt_error *look_at(PyObject *frame, struct noted *out)
{
	mt_auto(mt_py) PyObject *pc = PyObject_CallMethod(frame, "pc", NULL);
	mt_auto(mt_py) PyObject *value =
	    pc ? PyObject_CallMethod(frame, "read_register", "s", "rsp") : NULL;
	mt_auto(mt_py) PyObject *stack = value ? PyNumber_Long(value) : NULL;

	if (!stack)
		return mt_py_error();
	out->pc = PyLong_AsUnsignedLongLongMask(pc);
	out->stack = PyLong_AsUnsignedLongLongMask(stack);
	return NULL;
}

/* Where the last two of FRAMES are in the former stack, the second of them; 0: nowhere. */
static size_t find_in_former(const struct noted *frames, size_t count)
{
	for (size_t i = 1; count >= 2 && i < noted.frames.count; i++)
		if (memcmp(&noted.frames.items[i - 1], &frames[count - 2], 2 * sizeof(*frames)) ==
		    0)
			return i;
	return 0;
}

/* The innermost function of PC; empty: GDB knows of none. */
static struct code function_at(uint64_t pc)
{
	PyObject *block = mt_py_call_gdb("block_for_pc", "(K)", (unsigned long long)pc);
	struct code code = {0};

	while (block && block != Py_None && !code.end) {
		mt_auto(mt_py) PyObject *function = mt_py_get(block, "function");

		if (function && function != Py_None)
			code = (struct code){(uint64_t)mt_py_number(block, "start", 0),
					     (uint64_t)mt_py_number(block, "end", 0)};
		PyObject *outer = mt_py_get(block, "superblock");
		Py_DECREF(block);
		block = outer;
	}
	Py_XDECREF(block);
	PyErr_Clear();
	return code;
}

static bool is_in(uint64_t address, const struct code *code)
{
	return address >= code->start && address < code->end;
}

/* Below the stack pointer of a caller is where its callee returns to. */
static bool returns_to(const struct mt_inferior *inferior, const struct noted *frame)
{
	struct mt_target *target = inferior->live.target;
	uint64_t there;

	return target->ops->read(target, inferior->live.pid, frame->stack - sizeof(there), &there,
				 sizeof(there)) == sizeof(there) &&
	       there == frame->pc;
}

/* The two callers next to the former stack's frame INDEX are what they were. */
static bool has_callers(const struct mt_inferior *inferior, size_t index)
{
	const struct noted *frames = noted.frames.items;
	size_t callers = 0;

	for (size_t i = index + 1; i < noted.frames.count && callers < 2; i++) {
		if (frames[i].stack == frames[i - 1].stack)
			continue; /* inlined */
		if (!returns_to(inferior, &frames[i]))
			return false;
		callers++;
	}
	return true;
}

/* A thread that is where it was at the last `next`, or has returned from there, has the stack of
 * then, from that frame on. */
static bool is_in_former(pid_t lwp)
{
	const struct mt_inferior *inferior = mt_inferior_selected();
	struct user_regs_struct registers;
	size_t index = 0;

	if (!inferior || !inferior->live.target || !lwp || lwp != noted.lwp ||
	    !mt_interpose_get_registers(lwp, &registers))
		return false;
	while (index < noted.frames.count && noted.frames.items[index].stack != registers.rsp)
		index++;
	if (index == noted.frames.count || !has_callers(inferior, index))
		return false;
	if (index || !noted.function.end)
		noted.function = function_at(noted.frames.items[index].pc);
	if (!is_in(registers.rip, &noted.function))
		return false;
	noted.frames.count -= index;
	memmove(noted.frames.items, &noted.frames.items[index],
		noted.frames.count * sizeof(*noted.frames.items));
	noted.frames.items[0].pc = registers.rip;
	return true;
}

static struct mt_error *step_through_noted(struct mt_live_alone *stepped)
{
	struct mt_error *error = NULL;

	/* A call may be its function's last instruction. */
	for (size_t i = 0; !error && i < noted.frames.count; i++)
		error = mt_live_add_function(stepped, noted.frames.items[i].pc - (i > 0));
	return error;
}

struct mt_error *mt_stack_step_through(struct mt_live_alone *stepped)
{
	const pid_t lwp = mt_gdb_lwp();

	if (is_in_former(lwp))
		return step_through_noted(stepped);
	PyObject *frame = mt_py_call_gdb("newest_frame", "()");
	MT_ARRAY(struct noted) frames = {0};
	struct mt_error *error = NULL;
	size_t former = 0;

	while (frame && frame != Py_None && !error && !former && frames.count < MOST_FRAMES) {
		struct noted one;

		error = look_at(frame, &one);
		if (!error && mt_array_push(&frames, one))
			error = mt_error_no_memory();
		/* Not the innermost: it moves. */
		if (!error && lwp == noted.lwp && frames.count > 2)
			former = find_in_former(frames.items, frames.count);
		PyObject *older = PyObject_CallMethod(frame, "older", NULL);
		Py_DECREF(frame);
		frame = older;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	for (size_t i = former + 1; former && !error && i < noted.frames.count; i++)
		if (mt_array_push(&frames, noted.frames.items[i]))
			error = mt_error_no_memory();
	mt_array_deinit(&noted.frames);
	noted.frames.items = frames.items;
	noted.frames.count = frames.count;
	noted.frames.capacity = frames.capacity;
	noted.lwp = error ? 0 : lwp;
	noted.function.end = 0;
	return error ? error : step_through_noted(stepped);
}

void mt_stack_forget(void)
{
	noted.lwp = 0;
}
