/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls in the name of a thread that stands still.
 *
 * Where the program has mt_inject_code, that is run, from system call stop to system call stop:
 * these are no signals, so that there is no moment at which our sudden end would harm the program.
 * The registers are set before the signals are blocked, and put back in the other order. */
#include "process/inject.h"
#include "ptrace/lwp.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DIRECTION_FLAG 0x400ull

struct remote_call {
	struct mt_ptrace_target *target;
	struct mt_ptrace_lwp *lwp;
	struct mt_ptrace_process *process;
	uint64_t mask;
	struct user_regs_struct before;
	struct mt_inject_frame below; /* what stood where the thread's frame is put */
	uint64_t frame;               /* where that is */
	int status;                   /* of the last stop */
};

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_new(MT_ERROR_GONE, "thread %d exited during a remote call", lwp);
}

static struct mt_error *begin_remote_call(struct mt_target *base, pid_t lwp,
					  struct remote_call *remote)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);

	*remote = (struct remote_call){.target = target, .lwp = known};
	remote->process = known ? mt_ptrace_find_process(target, known->pid) : NULL;
	if (!remote->process || !mt_ptrace_stands_still(known) || known->exiting ||
	    known->has_status)
		return gone(lwp);
	return NULL;
}

struct mt_error *mt_ptrace_set_injected(struct mt_target *base, pid_t pid, uint64_t code)
{
	struct mt_ptrace_process *process =
	    mt_ptrace_find_process((struct mt_ptrace_target *)base, pid);

	if (!process)
		return gone(pid);
	process->inject_code = code;
	return NULL;
}

bool mt_ptrace_has_injected(struct mt_target *base, pid_t pid)
{
	const struct mt_ptrace_process *process =
	    mt_ptrace_find_process((struct mt_ptrace_target *)base, pid);

	return process && process->inject_code;
}

/* The thread will run REGISTERS, which are ready but for the stack pointer, with signals blocked.
 */
static struct mt_error *enter_injected(struct remote_call *remote,
				       struct user_regs_struct *registers, uint64_t blocked)
{
	struct mt_target *base = &remote->target->base;
	pid_t lwp = remote->lwp->lwp;
	struct mt_inject_frame frame;

	if (ptrace(PTRACE_GETSIGMASK, lwp, sizeof(remote->mask), &remote->mask))
		return gone(lwp);
	registers->rsp = mt_inject_frame_make(&remote->before, remote->mask, &frame);
	registers->orig_rax = (uint64_t)-1;
	registers->eflags &= ~DIRECTION_FLAG;
	remote->frame = registers->rsp;
	/* Where stacks are small parts of a heap (Go), it may be another one's. */
	if (base->ops->read(base, remote->lwp->pid, remote->frame, &remote->below,
			    sizeof(remote->below)) != sizeof(remote->below))
		return mt_error_new(MT_ERROR_BUSY, "the stack of thread %d is at its end", lwp);
	mt_try(base->ops->write(base, remote->lwp->pid, registers->rsp, &frame, sizeof(frame)));
	if (ptrace(PTRACE_SETREGS, lwp, 0, registers) ||
	    ptrace(PTRACE_SETSIGMASK, lwp, sizeof(blocked), &blocked))
		return gone(lwp);
	return NULL;
}

static struct mt_error *restore(struct remote_call *remote)
{
	pid_t lwp = remote->lwp->lwp;
	int status = 0;

	mt_try(mt_ptrace_clear_pending_stop_lwp(lwp, &status));
	if (ptrace(PTRACE_SETSIGMASK, lwp, sizeof(remote->mask), &remote->mask) ||
	    ptrace(PTRACE_SETREGS, lwp, 0, &remote->before))
		return gone(lwp);
	if (status)
		mt_ptrace_keep_status(remote->target, remote->lwp, status);
	return remote->target->base.ops->write(&remote->target->base, remote->lwp->pid,
					       remote->frame, &remote->below,
					       sizeof(remote->below));
}

