/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/inferior/reads.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/interpose.h"
#include "gdb-plugin/inferior/births.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/inferior/pristine.h"

#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3 0xcc
#define LINE 64 /* LINE_SIZE_POWER of GDB's dcache.c */

static struct {
	bool is_on;
	bool is_sure;   /* so they are since the programs went on, and GDB reads by them */
	bool has_text;  /* since then it has read some with patches in it */
	bool is_barred; /* GDB has breakpoints in the text */
	bool is_lost;   /* a breakpoint of GDB's could not be noted */
	bool has_run;   /* GDB let a thread go on since the programs were shown */
	pid_t heard;    /* whose memory was read last */
	pid_t known;    /* GDB is heard to read its memory */
} reads;

/* GDB's breakpoints in the text, as it was heard to write them. */
static MT_ARRAY(struct breakpoint {
	pid_t pid;
	uint64_t address;
}) inserted;

static void forget_breakpoints(pid_t pid)
{
	size_t count = 0;

	mt_array_each (one, &inserted)
		if (one->pid != pid)
			inserted.items[count++] = *one;
	inserted.count = count;
}

/* Where GDB puts code for its calls, with a breakpoint's byte in it. */
static bool is_near_stack(uint64_t address)
{
	const struct user_regs_struct *registers = mt_interpose_kept_registers();
	const uint64_t near = 1 << 20;

	return registers && address - (registers->rsp - near) < 2 * near;
}

/* GDB wrote this BYTE. */
static void note_breakpoint(pid_t pid, uint64_t address, uint8_t byte)
{
	size_t i = 0;

	while (i < inserted.count &&
	       (inserted.items[i].pid != pid || inserted.items[i].address != address))
		i++;
	if (byte == INT3 && i == inserted.count)
		reads.is_lost |= mt_array_push(&inserted, ((struct breakpoint){pid, address})) != 0;
	else if (byte != INT3 && i < inserted.count)
		inserted.items[i] = inserted.items[--inserted.count];
}

/* Of it that is recorded. */
static bool is_text(const struct mt_inferior *inferior, uint64_t address)
{
	return inferior && inferior->live.session &&
	       mt_session_original(inferior->live.session, inferior->live.pid, address, NULL, 1);
}

/* NULL: it is not recorded. */
static struct mt_inferior *find_recorded(pid_t pid)
{
	struct mt_inferior *inferior = mt_inferior_find(pid);

	return inferior && inferior->live.session ? inferior : NULL;
}

/* Of one byte: GDB is about to put a breakpoint there. */
static void give_way(const struct mt_inferior *inferior, uint64_t address)
{
	const PyGILState_STATE state = PyGILState_Ensure();
	struct mt_error *error =
	    mt_session_give_way(inferior->live.session, inferior->live.pid, address);
	if (error)
		mt_gdb_warn(mt_error_message(error));
	mt_error_destroy(error);
	PyGILState_Release(state);
}

/* Of GDB's cache of code.  Else it may be about to run what is there elsewhere (displaced
 * stepping), and then needs all of a patch, or nothing of it. */
static bool is_line(size_t size, off64_t at)
{
	return size == LINE && at % LINE == 0;
}

/* Of one whose lines the user has made larger or smaller. */
static bool may_be_line(size_t size, off64_t at)
{
	return (size & (size - 1)) == 0 && at % (off64_t)size == 0;
}

/* For people, whatever its threads do while GDB handles an event. */
static bool stands(const struct mt_inferior *inferior)
{
	const PyGILState_STATE state = PyGILState_Ensure();
	const bool is_it = mt_gdb_is_standing() && mt_gdb_pid() == inferior->live.pid;

	PyGILState_Release(state);
	return is_it;
}

/* No thread has run, so GDB knows all registers. */
static void hide(struct mt_inferior *inferior)
{
	const PyGILState_STATE state = PyGILState_Ensure();
	struct mt_error *error = mt_inferior_hide_early(inferior);
	if (error)
		mt_gdb_warn(mt_error_message(error));
	mt_error_destroy(error);
	PyGILState_Release(state);
}

static bool may_be_for_breakpoint(size_t size)
{
	const PyGILState_STATE state = PyGILState_Ensure();
	const bool may_be = size == 1 && mt_gdb_parameter("breakpoint always-inserted");

	PyGILState_Release(state);
	return may_be;
}

/* Without our patches. */
static ssize_t read_original(const struct mt_inferior *inferior, int descriptor, void *bytes,
			     size_t size, off64_t at)
{
	const ssize_t done = pread64(descriptor, bytes, size, at);

	if (done > 0)
		mt_session_original(inferior->live.session, inferior->live.pid, (uint64_t)at, bytes,
				    (size_t)done);
	return done;
}

/* While nothing is hidden.  Where the program stands all the same, a command failed behind the
 * event that told that it goes on, and nobody looked at it since: maybe after threads had run. */
