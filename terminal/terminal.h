/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtdb's side of the core's hooks: results go to standard output, messages and progress to standard
 * error, Ctrl-C interrupts. */
#ifndef MT_TERMINAL_TERMINAL_H
#define MT_TERMINAL_TERMINAL_H

#include "base/log.h"
#include "base/progress.h"

#include <stdio.h>

struct terminal {
	struct mt_log log;
	struct mt_progress progress;
	bool print_colour;  /* of standard output */
	bool report_colour; /* of standard error */
	int output_errno;   /* of the first failure to print; 0: none */

	bool shows_progress; /* standard error is a terminal */
	bool progress_shown; /* there is a progress line to erase */
	char what[32];       /* the work in progress since began_ns */
	uint64_t began_ns;
	uint64_t drawn_ns;
};

/* Handles signals from now on (ending.h).  One at a time; it must not move. */
void terminal_init(struct terminal *terminal);

/* For struct mt_command_context: `context` is the terminal.  After a failure print() does nothing.
 */
/* Columns of the terminal that standard output is, or else standard error; 0: neither is one. */
unsigned terminal_columns(void);
void terminal_print(void *context, const char *text);
void terminal_report(void *context, const char *text);
/* Returns the errno of the first failure to write standard output, or 0. */
int terminal_flush(struct terminal *terminal);
/* Erases the progress line, before anyone else writes. */
void terminal_erase_progress(struct terminal *terminal);

#endif
