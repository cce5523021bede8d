/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/interpose.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/imports.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct mt_interpose_ops *heard_by;
static pthread_t main_thread; /* GDB's own: others read files alone */
static bool are_ours;         /* the reads are asked for by us */
static bool is_ptrace_heard;  /* GDB was heard to ask by it */

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
} kept;

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

int mt_interpose_descriptor(pid_t pid)
{
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
		if (pid && memories[i].pid == pid)
			return memories[i].descriptor;
	return -1;
}

static bool is_main_thread(void)
{
	return pthread_equal(pthread_self(), main_thread);
}

/* Of which process DESCRIPTOR is the memory, which GDB asks for; 0: it is another file, or we ask
 * ourselves. */
static pid_t asked_for(int descriptor)
{
	return is_main_thread() && !are_ours ? process_of(descriptor) : 0;
}

static ssize_t hear_read(int descriptor, void *bytes, size_t size, off64_t at)
{
	const pid_t pid = asked_for(descriptor);

	return pid ? heard_by->read(pid, descriptor, bytes, size, at)
		   : pread64(descriptor, bytes, size, at);
}

static ssize_t hear_write(int descriptor, const void *bytes, size_t size, off64_t at)
{
	const pid_t pid = asked_for(descriptor);

	return pid ? heard_by->write(pid, descriptor, bytes, size, at)
		   : pwrite64(descriptor, bytes, size, at);
}

static int hear_close(int descriptor)
{
	for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
		if (!memories[i].pid || memories[i].descriptor != descriptor)
			continue;
		heard_by->closes(memories[i].pid);
		memories[i].pid = 0;
	}
	return close(descriptor);
}

static bool resumes(enum __ptrace_request request)
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
		kept.registers.lwp = lwp;
		memcpy(&kept.registers.registers, data, sizeof(kept.registers.registers));
	} else if (request == PTRACE_GETSIGINFO) {
		kept.signal.lwp = lwp;
		memcpy(&kept.signal.info, data, sizeof(kept.signal.info));
	}
}

static long hear_ptrace(enum __ptrace_request request, pid_t lwp, void *address, void *data)
{
	const bool is_own = is_main_thread();
	const int errnum = errno;

	if (is_own) {
		is_ptrace_heard = true;
		if (resumes(request))
			heard_by->resumes(lwp, request == PTRACE_SINGLESTEP);
	}
	if (is_own && request == PTRACE_SETREGS)
		kept.registers.lwp = 0;
	else if (!is_own || !only_asks(request))
		mt_interpose_forget_thread();
	errno = errnum;
	const long result = ptrace(request, lwp, address, data);
	if (is_own && result == 0)
		keep_answer(request, lwp, data);
	return result;
}

bool mt_interpose_get_registers(pid_t lwp, struct user_regs_struct *registers)
{
	if (lwp == kept.registers.lwp) {
		*registers = kept.registers.registers;
		return true;
	}
	if (ptrace(PTRACE_GETREGS, lwp, 0, registers))
		return false;
	if (is_ptrace_heard)
		keep_answer(PTRACE_GETREGS, lwp, registers);
	return true;
}

bool mt_interpose_get_signal(pid_t lwp, siginfo_t *info)
{
	if (lwp != kept.signal.lwp)
		return ptrace(PTRACE_GETSIGINFO, lwp, 0, info) == 0;
	*info = kept.signal.info;
	return true;
}

const struct user_regs_struct *mt_interpose_kept_registers(void)
{
	return kept.registers.lwp ? &kept.registers.registers : NULL;
}

void mt_interpose_forget_thread(void)
{
	kept.registers.lwp = kept.signal.lwp = 0;
}

/* No registers are kept of one that ran until now. */
static pid_t hear_wait(pid_t wanted, int *status, int options)
{
	pid_t lwp = waitpid(wanted, status, options);

	if (!is_main_thread() || !status)
		return lwp;
	while (lwp > 0 && heard_by->conceals(lwp, *status) && !ptrace(PTRACE_SYSCALL, lwp, 0, 0))
		lwp = waitpid(wanted, status, options);
	if (lwp > 0)
		heard_by->stopped(lwp, *status);
	return lwp;
}

bool mt_interpose(const struct mt_interpose_ops *ops)
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

	if (!heard_by) {
		heard_by = ops;
		main_thread = pthread_self();
		mt_imports_replace(imports, sizeof(imports) / sizeof(imports[0]));
	}
	return imports[0].is_placed;
}

PyObject *mt_interpose_read_beneath(uint64_t address, size_t size)
{
	const bool were_ours = are_ours;

	are_ours = true;
	PyObject *bytes = mt_gdb_read_memory(address, size);
	are_ours = were_ours;
	return bytes;
}
