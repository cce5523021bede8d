/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls in the name of a thread that stands still.
 *
 * Where the program has mt_inject_code, that is run, from system call stop to system call stop; and
 * for several calls, where it has that, mt_inject_list_code, up to where it waits for us.  These
 * are no signals, so that there is no moment at which our sudden end would harm the program.  The
 * registers are set before the signals are blocked, and put back in the other order. */
#include "base/clock.h"
#include "process/inject.h"
#include "process/proc.h"
#include "ptrace/lwp.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define DIRECTION_FLAG 0x400ull
#define SPIN_NS        200000u     /* as long as some calls take */
#define LOOK_NS        25000000ull /* so often */

struct remote_call {
	struct mt_ptrace_target *target;
	struct mt_ptrace_lwp *lwp;
	struct mt_ptrace_process *process;
	uint64_t mask;
	struct user_regs_struct before;
	struct mt_inject_frame below; /* what stood where the frame is put, if on the stack */
	uint64_t frame;               /* where that is; 0: it is not */
	int status;                   /* of the last stop */
	bool has_stopped;             /* it was SIGSTOP, which cannot be blocked */
};

static struct mt_error *gone(pid_t lwp)
{
	return mt_error_new(MT_ERROR_GONE, "thread %d exited during a remote call", lwp);
}

/* It has stopped for something that is to be told first. */
static struct mt_error *stands_for_more(const struct mt_ptrace_lwp *lwp)
{
	/* By job control. */
	if (lwp->status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(lwp->status) != SIGTRAP)
		return mt_error_new(MT_ERROR_GONE,
				    "thread %d is stopped (continue it by \"kill -CONT %d\")",
				    lwp->lwp, lwp->pid);
	return mt_error_new(MT_ERROR_GONE, "thread %d stands at an event that was not handled yet",
			    lwp->lwp);
}

static struct mt_error *begin_remote_call(struct mt_target *base, pid_t lwp,
					  struct remote_call *remote)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, lwp);

	*remote = (struct remote_call){.target = target, .lwp = known};
	remote->process = known ? mt_ptrace_find_process(target, known->pid) : NULL;
	if (!remote->process || known->exiting)
		return gone(lwp);
	if (!mt_ptrace_stands_still(known))
		return mt_error_new(MT_ERROR_GONE, "thread %d does not stand still", lwp);
	if (known->has_status)
		return stands_for_more(known);
	siginfo_t info;
	if (!ptrace(PTRACE_GETSIGINFO, lwp, 0, &info) && info.si_signo != SIGTRAP)
		known->lost = info;
	return NULL;
}

/* The frame and the list are those of one thread. */
static struct mt_error *check_free(const struct remote_call *remote)
{
	const pid_t inside = remote->process->inside;

	if (!inside || !mt_ptrace_find_lwp(remote->target, inside))
		return NULL;
	return mt_error_new(MT_ERROR_BUSY, "thread %d has not finished remote system calls yet",
			    inside);
}

struct mt_error *mt_ptrace_set_injected(struct mt_target *base, pid_t pid,
					struct mt_injected injected)
{
	struct mt_ptrace_process *process =
	    mt_ptrace_find_process((struct mt_ptrace_target *)base, pid);

	if (!process)
		return gone(pid);
	process->injected = injected;
	return NULL;
}

bool mt_ptrace_has_injected(struct mt_target *base, pid_t pid)
{
	const struct mt_ptrace_process *process =
	    mt_ptrace_find_process((struct mt_ptrace_target *)base, pid);

	return process && process->injected.code;
}

/* Where stacks are small parts of a heap, it may be another's memory, who stands still as well. */
static struct mt_error *borrow_stack(struct remote_call *remote)
{
	struct mt_target *base = &remote->target->base;

