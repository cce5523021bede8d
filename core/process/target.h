/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to a program under control, whoever controls it: ptrace under mtdb, GDB under the plugin,
 * a table in tests.
 *
 * A target holds LWPs of one or more processes.  Each of them either runs, or it has reported a
 * stop through wait() and stands still until resume().  Registers are to be had of an LWP that
 * stands still; memory of any process.
 *
 * Source: ptrace(2), "Attaching and detaching", "Stopped states". */
#ifndef MT_PROCESS_TARGET_H
#define MT_PROCESS_TARGET_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct mt_target;

enum mt_stop_kind {
	MT_STOP_NONE,          /* nothing happened within the time, or a signal came to ourselves */
	MT_STOP_STEP,          /* one instruction was done */
	MT_STOP_SYSCALL_ENTRY, /* in the kernel: resume with MT_RESUME_SYSCALL again */
	MT_STOP_SYSCALL,       /* a system call is done; PC is where the thread goes on */
	MT_STOP_HANDLER,       /* the step entered a signal handler: PC is its first instruction */
	MT_STOP_BREAKPOINT,    /* an int3 was run: PC is behind it; signal and code are set too */
	MT_STOP_SIGNAL,        /* about to be delivered: pass it on with resume(), or not */
	MT_STOP_GROUP,         /* job control stopped the process: resume with MT_RESUME_LISTEN */
	MT_STOP_INTERRUPTED,   /* by interrupt(), or job control let the process go on again */
	MT_STOP_NEW_THREAD,    /* child: its LWP, which stands still too */
	MT_STOP_FORK,          /* child: its pid, which stands still too, and is of this target */
	MT_STOP_VFORK,         /* the same; the parent sleeps in the kernel until the child execs */
	MT_STOP_EXEC,          /* the program was replaced; all other LWPs of the process are gone;
				* lwp is the process's first one, child the LWP that called execve */
	MT_STOP_EXITING,       /* registers and memory are still there; status is what it will be */
	MT_STOP_EXITED,    /* this LWP is gone: status as waitpid(2) gives it.  The process is gone
			    * when lwp == pid */
	MT_STOP_LIBRARIES, /* the dynamic loader loaded or unloaded: see watch_libraries() */
	MT_STOP_REQUEST,   /* the user asked for attention (Ctrl-C at the debugger); lwp is 0 */
	MT_STOP_SNAPSHOT,  /* the user asked for a snapshot alone; lwp is 0 */
};

struct mt_stop {
	uint8_t kind; /* enum mt_stop_kind */
	pid_t pid;
	pid_t lwp;
	pid_t child;
	int signal; /* SIGNAL, BREAKPOINT, GROUP */
	int code;   /* SIGNAL, BREAKPOINT: si_code */
	/* SIGNAL: si_addr of a fault.  BREAKPOINT: of an int3 that own_traps() says is ours, and PC
	 * is there again.  Else 0. */
	uint64_t address;
	int status; /* EXITING, EXITED */
};

enum mt_resume {
	MT_RESUME_CONTINUE,
	MT_RESUME_STEP,    /* one instruction */
	MT_RESUME_SYSCALL, /* the system call at PC: reports its entry and its end */
	MT_RESUME_LISTEN,  /* stay in the group-stop, but report when it ends */
};

struct mt_launch {
	const char *path;               /* of the executable */
	const char *const *arguments;   /* argv, NULL at its end */
	const char *const *environment; /* NULL: ours */
	/* For a debugger: in a process group of its own, at the same addresses each time, signals
	 * that come to us are ours, and a 32-bit program is refused. */
	bool apart;
};

/* A line of /proc/PID/maps.  path is "" for anonymous memory, shared or not, and
 * for a memfd's that is shared and executable. */
struct mt_map {
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint64_t device; /* as MAJOR << 32 | MINOR */
	bool readable, writable, executable;
	const char *path; /* lent for the call */
};

typedef bool mt_target_is_trap(void *context, uint64_t address);

struct mt_system_call {
	long number;
	uint64_t arguments[6];
	int64_t result; /* as the kernel gives it, -errno too */
};

/* Where code for remote calls stands in a process (process/inject.h). */
struct mt_injected {
	uint64_t code;  /* mt_inject_code; 0: it does not */
	uint64_t frame; /* behind it; 0: it is mt_inject_stack_code, with a frame on the stack */
	uint64_t alive; /* behind it stands mt_inject_list_code, and this is the word that it looks
			 * at; 0: it does not */
	uint64_t results; /* of that: MT_INJECT_RESULTS_BYTES */
	/* The same memory here, as long as this is set; NULL: it is the process's alone. */
	const uint64_t *results_here;
};

/* Access to processes: memory, registers, threads, and code that they run for us. */
struct mt_target_ops {
	void (*destroy)(struct mt_target *target); /* as detach() for what was attached, kill() for
						    * what was launched; NULL is not fine */

