/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB as the debugger of live/live.h. */
#ifndef MT_GDB_PLUGIN_DEBUGGER_H
#define MT_GDB_PLUGIN_DEBUGGER_H

#include "command/command.h"

/* Fills mt_gdb_debugger() in, before it is used. */
void mt_debugger_define(void);
/* Of the core's commands: prints, warns and stops as gdb.h does. */
struct mt_command_context mt_debugger_context(void);

#endif
