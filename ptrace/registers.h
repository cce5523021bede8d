/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registers of a thread that this thread of ours traces and that stands still, besides those that a
 * target has. */
#ifndef MT_PTRACE_REGISTERS_H
#define MT_PTRACE_REGISTERS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/user.h>

/* x87 and SSE.  False: the thread is gone. */
bool mt_ptrace_get_float_registers(pid_t lwp, struct user_fpregs_struct *out);
bool mt_ptrace_set_float_registers(pid_t lwp, const struct user_fpregs_struct *registers);

#endif
