/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What GDB tells of the program, put into the session's terms. */
#ifndef MT_GDB_PLUGIN_EVENTS_H
#define MT_GDB_PLUGIN_EVENTS_H

#include "base/error.h"

struct mt_error *mt_events_connect(void);

#endif
