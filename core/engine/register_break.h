/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Breakpoints that leave the text as it is, for engines that change nothing of the program: a debug
 * register of each thread, taken as a perf event that stops the thread before the instruction runs.
 * So what is recorded of the thread ends at it, and the instruction runs when the thread goes on.
 */
#ifndef MT_ENGINE_REGISTER_BREAK_H
#define MT_ENGINE_REGISTER_BREAK_H

#include "base/array.h"
#include "process/target.h"

/* Where threads of a process are to stop. */
struct mt_break_site {
	pid_t pid;
	uint64_t address;
};
typedef MT_ARRAY(struct mt_break_site) mt_break_sites;

/* An event that has a thread do so. */
struct mt_register_break {
	uint64_t address;
	uint64_t hits; /* that were reported */
	int fd;
};
/* A thread's. */
typedef MT_ARRAY(struct mt_register_break) mt_register_breaks;

/* What the events of a thread have in common. */
struct mt_register_break_group {
	pid_t lwp;
	int leader;     /* whose AUX area trace each hit pauses; -1: none */
	bool raw_clock; /* as of the leader */
};

/* *IS_NEW: it was not there.  Errors: NO_MEMORY. */
struct mt_error *mt_break_sites_add(mt_break_sites *sites, pid_t pid, uint64_t address,
				    bool *is_new);
void mt_break_sites_remove(mt_break_sites *sites, pid_t pid, uint64_t address);
/* The process called execve. */
void mt_break_sites_forget(mt_break_sites *sites, pid_t pid);

/* On a thread that stands still; one that has ended gets none, without an error.  Errors: as
 * mt_perf_event_open(). */
struct mt_error *mt_register_breaks_add(mt_register_breaks *breaks,
					const struct mt_register_break_group *group,
					uint64_t address);
void mt_register_breaks_remove(mt_register_breaks *breaks, uint64_t address);
void mt_register_breaks_close(mt_register_breaks *breaks);
/* The stop is for the one at *address. */
bool mt_register_breaks_hit(mt_register_breaks *breaks, const struct mt_stop *stop,
			    uint64_t *address);

#endif
