/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From wait statuses to stops.  Under PTRACE_SEIZE every stop says what it is; SIGTRAPs of a step
 * are told apart by si_code, as the kernel sets it:
 *	TRAP_TRACE, TRAP_HWBKPT  an instruction was done (the debug exception)
 *	TRAP_BRKPT               a system call was done again (user_single_step_report()); or an
 *	                         instruction was, but debug register 6 did not say so, as in some
 *	                         virtual machines when they are short of processors
 *	SIGTRAP                  a signal frame was made (signal_setup_done()); also of a thread
 *	                         that another tracer stepped, and that was killed before we came
 *	SI_KERNEL                int3
 * Everything else is a signal of the program's own.
 *
 * The kernel forces a step's SIGTRAP upon the thread: were it blocked, the program's handler for it
 * would be lost.  So a thread that is stepped has it unblocked, whatever its mask says; and system
 * calls, which change the mask, are not stepped but told by syscall-stops, which are no signals. */
#include "base/clock.h"
#include "process/inject.h"
#include "ptrace/lwp.h"
#include "ptrace/trap.h"
#include "terminal/ending.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define FOR_EVER UINT64_MAX

static int event_of(int status)
{
	return status >> 16;
}

/* What an event is about.  False: the LWP was killed after its stop had been waited for.  It may
 * stand for its end by now, with a message of that. */
static bool take_message(pid_t lwp, int status, unsigned long *message)
{
	siginfo_t info;

	*message = 0;
	if (!WIFSTOPPED(status) || !event_of(status) || event_of(status) == PTRACE_EVENT_STOP)
		return true;
	return !ptrace(PTRACE_GETEVENTMSG, lwp, 0, message) &&
	       !ptrace(PTRACE_GETSIGINFO, lwp, 0, &info) && info.si_code == status >> 8;
}

