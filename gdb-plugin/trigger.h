/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Triggers: breakpoints of GDB's at which a snapshot is taken. */
#ifndef MT_GDB_PLUGIN_TRIGGER_H
#define MT_GDB_PLUGIN_TRIGGER_H

#include "py.h"

/* Defines the functions that their conditions call. */
struct mt_error *mt_triggers_define(void);
/* A dict each; NULL with an exception. */
PyObject *mt_triggers_list(void);
/* A line each, for `mtrace info`. */
void mt_triggers_print(void);

#endif
