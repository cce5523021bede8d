/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `set mtrace …` and `show mtrace …`, of which GDB keeps the values. */
#ifndef MT_GDB_PLUGIN_SETTINGS_H
#define MT_GDB_PLUGIN_SETTINGS_H

#include "live/live.h"

struct mt_error *mt_settings_define(void);
/* "engine", as behind `set mtrace`. */
const char *mt_setting_name(enum mt_live_setting which);
/* See struct mt_live_debugger_ops. */
char *mt_setting(void *context, enum mt_live_setting which);

#endif