/* The process that an LWP belongs to; 0: it is gone. */
static pid_t process_of(pid_t lwp)
{
	char line[256];
	int pid = 0;

	snprintf(line, sizeof(line), "/proc/%d/status", lwp);
	FILE *file = fopen(line, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Tgid: %d", &pid) == 1)
			break;
	fclose(file);
	return pid;
}

/* A debugger sends the signal again that a thread stood at when it made system calls for us: it
 * tells its handler what it would have. */
static void find_lost(struct mt_ptrace_lwp *lwp, siginfo_t *info)
{
	const siginfo_t lost = lwp->lost;

	memset(&lwp->lost, 0, sizeof(lwp->lost));
	if (info->si_code == SI_TKILL && info->si_signo == lost.si_signo &&
	    info->si_pid == getpid() && !ptrace(PTRACE_SETSIGINFO, lwp->lwp, 0, &lost))
		*info = lost;
}

void mt_ptrace_keep_status(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp, int status)
{
	target->untold += !lwp->has_status;
	lwp->has_status = true;
	lwp->status = status;
	lwp->state = WIFSTOPPED(status) ? MT_PTRACE_STOPPED : MT_PTRACE_RUNNING;
}

struct mt_error *mt_ptrace_adopt(struct mt_ptrace_target *target, pid_t child, pid_t pid)
{
	struct mt_ptrace_lwp *lwp;
	int status;

	mt_try(mt_ptrace_add_lwp(target, child, pid, &lwp));
	if (!lwp->has_status && mt_ptrace_reap_lwp(target, child, &status) == child)
		mt_ptrace_keep_status(target, lwp, status);
	if (!lwp->has_status) {
		mt_ptrace_remove_lwp(target, lwp); /* killed, and its end was reported already */
	} else if (WIFSTOPPED(lwp->status) && event_of(lwp->status) != PTRACE_EVENT_EXIT) {
		/* The stop it is born with; the parent's event stands for it.  One that was killed
		 * before that has an end to tell of. */
		lwp->has_status = false;
		target->untold--;
	}
	return NULL;
}

struct mt_error *mt_ptrace_settle(struct mt_ptrace_target *target, struct mt_ptrace_lwp **lwp)
{
	int status = 0;
	bool stopped;

	if (mt_ptrace_stands_still(*lwp))
		return NULL;
	if (!(*lwp)->has_status) {
		mt_try(mt_ptrace_await_stop(target, *lwp, &stopped, &status));
		if ((*lwp)->state == MT_PTRACE_INTERRUPTED)
			return mt_error_new(MT_ERROR_BUSY,
					    "thread %d of process %d does not stop: it waits for "
					    "the end of vfork() or of other threads",
					    (*lwp)->lwp, (*lwp)->pid);
		mt_ptrace_keep_status(target, *lwp, stopped ? status : 0);
	}
	if (!WIFSTOPPED((*lwp)->status)) {
		mt_ptrace_remove_lwp(target, *lwp);
		*lwp = NULL;
	}
	return NULL;
}

/* Copies what its parent had at its birth. */
static void inherit_injected(struct mt_ptrace_process *process,
			     const struct mt_ptrace_process *parent)
{
	uint8_t bytes[MT_INJECT_BYTES];
	size_t size = 0;
	const uint8_t *code = mt_inject_code_of(&parent->injected, &size);

	if (!parent->injected.code ||
	    pread(process->mem_fd, bytes, size, (off_t)parent->injected.code) != (ssize_t)size ||
	    memcmp(bytes, code, size) != 0)
		return;
	/* It looks at another word, or none. */
	process->injected.code = parent->injected.code;
	process->injected.frame = parent->injected.frame;
}

/* All LWPs but the one that called execve are gone, and that one is the first now. */
static struct mt_error *tell_exec(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				  struct mt_stop *stop)
{
	struct mt_ptrace_process *process = mt_ptrace_find_process(target, lwp->pid);
	struct mt_ptrace_lwp *other;

	stop->kind = MT_STOP_EXEC;
	lwp->exiting = false; /* who had its number before did */
	while ((other = mt_ptrace_any_lwp(target, stop->pid)) && other->lwp != stop->pid)
		mt_ptrace_remove_lwp(target, other);
	if (!process)
		return NULL;
	process->injected = (struct mt_injected){0};
	process->inside = 0;
	return mt_ptrace_open_memory(process);
}

/* PTRACE_EVENT_STOP: ours; or job control's, which the kernel gives for ours, too, until it is
 * over.
 */
static void tell_trap(struct mt_ptrace_lwp *lwp, struct mt_stop *stop)
{
	bool was_told = lwp->in_group && !lwp->listens;

	lwp->in_group = stop->signal != SIGTRAP;
	stop->kind = lwp->in_group && !was_told ? MT_STOP_GROUP : MT_STOP_INTERRUPTED;
}

static struct mt_error *tell_birth(struct mt_ptrace_target *target, const struct mt_ptrace_lwp *lwp,
				   int event, struct mt_stop *stop)
{
	const pid_t is_of = process_of(stop->child);

	if (!is_of) {
		stop->kind = MT_STOP_INTERRUPTED; /* it was killed, and its end was waited for */
		return NULL;
	}
	if (event == PTRACE_EVENT_CLONE && is_of == lwp->pid) {
		stop->kind = MT_STOP_NEW_THREAD;
		return mt_ptrace_adopt(target, stop->child, lwp->pid);
	}
	stop->kind = event == PTRACE_EVENT_VFORK ? MT_STOP_VFORK : MT_STOP_FORK;
	/* A process of its own, known from its parent's event. */
	const struct mt_ptrace_process *parent = mt_ptrace_find_process(target, lwp->pid);
	struct mt_ptrace_process *process;
	mt_try(mt_ptrace_add_process(target, stop->child, &process));
	process->launched = parent && parent->launched;
	mt_try(mt_ptrace_adopt(target, stop->child, stop->child));
	mt_error_destroy(mt_ptrace_open_memory(process)); /* it may be dead already */
	if (parent)
		inherit_injected(process, parent);
	return NULL;
}

static struct mt_error *tell_event(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				   int event, unsigned long message, struct mt_stop *stop)
{
	switch (event) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		stop->child = (pid_t)message;
		return tell_birth(target, lwp, event, stop);
	case PTRACE_EVENT_EXEC:
		stop->child = (pid_t)message;
		return tell_exec(target, lwp, stop);
	case PTRACE_EVENT_EXIT:
		stop->kind = MT_STOP_EXITING;
		lwp->exiting = true;
		stop->status = (int)message;
		return NULL;
	default:
		tell_trap(lwp, stop);
		return NULL;
	}
}

