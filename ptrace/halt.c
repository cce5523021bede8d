/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Holding a whole process, so that its text can be changed under it. */
#include "base/clock.h"
#include "process/proc.h"
#include "ptrace/lwp.h"
#include "terminal/ending.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Until it is asked why a thread does not stop; until one that sleeps in the kernel is given up,
 * and when we were asked to end meanwhile. */
#define PATIENCE_NS 25000000ull
#define ASLEEP_NS   5000000000ull
#define ASKED_NS    500000000ull

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
	waitid(P_PID, (id_t)lwp->lwp, &told, WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL);
	/* One that execve() ends may have ended without a stop before. */
	return told.si_pid &&
	       (told.si_code == CLD_TRAPPED ? told.si_status >> 8 == PTRACE_EVENT_EXIT
					    : told.si_code != CLD_STOPPED);
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

/* Why it does not stop, which it was asked to; NULL: it may yet. */
static struct mt_error *stuck(const struct mt_ptrace_target *target,
			      const struct mt_ptrace_lwp *lwp, uint64_t waited_ns)
{
	bool in_vfork = mt_proc_system_call(lwp->lwp) == SYS_vfork;
	const uint64_t patience_ns = target->gave_up                     ? PATIENCE_NS
				     : in_vfork || ending_is_requested() ? ASKED_NS
									 : ASLEEP_NS;

	if (waited_ns > patience_ns && mt_proc_is_uninterruptible(lwp->lwp))
		return mt_error_new(
		    MT_ERROR_BUSY, "thread %d of process %d does not stop: it %s", lwp->lwp,
		    lwp->pid,
		    in_vfork
			? "waits in vfork() for its child to call exec or to end"
			: "sleeps in the kernel, and no signal wakes it (a frozen cgroup, or a "
			  "device or file system that does not answer)");
	if (waited_ns > MT_PTRACE_LONGEST_NS)
		return mt_error_new(MT_ERROR_BUSY,
				    "thread %d of process %d did not stop within %llu s", lwp->lwp,
				    lwp->pid, MT_PTRACE_LONGEST_NS / 1000000000);
	return NULL;
}

struct mt_error *mt_ptrace_await_stop(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				      bool *stopped, int *status)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();
	/* It could not stop before. */
	const uint64_t patience_ns = lwp->state == MT_PTRACE_INTERRUPTED ? 0 : PATIENCE_NS;

	*stopped = false;
	for (;;) {
		pid_t done = mt_ptrace_reap(target, lwp->lwp, status, WNOHANG);
		uint64_t waited_ns = mt_clock_monotonic_ns() - begin_ns;

		*stopped = done > 0;
		if (done > 0 || (done < 0 && errno != EINTR))
			return NULL;
		/* One that began to end stops nowhere any more; the first process of a PID
		 * namespace waits there until all others in it were waited for, by us. */
		if (waited_ns >= patience_ns && mt_proc_is_exiting(lwp->lwp)) {
			lwp->exiting = true;
			return NULL;
		}
		if (waited_ns >= patience_ns && (lwp->in_vfork || waits_for_threads(target, lwp))) {
			lwp->state = MT_PTRACE_INTERRUPTED;
			return NULL;
		}
		struct mt_error *error = stuck(target, lwp, waited_ns);
		if (error) {
			target->gave_up = true;
			lwp->state = MT_PTRACE_INTERRUPTED;
			return error;
		}
		mt_ptrace_doze();
	}
}

static bool is_to_be_halted(const struct mt_ptrace_lwp *lwp)
{
	return lwp->state <= MT_PTRACE_INTERRUPTED && !lwp->exiting && !lwp->has_status;
}

static struct mt_error *halt_lwp(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp)
{
	bool stopped;
	int status = 0;

	mt_try(mt_ptrace_await_stop(target, lwp, &stopped, &status));
	if (!stopped)
		return NULL;
	mt_ptrace_keep_status(target, lwp, status);
	if (is_our_interrupt(lwp, status)) {
		lwp->has_status = false;
		target->untold--;
		lwp->state = MT_PTRACE_HALTED;
		mt_ptrace_repeat_call(lwp->lwp);
	}
	return NULL;
}

struct mt_error *mt_ptrace_halt(struct mt_target *base, pid_t pid)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *lwp, *next;
	struct mt_error *first = NULL;

	/* All at once: the first does not wait for the last. */
	for (lwp = target->lwps; lwp; lwp = lwp->hh.next)
		if (lwp->pid == pid && is_to_be_halted(lwp))
			ptrace(PTRACE_INTERRUPT, lwp->lwp, 0, 0);
	HASH_ITER (hh, target->lwps, lwp, next) {
		struct mt_error *error =
		    lwp->pid == pid && is_to_be_halted(lwp) ? halt_lwp(target, lwp) : NULL;

		if (first)
			mt_error_destroy(error);
		else
			first = error;
	}
	return first;
}

void mt_ptrace_release(struct mt_target *base, pid_t pid, pid_t but)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;

	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		if (lwp->pid != pid || lwp->lwp == but || lwp->state != MT_PTRACE_HALTED)
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
