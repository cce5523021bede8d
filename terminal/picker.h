/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lets the user choose one of many lines in the terminal: with fzf(1) where it is installed, else
 * with a small finder of our own, drawn below the cursor and erased afterwards. */
#ifndef MT_TERMINAL_PICKER_H
#define MT_TERMINAL_PICKER_H

#include "base/error.h"

#include <stddef.h>

/* WHAT names an item: "process".  For struct mt_command_context; the context is not used.
 * Errors: USAGE (there is no terminal, or nothing to choose from); INTERRUPTED (nothing was
 * chosen); SYSTEM; NO_MEMORY. */
struct mt_error *pick(void *context, const char *what, const char *const *items, size_t count,
		      size_t *chosen);

/* Our own finder (finder.c), on the terminal TTY. */
struct mt_error *find_in_terminal(int tty, const char *what, const char *const *items, size_t count,
				  size_t *chosen);

#endif