/* In a system call, as its number says; an exception has none. */
static bool is_in_call(pid_t lwp)
{
	void *const number = (void *)offsetof(struct user, regs.orig_rax); // NOLINT

	return ptrace(PTRACE_PEEKUSER, lwp, number, 0) != -1;
}

static uint8_t kind_of_trap(const struct mt_ptrace_lwp *lwp, const siginfo_t *info)
{
	if (info->si_code == SI_KERNEL)
		return MT_STOP_BREAKPOINT;
	if (mt_ptrace_enters_handler(lwp->lwp, info))
		return MT_STOP_HANDLER;
	if (!lwp->stepping)
		return MT_STOP_SIGNAL;
	switch (info->si_code) {
	case TRAP_TRACE:
	case TRAP_HWBKPT:
		return MT_STOP_STEP;
	case TRAP_BRKPT:
		return is_in_call(lwp->lwp) ? MT_STOP_SYSCALL : MT_STOP_STEP;
	default:
		return MT_STOP_SIGNAL;
	}
}

static void tell_exited(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp, int status,
			struct mt_stop *stop)
{
	stop->kind = MT_STOP_EXITED;
	stop->status = status;
	if (lwp->lwp != lwp->pid) {
		mt_ptrace_remove_lwp(target, lwp);
		return;
	}
	if (stop->pid == target->foreground) {
		target->foreground = 0;
		ending_pass_to(0);
	}
	mt_ptrace_forget(target, stop->pid);
}

/* Takes a status that waitpid returned earlier, while something else was waited for. */
static struct mt_ptrace_lwp *take_untold(struct mt_ptrace_target *target)
{
	if (!target->untold)
		return NULL;
	for (struct mt_ptrace_lwp *lwp = target->lwps; lwp; lwp = lwp->hh.next) {
		if (!lwp->has_status || !lwp->pid)
			continue;
		lwp->has_status = false;
		target->untold--;
		return lwp;
	}
	return NULL;
}

/* Whose status it is.  NULL: nobody is to be told of it. */
static struct mt_error *whose(struct mt_ptrace_target *target, pid_t pid, int status,
			      struct mt_ptrace_lwp **lwp)
{
	struct mt_ptrace_lwp *known = mt_ptrace_find_lwp(target, pid);

	*lwp = NULL;
	if (known && known->leaves) {
		bool is_signal = WIFSTOPPED(status) && !event_of(status);

		ptrace(PTRACE_DETACH, pid, 0, is_signal ? WSTOPSIG(status) : 0);
		mt_ptrace_remove_lwp(target, known);
	} else if (known && known->pid) {
		*lwp = known;
	} else if (!WIFSTOPPED(status) || event_of(status) == PTRACE_EVENT_EXIT) {
		/* One that ends, and that nobody has told of: its maker may have been killed before
		 * it could, together with it, and then nobody ever will. */
		if (known)
			mt_ptrace_remove_lwp(target, known);
		ptrace(PTRACE_CONT, pid, 0, 0);
	} else {
		/* A new one, faster than its parent's event. */
		mt_try(mt_ptrace_add_lwp(target, pid, 0, &known));
		mt_ptrace_keep_status(target, known, status);
	}
	return NULL;
}

/* One look.  Done: false when there is nothing. */
static struct mt_error *look(struct mt_ptrace_target *target, struct mt_stop *stop, bool *done)
{
	struct mt_ptrace_lwp *lwp;
	unsigned long message;
	int status;

