/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A view on the whole terminal.  Keys change a state (keys.c), the state is drawn in rows (draw.c),
 * rows go to the terminal by ncurses (curses.c). */
#ifndef MT_SCREEN_SCREEN_H
#define MT_SCREEN_SCREEN_H

#include "command/command.h"

/* For struct mt_command_context. */
extern const struct mt_command_screen screen_of_terminal;

#endif
