/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Should we be killed, a thread that stands for a signal gets it; but only as long as nobody has
 * waited for its stop: wait4() takes the signal away, in wait_task_stopped() of the kernel's
 * kernel/exit.c.  So a thread that ran an int3 of the debugger's is taken back to where that is
 * before its stop is waited for, and what is delivered to it until then says where it belongs. */
#include "base/clock.h"
#include "ptrace/lwp.h"
#include "ptrace/trap.h"

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define KILLED_NS 5000000000ull

void mt_ptrace_own_traps(struct mt_target *base, pid_t pid, mt_target_is_trap *is_ours,
			 void *context)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_process *process = mt_ptrace_find_process(target, pid);

	if (!process)
		return;
	target->own_traps += (is_ours != NULL) - (process->is_trap != NULL);
	process->is_trap = is_ours;
	process->trap_context = context;
}

static void take_back(struct mt_ptrace_target *target, pid_t number)
{
	struct mt_ptrace_lwp *lwp = mt_ptrace_find_lwp(target, number);
	const struct mt_ptrace_process *process =
	    lwp ? mt_ptrace_find_process(target, lwp->pid) : NULL;
	void *const rip = (void *)offsetof(struct user, regs.rip); // NOLINT

	if (!process || !process->is_trap || ptrace(PTRACE_GETSIGINFO, number, 0, &lwp->trapped) ||
	    lwp->trapped.si_code != SI_KERNEL)
		return;
	uint64_t address = (uint64_t)ptrace(PTRACE_PEEKUSER, number, rip, 0) - 1;
	if (!process->is_trap(process->trap_context, address))
		return;
	mt_ptrace_move_trap(number, address);
	ptrace(PTRACE_POKEUSER, number, rip, address);
	lwp->trap = address;
}

pid_t mt_ptrace_reap(struct mt_ptrace_target *target, pid_t which, int *status, int flags)
{
	siginfo_t told = {0};

	if (!target->own_traps)
		return waitpid(which, status, __WALL | flags);
	if (waitid(which < 0 ? P_ALL : P_PID, which < 0 ? 0 : (id_t)which, &told,
		   WEXITED | WSTOPPED | WNOWAIT | __WALL | flags))
		return -1;
	if (!told.si_pid)
		return 0;
	if (told.si_code == CLD_TRAPPED && told.si_status == SIGTRAP)
		take_back(target, told.si_pid);
	return waitpid(told.si_pid, status, __WALL | flags);
}

pid_t mt_ptrace_reap_lwp(struct mt_ptrace_target *target, pid_t lwp, int *status)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();

	for (;;) {
		pid_t done = mt_ptrace_reap(target, lwp, status, WNOHANG);

		if (done > 0 || (done < 0 && errno != EINTR))
			return done;
		if (mt_clock_monotonic_ns() - begin_ns > MT_PTRACE_LONGEST_NS)
			return -1;
		mt_ptrace_doze();
	}
}

/* Lets each thread of a killed process run to its end; also those that were born unseen.  A thread
 * that was killed stops once more, for PTRACE_EVENT_EXIT, and no second SIGKILL wakes it there.
 * True: the process is gone. */
static bool reap_killed(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	int status = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *tasks = opendir(path);
	while (tasks && (entry = readdir(tasks))) {
		pid_t lwp = atoi(entry->d_name);

		if (lwp > 0)
			ptrace(PTRACE_CONT, lwp, 0, 0);
		if (lwp > 0 && lwp != pid)
			waitpid(lwp, &status, __WALL | WNOHANG);
	}
	if (tasks)
		closedir(tasks);
	pid_t done = waitpid(pid, &status, __WALL | WNOHANG);
	return (done < 0 && errno == ECHILD) || (done == pid && !WIFSTOPPED(status));
}

struct mt_error *mt_ptrace_end(pid_t pid)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();

	kill(pid, SIGKILL);
	while (!reap_killed(pid)) {
		if (mt_clock_monotonic_ns() - begin_ns > KILLED_NS)
			return mt_error_new(MT_ERROR_BUSY,
					    "process %d was killed, but does not end: it sleeps in "
					    "the kernel (frozen, or waiting for a device)",
					    pid);
		mt_ptrace_doze();
	}
	return NULL;
}
