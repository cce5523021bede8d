/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registers of a thread that this thread of ours traces and that stands still, besides those that a
 * target has. */
#ifndef MT_PTRACE_REGISTERS_H
#define MT_PTRACE_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/* The thread holds this signal back. */
bool mt_ptrace_blocks(pid_t lwp, int signal);

/* PR_SET_SYSCALL_USER_DISPATCH is on for it.  False, too: the kernel does not tell (before 6.4). */
bool mt_ptrace_dispatches_calls(pid_t lwp);

/* x87 and SSE.  False: the thread is gone. */
bool mt_ptrace_get_float_registers(pid_t lwp, struct user_fpregs_struct *out);
bool mt_ptrace_set_float_registers(pid_t lwp, const struct user_fpregs_struct *registers);

/* Debug registers: four addresses that the processor watches.  Source: Intel SDM vol. 3B, ch. 18,
 * "Debug Registers". */
#define MT_PTRACE_WATCHES 4

enum mt_ptrace_watch_kind {
	MT_PTRACE_WATCH_EXECUTE = 0, /* length 1; reported before the instruction is executed */
	MT_PTRACE_WATCH_WRITE = 1,   /* reported after the instruction */
	MT_PTRACE_WATCH_ACCESS = 3,  /* read or written */
};

struct mt_ptrace_watch {
	uint64_t address; /* a multiple of length */
	uint8_t length;   /* 1, 2, 4 or 8; 0: this one is not used */
	uint8_t kind;
};

/* False: the system refused, or the thread is gone. */
bool mt_ptrace_set_watches(pid_t lwp, const struct mt_ptrace_watch watches[MT_PTRACE_WATCHES]);
/* Whether they stop a thread here (kernel/breakpoint.h), tried on a child of our own.  True, too:
 * it cannot be tried. */
bool mt_ptrace_watches_work(void);
/* Which of them were hit since the last question, a bit each. */
unsigned mt_ptrace_take_watch_hits(pid_t lwp);

#endif
