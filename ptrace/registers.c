/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "ptrace/registers.h"

#include <sys/ptrace.h>

bool mt_ptrace_get_float_registers(pid_t lwp, struct user_fpregs_struct *out)
{
	return ptrace(PTRACE_GETFPREGS, lwp, 0, out) == 0;
}

bool mt_ptrace_set_float_registers(pid_t lwp, const struct user_fpregs_struct *registers)
{
	return ptrace(PTRACE_SETFPREGS, lwp, 0, registers) == 0;
}
