/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls and function calls in the name of a thread that stands still. */
#include "ptrace_lwp.h"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_new(MT_ERROR_GONE, "thread %d ended within a call", lwp);
}

struct mt_error *mt_ptrace_call_system(struct mt_target *base, pid_t lwp, long number,
				       const uint64_t arguments[6], int64_t *result)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	struct mt_ptrace_process *process =
	    known ? mt_ptrace_find_process(target, known->pid) : NULL;
	int status = 0;

	if (!process || !known->stopped || known->has_status)
		return gone(lwp);
	mt_try(mt_ptrace_find_syscall(base, process->pid, &process->syscall_pc));
	struct mt_error *error = mt_ptrace_do_syscall(process->pid, lwp, process->syscall_pc,
						      number, arguments, result, &status);
	if (status)
		mt_ptrace_keep_status(target, known, status);
	return error;
}

#define RED_ZONE_BYTES 512
#define STACK_ALIGN    16

/* Faults of the function's own are told; everything else waits. */
static uint64_t mask_of_all_but_faults(void)
{
	static const int through[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	uint64_t mask = ~0ull;

	for (size_t i = 0; i < sizeof(through) / sizeof(through[0]); i++)
		mask &= ~(1ull << (through[i] - 1));
	return mask;
}

/* Until it stops; the status is 0 when the time is over. */
static int wait_a_while(pid_t lwp, int timeout_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int status = 0;

	for (int i = 0; i < timeout_ms; i++) {
		if (waitpid(lwp, &status, __WALL | WNOHANG) != 0)
			return status;
		nanosleep(&pause, NULL);
	}
	ptrace(PTRACE_INTERRUPT, lwp, 0, 0);
	mt_ptrace_wait_for(lwp, &status);
	return status >> 16 == PTRACE_EVENT_STOP ? 0 : status;
}

static struct mt_error *run_until_return(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
					 const struct mt_target_call *call, uint64_t *result)
{
	struct user_regs_struct registers;
	int status;

	do {
		if (ptrace(PTRACE_CONT, lwp->lwp, 0, 0))
			return gone(lwp->lwp);
		status = wait_a_while(lwp->lwp, call->timeout_ms);
		if (!status)
			return mt_error_new(MT_ERROR_BUSY,
					    "thread %d did not come back from a function within "
					    "%d ms",
					    lwp->lwp, call->timeout_ms);
		if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
			mt_ptrace_keep_status(target, lwp, status);
			return gone(lwp->lwp);
		}
	} while (status >> 16);
	if (ptrace(PTRACE_GETREGS, lwp->lwp, 0, &registers))
		return gone(lwp->lwp);
	*result = registers.rax;
	if (WSTOPSIG(status) == SIGTRAP && registers.rip == call->return_to + 1)
		return NULL;
	return mt_error_new(MT_ERROR_BUSY, "a function called in thread %d got signal %d", lwp->lwp,
			    WSTOPSIG(status));
}

static struct mt_error *enter_function(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				       const struct mt_target_call *call, uint64_t *result)
{
	struct user_regs_struct registers;
	uint64_t mask = 0, during = mask_of_all_but_faults();

	mt_try(target->base.ops->get_registers(&target->base, lwp->lwp, &registers));
	const struct user_regs_struct before = registers;

	registers.rip = call->function;
	registers.rdi = call->arguments[0];
	registers.rsi = call->arguments[1];
	registers.rax = 0;
	registers.orig_rax = (uint64_t)-1;
	registers.eflags &= ~0x400ull; /* the direction flag is clear between functions */
	registers.rsp =
	    ((registers.rsp - RED_ZONE_BYTES) & ~(uint64_t)(STACK_ALIGN - 1)) - sizeof(uint64_t);
	mt_try(target->base.ops->write(&target->base, lwp->pid, registers.rsp, &call->return_to,
				       sizeof(call->return_to)));
	if (ptrace(PTRACE_GETSIGMASK, lwp->lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(during), &during) ||
	    ptrace(PTRACE_SETREGS, lwp->lwp, 0, &registers))
		return gone(lwp->lwp);
	struct mt_error *error = run_until_return(target, lwp, call, result);
	if (error && mt_error_code(error) == MT_ERROR_GONE)
		return error;
	ptrace(PTRACE_SETREGS, lwp->lwp, 0, &before);
	ptrace(PTRACE_SETSIGMASK, lwp->lwp, sizeof(mask), &mask);
	return error;
}

struct mt_error *mt_ptrace_call_function(struct mt_target *base, pid_t lwp,
					 const struct mt_target_call *call, uint64_t *result)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);
	const uint8_t int3 = 0xcc;
	uint8_t hidden;

	if (!known || !known->stopped || known->has_status ||
	    base->ops->read(base, known->pid, call->return_to, &hidden, 1) != 1)
		return gone(lwp);
	mt_try(base->ops->write(base, known->pid, call->return_to, &int3, 1));
	pid_t pid = known->pid;
	struct mt_error *error = enter_function(target, known, call, result);
	mt_error_destroy(base->ops->write(base, pid, call->return_to, &hidden, 1));
	return error;
}