	/* Bytes at hand from ADDRESS on, at the most SIZE: returns how many; 0: none. */
	size_t (*read)(struct mt_target *target, pid_t pid, uint64_t address, void *buffer,
		       size_t size);
	/* Protection does not matter.  Errors: SYSTEM (not all could be written); GONE. */
	struct mt_error *(*write)(struct mt_target *target, pid_t pid, uint64_t address,
				  const void *bytes, size_t size);
	/* The target of a debugger whose breakpoint instructions may stand in the text: as read()
	 * and write(), of what lies beneath them and is there when they are not.  NULL: there are
	 * none. */
	size_t (*read_beneath)(struct mt_target *target, pid_t pid, uint64_t address, void *buffer,
			       size_t size);
	struct mt_error *(*write_beneath)(struct mt_target *target, pid_t pid, uint64_t address,
					  uint8_t byte);
	/* All that people read of the memory of PID while it stands still goes by the engine's
	 * original(), before they write into its text, or let it run on hidden, comes unmask():
	 * true until the next resumption.  NULL: never. */
	bool (*masks_reads)(struct mt_target *target, pid_t pid);
	/* Errors: GONE. */
	struct mt_error *(*get_registers)(struct mt_target *target, pid_t lwp,
					  struct user_regs_struct *registers);
	struct mt_error *(*set_registers)(struct mt_target *target, pid_t lwp,
					  const struct user_regs_struct *registers);
	/* False: they are not to be had.  NULL: never. */
	bool (*get_float_registers)(struct mt_target *target, pid_t lwp,
				    struct user_fpregs_struct *registers);
	/* That one alone, of an LWP that may stand within a system call.  Errors: GONE. */
	struct mt_error *(*set_gs_base)(struct mt_target *target, pid_t lwp, uint64_t base);

	/* System calls of an LWP that stands still may come back to it as signals, so that none can
	 * be made in its name.  Source: Linux, Documentation/admin-guide/syscall-user-dispatch.rst.
	 * False: they do not, or the kernel does not tell (before 6.4).  NULL: never. */
	bool (*dispatches_calls)(struct mt_target *target, pid_t lwp);

	/* Calls `found` for each LWP of the process; an error from it ends the walk. */
	struct mt_error *(*each_thread)(struct mt_target *target, pid_t pid,
					struct mt_error *(*found)(void *context, pid_t lwp),
					void *context);
	struct mt_error *(*each_map)(struct mt_target *target, pid_t pid,
				     struct mt_error *(*found)(void *context,
							       const struct mt_map *map),
				     void *context);

	/* Have an LWP that stands still in its own code, and not within a system call that reports
	 * a birth or an exec, make system calls in this order, whether or not they succeed.
	 * Errors: GONE (also if it has stopped for what wait() has yet to tell); UNSUPPORTED (no
	 * instruction for it was found in the process). */
	struct mt_error *(*call_systems)(struct mt_target *target, pid_t lwp,
					 struct mt_system_call *calls, size_t count);
	/* Have an LWP that stands still in its own code run up to the instruction at GOAL, a few
	 * ahead; no signal comes to it meanwhile.  *ARRIVED false: it did not come there within
	 * some hundred.  Errors: GONE. */
	struct mt_error *(*run_to)(struct mt_target *target, pid_t lwp, uint64_t goal,
				   bool *arrived);
	/* From now on threads of the process are borrowed by this code.  NULL: the target has no
	 * need of that.  Errors: GONE. */
	struct mt_error *(*set_injected)(struct mt_target *target, pid_t pid,
					 struct mt_injected injected);
	/* Whether that is so.  NULL: as lend(). */
	bool (*has_injected)(struct mt_target *target, pid_t pid);
	/* Report each thread that comes to ADDRESS, where the dynamic loader speaks to debuggers;
	 * the target sees to it that the thread passes.  NULL: who wants to know sets a breakpoint
	 * of its own.  Errors: NOT_FOUND. */
	struct mt_error *(*watch_libraries)(struct mt_target *target, pid_t pid, uint64_t address);
};

/* Run control.  All of it is filled in. */
struct mt_run_ops {
	/* The new process stands still before its first instruction.  Should we die, it dies.
	 * Errors: NOT_FOUND; PERMISSION; SYSTEM; UNSUPPORTED (not x86-64, and launch->apart). */
	struct mt_error *(*launch)(struct mt_target *target, const struct mt_launch *launch,
				   pid_t *pid);
	/* All threads stand still.  Should we die, it goes on.
	 * Errors: NOT_FOUND; PERMISSION (the message names the sysctl); BUSY (it has another
	 * tracer); UNSUPPORTED. */
	struct mt_error *(*attach)(struct mt_target *target, pid_t pid);
	/* Let go of all its LWPs, wherever they are; they go on, and SIGNAL (0: none) is given to
	 * the process.  A process that is gone is fine. */
	struct mt_error *(*detach)(struct mt_target *target, pid_t pid, int signal);
	/* Dead and gone on return. */
	struct mt_error *(*kill)(struct mt_target *target, pid_t pid);

