/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GDB reads of a recorded program's memory and writes into it, where it steps, and what it
 * waits for, answered in the place of the kernel (interpose.h).  So patches may stay in the
 * program's text while people look at it (core/engine/calls/texts/mask.c).
 *
 * A GDB that reaches memory in another way is not heard.  That is found out for each process, and
 * its text is hidden by writing it, as in any other debugger. */
#ifndef MT_GDB_PLUGIN_INFERIOR_READS_H
#define MT_GDB_PLUGIN_INFERIOR_READS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on breakpoints that GDB puts into a recorded program that runs get their place
 * (core/engine/calls/give_way.c), and so do functions that it steps into by a jump
 * (core/engine/calls/step_through.c); it catches no system call of a gate's; and children record
 * nothing (births.h).  False: not children, since this GDB does not call waitpid(2) by its table of
 * functions. */
bool mt_reads_hear(void);
/* From now on what GDB reads of the recorded inferiors is what would be there without us.  False:
 * not of PID. */
bool mt_reads_begin(pid_t pid);
/* Whether GDB has breakpoints in the text of a program that stands for people, as it does with
 * `breakpoint always-inserted`. */
bool mt_reads_may_have_breakpoints(pid_t pid);
/* While it is ON they do not begin, as GDB has breakpoints in the text. */
void mt_reads_bar(bool on);
/* A program is about to be shown, and GDB has let none of its threads go on yet. */
void mt_reads_nothing_ran(void);
/* The programs go on. */
void mt_reads_end(void);
/* Before it begins again: whether GDB may have read text with patches in it, and may keep that. */
bool mt_reads_may_be_kept(void);

#endif
