/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls and function calls in the name of a thread that stands still.
 *
 * Where the program has mt_inject_code, that is run, from system call stop to system call stop:
 * these are no signals, so that there is no moment at which our sudden end would harm the program.
 * The registers are set before the signals are blocked, and put back in the other order. */
#include "process/inject.h"
#include "ptrace/lwp.h"

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define DIRECTION_FLAG 0x400ull

struct remote_call {
	struct mt_ptrace_target *target;
	struct mt_ptrace_lwp *lwp;
	struct mt_ptrace_process *process;
	uint64_t mask;
	struct user_regs_struct before;
	int status; /* of the last stop */
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
	return !remote->process || !mt_ptrace_stands_still(known) || known->has_status ? gone(lwp)
										       : NULL;
}

struct mt_error *mt_ptrace_set_injected(struct mt_target *base, pid_t pid, uint64_t code,
					uint64_t stack)
{
	struct mt_ptrace_process *process =
	    mt_ptrace_find_process((struct mt_ptrace_target *)base, pid);

	if (!process)
		return gone(pid);
	process->inject_code = code;
	process->inject_stack = stack;
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
	return NULL;
}

/* Until it stops; the status is 0 when the time is over. */
static int wait_a_while(pid_t lwp, int timeout_ms)
{
	struct timespec pause = {.tv_nsec = 20000};
	int status = 0;

	for (int64_t left_ns = timeout_ms * 1000000ll; left_ns > 0; left_ns -= pause.tv_nsec) {
		if (waitpid(lwp, &status, __WALL | WNOHANG) != 0)
			return status;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < 1000000)
			pause.tv_nsec *= 2;
	}
	return 0;
}

/* To the next system call stop.  timeout_ms < 0: for ever.  remote->status 0: the time is over. */
static struct mt_error *run_to_system_call(struct remote_call *remote, int timeout_ms)
{
	pid_t lwp = remote->lwp->lwp;

	do {
		if (ptrace(PTRACE_SYSCALL, lwp, 0, 0))
			return gone(lwp);
		if (timeout_ms >= 0)
			remote->status = wait_a_while(lwp, timeout_ms);
		else if (mt_ptrace_wait_for(lwp, &remote->status) < 0)
			return gone(lwp);
		if (remote->status &&
		    (!WIFSTOPPED(remote->status) || remote->status >> 16 == PTRACE_EVENT_EXIT)) {
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

static struct mt_error *injected_system_call(struct remote_call *remote, long number,
					     const uint64_t arguments[6], int64_t *result)
{
	pid_t lwp = remote->lwp->lwp;
	struct user_regs_struct registers = remote->before;

	registers.rip = remote->process->inject_code + MT_INJECT_SYSCALL;
	registers.rax = (uint64_t)number;
	registers.rdi = arguments[0];
	registers.rsi = arguments[1];
	registers.rdx = arguments[2];
	registers.r10 = arguments[3];
	registers.r8 = arguments[4];
	registers.r9 = arguments[5];
	mt_try(enter_injected(remote, &registers, ~0ull));
	for (int i = 0; i < 2; i++) { /* its entry, and its end */
		mt_try(run_to_system_call(remote, -1));
		if (!is_system_call(remote))
			i--;
	}
	if (ptrace(PTRACE_GETREGS, lwp, 0, &registers))
		return gone(lwp);
	*result = (int64_t)registers.rax;
	return restore(remote);
}

struct mt_error *mt_ptrace_call_system(struct mt_target *base, pid_t lwp, long number,
				       const uint64_t arguments[6], int64_t *result)
{
	struct remote_call remote;
	int status = 0;

	mt_try(begin_remote_call(base, lwp, &remote));
	if (remote.process->inject_code) {
		mt_try(base->ops->get_registers(base, lwp, &remote.before));
		return injected_system_call(&remote, number, arguments, result);
	}
	mt_try(mt_ptrace_find_syscall(base, remote.process->pid, &remote.process->syscall_pc));
	struct mt_error *error =
	    mt_ptrace_do_syscall(remote.process->pid, lwp, remote.process->syscall_pc, number,
				 arguments, result, &status);
	if (status)
		mt_ptrace_keep_status(remote.target, remote.lwp, status);
	return error;
}

/* Faults of the function itself are reported; everything else waits. */
static uint64_t mask_of_all_but_faults(void)
{
	static const int through[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	uint64_t mask = ~0ull;

	for (size_t i = 0; i < sizeof(through) / sizeof(through[0]); i++)
		mask &= ~(1ull << (through[i] - 1));
	return mask;
}

/* The system calls of the function are passed by, up to the one that follows it. */
static struct mt_error *run_until_return(struct remote_call *remote, int timeout_ms,
					 struct user_regs_struct *registers)
{
	const uint64_t end = remote->process->inject_code + MT_INJECT_SYSCALL + 2;
	pid_t lwp = remote->lwp->lwp;

	do {
		mt_try(run_to_system_call(remote, timeout_ms));
		if (!remote->status) {
			remote->lwp->state = MT_PTRACE_RUNNING;
			return mt_error_new(MT_ERROR_BUSY,
					    "a remote call in thread %d did not return within "
					    "%d ms",
					    lwp, timeout_ms);
		}
		if (ptrace(PTRACE_GETREGS, lwp, 0, registers))
			return gone(lwp);
		if (!is_system_call(remote)) {
			mt_try(restore(remote));
			return mt_error_new(MT_ERROR_BUSY,
					    "a remote call in thread %d received signal %d", lwp,
					    WSTOPSIG(remote->status));
		}
	} while (registers->rip != end);
	return run_to_system_call(remote, -1);
}

struct mt_error *mt_ptrace_call_function(struct mt_target *base, pid_t lwp,
					 const struct mt_target_call *call, uint64_t *result)
{
	struct user_regs_struct registers;
	struct remote_call remote;

	mt_try(begin_remote_call(base, lwp, &remote));
	mt_try(base->ops->get_registers(base, lwp, &remote.before));
	registers = remote.before;
	registers.rip = remote.process->inject_code + MT_INJECT_CALL;
	registers.rbx = call->function;
	registers.r12 = remote.process->inject_stack;
	registers.r13 = call->arguments[0];
	registers.r14 = call->arguments[1];
	mt_try(enter_injected(&remote, &registers, mask_of_all_but_faults()));
	mt_try(run_until_return(&remote, call->timeout_ms, &registers));
	*result = registers.rdi;
	return restore(&remote);
}