/* To the next system call stop. */
static struct mt_error *run_to_system_call(struct remote_call *remote)
{
	pid_t lwp = remote->lwp->lwp;

	do {
		if (ptrace(PTRACE_SYSCALL, lwp, 0, 0))
			return gone(lwp);
		if (mt_ptrace_wait_for(lwp, &remote->status) < 0)
			return gone(lwp);
		if (!WIFSTOPPED(remote->status) || remote->status >> 16 == PTRACE_EVENT_EXIT) {
			mt_ptrace_keep_status(remote->target, remote->lwp, remote->status);
			return gone(lwp);
		}
	} while (remote->status >> 16);
	return NULL;
}

static bool is_system_call(const struct remote_call *remote)
{
	return WSTOPSIG(remote->status) == (SIGTRAP | MT_PTRACE_SYSCALL_STOP);
}

/* Of the injected code itself, where other signals are blocked. */
static bool is_fault(const struct remote_call *remote)
{
	const int signal = WSTOPSIG(remote->status);

	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGFPE;
}

static struct mt_error *run_injected(struct remote_call *remote, struct mt_system_call *call)
{
	pid_t lwp = remote->lwp->lwp;
	struct user_regs_struct registers;

	for (int i = 0; i < 2; i++) { /* its entry, and its end */
		mt_try(run_to_system_call(remote));
		if (is_fault(remote)) {
			mt_error_destroy(restore(remote));
			return mt_error_new(
			    MT_ERROR_BUSY,
			    "thread %d got SIG%s in code that was put into process %d for it: the "
			    "program changes memory that is not its own",
			    lwp, sigabbrev_np(WSTOPSIG(remote->status)), remote->lwp->pid);
		}
		if (!is_system_call(remote))
			i--;
	}
	if (ptrace(PTRACE_GETREGS, lwp, 0, &registers))
		return gone(lwp);
	call->result = (int64_t)registers.rax;
	return NULL;
}

/* The frame that puts the thread back stays below all of them. */
static struct mt_error *injected_system_calls(struct remote_call *remote,
					      struct mt_system_call *calls, size_t count)
{
	struct user_regs_struct registers = remote->before;

	for (size_t i = 0; i < count; i++) {
		mt_ptrace_put_call(&calls[i], remote->process->inject_code, &registers);
		if (i == 0)
			mt_try(enter_injected(remote, &registers, ~0ull));
		else if (ptrace(PTRACE_SETREGS, remote->lwp->lwp, 0, &registers))
			return gone(remote->lwp->lwp);
		mt_try(run_injected(remote, &calls[i]));
	}
	return restore(remote);
}

struct mt_error *mt_ptrace_call_systems(struct mt_target *base, pid_t lwp,
					struct mt_system_call *calls, size_t count)
{
	struct remote_call remote;
	int status = 0;

	mt_try(begin_remote_call(base, lwp, &remote));
	if (remote.process->inject_code) {
		mt_try(base->ops->get_registers(base, lwp, &remote.before));
		return count ? injected_system_calls(&remote, calls, count) : NULL;
	}
	mt_try(mt_ptrace_find_syscall(base, remote.process->pid, &remote.process->syscall_pc));
	struct mt_error *error = mt_ptrace_do_syscalls(
	    remote.process->pid, lwp, remote.process->syscall_pc, calls, count, &status);
	if (status)
		mt_ptrace_keep_status(remote.target, remote.lwp, status);
	if (!error && status)
		return gone(lwp);
	return error;
}

struct mt_error *mt_ptrace_run_to(struct mt_target *base, pid_t lwp, uint64_t goal, bool *arrived)
{
	struct remote_call remote;
	int status = 0;

	mt_try(begin_remote_call(base, lwp, &remote));
	struct mt_error *error =
	    mt_ptrace_run_lwp_to(remote.process->pid, lwp, goal, arrived, &status);
	if (status)
		mt_ptrace_keep_status(remote.target, remote.lwp, status);
	return !error && status ? gone(lwp) : error;
}
