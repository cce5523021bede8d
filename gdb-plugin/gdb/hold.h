/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ctrl-C while code of ours runs in GDB.
 *
 * GDB's Python raises KeyboardInterrupt out of whatever we ask GDB for then: its answer would be
 * missing, something would be left half done, and at an event the interrupt would end with us
 * instead of the command that the user wants to stop.  So SIGINT waits, blocked, for as long as our
 * code runs; what takes long looks whether it waits. */
#ifndef MT_GDB_PLUGIN_GDB_HOLD_H
#define MT_GDB_PLUGIN_GDB_HOLD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* For what GDB calls at an event: it comes when GDB is in its own code again.  For what users call,
 * and their scripts: it comes as soon as they have their answer, if that is not it. */
enum mt_hold_kind {
	MT_HOLD_OFF,
	MT_HOLD_EVENT,
	MT_HOLD_CALL,
};

struct mt_hold {
	enum mt_hold_kind kind;
	unsigned pauses;
	bool passes_on; /* somebody took it already: it comes at the end all the same */
	uint64_t began_ns;
	sigset_t before;
};

/* In GDB's main thread, until the end of the scope; they nest:
 * mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT); */
struct mt_hold mt_hold_begin(enum mt_hold_kind kind);
void mt_hold_end(const struct mt_hold *outer);
static inline void mt_hold_cleanup(const struct mt_hold *outer)
{
	mt_hold_end(outer);
}

/* For functions of the user's, and what GDB may do for long: they get it as they would without us.
 */
void mt_hold_pause(void);
void mt_hold_resume(void);

/* SIGINT waits, for something of ours that takes long. */
bool mt_hold_is_urgent(void);

/* Somebody took it already; it is to come again at the end. */
void mt_hold_pass_on(void);

#endif
