/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fork and exec, which GDB 13 reports by no event.
 *
 * A child that GDB lets go has the patches, and would write into its parent's ring: so its parent
 * is paused around the system call in the C library's _Fork, by two internal breakpoints.  The
 * first stands where the call's number is loaded: GDB cannot make a checkpoint of a thread that it
 * steps over the system call itself (infrun.c's assertion on displaced stepping).  After exec GDB
 * reads the new program's symbols while it stands before its first instruction. */
#ifndef MT_GDB_PLUGIN_BIRTHS_H
#define MT_GDB_PLUGIN_BIRTHS_H

#include "py.h"

struct mt_inferior;

struct mt_births {
	uint64_t libc;             /* where it begins; 0: it was not seen yet */
	uint64_t address;          /* in front of the system call; 0: it is not watched */
	uint64_t return_address;   /* behind it */
	PyObject *before, *behind; /* breakpoints; NULL: withdrawn */
	unsigned forking;          /* threads that have come to the first, and not to the second */
};

/* Looks for the system call in a process that is recorded; its breakpoints come by RESTORE. */
struct mt_error *mt_births_find(struct mt_inferior *inferior);
/* GDB read the symbols of a file, for the selected inferior. */
struct mt_error *mt_births_new_objfile(void);
/* Removes the breakpoints, until RESTORE when the inferior is selected again. */
void mt_births_withdraw(struct mt_births *births);
struct mt_error *mt_births_restore(struct mt_inferior *inferior);
/* The inferior has stopped.  A child which a thread has forked meanwhile, and GDB has not told of,
 * has our breakpoints in its memory: GDB would let it go with them if it lets its parent go, or if
 * they are not there any more when it tells of it.  So they are taken out. */
struct mt_error *mt_births_clean_pending(struct mt_inferior *inferior);
/* The program ended, or is not recorded any more. */
void mt_births_forget(struct mt_births *births);

#endif
