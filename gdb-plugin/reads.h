/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GDB reads of a program's memory and writes into it, heard: it calls pread64(2) and
 * pwrite64(2) on /proc/PID/mem by its table of imported functions, in which ours take their place.
 * So patches may stay in the program's text while people look at it
 * (core/engine/calls/texts/mask.c).
 *
 * A GDB that reaches memory in another way is not heard.  That is found out for each process, and
 * its text is hidden by writing it, as in any other debugger. */
#ifndef MT_GDB_PLUGIN_READS_H
#define MT_GDB_PLUGIN_READS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on what GDB reads of the recorded inferiors is what would be there without us.  False:
 * not of PID. */
bool mt_reads_begin(pid_t pid);
/* The programs go on. */
void mt_reads_end(void);
/* Before it begins again: whether GDB may have read text with patches in it, and may keep that. */
bool mt_reads_may_be_kept(void);

#endif
