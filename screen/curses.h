/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The terminal by ncurses, which alone this is about: rows out, keys in. */
#ifndef MT_SCREEN_CURSES_H
#define MT_SCREEN_CURSES_H

#include "base/error.h"
#include "screen/state.h"

struct curses;

/* Why there can be no screen: no terminal, or one that cannot be drawn on.  Errors: USAGE. */
struct mt_error *curses_check(void);
/* Takes the terminal: nobody else may write to it until curses_close().
 * Errors: curses_check()'s; SYSTEM; NO_MEMORY. */
struct mt_error *curses_open(struct curses **out);
/* The terminal is as it was. */
void curses_close(struct curses *curses);
/* The same for as long as we are stopped. */
void curses_leave(struct curses *curses);
void curses_enter(struct curses *curses);

/* Where keys come from. */
int curses_input(const struct curses *curses);
/* The size that the terminal has now. */
void curses_size(struct curses *curses, size_t *height, size_t *width);
void curses_put(void *curses, size_t row, enum screen_style style, const char *text);
/* What was put becomes visible. */
void curses_flush(struct curses *curses);
/* Does not wait.  SCREEN_NO_KEY: there is none, or it is of no use. */
int curses_key(struct curses *curses, bool *is_there);

#endif
