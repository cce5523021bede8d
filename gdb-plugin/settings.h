/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `set mtrace …` and `show mtrace …`: parameters.c makes them, GDB keeps the values. */
#ifndef MT_GDB_PLUGIN_SETTINGS_H
#define MT_GDB_PLUGIN_SETTINGS_H

#include "base/error.h"

enum mt_setting {
	MT_SETTING_ENGINE,
	MT_SETTING_BUFFER_SIZE,
	MT_SETTING_TIMESTAMPS,
	MT_SETTING_EVENTS,
	MT_SETTING_OUTPUT,
	MT_SETTING_ON_CRASH,
	MT_SETTING_HISTORY_SIZE,
	MT_SETTING_COUNT,
};

struct mt_error *mt_settings_define(void);
/* The caller's to free; NULL: it has no value. */
char *mt_setting_text(enum mt_setting setting);
bool mt_setting_is_on(enum mt_setting setting);
long long mt_setting_number(enum mt_setting setting);

#endif
