/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target over GDB.  GDB owns run control: it launches, waits and resumes, and its owner reports
 * what happened.  What is left is memory, by /proc/PID/mem, and registers, by the ptrace
 * of GDB's main thread, which we run on; GDB keeps copies of registers, so what was changed under
 * it has to be made known by mt_gdb_target_flush(), where GDB can bear it: within a command or a
 * hook, but not while it resumes or examines the program.
 *
 * Signals, births and ends are reported by the owner of the target. */
#ifndef MT_GDB_PLUGIN_GDB_TARGET_H
#define MT_GDB_PLUGIN_GDB_TARGET_H

#include "process/target.h"

/* Whose it is.  All of it is filled in. */
struct mt_gdb_target_hooks {
	/* A thread came to the address that was last given to watch_libraries(). */
	struct mt_error *(*libraries)(void *context, pid_t lwp);
	/* See struct mt_target_ops. */
	bool (*masks_reads)(pid_t pid);
};

struct mt_error *mt_gdb_target_create(const struct mt_gdb_target_hooks *hooks, void *context,
				      struct mt_target **out);
/* Of a thread of GDB's: else it runs, or has ended. */
bool mt_gdb_target_stands_still(pid_t lwp);
/* The process that is recorded. */
void mt_gdb_target_set_pid(struct mt_target *target, pid_t pid);
/* Without its breakpoint until RESTORE, when its inferior is selected again. */
void mt_gdb_target_withdraw(struct mt_target *target);
struct mt_error *mt_gdb_target_restore(struct mt_target *target);
/* No libraries are reported any more. */
void mt_gdb_target_let_go(struct mt_target *target);
/* Has GDB read memory again, and the registers that `target` changed. */
struct mt_error *mt_gdb_target_moved(struct mt_target *target);
struct mt_error *mt_gdb_target_flush(struct mt_target *target);
/* The same, and the frame that the user has selected stays. */
struct mt_error *mt_gdb_target_flush_in_command(struct mt_target *target);
/* The program goes on: GDB forgets what it has kept of its memory. */
void mt_gdb_target_goes_on(struct mt_target *target);
/* As mt_gdb_target_flush(), but memory only if something was written since it went on last, or GDB
 * may have kept what it read. */
struct mt_error *mt_gdb_target_flush_kept(struct mt_target *target, bool may_be_kept);

#endif
