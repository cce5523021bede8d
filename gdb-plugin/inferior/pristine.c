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
#include "gdb-plugin/inferior/pristine.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/interpose.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/inferior/reads.h"
#include "gdb-plugin/inferior/stack.h"
#include "process/proc.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

static enum mt_resumption expected;
static struct mt_live_alone stepped; /* functions: on the stack, at the last expectation of NEXT */
static struct mt_live_alone listed;  /* places: of GDB's breakpoints, when it was asked last */

/* The selected thread stopped for a signal that it gets when it goes on; GDB keeps SIGINT. */
static bool will_enter_handler(void)
{
	const pid_t lwp = mt_gdb_lwp();
	siginfo_t info = {0};

	return lwp && mt_interpose_get_signal(lwp, &info) && info.si_signo != SIGTRAP &&
	       info.si_signo != SIGINT &&
	       mt_proc_signal_action(lwp, info.si_signo) == MT_SIGNAL_CAUGHT;
}

struct mt_error *mt_pristine_expect(enum mt_resumption how)
{
	if (how == MT_RESUMPTION_NEXT && will_enter_handler())
		how = MT_RESUMPTION_STEP;
	expected = how;
	stepped.functions.count = 0;
	return how == MT_RESUMPTION_NEXT ? mt_stack_step_through(&stepped) : NULL;
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

/* Whether a breakpoint with this number of GDB's is a trigger's that was set aside. */
static bool is_aside(long long number)
{
	mt_array_each (trigger, &mt_gdb_debugger()->triggers)
		if ((*trigger)->is_aside &&
		    mt_py_number((*trigger)->breakpoint, "number", 0) == number)
			return true;
	return false;
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
		if (!is_aside(strtoll(line, NULL, 10)))
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
		mt_stack_forget();
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

	if (expected != MT_RESUMPTION_NEXT || !mt_interpose_get_registers(lwp, &registers))
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
