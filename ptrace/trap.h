/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SIGTRAP that a traced thread stands for, and whether it would reach the thread. */
#ifndef MT_PTRACE_TRAP_H
#define MT_PTRACE_TRAP_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The thread stands still for a SIGTRAP, by an int3: from now on it says TRAP_BRKPT at ADDRESS. */
void mt_ptrace_move_trap(pid_t lwp, uint64_t address);
/* A SIGTRAP that the kernel has sent to a thread for what it did, and that the thread, which stands
 * still, has not reported yet: a stop that was asked for comes first.  Until then it runs no
 * instruction.  False: there is none. */
bool mt_ptrace_find_trap(pid_t lwp, siginfo_t *info);
/* The thread stands still, with INFO, at the first instruction of a signal's handler, since it was
 * stepped when that signal came.  A program can send itself such a siginfo; but a handler has its
 * ucontext_t behind the return address and its siginfo_t behind that.  Source: signal_delivered()
 * in the kernel's kernel/signal.c, x64_setup_rt_frame() in arch/x86/kernel/signal_64.c. */
bool mt_ptrace_enters_handler(pid_t lwp, const siginfo_t *info);
/* Of a thread that stands still.  Returns whether it was blocked before. */
bool mt_ptrace_block_trap(pid_t lwp, bool blocked);

#endif