	remote->frame = mt_inject_stack_frame_at(&remote->before);
	if (base->ops->read(base, remote->lwp->pid, remote->frame, &remote->below,
			    sizeof(remote->below)) != sizeof(remote->below))
		return mt_error_new(MT_ERROR_BUSY, "the stack of thread %d is at its end",
				    remote->lwp->lwp);
	return NULL;
}

/* The thread will run REGISTERS, with signals blocked. */
static struct mt_error *enter_injected(struct remote_call *remote,
				       struct user_regs_struct *registers, uint64_t blocked)
{
	struct mt_target *base = &remote->target->base;
	uint64_t at = remote->process->injected.frame;
	pid_t lwp = remote->lwp->lwp;
	struct mt_inject_frame frame;

	if (ptrace(PTRACE_GETSIGMASK, lwp, sizeof(remote->mask), &remote->mask))
		return gone(lwp);
	mt_inject_frame_make(&remote->before, remote->mask, &frame);
	registers->orig_rax = (uint64_t)-1;
	registers->eflags &= ~DIRECTION_FLAG;
	if (!at) {
		mt_try(borrow_stack(remote));
		at = registers->rsp = remote->frame;
	}
	mt_try(base->ops->write(base, remote->lwp->pid, at, &frame, sizeof(frame)));
	if (ptrace(PTRACE_SETREGS, lwp, 0, registers) ||
	    ptrace(PTRACE_SETSIGMASK, lwp, sizeof(blocked), &blocked))
		return gone(lwp);
	return NULL;
}

/* It stands at a stop that is nothing but that. */
static struct mt_error *put_back(struct remote_call *remote)
{
	pid_t lwp = remote->lwp->lwp;

	if (ptrace(PTRACE_SETSIGMASK, lwp, sizeof(remote->mask), &remote->mask) ||
	    ptrace(PTRACE_SETREGS, lwp, 0, &remote->before))
		return gone(lwp);
	if (remote->has_stopped)
		syscall(SYS_tgkill, remote->lwp->pid, lwp, SIGSTOP);
	if (!remote->frame)
		return NULL;
	return remote->target->base.ops->write(&remote->target->base, remote->lwp->pid,
					       remote->frame, &remote->below,
					       sizeof(remote->below));
}

static struct mt_error *restore(struct remote_call *remote)
{
	int status = 0;

	mt_try(mt_ptrace_clear_pending_stop_lwp(remote->lwp->lwp, &status));
	mt_try(put_back(remote));
	if (status)
		mt_ptrace_keep_status(remote->target, remote->lwp, status);
	return NULL;
}

/* Takes note of the stop that the thread came to. */
static struct mt_error *see_stop(struct remote_call *remote)
{
	if (!WIFSTOPPED(remote->status) || remote->status >> 16 == PTRACE_EVENT_EXIT) {
		mt_ptrace_keep_status(remote->target, remote->lwp, remote->status);
		return gone(remote->lwp->lwp);
	}
	remote->has_stopped |= remote->status >> 8 == SIGSTOP;
	return NULL;
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
		mt_try(see_stop(remote));
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

/* It has taken itself back to where it was, since the program changed what says that we live. */
static bool has_gone_back(const struct remote_call *remote,
			  const struct user_regs_struct *registers)
{
	const uint64_t at = registers->rip - remote->process->injected.code;
	uint64_t mask = 0;

	return at >= MT_INJECT_LIST_AT + MT_INJECT_LIST_BYTES &&
	       !ptrace(PTRACE_GETSIGMASK, remote->lwp->lwp, sizeof(mask), &mask) &&
	       mask == remote->mask;
}

/* What has come to it meanwhile is the program's. */
static struct mt_error *give_up_behind_it(struct remote_call *remote)
{
	if (remote->has_stopped)
		syscall(SYS_tgkill, remote->lwp->pid, remote->lwp->lwp, SIGSTOP);
	else if (remote->status >> 8 != (SIGTRAP | PTRACE_EVENT_STOP << 8))
		mt_ptrace_keep_status(remote->target, remote->lwp, remote->status);
	return mt_error_new(MT_ERROR_BUSY,
			    "thread %d left code that was put into process %d for it: the program "
			    "changes memory that is not its own",
			    remote->lwp->lwp, remote->lwp->pid);
}

static struct mt_error *give_up_at_fault(struct remote_call *remote)
{
	const char *signal = sigabbrev_np(WSTOPSIG(remote->status));

