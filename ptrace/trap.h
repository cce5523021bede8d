/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The SIGTRAP that a traced thread stands for, and whether it would reach the thread. */
#ifndef MT_PTRACE_TRAP_H
#define MT_PTRACE_TRAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The thread stands still for a SIGTRAP, by an int3: from now on it says TRAP_BRKPT at ADDRESS. */
void mt_ptrace_move_trap(pid_t lwp, uint64_t address);
/* Of a thread that stands still.  Returns whether it was blocked before. */
bool mt_ptrace_block_trap(pid_t lwp, bool blocked);

#endif
