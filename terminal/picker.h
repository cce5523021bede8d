/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Choosing one of many lines in the terminal: fzf(1) where it is installed, else a small finder of
 * our own, drawn below the cursor and wiped away afterwards. */
#ifndef MT_TERMINAL_PICKER_H
#define MT_TERMINAL_PICKER_H

#include "base/error.h"

#include <stddef.h>

/* WHAT: of one item, "process".  For struct mt_command_context; the context is not used.
 * Errors: USAGE (there is no terminal, or nothing to choose from); INTERRUPTED (nothing was
 * chosen); SYSTEM; NO_MEMORY. */
struct mt_error *pick(void *context, const char *what, const char *const *items, size_t count,
		      size_t *chosen);

/* finder.c: our own, on the terminal TTY. */
struct mt_error *find_in_terminal(int tty, const char *what, const char *const *items, size_t count,
				  size_t *chosen);

#endif
