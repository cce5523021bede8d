/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Children, which GDB 13 reports by no event if it lets them go.
 *
 * A child has its parent's patches, and would write into its parent's ring.  But before GDB knows
 * of it, it hears of the birth from waitpid(2), and so do we (reads.h): the child waits for GDB
 * then, before its first instruction, and gets a GS base that leads to the discard ring.  Its
 * patches stay. */
#ifndef MT_GDB_PLUGIN_INFERIOR_BIRTHS_H
#define MT_GDB_PLUGIN_INFERIOR_BIRTHS_H

#include "base/array.h"
#include "base/error.h"

#include <sys/types.h>

struct mt_inferior;

/* That have memory of their own, and which GDB may not have told of. */
typedef MT_ARRAY(pid_t) mt_births;

/* GDB is about to learn that LWP stopped, by what waitpid(2) gives as STATUS. */
void mt_births_hear(pid_t lwp, int status);
/* GDB keeps CHILD, and tells of it. */
void mt_births_told(mt_births *births, pid_t child);
/* The inferior has stopped.  A child which a thread has forked meanwhile, and GDB has not told of,
 * has our breakpoints in its memory: GDB would let it go with them if it lets its parent go, or if
 * they are not there any more when it tells of it.  So they are taken out. */
struct mt_error *mt_births_clean_pending(struct mt_inferior *inferior);

#endif
