/* SPDX-License-Identifier: GPL-3.0-or-later */
/* System calls in the name of a thread that this thread of ours traces and that stands still: its
 * registers are changed for one step over a system call instruction that some executable mapping
 * has anyway, so no byte is written.  Signals are held back meanwhile; what cannot be held back is
 * sent again.  Both front ends that trace by ptrace(2) do it so: mtdb, and the plugin inside of
 * GDB.
 */
#ifndef MT_PTRACE_SYSCALL_H
#define MT_PTRACE_SYSCALL_H

#include "process/target.h"

/* What does not come about within this time does not come about: on a busy machine it takes a
 * thousandth of it. */
#define MT_PTRACE_LONGEST_NS 30000000000ull

/* *pc: of a system call instruction in the process, 0 for none in; text comes and goes, so what was
 * found once is looked at again.  Errors: UNSUPPORTED (there is none). */
struct mt_error *mt_ptrace_find_syscall(struct mt_target *target, pid_t pid, uint64_t *pc);
/* For one whose instruction is at PC: its number and arguments. */
void mt_ptrace_put_call(const struct mt_system_call *call, uint64_t pc,
			struct user_regs_struct *registers);
/* *status: what waitpid() said of a thread that ended meanwhile; else 0.  Errors: GONE; BUSY (one
 * does not end); UNSUPPORTED (there is no such instruction, or not any more since one of the
 * CALLS).
 */
struct mt_error *mt_ptrace_do_syscalls(pid_t pid, pid_t lwp, uint64_t pc,
				       struct mt_system_call *calls, size_t count, int *status);

/* See run_to() in process/target.h; *status as above. */
struct mt_error *mt_ptrace_run_lwp_to(pid_t pid, pid_t lwp, uint64_t goal, bool *arrived,
				      int *status);

/* The system delivers the signal of a signal-delivery-stop when the tracer dies, and nothing after
 * an interruption: exchange the one for the other.  *status: 0; or what the LWP did instead, as
 * waitpid() reported.  An LWP that was not seized cannot be interrupted: it stays as it is.
 * Errors: GONE. */
struct mt_error *mt_ptrace_clear_pending_stop_lwp(pid_t lwp, int *status);

/* waitpid(2) for one LWP, whatever signals come to us; -1 with ESRCH when it ends and nothing tells
 * of that, as of a first thread before the others; -1 with ETIMEDOUT when it does not change
 * its state for MT_PTRACE_LONGEST_NS. */
pid_t mt_ptrace_wait_for(pid_t lwp, int *status);
/* Sleeps until a child's state may have changed, or for some milliseconds. */
void mt_ptrace_doze(void);

#endif
