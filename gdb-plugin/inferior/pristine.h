/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts patches back when the program goes on, but for those that must stay out. */
#ifndef MT_GDB_PLUGIN_INFERIOR_PRISTINE_H
#define MT_GDB_PLUGIN_INFERIOR_PRISTINE_H

#include "live/live.h"

/* How the user resumes the program.  GDB's hooks report the ways that matter. */
enum mt_resumption {
	MT_RESUMPTION_FREE,     /* finish, advance … */
	MT_RESUMPTION_CONTINUE, /* without a breakpoint of its own */
	MT_RESUMPTION_NEXT,     /* the functions on the stack are stepped through */
	MT_RESUMPTION_STEP,     /* and so may be any function */
};

/* Before the command runs. */
struct mt_error *mt_pristine_expect(enum mt_resumption how);
/* Shows what may be shown.  IS_SELECTED: it is what the command is about.  IS_FOLLOWED: GDB has
 * just followed a fork to it.  Errors: NO_MEMORY; UNSUPPORTED (nothing is shown up to the next
 * stop, for a reason to be told); the session's. */
struct mt_error *mt_pristine_show(struct mt_live *live, bool is_selected, bool is_followed);
/* Whether it goes on with `next` or its like, and LWP, which stands still, not at a breakpoint of
 * GDB's, over which that would step it. */
bool mt_pristine_steps(pid_t lwp);
/* It has stopped. */
void mt_pristine_expect_nothing(void);

#endif
