/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holding a whole process, so that its text can be changed under it. */
#include "ptrace_lwp.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#define VFORK_PATIENCE_MS 5

/* Under job control's stop the kernel gives that one's signal for ours, too. */
static bool is_our_interrupt(struct mt_ptrace_lwp *lwp, int status)
{
	if (status >> 16 != PTRACE_EVENT_STOP)
		return false;
	if (WSTOPSIG(status) == SIGTRAP)
		lwp->in_group = false;
	return WSTOPSIG(status) == SIGTRAP || (lwp->in_group && !lwp->listens);
}

/* A parent whose child has not become a program yet cannot stop; but before it runs an instruction
 * of its own it will. */
static bool waits_for_child(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp, int *status)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	if (!lwp->in_vfork || lwp->has_status)
		return false;
	for (int i = 0; i < VFORK_PATIENCE_MS; i++) {
		if (mt_ptrace_reap(target, lwp->lwp, status, WNOHANG) != 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static void halt_lwp(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	int status = 0;

	if (lwp->stopped || lwp->interrupted || lwp->exiting || lwp->has_status)
		return;
	ptrace(PTRACE_INTERRUPT, lwp->lwp, 0, 0);
	if (waits_for_child(target, lwp, &status)) {
		lwp->interrupted = true;
		return;
	}
	if (!status && mt_ptrace_reap_lwp(target, lwp->lwp, &status) < 0)
		return; /* reaped already */
	mt_ptrace_keep_status(target, lwp, status);
	if (is_our_interrupt(lwp, status)) {
		lwp->has_status = false;
		target->untold--;
		lwp->halted = true;
		mt_ptrace_repeat_call(lwp->lwp);
	}
}

struct mt_error *mt_ptrace_halt(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *lwp, *next;

	HASH_ITER (hh, target->lwps, lwp, next)
		if (lwp->pid == pid)
			halt_lwp(target, lwp);
	return NULL;
}

void mt_ptrace_release(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;

	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		if (lwp->pid != pid || !lwp->halted)
			continue;
		lwp->halted = false;
		/* Killed meanwhile: wait() will tell. */
		ptrace(PTRACE_CONT, lwp->lwp, 0, 0);
		lwp->stopped = false;
		lwp->stepping = false;
	}
}

struct mt_error *mt_ptrace_calm(struct mt_target *base, pid_t lwp)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	int status = 0;

	if (!known || !known->stopped || known->has_status)
		return mt_error_new(MT_ERROR_GONE, "thread %d is gone", lwp);
	mt_try(mt_ptrace_calm_lwp(lwp, &status));
	if (status)
		mt_ptrace_keep_status(target, known, status);
	return NULL;
}
