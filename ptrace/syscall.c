/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/syscall.h"

#include "base/clock.h"
#include "process/proc.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint8_t instruction[] = {0x0f, 0x05};
#define CHUNK 16384
/* Until it is asked why a thread does not stop. */
#define PATIENCE_NS 25000000ull
#define MOST_STEPS  500 /* a trampoline and a prologue take some thirty */

/* Where the instruction is looked for, the best place first: what is not of a file may be ours, and
 * be unmapped by the very calls that are to be done. */
enum place { IN_VDSO, IN_FILES, ANYWHERE, PLACES };

struct search {
	struct mt_target *target;
	pid_t pid;
	enum place place;
	uint64_t found;
};

static bool is_in(const struct mt_map *map, enum place place)
{
	return place == ANYWHERE || (place == IN_FILES && map->path[0] == '/') ||
	       strcmp(map->path, "[vdso]") == 0;
}

static struct mt_error *look_in(void *context, const struct mt_map *map)
{
	struct search *search = context;
	uint8_t chunk[CHUNK];

	if (search->found || !map->executable || map->start >> 63 || !is_in(map, search->place))
		return NULL;
	for (uint64_t at = map->start; at < map->end; at += CHUNK - 1) {
		uint64_t left = map->end - at;
		size_t size = search->target->ops->read(search->target, search->pid, at, chunk,
							left < CHUNK ? left : CHUNK);
		const uint8_t *there = memmem(chunk, size, instruction, sizeof(instruction));

		if (there) {
			search->found = at + (uint64_t)(there - chunk);
			return NULL;
		}
		if (size < CHUNK)
			break;
	}
	return NULL;
}

/* Text comes and goes: what was found once is looked at again. */
struct mt_error *mt_ptrace_find_syscall(struct mt_target *target, pid_t pid, uint64_t *pc)
{
	struct search search = {.target = target, .pid = pid};
	uint8_t bytes[sizeof(instruction)];

	if (*pc && target->ops->read(target, pid, *pc, bytes, sizeof(bytes)) == sizeof(bytes) &&
	    memcmp(bytes, instruction, sizeof(bytes)) == 0)
		return NULL;
	for (; search.place < PLACES && !search.found; search.place++)
		mt_try(mt_proc_each_map(pid, look_in, &search));
	*pc = search.found;
	if (search.found)
		return NULL;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "process %d contains no system call instruction to step over", pid);
}

static struct mt_error *gone(pid_t lwp)
{
	if (errno == ETIMEDOUT)
		return mt_error_new(MT_ERROR_BUSY,
				    "thread %d did not finish a remote system call within %llu s",
				    lwp, MT_PTRACE_LONGEST_NS / 1000000000);
	return mt_error_new(MT_ERROR_GONE, "thread %d exited during a remote system call", lwp);
}

pid_t mt_ptrace_wait_for(pid_t lwp, int *status)
{
	const uint64_t begin_ns = mt_clock_monotonic_ns();

	for (;;) {
		pid_t done = waitpid(lwp, status, __WALL | WNOHANG);

		if (done > 0 || (done < 0 && errno != EINTR))
			return done;
		const uint64_t waited_ns = mt_clock_monotonic_ns() - begin_ns;
		/* The end of a first thread is not told before the others ended. */
		if (waited_ns > PATIENCE_NS && mt_proc_is_exiting(lwp)) {
			errno = ESRCH;
			return -1;
		}
		if (waited_ns > MT_PTRACE_LONGEST_NS) {
			errno = ETIMEDOUT;
			return -1;
		}
		mt_ptrace_doze();
	}
}

void mt_ptrace_doze(void)
{
	const struct timespec patience = {.tv_nsec = 5000000}, moment = {.tv_nsec = 100000};
	sigset_t set, blocked;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (sigismember(&blocked, SIGCHLD))
		sigtimedwait(&set, NULL, &patience);
	else
		nanosleep(&moment, NULL); /* GDB has a handler for it */
}

struct call {
	pid_t lwp;
	int held;   /* a signal that could not be held back; 0: none */
	int status; /* of a thread that ended; 0: it did not */
};

static struct mt_error *step(struct call *call, struct user_regs_struct *registers)
{
	int status = 0;

