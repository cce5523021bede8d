/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When the program goes on, the engine's patches come back, but for those in whose displaced bytes
 * somebody may stand, or come to: GDB's breakpoints, its own hidden ones too, and the threads. What
 * GDB steps through must be untouched as a whole: at `next` and `until` the functions on the stack,
 * at `step` and `stepi` everything, and so it must be while GDB looks for the frame of a variable
 * that is watched, at each change of it, wherever the thread stands then, and where `next` begins
 * with a signal's handler, in which `next 3` goes on.
 *
 * GDB inserts its breakpoints after the event that the program goes on, and lists them until then.
 * With `breakpoint always-inserted` they are in the text all the time, and so are those of a child
 * that GDB has just followed, when it must not be asked for a list: it may be half made.  Hardware
 * breakpoints are in no text; a child has those of its parent, where that was listed. */
#include "pristine.h"

#include "gdb.h"
#include "inferior.h"
#include "process/proc.h"
#include "reads.h"
#include "trigger.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define MOST_FRAMES 1000

static enum mt_resumption expected;
static struct mt_live_alone stepped; /* functions: on the stack, at the last expectation of NEXT */
static struct mt_live_alone listed;  /* places: of GDB's breakpoints, when it was asked last */

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
	    !mt_reads_get_registers(lwp, &registers))
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

static struct mt_error *step_through_noted(void)
{
	struct mt_error *error = NULL;

	/* A call may be its function's last instruction. */
	for (size_t i = 0; !error && i < noted.frames.count; i++)
		error = mt_live_add_function(&stepped, noted.frames.items[i].pc - (i > 0));
	return error;
}

/* Unwinding all of a deep stack takes many times as long as GDB's own step, and unwinding any of it
 * a part of that. */
static struct mt_error *note_stack(void)
{
	const pid_t lwp = mt_gdb_lwp();

	if (is_in_former(lwp))
		return step_through_noted();
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
	return error ? error : step_through_noted();
}

/* The selected thread stopped for a signal that it gets when it goes on; GDB keeps SIGINT. */
static bool will_enter_handler(void)
{
	const pid_t lwp = mt_gdb_lwp();
	siginfo_t info = {0};

	return lwp && mt_reads_get_signal(lwp, &info) && info.si_signo != SIGTRAP &&
	       info.si_signo != SIGINT &&
	       mt_proc_signal_action(lwp, info.si_signo) == MT_SIGNAL_CAUGHT;
}

struct mt_error *mt_pristine_expect(enum mt_resumption how)
{
	if (how == MT_RESUMPTION_NEXT && will_enter_handler())
		how = MT_RESUMPTION_STEP;
	expected = how;
	stepped.functions.count = 0;
	return how == MT_RESUMPTION_NEXT ? note_stack() : NULL;
}

static struct mt_error *add_addresses(const char *at, const char *end, struct mt_live_alone *alone)
{
	while ((at = strstr(at, "0x")) && at < end) {
		mt_try(mt_live_add_place(alone, strtoull(at, NULL, 16)));
		at += 2;
	}
	return NULL;
}

static struct mt_error *add_all(const struct mt_live_alone *from, struct mt_live_alone *to)
{
	mt_array_each (place, &from->places)
		mt_try(mt_live_add_place(to, *place));
	return NULL;
}

static bool brings_breakpoints(enum mt_resumption how)
{
	return how != MT_RESUMPTION_NEXT && how != MT_RESUMPTION_CONTINUE;
}

/* GDB has no list of all its breakpoints, those for a moment too, but prints one.  `next`, `nexti`
 * and `continue` bring none that are elsewhere than those that it always has. */
static struct mt_error *add_listed(pid_t pid, struct mt_live_alone *alone)
{
	static pid_t told; /* why it is not recorded */
	static pid_t listed_pid;
	static unsigned long listed_at; /* so many changes of breakpoints */
	const unsigned long changes = mt_py_breakpoint_changes();
	const bool can_change = mt_gdb_debugger()->triggers.count > 0;

	if (!brings_breakpoints(expected) && pid == listed_pid && changes == listed_at)
		return add_all(&listed, alone);
	listed_pid = 0;
	mt_auto(mt_str) struct mt_str text = {0};
	const char *with = mt_gdb_parameter("print address") ? "" : "with print address on -- ";

