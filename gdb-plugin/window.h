/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The window "mtrace" of GDB's TUI, over the view of live/live.h. */
#ifndef MT_GDB_PLUGIN_WINDOW_H
#define MT_GDB_PLUGIN_WINDOW_H

#include "gdb-plugin/gdb/py.h"

/* Makes the layout "mtrace" known; once it is, or where GDB has no TUI, does nothing.  Nothing else
 * in GDB changes before the user selects it. */
void mt_window_define(void);
/* As draw_window and show_source of struct mt_live_debugger_ops. */
bool mt_window_draw(void *context);
struct mt_error *mt_window_show_source(void *context, const char *file, uint32_t line);

#endif
