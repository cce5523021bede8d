/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "reads.h"

#include "births.h"
#include "gdb.h"
#include "imports.h"
#include "inferior.h"
#include "pristine.h"
#include "process/proc.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3 0xcc
#define LINE 64 /* LINE_SIZE_POWER of GDB's dcache.c */

static struct {
	bool is_placed; /* ours are in GDB's table */
	bool is_on;
	bool is_sure;         /* so they are since the programs went on, and GDB reads by them */
	bool has_text;        /* since then it has read some with patches in it */
	bool are_ours;        /* asked for by us */
	bool is_barred;       /* GDB has breakpoints in the text */
	bool is_lost;         /* a breakpoint of GDB's could not be noted */
	bool is_ptrace_heard; /* GDB was heard to ask by it */
	bool has_run;         /* GDB let a thread go on since the programs were shown */
	pthread_t thread;     /* GDB's own: others read files alone */
	pid_t heard;          /* whose memory was read last */
	pid_t known;          /* GDB is heard to read its memory */
} reads;

/* For which GDB or we asked last, while that thread stands. */
static struct {
	struct {
		pid_t lwp; /* 0: of none */
		struct user_regs_struct registers;
	} registers;
	struct {
		pid_t lwp;
		siginfo_t info;
	} signal;
} asked;

static pid_t read_process_of(int descriptor)
{
	char path[64], file[64];
	int end = 0;
	pid_t pid;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", descriptor);
	ssize_t size = readlink(path, file, sizeof(file) - 1);
	if (size <= 0)
		return 0;
	file[size] = 0;
	if (sscanf(file, "/proc/%d/task/%*d/mem%n", &pid, &end) == 1 && end == size)
		return pid;
	return sscanf(file, "/proc/%d/mem%n", &pid, &end) == 1 && end == size ? pid : 0;
}

/* Whose memory the files are that GDB reads and writes again and again: their paths take the kernel
 * several times as long as a read. */
static struct memory {
	int descriptor;
	pid_t pid; /* 0: GDB closed it */
} memories[4];

/* GDB's breakpoints in the text, as it was heard to write them. */
static MT_ARRAY(struct breakpoint {
	pid_t pid;
	uint64_t address;
}) inserted;

/* Of which process DESCRIPTOR is the memory; 0: it is another file. */
static pid_t process_of(int descriptor)
{
	static size_t next;

	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
		if (memories[i].pid && memories[i].descriptor == descriptor)
			return memories[i].pid;
	const pid_t pid = read_process_of(descriptor);
	if (pid)
		memories[next++ % (sizeof(memories) / sizeof(memories[0]))] =
		    (struct memory){descriptor, pid};
	return pid;
}

int mt_reads_descriptor(pid_t pid)
{
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
		if (pid && memories[i].pid == pid)
			return memories[i].descriptor;
	return -1;
}

static void forget_breakpoints(pid_t pid)
{
	size_t count = 0;

	mt_array_each (one, &inserted)
		if (one->pid != pid)
			inserted.items[count++] = *one;
	inserted.count = count;
}

/* As it does when the process has another memory, or has ended. */
static int hear_close(int descriptor)
{
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		if (!memories[i].pid || memories[i].descriptor != descriptor)
			continue;
		forget_breakpoints(memories[i].pid);
		memories[i].pid = 0;
	}
	return close(descriptor);
}

