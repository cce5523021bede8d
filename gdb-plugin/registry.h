/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace.events: like gdb.events, whose registries Python cannot make. */
#ifndef MT_GDB_PLUGIN_REGISTRY_H
#define MT_GDB_PLUGIN_REGISTRY_H

#include "gdb-plugin/gdb/py.h"
#include "live/live.h"

/* Puts the type, and `events`, into the module. */
struct mt_error *mt_registries_define(PyObject *module);
/* Calls those who wait for snapshots.  What they raise is reported. */
void mt_registries_taken(const struct mt_live_written *snapshot, struct mt_recording *recording);

#endif