	if (ptrace(PTRACE_SINGLESTEP, call->lwp, 0, 0) ||
	    mt_ptrace_wait_for(call->lwp, &status) < 0)
		return gone(call->lwp);
	if (!WIFSTOPPED(status) || status >> 16 == PTRACE_EVENT_EXIT) {
		call->status = status;
		return gone(call->lwp);
	}
	if (WSTOPSIG(status) != SIGTRAP)
		call->held = WSTOPSIG(status);
	return ptrace(PTRACE_GETREGS, call->lwp, 0, registers) ? gone(call->lwp) : NULL;
}

/* The instruction does it again. */
static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL;
}

/* Step until the instruction is done.  A call before may have unmapped it. */
static struct mt_error *step_over(struct call *call, uint64_t pc,
				  struct user_regs_struct *registers)
{
	do {
		mt_try(step(call, registers));
		if (!is_fault(call->held))
			continue;
		call->held = 0;
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "there is no system call instruction at 0x%llx of thread %d "
				    "any more",
				    (unsigned long long)pc, call->lwp);
	} while (registers->rip == pc);
	return NULL;
}

/* One after the other, from the registers that the thread has. */
static struct mt_error *run(struct call *call, struct user_regs_struct registers, uint64_t pc,
			    struct mt_system_call *calls, size_t count)
{
	const uint64_t all_but_trap = ~(1ull << (SIGTRAP - 1));
	uint64_t mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, call->lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, call->lwp, sizeof(all_but_trap), &all_but_trap))
		return gone(call->lwp);
	struct mt_error *error = NULL;
	for (size_t i = 0; i < count && !error; i++) {
		registers.orig_rax = (uint64_t)-1;
		mt_ptrace_put_call(&calls[i], pc, &registers);
		if (ptrace(PTRACE_SETREGS, call->lwp, 0, &registers))
			return gone(call->lwp);
		error = step_over(call, pc, &registers);
		calls[i].result = (int64_t)registers.rax;
	}
	ptrace(PTRACE_SETSIGMASK, call->lwp, sizeof(mask), &mask);
	return error;
}

/* Whether one waits for this thread alone: another one of that number would be dropped. */
static bool is_pending(pid_t lwp, int signal)
{
	struct __ptrace_peeksiginfo_args at = {.nr = 1};
	siginfo_t info;

	for (; ptrace(PTRACE_PEEKSIGINFO, lwp, &at, &info) == 1; at.off++)
		if (info.si_signo == signal)
			return true;
	return false;
}

/* One that does nothing by default, and is not the program's own; 0: there is none. */
static int find_harmless_signal(pid_t lwp)
{
	static const int harmless[] = {SIGURG, SIGWINCH, SIGCHLD};

	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (!is_pending(lwp, harmless[i]))
			return harmless[i];
	return 0;
}

/* A thread that was stepped is to be stepped again until it is told to go on otherwise: should its
 * tracer be killed before, SIGTRAP would end it.  So it is, and comes no further than to a signal,
 * which does nothing by default.  For who did not seize it, as GDB.  Source: ptrace_resume() in the
 * kernel's ptrace.c, and exit_ptrace(), which leaves the flag set. */
static struct mt_error *end_stepping(pid_t lwp, int *status)
{
	const int signal = find_harmless_signal(lwp);
	const uint64_t all_but_it = signal ? ~(1ull << (signal - 1)) : 0;
	uint64_t mask = 0;
	int other = 0; /* SIGSTOP, which cannot be held back, and comes first */

	if (!signal)
		return NULL; /* no signal of the program's is lost for this */
	if (ptrace(PTRACE_GETSIGMASK, lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, lwp, sizeof(all_but_it), &all_but_it) ||
	    syscall(SYS_tkill, lwp, signal))
		return gone(lwp);
	do {
		if (ptrace(PTRACE_CONT, lwp, 0, 0) || mt_ptrace_wait_for(lwp, status) < 0)
			return gone(lwp);
		if (!WIFSTOPPED(*status) || *status >> 16)
			return NULL;
		if (WSTOPSIG(*status) != signal)
			other = WSTOPSIG(*status);
	} while (WSTOPSIG(*status) != signal);
	if (other)
		syscall(SYS_tkill, lwp, other);
	*status = 0;
	return ptrace(PTRACE_SETSIGMASK, lwp, sizeof(mask), &mask) ? gone(lwp) : NULL;
}

