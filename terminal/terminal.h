/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtdb's side of the hooks that the core speaks through: results to standard output, words and
 * progress to standard error, Ctrl-C as a wish to stop. */
#ifndef MT_TERMINAL_TERMINAL_H
#define MT_TERMINAL_TERMINAL_H

#include "base/log.h"
#include "base/progress.h"

#include <stdio.h>

struct terminal {
	struct mt_log log;
	struct mt_progress progress;
	bool print_colour; /* of standard output */
	bool tell_colour;  /* of standard error */
	int output_errno;  /* of the first failure to print; 0: none */

	bool shows_progress; /* standard error is a terminal */
	bool progress_shown; /* there is a line to erase */
	char what[32];       /* the work that is reported, since began_ns */
	uint64_t began_ns;
	uint64_t drawn_ns;
};

/* Handles SIGINT and SIGPIPE from now on.  One at a time; it must stay where it is. */
void terminal_init(struct terminal *terminal);
/* Whether a SIGINT came as long as they were handled so; who asks answers it. */
bool terminal_take_interrupt(void);
/* As they were before, for a child that becomes another program.  Safe after fork(). */
void terminal_restore_signals(void);

/* For struct mt_command_context: `context` is the terminal.  After a failure it prints no more. */
void terminal_print(void *context, const char *text);
void terminal_tell(void *context, const char *text);
/* Returns errno of the first failure of standard output, or 0. */
int terminal_flush(struct terminal *terminal);
/* Takes the progress line away: before somebody else writes. */
void terminal_erase_progress(struct terminal *terminal);

#endif