	mt_error_destroy(restore(remote));
	return mt_error_new(MT_ERROR_BUSY,
			    "thread %d got SIG%s in code that was put into process %d for it: the "
			    "program changes memory that is not its own",
			    remote->lwp->lwp, signal, remote->lwp->pid);
}

static struct mt_error *run_injected(struct remote_call *remote, struct mt_system_call *call)
{
	pid_t lwp = remote->lwp->lwp;
	struct user_regs_struct registers;

	for (int i = 0; i < 2; i++) { /* its entry, and its end */
		mt_try(run_to_system_call(remote));
		if (is_fault(remote))
			return give_up_at_fault(remote);
		if (!is_system_call(remote))
			i--;
	}
	if (ptrace(PTRACE_GETREGS, lwp, 0, &registers))
		return gone(lwp);
	call->result = (int64_t)registers.rax;
	return NULL;
}

/* The frame that puts the thread back stays there for all of them. */
static struct mt_error *injected_system_calls(struct remote_call *remote,
					      struct mt_system_call *calls, size_t count)
{
	struct user_regs_struct registers = remote->before;

	for (size_t i = 0; i < count; i++) {
		mt_ptrace_put_call(&calls[i], remote->process->injected.code, &registers);
		if (i == 0)
			mt_try(enter_injected(remote, &registers, ~0ull));
		else if (ptrace(PTRACE_SETREGS, remote->lwp->lwp, 0, &registers))
			return gone(remote->lwp->lwp);
		mt_try(run_injected(remote, &calls[i]));
	}
	return restore(remote);
}

/* The program's memory is read here, if it can be: to read it through the kernel takes a lock that
 * every call which maps or moves memory waits for. */
static bool seems_done(const struct remote_call *remote, size_t count)
{
	const struct mt_injected *injected = &remote->process->injected;
	struct mt_target *base = &remote->target->base;
	uint64_t done = 0;

	if (injected->results_here)
		return __atomic_load_n(&injected->results_here[count], __ATOMIC_ACQUIRE) != 0;
	return base->ops->read(base, remote->lwp->pid, injected->results + count * sizeof(done),
			       &done, sizeof(done)) == sizeof(done) &&
	       done;
}

static struct mt_error *unfinished(struct remote_call *remote, size_t count)
{
	remote->process->inside = remote->lwp->lwp;
	return mt_error_new(MT_ERROR_BUSY,
			    "thread %d did not finish %zu remote system calls within %llu s",
			    remote->lwp->lwp, count, MT_PTRACE_LONGEST_NS / 1000000000);
}

/* Until it stops, or may be done: a moment for one call, longer for more.  The word that says so is
 * the program's to write over, so where the thread stands is looked at now and then. */
static struct mt_error *await_list(struct remote_call *remote, size_t count, uint64_t begin_ns,
				   bool *stopped)
{
	const struct timespec moment = {.tv_nsec = 50000};
	uint64_t look_ns = mt_clock_monotonic_ns() - begin_ns + LOOK_NS;
	pid_t lwp = remote->lwp->lwp;

	for (;;) {
		const uint64_t waited_ns = mt_clock_monotonic_ns() - begin_ns;
		pid_t reported = waitpid(lwp, &remote->status, __WALL | WNOHANG);

		*stopped = reported == lwp;
		if (*stopped)
			return NULL;
		if (reported < 0 && errno != EINTR)
			return gone(lwp);
		if (seems_done(remote, count))
			return NULL;
		/* The end of a first thread is not told before the others ended. */
		if (waited_ns > look_ns && mt_proc_is_exiting(lwp))
			return gone(lwp);
		if (waited_ns > MT_PTRACE_LONGEST_NS)
			return unfinished(remote, count);
		if (waited_ns > look_ns) {
			if (mt_proc_is_at_work(lwp))
				return NULL;
			look_ns = waited_ns + LOOK_NS;
		}
		if (waited_ns < SPIN_NS)
			sched_yield();
		else
			nanosleep(&moment, NULL);
	}
}

/* To where it waits for us. */
static struct mt_error *run_list(struct remote_call *remote, size_t count)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();
	pid_t lwp = remote->lwp->lwp;
	struct user_regs_struct registers;
	bool stopped = false;