/* Where GDB puts code for its calls, with a breakpoint's byte in it. */
static bool is_near_stack(uint64_t address)
{
	const uint64_t near = 1 << 20;

	return asked.registers.lwp && address - (asked.registers.registers.rsp - near) < 2 * near;
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

/* The recorded one whose memory it is; NULL: none, or we ask ourselves. */
static struct mt_inferior *inferior_of(int descriptor)
{
	if (!pthread_equal(pthread_self(), reads.thread) || reads.are_ours)
		return NULL;
	reads.heard = process_of(descriptor);
	struct mt_inferior *inferior = reads.heard ? mt_inferior_find(reads.heard) : NULL;

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

static ssize_t hear_read(int descriptor, void *bytes, size_t size, off64_t at)
{
	struct mt_inferior *inferior = inferior_of(descriptor);

	if (!inferior)
		return pread64(descriptor, bytes, size, at);
	return reads.is_on ? read_original(inferior, descriptor, bytes, size, at)
			   : read_running(inferior, descriptor, bytes, size, at);
}

static ssize_t hear_write(int descriptor, const void *bytes, size_t size, off64_t at)
{
	const struct mt_inferior *inferior = inferior_of(descriptor);

	if (inferior && reads.is_on) {
		const PyGILState_STATE state = PyGILState_Ensure();

		mt_error_destroy(mt_session_unmask(inferior->live.session, inferior->live.pid));
		PyGILState_Release(state);
	}
	const ssize_t done = pwrite64(descriptor, bytes, size, at);
	if (inferior && done == 1 && !is_near_stack((uint64_t)at))
		note_breakpoint(inferior->live.pid, (uint64_t)at, *(const uint8_t *)bytes);
	return done;
}

/* GDB steps a thread, as it does where it does not let it run over a call. */
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

static bool lets_run(enum __ptrace_request request)
{
	return request == PTRACE_CONT || request == PTRACE_SINGLESTEP || request == PTRACE_SYSCALL;
}

/* Neither lets it go on nor changes anything of it. */
static bool only_asks(enum __ptrace_request request)
{
	return request == PTRACE_PEEKUSER || request == PTRACE_GETSIGINFO ||
	       request == PTRACE_GETREGS || request == PTRACE_GETFPREGS ||
	       request == PTRACE_GETREGSET;
}

static void keep_answer(enum __ptrace_request request, pid_t lwp, const void *data)
{
	if (request == PTRACE_GETREGS || request == PTRACE_SETREGS) {
		asked.registers.lwp = lwp;
		memcpy(&asked.registers.registers, data, sizeof(asked.registers.registers));
	} else if (request == PTRACE_GETSIGINFO) {
		asked.signal.lwp = lwp;
		memcpy(&asked.signal.info, data, sizeof(asked.signal.info));
	}
}

static long hear_ptrace(enum __ptrace_request request, pid_t lwp, void *address, void *data)
{
	const bool is_own = pthread_equal(pthread_self(), reads.thread);
	const int errnum = errno;

	if (is_own) {
		reads.is_ptrace_heard = true;
		reads.has_run |= lets_run(request);
		if (request == PTRACE_SINGLESTEP && !reads.is_on)
			hear_step(lwp);
	}
	if (is_own && request == PTRACE_SETREGS)
		asked.registers.lwp = 0;
	else if (!is_own || !only_asks(request))
		mt_reads_forget_thread();
	errno = errnum;
	const long result = ptrace(request, lwp, address, data);
	if (is_own && result == 0)
		keep_answer(request, lwp, data);
	return result;
}

bool mt_reads_get_registers(pid_t lwp, struct user_regs_struct *registers)
{
	if (lwp == asked.registers.lwp) {
		*registers = asked.registers.registers;
		return true;
	}
	if (ptrace(PTRACE_GETREGS, lwp, 0, registers))
		return false;
	if (reads.is_ptrace_heard)
		keep_answer(PTRACE_GETREGS, lwp, registers);
	return true;
}

bool mt_reads_get_signal(pid_t lwp, siginfo_t *info)
{
	if (lwp != asked.signal.lwp)
		return ptrace(PTRACE_GETSIGINFO, lwp, 0, info) == 0;
	*info = asked.signal.info;
	return true;
}

void mt_reads_forget_thread(void)
{
	asked.registers.lwp = asked.signal.lwp = 0;
}

/* Of a gate's, where GDB catches system calls. */
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

/* Such a call begins and ends, and GDB knows of neither. */
static pid_t hear_wait(pid_t wanted, int *status, int options)
{
	pid_t lwp = waitpid(wanted, status, options);

	if (!pthread_equal(pthread_self(), reads.thread) || !status)
		return lwp;
	/* No registers are kept of one that ran until now. */
	while (lwp > 0 && is_own_call(lwp, *status) && !ptrace(PTRACE_SYSCALL, lwp, 0, 0))
		lwp = waitpid(wanted, status, options);
	if (lwp > 0)
		mt_births_hear(lwp, *status);
	return lwp;
}

/* By a byte where a thread stands. */
static bool is_heard(pid_t pid)
{
	const pid_t lwp = mt_gdb_lwp();
	struct user_regs_struct registers;

	if (pid != mt_gdb_pid() || !lwp || !mt_reads_get_registers(lwp, &registers))
		return false;
	reads.heard = 0;
	mt_auto(mt_py) PyObject *byte = mt_gdb_read_memory(registers.rip, 1);
	PyErr_Clear();
	return byte && reads.heard == pid;
}

bool mt_reads_hear(void)
{
	static struct mt_import imports[] = {
	    {.name = "waitpid", .function = (void *)hear_wait},
	    {.name = "pread64", .function = (void *)hear_read},
	    {.name = "pread", .function = (void *)hear_read},
	    {.name = "pwrite64", .function = (void *)hear_write},
	    {.name = "pwrite", .function = (void *)hear_write},
	    {.name = "ptrace", .function = (void *)hear_ptrace},
	    {.name = "close", .function = (void *)hear_close},
	};

	if (!reads.is_placed) {
		reads.is_placed = true;
		reads.thread = pthread_self();
		mt_imports_replace(imports, sizeof(imports) / sizeof(imports[0]));
	}
	return imports[0].is_placed;
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

PyObject *mt_reads_beneath(uint64_t address, size_t size)
{
	const bool were_ours = reads.are_ours;

	reads.are_ours = true;
	PyObject *bytes = mt_gdb_read_memory(address, size);
	reads.are_ours = were_ours;
	return bytes;
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