	/* SIGNAL 0: none.  Errors: GONE (wait() will report the end). */
	struct mt_error *(*resume)(struct mt_target *target, pid_t lwp, enum mt_resume how,
				   int signal);
	/* The next stop of any LWP.  timeout_ms < 0: for ever; 0: look only.  Returns early with
	 * NONE when a signal came to us.  Errors: GONE (no LWP is left); SYSTEM. */
	struct mt_error *(*wait)(struct mt_target *target, int timeout_ms, struct mt_stop *stop);
	/* Make a running LWP stop with INTERRUPTED soon.  System calls that job control interrupts
	 * (epoll_wait …, see signal(7)) return EINTR.  Errors: GONE. */
	struct mt_error *(*interrupt)(struct mt_target *target, pid_t lwp);

	/* All LWPs of the process stand still on return.  What they stop for of themselves is
	 * reported by wait() later; one that vfork() holds in the kernel stops before it runs on.
	 * Between halt and release nobody resumes an LWP of the process. */
	struct mt_error *(*halt)(struct mt_target *target, pid_t pid);
	/* Those go on that only halt() stopped, but for the LWP `but`; 0: all of them.  A process
	 * that is gone is fine. */
	void (*release)(struct mt_target *target, pid_t pid, pid_t but);
	/* IS_OURS knows the addresses of the int3s that the caller puts into the process: a thread
	 * that ran one never stands behind it, not even should we die.  IS_OURS NULL: no more. */
	void (*own_traps)(struct mt_target *target, pid_t pid, mt_target_is_trap *is_ours,
			  void *context);
	/* All LWPs of the process stand still: none will get a SIGTRAP any more by what was asked
	 * of it, a step or the like, not even should we die.  Errors: GONE (one does not stand
	 * still). */
	struct mt_error *(*take_traps)(struct mt_target *target, pid_t pid);
	/* An LWP stands still for a breakpoint: from now on it stands there for nothing that would
	 * be delivered to it should we die.  Errors: GONE. */
	struct mt_error *(*clear_pending_stop)(struct mt_target *target, pid_t lwp);
};

/* Implementations begin with this. */
struct mt_target {
	const struct mt_target_ops *ops;
	/* NULL: somebody else (GDB, the prompt's debugger) lets the threads run and waits for them,
	 * and touches the process only while all of them stand still. */
	const struct mt_run_ops *run;
	/* Told before and after an LWP makes system calls that are not the program's.  NULL: nobody
	 * asks. */
	void (*on_borrow)(void *context, pid_t lwp, bool borrowed);
	void *borrow_context;
	struct mt_held_maps *held_maps; /* see process/maps.h; NULL: none are */
};

/* Threads may change mappings from now on: those that are held are read again. */
void mt_target_maps_changed(struct mt_target *target);

/* See call_systems(). */
static inline struct mt_error *mt_target_call_systems(struct mt_target *target, pid_t lwp,
						      struct mt_system_call *calls, size_t count)
{
	if (target->on_borrow)
		target->on_borrow(target->borrow_context, lwp, true);
	struct mt_error *error = target->ops->call_systems(target, lwp, calls, count);
	mt_target_maps_changed(target);
	if (target->on_borrow)
		target->on_borrow(target->borrow_context, lwp, false);
	return error;
}

static inline struct mt_error *mt_target_call_system(struct mt_target *target, pid_t lwp,
						     struct mt_system_call *call)
{
	return mt_target_call_systems(target, lwp, call, 1);
}

/* Run control for those who work under both: where it is somebody else's, there is nothing to do,
 * and nothing to wait for. */
static inline struct mt_error *mt_target_attach(struct mt_target *target, pid_t pid)
{
	return target->run ? target->run->attach(target, pid) : NULL;
}

static inline struct mt_error *mt_target_detach(struct mt_target *target, pid_t pid)
{
	return target->run ? target->run->detach(target, pid, 0) : NULL;
}

static inline struct mt_error *mt_target_resume(struct mt_target *target, pid_t lwp,
						enum mt_resume how, int signal)
{
	mt_target_maps_changed(target);
	return target->run ? target->run->resume(target, lwp, how, signal) : NULL;
}

static inline struct mt_error *mt_target_wait(struct mt_target *target, int timeout_ms,
					      struct mt_stop *stop)
{
	*stop = (struct mt_stop){.kind = MT_STOP_NONE};
	return target->run ? target->run->wait(target, timeout_ms, stop) : NULL;
}

static inline struct mt_error *mt_target_interrupt(struct mt_target *target, pid_t lwp)
{
	return target->run ? target->run->interrupt(target, lwp) : NULL;
}

static inline struct mt_error *mt_target_halt(struct mt_target *target, pid_t pid)
{
	return target->run ? target->run->halt(target, pid) : NULL;
}

static inline void mt_target_release(struct mt_target *target, pid_t pid)
{
	mt_target_maps_changed(target);
	if (target->run)
		target->run->release(target, pid, 0);
}

static inline void mt_target_release_others(struct mt_target *target, pid_t pid, pid_t but)
{
	mt_target_maps_changed(target);
	if (target->run)
		target->run->release(target, pid, but);
}

static inline struct mt_error *mt_target_clear_pending_stop(struct mt_target *target, pid_t lwp)
{
	return target->run ? target->run->clear_pending_stop(target, lwp) : NULL;
}

#endif
