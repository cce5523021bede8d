/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holding a whole process, so that its text can be changed under it. */
#include "process/proc.h"
#include "ptrace/lwp.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define PATIENCE_MS 5

/* Under job control's stop the kernel gives that one's signal for ours, too. */
static bool is_our_interrupt(struct mt_ptrace_lwp *lwp, int status)
{
	if (status >> 16 != PTRACE_EVENT_STOP)
		return false;
	if (WSTOPSIG(status) == SIGTRAP)
		lwp->in_group = false;
	return WSTOPSIG(status) == SIGTRAP || (lwp->in_group && !lwp->listens);
}

static bool is_at_end(const struct mt_ptrace_lwp *lwp)
{
	siginfo_t told = {0};

	if (lwp->exiting || (lwp->has_status && lwp->status >> 16 == PTRACE_EVENT_EXIT))
		return true;
	waitid(P_PID, (id_t)lwp->lwp, &told, WSTOPPED | WNOWAIT | WNOHANG | __WALL);
	return told.si_pid && told.si_code == CLD_TRAPPED &&
	       told.si_status >> 8 == PTRACE_EVENT_EXIT;
}

/* A thread in execve() cannot stop before the others have ended, and these wait for us. */
static bool waits_for_threads(const struct mt_ptrace_target *target,
			      const struct mt_ptrace_lwp *lwp)
{
	if (!mt_proc_is_uninterruptible(lwp->lwp))
		return false;
	for (const struct mt_ptrace_lwp *other = target->lwps; other; other = other->hh.next)
		if (other != lwp && other->pid == lwp->pid && is_at_end(other))
			return true;
	return false;
}

/* 1: it stopped, or ended.  0: it cannot stop, as long as its child has not become a program, or
 * its threads have not ended; but before it runs an instruction of its own it will.  -1: somebody
 * waited for its end already. */
static int wait_for_stop(struct mt_ptrace_target *target, const struct mt_ptrace_lwp *lwp,
			 int *status)
{
	for (int i = 0;; i++) {
		pid_t done = mt_ptrace_reap(target, lwp->lwp, status, WNOHANG);

		if (done > 0)
			return 1;
		if (done < 0 && errno != EINTR)
			return -1;
		if (i > PATIENCE_MS && (lwp->in_vfork || waits_for_threads(target, lwp)))
			return 0;
		/* Until a child's state may have changed.  SIGCHLD is blocked while a target lives.
		 */
		const struct timespec patience = {.tv_nsec = PATIENCE_MS * 1000000};
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGCHLD);
		sigtimedwait(&set, NULL, &patience);
	}
}

static bool is_to_be_halted(const struct mt_ptrace_lwp *lwp)
{
	return lwp->state == MT_PTRACE_RUNNING && !lwp->exiting && !lwp->has_status;
}

static void halt_lwp(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	if (!is_to_be_halted(lwp))
		return;
	int status = 0, stops = wait_for_stop(target, lwp, &status);
	if (stops == 0)
		lwp->state = MT_PTRACE_INTERRUPTED;
	if (stops <= 0)
		return;
	mt_ptrace_keep_status(target, lwp, status);
	if (is_our_interrupt(lwp, status)) {
		lwp->has_status = false;
		target->untold--;
		lwp->state = MT_PTRACE_HALTED;
		mt_ptrace_repeat_call(lwp->lwp);
	}
}

struct mt_error *mt_ptrace_halt(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *lwp, *next;

	/* All at once: the first does not wait for the last. */
	for (lwp = target->lwps; lwp; lwp = lwp->hh.next)
		if (lwp->pid == pid && is_to_be_halted(lwp))
			ptrace(PTRACE_INTERRUPT, lwp->lwp, 0, 0);
	HASH_ITER (hh, target->lwps, lwp, next)
		if (lwp->pid == pid)
			halt_lwp(target, lwp);
	return NULL;
}

void mt_ptrace_release(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;

	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		if (lwp->pid != pid || lwp->state != MT_PTRACE_HALTED)
			continue;
		/* Killed meanwhile: wait() will report it. */
		ptrace(PTRACE_CONT, lwp->lwp, 0, 0);
		lwp->state = MT_PTRACE_RUNNING;
		lwp->stepping = false;
	}
}

struct mt_error *mt_ptrace_clear_pending_stop(struct mt_target *base, pid_t lwp)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	int status = 0;

	if (!known || !mt_ptrace_stands_still(known) || known->has_status)
		return mt_error_new(MT_ERROR_GONE, "thread %d is gone", lwp);
	mt_try(mt_ptrace_clear_pending_stop_lwp(lwp, &status));
	if (status)
		mt_ptrace_keep_status(target, known, status);
	return NULL;
}