	do {
		if (ptrace(PTRACE_CONT, lwp, 0, 0))
			return gone(lwp);
		mt_try(await_list(remote, count, begin_ns, &stopped));
		if (!stopped && ptrace(PTRACE_INTERRUPT, lwp, 0, 0))
			return gone(lwp);
		if (!stopped && mt_ptrace_wait_for(lwp, &remote->status) < 0)
			return errno == ETIMEDOUT ? unfinished(remote, count) : gone(lwp);
		mt_try(see_stop(remote));
		if (ptrace(PTRACE_GETREGS, lwp, 0, &registers))
			return gone(lwp);
		if (has_gone_back(remote, &registers))
			return give_up_behind_it(remote);
		if (is_fault(remote))
			return give_up_at_fault(remote);
	} while (remote->status >> 8 != (SIGTRAP | PTRACE_EVENT_STOP << 8) ||
		 !mt_inject_list_waits(&remote->process->injected, registers.rip));
	return NULL;
}

static struct mt_error *injected_list(struct remote_call *remote, struct mt_system_call *calls,
				      size_t count)
{
	const struct mt_injected *injected = &remote->process->injected;
	struct mt_target *base = &remote->target->base;
	struct user_regs_struct registers = remote->before;
	struct mt_inject_call list[MT_INJECT_LIST_MOST];
	int64_t results[MT_INJECT_LIST_MOST + 1] = {0};
	pid_t pid = remote->lwp->pid;

	for (size_t i = 0; i < count; i++) {
		list[i].number = (uint64_t)calls[i].number;
		memcpy(list[i].arguments, calls[i].arguments, sizeof(list[i].arguments));
	}
	mt_try(base->ops->write(base, pid, injected->code + MT_INJECT_LIST_AT, list,
				count * sizeof(list[0])));
	mt_try(base->ops->write(base, pid, injected->results, results,
				(count + 1) * sizeof(results[0])));
	mt_inject_list_enter(injected, count, &registers);
	mt_try(enter_injected(remote, &registers, ~0ull));
	mt_try(run_list(remote, count));
	size_t size =
	    base->ops->read(base, pid, injected->results, results, count * sizeof(results[0]));
	for (size_t i = 0; i < count; i++)
		calls[i].result = i < size / sizeof(results[0]) ? results[i] : -EFAULT;
	return put_back(remote);
}

struct mt_error *mt_ptrace_call_systems(struct mt_target *base, pid_t lwp,
					struct mt_system_call *calls, size_t count)
{
	struct remote_call remote;
	int status = 0;

	mt_try(begin_remote_call(base, lwp, &remote));
	if (remote.process->injected.code) {
		mt_try(base->ops->get_registers(base, lwp, &remote.before));
		mt_try(check_free(&remote));
		/* One alone as well: should we end before it is made, it would meet others that
		 * run. */
		if (!remote.process->injected.alive)
			return count ? injected_system_calls(&remote, calls, count) : NULL;
		for (size_t done = 0, most; done < count; done += most) {
			most =
			    count - done < MT_INJECT_LIST_MOST ? count - done : MT_INJECT_LIST_MOST;
			mt_try(injected_list(&remote, calls + done, most));
		}
		return NULL;
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
