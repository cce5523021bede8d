/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A target over ptrace(2), for mtdb.
 *
 * wait() reaps every child of this process, so whoever starts others must not run while a target
 * waits.  SIGCHLD stays blocked while a target lives: processes started meanwhile must unblock it.
 * One target at a time: while it has processes, signals that would end us are noted, or passed on
 * to a launched program (terminal/ending.h). */
#ifndef MT_PTRACE_TARGET_H
#define MT_PTRACE_TARGET_H

#include "process/target.h"

/* Errors: NO_MEMORY. */
struct mt_error *mt_ptrace_target_create(struct mt_target **out);

#endif
