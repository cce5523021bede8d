/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking hold of a running process, letting go of it, and ending one. */
#include "kernel/event.h"
#include "process/proc.h"
#include "ptrace/lwp.h"
#include "ptrace/trap.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define INT3 0xcc

static struct mt_error *refused(pid_t pid)
{
	int tracer = mt_proc_status_number(pid, "TracerPid");

	if (tracer > 0)
		return mt_error_new(MT_ERROR_BUSY,
				    "cannot attach to process %d: process %d is already tracing it",
				    pid, tracer);
	return mt_error_new(
	    MT_ERROR_PERMISSION,
	    "cannot attach to process %d: permission denied (run as the same user or as root; if "
	    "it exists, set sysctl kernel.yama.ptrace_scope=0; in a container, use "
	    "--cap-add=SYS_PTRACE)",
	    pid);
}

#define KERNEL_THREAD 0x200000u /* PF_KTHREAD in include/linux/sched.h */

/* Reads its state's letter, 0 when it is gone, and its flags: proc(5). */
static char state_of(pid_t pid, unsigned *flags)
{
	char path[64], line[512], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *file = fopen(path, "re");
	char *rest = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
	*flags = 0;
	if (rest)
		sscanf(rest, ") %c %*d %*d %*d %*d %*d %u", &state, flags);
	if (file)
		fclose(file);
	return state;
}

/* Why there is no executable to look at. */
static struct mt_error *no_executable(pid_t pid, int errnum)
{
	unsigned flags;
	char state = state_of(pid, &flags);

	if (!state)
		return mt_error_new(MT_ERROR_NOT_FOUND, "no process %d", pid);
	if (flags & KERNEL_THREAD)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "process %d is a kernel thread", pid);
	if (errnum == ENOENT || state == 'Z' || state == 'X')
		return mt_error_new(MT_ERROR_GONE, "process %d has ended", pid);
	return refused(pid);
}

static struct mt_error *check_program(pid_t pid)
{
	unsigned char ident[EI_NIDENT] = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return no_executable(pid, errno);
	ssize_t size = read(fd, ident, sizeof(ident));
	close(fd);
	if (size == sizeof(ident) && ident[EI_CLASS] != ELFCLASS64)
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "process %d runs a 32-bit program; only x86-64 programs are supported", pid);
	return NULL;
}

/* Seize one thread, which runs on.  One that is gone by now is fine. */
static struct mt_error *seize(struct mt_ptrace_target *target, pid_t pid, pid_t lwp, bool *added)
{
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);

	if (known)
		return NULL;
	if (ptrace(PTRACE_SEIZE, lwp, 0, mt_ptrace_options()))
		return errno == ESRCH || lwp != pid ? NULL : refused(pid);
	*added = true;
	return mt_ptrace_add_lwp(target, lwp, pid, &known);
}

/* Threads make threads while we look: until a round finds no new one. */
static struct mt_error *seize_all(struct mt_ptrace_target *target, pid_t pid)
{
	char path[64];
	bool added = true;
	struct mt_error *error = NULL;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	while (added && !error) {
		DIR *tasks = opendir(path);
		struct dirent *entry;

		added = false;
		if (!tasks)
			break;
		while (!error && (entry = readdir(tasks)))
			if (atoi(entry->d_name) > 0)
				error = seize(target, pid, atoi(entry->d_name), &added);
		closedir(tasks);
	}
	return error;
}

static struct mt_error *stop(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	mt_try(mt_ptrace_settle(target, &lwp));
	if (!lwp || !lwp->has_status || lwp->status >> 16 != PTRACE_EVENT_STOP ||
	    WSTOPSIG(lwp->status) != SIGTRAP)
		return NULL;
	lwp->has_status = false; /* the stop that we asked for */
	target->untold--;
	mt_ptrace_repeat_call(lwp->lwp);
	return NULL;
}

/* All at once: the first does not wait for the last. */
static struct mt_error *stop_all(struct mt_ptrace_target *target, pid_t pid)
{
	struct mt_ptrace_lwp *lwp, *next;

	for (lwp = target->lwps; lwp; lwp = lwp->hh.next)
		if (lwp->pid == pid)
			ptrace(PTRACE_INTERRUPT, lwp->lwp, 0, 0);
	HASH_ITER (hh, target->lwps, lwp, next)
		if (lwp->pid == pid)
			mt_try(stop(target, lwp));
	return NULL;
}

