/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads facts on a process of this machine from /proc.  Source: proc(5). */
#ifndef MT_PROCESS_PROC_H
#define MT_PROCESS_PROC_H

#include "process/target.h"

/* As the op each_map of a target.  Errors: GONE; SYSTEM; FOUND's. */
struct mt_error *
mt_proc_each_map(pid_t pid, struct mt_error *(*found)(void *context, const struct mt_map *map),
		 void *context);

/* Errors: SYSTEM (there is no /proc, or none of our PID namespace). */
struct mt_error *mt_proc_check(void);

/* For each_written(); -1: it cannot be had. */
int mt_proc_open_pagemap(pid_t pid);
/* The pages of [start, end) into which somebody wrote, until FOUND returns false: the others are,
 * or would be when they are touched, what the mapped files hold.  False: it did, or they are not
 * known. */
bool mt_proc_each_written(int pagemap, uint64_t start, uint64_t end,
			  bool (*found)(void *context, uint64_t page), void *context);

/* Where the program in the process begins (getauxval(3), AT_ENTRY).  0: not known. */
uint64_t mt_proc_entry(pid_t pid);
/* Where its loader is (AT_BASE).  0: it has none, or it is not known. */
uint64_t mt_proc_loader(pid_t pid);

/* Right above its first thread's stack, where the kernel puts the random bytes for AT_RANDOM; 0: it
 * is not known. */
uint64_t mt_proc_stack(pid_t pid);

/* How large stacks may become: of its first thread, and of others as a rule. */
uint64_t mt_proc_stack_bytes(pid_t pid);

/* For how long a thread had a processor, in ns; 0: not known.  Source: Linux,
 * Documentation/scheduler/sched-stats.rst. */
uint64_t mt_proc_cpu_ns(pid_t lwp);

/* The number after KEY in /proc/PID/status; -1: none. */
int mt_proc_status_number(pid_t pid, const char *key);

/* Under seccomp, so that system calls in its name may end it.  What is imposed on us as well (a
 * container's filter) does not count. */
bool mt_proc_is_sandboxed(pid_t lwp);

/* Whether two processes have the same memory.  -1: we may not ask (kcmp), or one is gone. */
int mt_proc_share_memory(pid_t one, pid_t other);

enum mt_signal_action {
	MT_SIGNAL_DEFAULT,
	MT_SIGNAL_IGNORED,
	MT_SIGNAL_CAUGHT,
};

/* DEFAULT when it is not known. */
enum mt_signal_action mt_proc_signal_action(pid_t lwp, int signal);
/* One waits to be delivered to it. */
bool mt_proc_has_signal(pid_t lwp);
/* This one does, and is not blocked. */
bool mt_proc_is_pending(pid_t lwp, int signal);
/* It has the signal blocked. */
bool mt_proc_is_blocked(pid_t lwp, int signal);
/* Whether it is or not. */
bool mt_proc_is_queued(pid_t lwp, int signal);
/* Whether it ends the process, delivered with that action. */
bool mt_signal_is_fatal(int signal, enum mt_signal_action action);

/* Nobody waited for it yet, or it is gone. */
bool mt_proc_has_ended(pid_t lwp);

/* It sleeps in the kernel, and not even a signal wakes it ("D"). */
bool mt_proc_is_uninterruptible(pid_t lwp);

/* It runs, waits for a processor ("R"), or has stopped for its tracer ("t"); else it sleeps, or has
 * ended. */
bool mt_proc_is_at_work(pid_t lwp);

/* It has begun to end, and runs no instruction of its own any more; or it is gone. */
bool mt_proc_is_exiting(pid_t lwp);

/* No thread of the process comes back to its program any more: it was killed, or exits; or it is
 * gone. */
bool mt_proc_is_dying(pid_t pid);

/* The number of the system call that it sleeps in; -1: none, or not known. */
long mt_proc_system_call(pid_t lwp);

/* The thread's name ("comm"); "" when it is not known. */
void mt_proc_name(pid_t lwp, char name[16]);

#endif
