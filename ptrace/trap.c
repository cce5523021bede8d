/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/trap.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>

void mt_ptrace_move_trap(pid_t lwp, uint64_t address)
{
	siginfo_t info = {.si_signo = SIGTRAP, .si_code = TRAP_BRKPT};

	info.si_addr = (void *)address; // NOLINT(performance-no-int-to-ptr)
	ptrace(PTRACE_SETSIGINFO, lwp, 0, &info);
}

bool mt_ptrace_find_trap(pid_t lwp, siginfo_t *info)
{
	struct __ptrace_peeksiginfo_args at = {.nr = 1};

	for (; ptrace(PTRACE_PEEKSIGINFO, lwp, &at, info) == 1; at.off++)
		if (info->si_signo == SIGTRAP && info->si_code > 0)
			return true;
	return false;
}

bool mt_ptrace_block_trap(pid_t lwp, bool blocked)
{
	const uint64_t trap = 1ull << (SIGTRAP - 1);
	uint64_t mask = 0;

	if (ptrace(PTRACE_GETSIGMASK, lwp, sizeof(mask), &mask))
		return false;
	uint64_t wanted = blocked ? mask | trap : mask & ~trap;
	if (wanted != mask)
		ptrace(PTRACE_SETSIGMASK, lwp, sizeof(wanted), &wanted);
	return mask & trap;
}

bool mt_ptrace_enters_handler(pid_t lwp, const siginfo_t *info)
{
	struct user_regs_struct registers;

	return info->si_signo == SIGTRAP && info->si_code == SIGTRAP &&
	       !ptrace(PTRACE_GETREGS, lwp, 0, &registers) &&
	       registers.rdx == registers.rsp + sizeof(uint64_t) && registers.rsi > registers.rdx;
}
