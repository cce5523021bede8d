/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack of the thread that `next` and its like resume. */
#ifndef MT_GDB_PLUGIN_INFERIOR_STACK_H
#define MT_GDB_PLUGIN_INFERIOR_STACK_H

#include "live/live.h"

/* Adds the functions on the selected thread's stack to those that are STEPPED through.  Errors:
 * NO_MEMORY; GDB's. */
struct mt_error *mt_stack_step_through(struct mt_live_alone *stepped);
/* The thread is resumed in another way, behind which its stack is not the same. */
void mt_stack_forget(void);

#endif