struct mt_error *mt_ptrace_attach(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_process *process;

	if (pid == getpid())
		return mt_error_new(MT_ERROR_USAGE, "cannot attach to mtdb itself (process %d)",
				    pid);
	mt_try(mt_proc_check());
	if (mt_proc_status_number(pid, "Tgid") != pid)
		return mt_error_new(MT_ERROR_NOT_FOUND, "no process %d", pid);
	mt_try(check_program(pid));
	mt_try(mt_ptrace_add_process(target, pid, &process));
	target->gave_up = false;
	struct mt_error *error = seize_all(target, pid);
	if (!error)
		error = stop_all(target, pid);
	if (!error && !mt_ptrace_any_lwp(target, pid))
		error = refused(pid);
	if (!error)
		error = mt_ptrace_open_memory(process);
	if (error)
		mt_error_destroy(mt_ptrace_detach(base, pid, 0));
	return error;
}

/* The signal that a stop held up, which the program must not lose. */
static int held_signal(const struct mt_ptrace_lwp *lwp)
{
	int signal = WSTOPSIG(lwp->status);

	if (!lwp->has_status || lwp->trap || lwp->status >> 16 ||
	    signal == (SIGTRAP | MT_PTRACE_SYSCALL_STOP))
		return 0;
	return signal == SIGTRAP && lwp->stepping ? 0 : signal;
}

static bool has_pending_trap(const struct mt_ptrace_lwp *lwp)
{
	const unsigned long long traps = 1ull << (SIGTRAP - 1) | 1ull << (MT_TRAP_SIGNAL - 1);
	char path[64], line[128];
	unsigned long long pending = 0, blocked = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", lwp->pid, lwp->lwp);
	FILE *file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SigPnd: %llx", &pending) != 1 &&
		    sscanf(line, "SigBlk: %llx", &blocked) == 1)
			break;
	if (file)
		fclose(file);
	return pending & ~blocked & traps;
}

/* An int3 that is not in the text any more was ours: its thread goes on at the instruction that it
 * hid. */
static bool take_back_int3(struct mt_ptrace_target *target, const struct mt_ptrace_lwp *lwp)
{
	struct user_regs_struct registers;
	siginfo_t info = {0};
	uint8_t byte = INT3;

	if (ptrace(PTRACE_GETSIGINFO, lwp->lwp, 0, &info) || info.si_signo != SIGTRAP ||
	    info.si_code != SI_KERNEL || ptrace(PTRACE_GETREGS, lwp->lwp, 0, &registers))
		return false;
	registers.rip--;
	target->base.ops->read(&target->base, lwp->pid, registers.rip, &byte, 1);
	return byte != INT3 && ptrace(PTRACE_SETREGS, lwp->lwp, 0, &registers) == 0;
}

/* A debug register's, whether it was an event's or ptrace's own, and empty by now; or no signal at
 * all. */
static bool is_of_tracer(const struct mt_ptrace_lwp *lwp)
{
	siginfo_t info = {0};

	if (ptrace(PTRACE_GETSIGINFO, lwp->lwp, 0, &info))
		return false;
	return mt_perf_is_trap(info.si_signo, info.si_code) ||
	       (info.si_signo == SIGTRAP && info.si_code == TRAP_HWBKPT) ||
	       mt_ptrace_enters_handler(lwp->lwp, &info);
}

/* Takes back a trap that is ours, and nothing to the program. */
static bool take_back_trap(struct mt_ptrace_target *target, const struct mt_ptrace_lwp *lwp)
{
	return take_back_int3(target, lwp) || is_of_tracer(lwp);
}

/* A stop that was asked for comes before the report of a trap that happened already, and that is a
 * signal in the thread's queue: left there, a SIGTRAP would kill the program once we are gone.  No
 * instruction runs until it is reported.  *held: the signal that is to be delivered.  False: the
 * thread is gone. */