/* What the signal that a thread stands at tells its handler; no si_signo: it stands at none. */
static siginfo_t look_at_signal(pid_t lwp)
{
	siginfo_t info = {0};

	if (ptrace(PTRACE_GETSIGINFO, lwp, 0, &info))
		memset(&info, 0, sizeof(info));
	return info;
}

/* Who did not seize the thread takes it to stand where it stood, and delivers that signal. */
static struct mt_error *clear_pending_stop(pid_t lwp, const siginfo_t *before, int *status)
{
	*status = 0;
	if (ptrace(PTRACE_INTERRUPT, lwp, 0, 0)) {
		if (errno != EIO)
			return gone(lwp);
		mt_try(end_stepping(lwp, status));
		if (!*status && before->si_signo)
			ptrace(PTRACE_SETSIGINFO, lwp, 0, before);
		return NULL;
	}
	if (ptrace(PTRACE_CONT, lwp, 0, 0) || mt_ptrace_wait_for(lwp, status) < 0)
		return gone(lwp);
	if (*status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(*status) == SIGTRAP)
		*status = 0;
	return NULL;
}

struct mt_error *mt_ptrace_clear_pending_stop_lwp(pid_t lwp, int *status)
{
	const siginfo_t signal = look_at_signal(lwp);

	return clear_pending_stop(lwp, &signal, status);
}

void mt_ptrace_put_call(const struct mt_system_call *call, uint64_t pc,
			struct user_regs_struct *registers)
{
	registers->rip = pc;
	registers->rax = (uint64_t)call->number;
	registers->rdi = call->arguments[0];
	registers->rsi = call->arguments[1];
	registers->rdx = call->arguments[2];
	registers->r10 = call->arguments[3];
	registers->r8 = call->arguments[4];
	registers->r9 = call->arguments[5];
}

struct mt_error *mt_ptrace_do_syscalls(pid_t pid, pid_t lwp, uint64_t pc,
				       struct mt_system_call *calls, size_t count, int *status)
{
	struct call call = {.lwp = lwp};
	struct user_regs_struct before;
	const siginfo_t signal = look_at_signal(lwp);

	*status = 0;
	if (!count)
		return NULL;
	if (ptrace(PTRACE_GETREGS, lwp, 0, &before))
		return gone(lwp);
	struct mt_error *error = run(&call, before, pc, calls, count);
	*status = call.status;
	if (error && mt_error_code(error) != MT_ERROR_UNSUPPORTED)
		return error;
	struct mt_error *back = ptrace(PTRACE_SETREGS, lwp, 0, &before) ? gone(lwp) : NULL;
	if (!back && call.held)
		syscall(SYS_tgkill, pid, lwp, call.held);
	if (!back)
		back = clear_pending_stop(lwp, &signal, status);
	if (!error)
		return back;
	mt_error_destroy(back);
	return error;
}

struct mt_error *mt_ptrace_run_lwp_to(pid_t pid, pid_t lwp, uint64_t goal, bool *arrived,
				      int *status)
{
	const uint64_t all_but_trap = ~(1ull << (SIGTRAP - 1));
	struct call call = {.lwp = lwp};
	struct user_regs_struct registers;
	struct mt_error *error = NULL;
	const siginfo_t signal = look_at_signal(lwp);
	uint64_t mask = 0;

	*status = 0;
	if (ptrace(PTRACE_GETREGS, lwp, 0, &registers) ||
	    ptrace(PTRACE_GETSIGMASK, lwp, sizeof(mask), &mask) ||
	    ptrace(PTRACE_SETSIGMASK, lwp, sizeof(all_but_trap), &all_but_trap))
		return gone(lwp);
	for (unsigned i = 0; !error && registers.rip != goal && !call.held && i < MOST_STEPS; i++)
		error = step(&call, &registers);
	*arrived = !error && registers.rip == goal;
	*status = call.status;
	if (error)
		return error;
	ptrace(PTRACE_SETSIGMASK, lwp, sizeof(mask), &mask);
	if (call.held && !is_fault(call.held))
		syscall(SYS_tgkill, pid, lwp, call.held);
	return clear_pending_stop(lwp, &signal, status);
}
