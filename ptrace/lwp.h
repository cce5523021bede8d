/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ptrace target's processes and LWPs; internal to ptrace/. */
#ifndef MT_PTRACE_LWP_H
#define MT_PTRACE_LWP_H

#include "process/target.h"
#include "ptrace/syscall.h"

#include <signal.h>
#include <uthash.h>

#define MT_PTRACE_SYSCALL_STOP 0x80 /* PTRACE_O_TRACESYSGOOD */

struct mt_ptrace_process {
	pid_t pid;
	bool launched;       /* by us, or forked by such a one: dies with us */
	bool child;          /* of ours: wait() reports its end even after a detach */
	bool let_go;         /* only its end is to be reported */
	int mem_fd;          /* /proc/PID/mem */
	uint64_t syscall_pc; /* of a system call instruction; 0: not looked for yet */
	struct mt_injected injected;
	pid_t inside;               /* a thread that did not come back from there; 0: none */
	mt_target_is_trap *is_trap; /* NULL: nobody asked */
	void *trap_context;
	UT_hash_handle hh;
};

enum mt_ptrace_state {
	MT_PTRACE_RUNNING,     /* or it has ended */
	MT_PTRACE_INTERRUPTED, /* by halt(), and did not stop yet: vfork() holds it */
	MT_PTRACE_HALTED,      /* stands still for halt() alone */
	MT_PTRACE_STOPPED,     /* stands still for more than that */
};

struct mt_ptrace_lwp {
	pid_t lwp;
	pid_t pid; /* 0: it reported before its parent did */
	enum mt_ptrace_state state;
	bool stepping;   /* was resumed by a step */
	bool in_vfork;   /* until its next stop */
	bool in_group;   /* reported a stop by job control, which is not over */
	bool listens;    /* for the end of that; else it goes on in spite of it */
	bool exiting;    /* it runs no code of its own any more */
	bool leaves;     /* was to be let go, but did not stop: at its next stop, unreported */
	bool has_status; /* waitpid returned `status`, which wait() has not reported yet */
	int status;
	uint64_t trap;     /* it stands at this int3, which is the status; 0: it does not */
	siginfo_t trapped; /* of that SIGTRAP, asked for before it was waited for; else empty */
	siginfo_t lost; /* of the signal at which it made system calls for us; until its next one */
	UT_hash_handle hh;
};

struct mt_ptrace_target {
	struct mt_target base;
	struct mt_ptrace_process *processes;
	struct mt_ptrace_lwp *lwps;
	size_t untold;    /* LWPs with has_status */
	size_t own_traps; /* processes with is_trap */
	bool gave_up;     /* a thread did not stop: others that cannot are not waited for */
	pid_t foreground; /* a launched one, to which signals that we get are passed; 0: none */
	sigset_t old_mask;
};

/* lwp.c */
struct mt_ptrace_process *mt_ptrace_find_process(struct mt_ptrace_target *target, pid_t pid);
struct mt_error *mt_ptrace_add_process(struct mt_ptrace_target *target, pid_t pid,
				       struct mt_ptrace_process **out);
void mt_ptrace_remove_process(struct mt_ptrace_target *target, pid_t pid);
/* After exec the old file descriptor leads to memory that is no more. */
struct mt_error *mt_ptrace_open_memory(struct mt_ptrace_process *process);

struct mt_ptrace_lwp *mt_ptrace_find_lwp(struct mt_ptrace_target *target, pid_t lwp);
/* The one there is, or a new one. */
struct mt_error *mt_ptrace_add_lwp(struct mt_ptrace_target *target, pid_t lwp, pid_t pid,
				   struct mt_ptrace_lwp **out);
void mt_ptrace_remove_lwp(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp);
/* Any LWP of the process, the first one (its leader) last; NULL: none. */
struct mt_ptrace_lwp *mt_ptrace_any_lwp(struct mt_ptrace_target *target, pid_t pid);
/* The LWPs and the process. */
void mt_ptrace_forget(struct mt_ptrace_target *target, pid_t pid);

static inline bool mt_ptrace_stands_still(const struct mt_ptrace_lwp *lwp)
{
	return lwp->state >= MT_PTRACE_HALTED;
}

/* wait.c */
struct mt_error *mt_ptrace_wait(struct mt_target *base, int timeout_ms, struct mt_stop *stop);
/* Keeps a status for wait() to report. */
void mt_ptrace_keep_status(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp, int status);
/* Wait until this LWP stands still, or is gone (then it is removed and *lwp becomes NULL).
 * Errors: BUSY: it cannot stop; its state is INTERRUPTED then. */
struct mt_error *mt_ptrace_settle(struct mt_ptrace_target *target, struct mt_ptrace_lwp **lwp);
/* Adds the new LWP that the parent's event reports, and waits until it has stopped. */
struct mt_error *mt_ptrace_adopt(struct mt_ptrace_target *target, pid_t child, pid_t pid);

/* reap.c */
void mt_ptrace_own_traps(struct mt_target *base, pid_t pid, mt_target_is_trap *is_ours,
			 void *context);
/* As waitpid(2); of all LWPs when WHICH is -1. */
pid_t mt_ptrace_reap(struct mt_ptrace_target *target, pid_t which, int *status, int flags);
/* mt_ptrace_wait_for(), by mt_ptrace_reap(). */
pid_t mt_ptrace_reap_lwp(struct mt_ptrace_target *target, pid_t lwp, int *status);
/* Kills a process that we trace, and waits until it has ended.  Errors: BUSY: it does not within
 * seconds, but will. */
struct mt_error *mt_ptrace_end(pid_t pid);

/* launch.c, attach.c */
struct mt_error *mt_ptrace_launch(struct mt_target *base, const struct mt_launch *launch,
				  pid_t *pid);
struct mt_error *mt_ptrace_attach(struct mt_target *base, pid_t pid);
struct mt_error *mt_ptrace_detach(struct mt_target *base, pid_t pid, int signal);
struct mt_error *mt_ptrace_take_traps(struct mt_target *base, pid_t pid);
struct mt_error *mt_ptrace_kill(struct mt_target *base, pid_t pid);
/* The events that are reported for every LWP. */
long mt_ptrace_options(void);

/* halt.c */
struct mt_error *mt_ptrace_halt(struct mt_target *base, pid_t pid);
void mt_ptrace_release(struct mt_target *base, pid_t pid, pid_t but);
struct mt_error *mt_ptrace_clear_pending_stop(struct mt_target *base, pid_t lwp);
/* After an interruption: *STOPPED: it stopped or ended, as *STATUS says.  Not: somebody waited for
 * its end already, or it cannot stop as long as its child has not become a program, or its threads
 * have not ended (then its state is INTERRUPTED); before it runs an instruction of its own it will.
 * Errors: BUSY, as settle(). */
struct mt_error *mt_ptrace_await_stop(struct mt_ptrace_target *target, struct mt_ptrace_lwp *lwp,
				      bool *stopped, int *status);
/* repeat.c */
/* LWP stopped because we asked it to: a system call that failed by that is made again. */
void mt_ptrace_repeat_call(pid_t lwp);

/* call.c */
struct mt_error *mt_ptrace_run_to(struct mt_target *base, pid_t lwp, uint64_t goal, bool *arrived);
struct mt_error *mt_ptrace_call_systems(struct mt_target *base, pid_t lwp,
					struct mt_system_call *calls, size_t count);
struct mt_error *mt_ptrace_set_injected(struct mt_target *base, pid_t pid,
					struct mt_injected injected);
bool mt_ptrace_has_injected(struct mt_target *base, pid_t pid);

#endif
