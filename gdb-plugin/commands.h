/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands of core/command that are offered in a debugger, as `mtrace …`. */
#ifndef MT_GDB_PLUGIN_COMMANDS_H
#define MT_GDB_PLUGIN_COMMANDS_H

#include "base/error.h"

struct mt_error *mt_commands_define(void);

#endif
