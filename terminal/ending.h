/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Signals whose default action ends a process, and what becomes of mtdb when one comes: signal(7).
 *
 * While mtdb holds no process, there are only unfinished output files to remove: then the signal
 * takes its default action at once, whatever mtdb does.  Ctrl-C is the exception: the first one
 * asks long work to stop (terminal.h).
 *
 * While it holds one, the signal is noted, and repeated as SIGALRM once a second until it is taken:
 * so no system call of ours waits past it.  Who waits or works for long asks for it, and the
 * process is let go in good order before mtdb ends.
 *
 * A launched program stands for mtdb: what somebody sends to mtdb is passed on to it, but for
 * SIGUSR1 where that asks for a snapshot.  Who sends SIGTERM again is told that it was, and what
 * else there is to do.  What the terminal sends (Ctrl-C, Ctrl-\, a hangup) reaches the whole
 * foreground group, the program too.
 *
 * A crash of our own is the kernel's to handle, as is SIGKILL. */
#ifndef MT_TERMINAL_ENDING_H
#define MT_TERMINAL_ENDING_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* Handles them from now on, but those that are ignored (nohup). */
void ending_init(void);
/* Undoes that, in a child that will execute a program.  Safe after fork(). */
void ending_restore(void);
/* All of them. */
void ending_fill(sigset_t *set);

/* Something of ours is in a process, or in the terminal, until as many calls of ending_release().
 */
void ending_hold(void);
void ending_release(void);
/* Signals are passed on to PID, a launched program; 0: to nobody any more. */
void ending_pass_to(pid_t pid);

/* From now on SIGUSR1 asks for a snapshot, and ends nothing. */
void ending_offer_snapshots(void);
/* It came since the last take. */
bool ending_snapshot_is_requested(void);
bool ending_take_snapshot_request(void);

/* The first signal that came while something was held, and was passed to nobody; 0: none. */
int ending_signal(void);
/* One came since the last take: a process is to be let go.  Passed-on ones do not count, but for
 * Ctrl-C, which asks for a snapshot. */
bool ending_is_requested(void);
bool ending_take_request(void);

/* Long work should stop: a SIGINT, or a signal that ends mtdb and is not the program's. */
bool ending_interrupts(void);

#endif