static ssize_t read_running(struct mt_inferior *inferior, int descriptor, void *bytes, size_t size,
			    off64_t at)
{
	const struct mt_live *live = &inferior->live;

	if (!mt_session_original(live->session, live->pid, (uint64_t)at, NULL, size))
		return pread64(descriptor, bytes, size, at);
	if (!reads.has_run && live->state >= MT_LIVE_SHOWN && stands(inferior)) {
		hide(inferior);
		return pread64(descriptor, bytes, size, at);
	}
	if (is_line(size, at) ||
	    (reads.has_run && stands(inferior) && !may_be_for_breakpoint(size)))
		return read_original(inferior, descriptor, bytes, size, at);
	/* What a breakpoint covers is what is there. */
	if (size == 1)
		give_way(inferior, (uint64_t)at);
	else
		reads.has_text |= may_be_line(size, at);
	return pread64(descriptor, bytes, size, at);
}

static ssize_t hear_read(pid_t pid, int descriptor, void *bytes, size_t size, off64_t at)
{
	struct mt_inferior *inferior = find_recorded(pid);

	reads.heard = pid;
	if (!inferior)
		return pread64(descriptor, bytes, size, at);
	return reads.is_on ? read_original(inferior, descriptor, bytes, size, at)
			   : read_running(inferior, descriptor, bytes, size, at);
}

static ssize_t hear_write(pid_t pid, int descriptor, const void *bytes, size_t size, off64_t at)
{
	const struct mt_inferior *inferior = find_recorded(pid);

	if (inferior && reads.is_on) {
		const PyGILState_STATE state = PyGILState_Ensure();

		mt_error_destroy(mt_session_unmask(inferior->live.session, pid));
		PyGILState_Release(state);
	}
	const ssize_t done = pwrite64(descriptor, bytes, size, at);
	if (inferior && done == 1 && !is_near_stack((uint64_t)at))
		note_breakpoint(pid, (uint64_t)at, *(const uint8_t *)bytes);
	return done;
}

/* As it does where it does not let a thread run over a call. */
static void hear_step(pid_t lwp)
{
	if (!mt_pristine_steps(lwp))
		return;
	const PyGILState_STATE state = PyGILState_Ensure();
	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));) {
		struct mt_error *error = one->live.state == MT_LIVE_SHOWN
					     ? mt_session_step_through(one->live.session, lwp)
					     : NULL;
		if (error)
			mt_gdb_warn(mt_error_message(error));
		mt_error_destroy(error);
	}
	PyGILState_Release(state);
}

static void hear_resumption(pid_t lwp, bool steps)
{
	reads.has_run = true;
	if (steps && !reads.is_on)
		hear_step(lwp);
}

/* Of a gate's, where GDB catches system calls: such a call begins and ends, and GDB knows of
 * neither. */
static bool is_own_call(pid_t lwp, int status)
{
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80))
		return false;
	const long pc = ptrace(PTRACE_PEEKUSER, lwp, offsetof(struct user_regs_struct, rip), 0);
	for (struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (one->live.session &&
		    mt_session_gate_makes_call(one->live.session, lwp, (uint64_t)pc))
			return true;
	return false;
}

/* By a byte where a thread stands. */
static bool is_heard(pid_t pid)
{
	const pid_t lwp = mt_gdb_lwp();
	struct user_regs_struct registers;

	if (pid != mt_gdb_pid() || !lwp || !mt_interpose_get_registers(lwp, &registers))
		return false;
	reads.heard = 0;
	mt_auto(mt_py) PyObject *byte = mt_gdb_read_memory(registers.rip, 1);
	PyErr_Clear();
	return byte && reads.heard == pid;
}

bool mt_reads_hear(void)
{
	static const struct mt_interpose_ops ops = {
	    .read = hear_read,
	    .write = hear_write,
	    .closes = forget_breakpoints,
	    .resumes = hear_resumption,
	    .conceals = is_own_call,
	    .stopped = mt_births_hear,
	};

	return mt_interpose(&ops);
}

bool mt_reads_begin(pid_t pid)
{
	if (reads.is_barred || mt_reads_may_have_breakpoints(pid))
		return false;
	mt_reads_hear();
	const bool was_on = reads.is_on;
	reads.is_on = true;
	if (pid == reads.known)
		return true;
	if (is_heard(pid))
		reads.known = pid;
	else
		reads.is_on = was_on;
	return pid == reads.known;
}

bool mt_reads_may_have_breakpoints(pid_t pid)
{
	/* One that was not heard all the time. */
	if (pid != reads.known || reads.is_lost)
		return mt_gdb_parameter("breakpoint always-inserted");
	const struct mt_inferior *inferior = mt_inferior_find(pid);
	mt_array_each (one, &inserted)
		if (one->pid == pid && is_text(inferior, one->address))
			return true;
	return false;
}

void mt_reads_bar(bool on)
{
	reads.is_barred = on;
}

void mt_reads_nothing_ran(void)
{
	reads.has_run = false;
}

void mt_reads_end(void)
{
	reads.is_sure = reads.is_on;
	reads.is_on = reads.has_text = false;
}

bool mt_reads_may_be_kept(void)
{
	return !reads.is_sure || reads.has_text;
}
