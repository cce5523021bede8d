/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/registers.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Source: Linux, include/uapi/linux/ptrace.h; glibc 2.36 does not know it. */
#define GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211

bool mt_ptrace_blocks(pid_t lwp, int signal)
{
	uint64_t mask = 0;

	return ptrace(PTRACE_GETSIGMASK, lwp, sizeof(mask), &mask) == 0 && mask >> (signal - 1) & 1;
}

bool mt_ptrace_dispatches_calls(pid_t lwp)
{
	struct {
		uint64_t mode, selector, offset, length;
	} dispatch = {0};

	return ptrace(GET_SYSCALL_USER_DISPATCH_CONFIG, lwp, sizeof(dispatch), &dispatch) == 0 &&
	       dispatch.mode;
}

bool mt_ptrace_get_float_registers(pid_t lwp, struct user_fpregs_struct *out)
{
	return ptrace(PTRACE_GETFPREGS, lwp, 0, out) == 0;
}

bool mt_ptrace_set_float_registers(pid_t lwp, const struct user_fpregs_struct *registers)
{
	return ptrace(PTRACE_SETFPREGS, lwp, 0, registers) == 0;
}

static bool set_debug_register(pid_t lwp, unsigned index, uint64_t value)
{
	size_t place = offsetof(struct user, u_debugreg) + index * sizeof(uint64_t);

	return ptrace(PTRACE_POKEUSER, lwp, place, value) == 0;
}

/* Bits of DR7: enabled for the task, what is told, and how many bytes. */
static uint64_t control_of(const struct mt_ptrace_watch *watch, unsigned index)
{
	static const uint8_t lengths[] = {[1] = 0, [2] = 1, [4] = 3, [8] = 2};

	if (!watch->length)
		return 0;
	return 1ull << (2 * index) | (uint64_t)(watch->kind | lengths[watch->length] << 2)
					 << (16 + 4 * index);
}

bool mt_ptrace_set_watches(pid_t lwp, const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES])
{
	uint64_t control = 0;

	/* An address is refused as long as what is enabled there does not fit it. */
	if (!set_debug_register(lwp, 7, 0))
		return false;
	for (unsigned i = 0; i < MT_PTRACE_WATCHES; i++) {
		control |= control_of(&watches[i], i);
		if (watches[i].length && !set_debug_register(lwp, i, watches[i].address))
			return false;
	}
	return set_debug_register(lwp, 7, control);
}

/* In the child; only what is safe after fork().  It has no descriptor of ours, and goes with us. */
_Noreturn static void write_when_watched(volatile uint64_t *variable, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || close_range(0, ~0u, 0) ||
	    ptrace(PTRACE_TRACEME, 0, 0, 0))
		_exit(1);
	raise(SIGSTOP);
	*variable = 1;
	_exit(0);
}

/* Until it stops for SIGNAL.  False: it has ended. */
static bool await(pid_t child, int signal)
{
	int status = 0;

	for (;;) {
		if (waitpid(child, &status, __WALL) < 0) {
			if (errno != EINTR)
				return false;
			continue;
		}
		if (!WIFSTOPPED(status) || WSTOPSIG(status) == signal)
			return WIFSTOPPED(status);
		ptrace(PTRACE_CONT, child, 0, 0); /* what the terminal sends to all of us */
	}
}

bool mt_ptrace_watches_work(void)
{
	static volatile uint64_t variable;
	const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES] = {
	    {(uint64_t)(uintptr_t)&variable, sizeof(variable), MT_PTRACE_WATCH_WRITE}};
	const pid_t parent = getpid(), child = fork();
	bool hits = true;

	if (child == 0)
		write_when_watched(&variable, parent);
	if (child < 0 || !await(child, SIGSTOP))
		return true;
	if (mt_ptrace_set_watches(child, watches)) {
		ptrace(PTRACE_CONT, child, 0, 0);
		hits = await(child, SIGTRAP);
		if (!hits)
			return false;
	}
	kill(child, SIGKILL);
	await(child, 0);
	return hits;
}

unsigned mt_ptrace_take_watch_hits(pid_t lwp)
{
	size_t place = offsetof(struct user, u_debugreg) + 6 * sizeof(uint64_t);

	errno = 0;
	long status = ptrace(PTRACE_PEEKUSER, lwp, place, 0);
	if (errno || !(status & 0xf))
		return 0;
	set_debug_register(lwp, 6, 0);
	return (unsigned)status & 0xf;
}