static bool take_traps(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp, int *held)
{
	int status = 0;

	if (*held && take_back_trap(target, lwp))
		*held = 0;
	while (!*held && has_pending_trap(lwp)) {
		if (ptrace(PTRACE_CONT, lwp->lwp, 0, 0) ||
		    mt_ptrace_wait_for(lwp->lwp, &status) < 0 || !WIFSTOPPED(status))
			return false;
		if (status >> 16 || (lwp->stepping && WSTOPSIG(status) == SIGTRAP))
			continue;
		if (!take_back_trap(target, lwp))
			*held = WSTOPSIG(status);
	}
	return true;
}

/* A thread that was stepped last is stepped on until it is resumed otherwise, also should we be
 * killed before.  Source: exit_ptrace() in the kernel's kernel/ptrace.c, which leaves the flag. */
struct mt_error *mt_ptrace_take_traps(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	siginfo_t info;

	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		int status = 0, held = 0;

		if (lwp->pid != pid || lwp->exiting ||
		    (!lwp->stepping && !mt_ptrace_find_trap(lwp->lwp, &info)))
			continue;
		if (!mt_ptrace_stands_still(lwp) || lwp->has_status)
			return mt_error_new(MT_ERROR_GONE, "thread %d is running", lwp->lwp);
		mt_try(mt_ptrace_clear_pending_stop_lwp(lwp->lwp, &status));
		if (status && status >> 16 != PTRACE_EVENT_STOP)
			mt_ptrace_keep_status(target, lwp, status);
		else if (take_traps(target, lwp, &held) && held)
			mt_ptrace_keep_status(target, lwp, W_STOPCODE(held));
		lwp->stepping = false;
	}
	return NULL;
}

/* A thread or child that was born while we were letting go. */
static struct mt_error *adopt_late(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	unsigned long child = 0;
	int event = lwp->has_status ? lwp->status >> 16 : 0;

	if (event != PTRACE_EVENT_CLONE && event != PTRACE_EVENT_FORK &&
	    event != PTRACE_EVENT_VFORK)
		return NULL;
	ptrace(PTRACE_GETEVENTMSG, lwp->lwp, 0, &child);
	return mt_ptrace_adopt(target, (pid_t)child, lwp->pid);
}

/* One that was killed meanwhile is waited for: a thread in execve() waits until that was done. */
static void detach_lwp(pid_t lwp, int signal)
{
	int status = 0;

	if (ptrace(PTRACE_DETACH, lwp, 0, signal) == 0)
		return;
	if (mt_ptrace_wait_for(lwp, &status) > 0 && WIFSTOPPED(status))
		ptrace(PTRACE_DETACH, lwp, 0, 0);
}

struct mt_error *mt_ptrace_detach(struct mt_target *base, pid_t pid, int signal)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_process *process = mt_ptrace_find_process(target, pid);
	struct mt_ptrace_lwp *lwp;
	bool stays = process && process->child;

	while ((lwp = mt_ptrace_any_lwp(target, pid))) {
		bool last = lwp->lwp == pid;

		if (!mt_ptrace_stands_still(lwp))
			ptrace(PTRACE_INTERRUPT, lwp->lwp, 0, 0);
		struct mt_error *stuck = mt_ptrace_settle(target, &lwp);
		if (stuck) { /* only who stands still can be let go, or we end first */
			mt_error_destroy(stuck);
			lwp->leaves = true;
			lwp->pid = 0;
			continue;
		}
		if (!lwp)
			continue;
		mt_try(adopt_late(target, lwp));
		if (last && mt_ptrace_any_lwp(target, pid) != lwp)
			continue; /* one was born: the first LWP goes last */
		int held = held_signal(lwp);
		if (!held)
			mt_ptrace_repeat_call(lwp->lwp);
		if (take_traps(target, lwp, &held))
			detach_lwp(lwp->lwp, held);
		mt_ptrace_remove_lwp(target, lwp);
	}
	if (signal)
		kill(pid, signal);
	if (stays) {
		process->let_go = true;
		return mt_ptrace_add_lwp(target, pid, pid, &lwp);
	}
	mt_ptrace_remove_process(target, pid);
	return NULL;
}

struct mt_error *mt_ptrace_kill(struct mt_target *base, pid_t pid)
{
	struct mt_error *error = mt_ptrace_end(pid);

	mt_ptrace_forget((struct mt_ptrace_target *)base, pid);
	return error;
}