	*done = false;
	do {
		lwp = take_untold(target);
		if (lwp) {
			status = lwp->status;
		} else {
			pid_t pid = mt_ptrace_reap(target, -1, &status, WNOHANG);

			if (pid == 0)
				return NULL;
			if (pid < 0)
				return errno == ECHILD
					   ? mt_error_new(MT_ERROR_GONE,
							  "no process left to wait for")
					   : mt_error_errno(errno, "cannot wait for the program");
			mt_try(whose(target, pid, status, &lwp));
		}
		if (lwp && !take_message(lwp->lwp, status, &message)) {
			lwp->state = MT_PTRACE_RUNNING;
			lwp = NULL;
		}
	} while (!lwp);
	*done = true;
	*stop = (struct mt_stop){.pid = lwp->pid, .lwp = lwp->lwp};
	lwp->state = WIFSTOPPED(status) ? MT_PTRACE_STOPPED : MT_PTRACE_RUNNING;
	lwp->in_vfork = WIFSTOPPED(status) && event_of(status) == PTRACE_EVENT_VFORK;
	if (!WIFSTOPPED(status)) {
		tell_exited(target, lwp, status, stop);
		return NULL;
	}
	stop->signal = WSTOPSIG(status);
	if (event_of(status))
		return tell_event(target, lwp, event_of(status), message, stop);
	if (stop->signal == (SIGTRAP | MT_PTRACE_SYSCALL_STOP)) {
		struct __ptrace_syscall_info info = {0};

		ptrace(PTRACE_GET_SYSCALL_INFO, lwp->lwp, sizeof(info), &info);
		stop->signal = 0;
		stop->kind =
		    info.op == PTRACE_SYSCALL_INFO_ENTRY ? MT_STOP_SYSCALL_ENTRY : MT_STOP_SYSCALL;
		if (stop->kind == MT_STOP_SYSCALL)
			mt_ptrace_block_trap(lwp->lwp, false);
	} else {
		siginfo_t info = lwp->trapped;

		if (!info.si_signo)
			ptrace(PTRACE_GETSIGINFO, lwp->lwp, 0, &info);
		find_lost(lwp, &info);
		memset(&lwp->trapped, 0, sizeof(lwp->trapped));
		stop->address = lwp->trap;
		lwp->trap = 0;
		stop->code = info.si_code;
		stop->kind = MT_STOP_SIGNAL;
		if (stop->signal == SIGTRAP)
			stop->kind = kind_of_trap(lwp, &info);
		if (info.si_code > 0 && info.si_code != SI_KERNEL &&
		    (info.si_signo == SIGSEGV || info.si_signo == SIGBUS ||
		     info.si_signo == SIGFPE || info.si_signo == SIGILL))
			stop->address = (uint64_t)(uintptr_t)info.si_addr;
	}
	if (stop->kind == MT_STOP_HANDLER)
		mt_ptrace_block_trap(lwp->lwp, false);
	return NULL;
}

/* Until a child's state changes.  False: the time is over, or another signal came. */
static bool sleep_until_child(uint64_t deadline_ns)
{
	uint64_t now_ns = mt_clock_monotonic_ns();
	uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
	struct timespec timeout = {(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	return sigtimedwait(&set, NULL, deadline_ns == FOR_EVER ? NULL : &timeout) == SIGCHLD;
}

static enum mt_stop_kind take_request(void)
{
	if (ending_take_request())
		return MT_STOP_REQUEST;
	return ending_take_snapshot_request() ? MT_STOP_SNAPSHOT : MT_STOP_NONE;
}

struct mt_error *mt_ptrace_wait(struct mt_target *base, int timeout_ms, struct mt_stop *stop)
{
	struct mt_ptrace_target *target = (struct mt_ptrace_target *)base;
	uint64_t deadline_ns = FOR_EVER;
	bool done;

	*stop = (struct mt_stop){.kind = MT_STOP_NONE};
	/* A thread that stops again and again keeps nobody from asking. */
	if (ending_is_requested() || ending_snapshot_is_requested()) {
		stop->kind = take_request();
		return NULL;
	}
	mt_try(look(target, stop, &done));
	if (!done && timeout_ms >= 0)
		deadline_ns = mt_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000;
	for (bool again = timeout_ms != 0; !done && again;) {
		again = !ending_is_requested() && !ending_snapshot_is_requested() &&
			sleep_until_child(deadline_ns);
		mt_try(look(target, stop, &done));
	}
	if (!done)
		stop->kind = take_request();
	return NULL;
}
