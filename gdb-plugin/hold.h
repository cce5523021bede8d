/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C while GDB has code of ours run at its events.
 *
 * GDB's Python raises KeyboardInterrupt out of whatever we ask GDB for then: its answer would be
 * missing, and the interrupt would end with us instead of the command that the user wants to stop.
 * So SIGINT waits, blocked, for as long as our code runs, and comes when GDB is in its own. */
#ifndef MT_GDB_PLUGIN_HOLD_H
#define MT_GDB_PLUGIN_HOLD_H

#include <stdbool.h>

/* For what GDB calls at an event, in its main thread, until the end of the scope; they nest:
 * mt_auto(mt_hold) bool held = mt_hold_begin(); */
bool mt_hold_begin(void);
void mt_hold_end(void);
static inline void mt_hold_cleanup(const bool *held)
{
	(void)held;
	mt_hold_end();
}

/* Functions of the user's get it as they would without us. */
void mt_hold_pause(void);
void mt_hold_resume(void);

/* SIGINT waits, for something of ours that takes long. */
bool mt_hold_is_urgent(void);

/* Somebody took it already; GDB gets one when it is in its own code again. */
void mt_hold_pass_on(void);

#endif