	mt_try(mt_gdb_executef(&text, "%smaintenance info breakpoints", with));
	listed.places.count = 0;
	for (const char *line = text.text; line && *line;) {
		const char *end = strchrnul(line, '\n');

		/* Those that are disabled, as the program evaluates them itself. */
		if (!mt_trigger_is_aside(strtoll(line, NULL, 10)))
			mt_try(add_addresses(line, end, &listed));
		line = end + (*end != 0);
	}
	mt_try(add_all(&listed, alone));
	/* This one tells GDB that the block of a watched variable was left. */
	if (!text.text || !strstr(text.text, "watchpoint scope")) {
		listed_pid = can_change ? 0 : pid;
		listed_at = changes;
		return NULL;
	}
	expected = MT_RESUMPTION_STEP;
	if (told == pid)
		return NULL;
	told = pid;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "calls are not recorded while a local variable is watched (\"watch "
			    "-location\" watches its address alone)");
}

struct inserted {
	struct mt_live *live;
	struct mt_live_alone *alone;
	bool is_followed;
};

/* Where the memory is not what GDB shows of it, there is a breakpoint.  Beneath those of a child
 * that was followed no patch may begin. */
static struct mt_error *add_inserted(void *context, const struct mt_map *map)
{
	const struct inserted *inserted = context;
	const struct mt_target *target = inserted->live->target;
	size_t size = map->end - map->start;

	if (!map->executable)
		return NULL;
	mt_auto(mt_py) PyObject *shown = mt_gdb_read_memory(map->start, size);
	const char *bytes = shown ? PyBytes_AsString(shown) : NULL;
	char *there = malloc(size);
	struct mt_error *error = there ? NULL : mt_error_no_memory();

	PyErr_Clear(); /* the kernel's page for old system calls */
	if (!bytes || error ||
	    target->ops->read(inserted->live->target, inserted->live->pid, map->start, there,
			      size) != size)
		size = 0;
	for (size_t i = 0; i < size && !error; i++) {
		if (bytes[i] == there[i])
			continue;
		error = mt_live_add_place(inserted->alone, map->start + i);
		if (!error && inserted->is_followed)
			error = mt_live_add_place(inserted->alone, map->start + i + 1);
	}
	free(there);
	return error;
}

static struct mt_error *add_breakpoints(struct mt_live *live, bool is_followed,
					struct mt_live_alone *alone)
{
	struct inserted inserted = {live, alone, is_followed};

	mt_try(is_followed ? add_all(&listed, alone) : add_listed(live->pid, alone));
	if (!is_followed && !mt_reads_may_have_breakpoints(live->pid))
		return NULL;
	mt_try(mt_session_unmask(live->session, live->pid));
	return live->target->ops->each_map(live->target, live->pid, add_inserted, &inserted);
}

struct mt_error *mt_pristine_show(struct mt_live *live, bool is_selected, bool is_followed)
{
	struct mt_live_alone none = {0}, *alone = is_selected ? &stepped : &none;

	if (is_selected && expected != MT_RESUMPTION_NEXT)
		noted.lwp = 0;
	if (is_selected && expected == MT_RESUMPTION_STEP)
		return NULL;
	stepped.places.count = stepped.told.count = 0;
	struct mt_error *error = NULL;
	/* The breakpoints of a child may be half made. */
	if (is_selected && is_followed)
		error = mt_live_inherit_gates(mt_gdb_debugger(), live);
	else if (is_selected)
		error = mt_live_place_triggers(mt_gdb_debugger(), live, alone);
	if (!error)
		error = add_breakpoints(live, is_followed, alone);
	/* GDB lets the selected thread alone over the breakpoint where it stands (infrun's
	 * proceed()). */
	if (!error && is_selected)
		error = mt_live_add_told(alone, mt_gdb_lwp());
	if (!error && !(is_selected && expected == MT_RESUMPTION_STEP))
		error = mt_live_show(live, alone);
	if (is_selected)
		mt_live_check_triggers(mt_gdb_debugger(), live);
	mt_live_alone_deinit(&none);
	return error;
}

bool mt_pristine_steps(pid_t lwp)
{
	struct user_regs_struct registers;

	if (expected != MT_RESUMPTION_NEXT || !mt_reads_get_registers(lwp, &registers))
		return false;
	mt_array_each (place, &listed.places)
		if (*place == registers.rip)
			return false;
	return true;
}

void mt_pristine_expect_nothing(void)
{
	expected = MT_RESUMPTION_FREE;
	stepped.functions.count = 0;
}
