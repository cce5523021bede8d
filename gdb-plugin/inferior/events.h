/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Passes GDB's events on to the recordings, in the session's terms. */
#ifndef MT_GDB_PLUGIN_INFERIOR_EVENTS_H
#define MT_GDB_PLUGIN_INFERIOR_EVENTS_H

#include "base/error.h"

struct mt_error *mt_events_connect(void);

#endif
