/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace.Snapshot and mtrace.Slice. */
#ifndef MT_GDB_PLUGIN_SNAPSHOT_TYPE_H
#define MT_GDB_PLUGIN_SNAPSHOT_TYPE_H

#include "gdb-plugin/gdb/py.h"
#include "perf/recording.h"

/* Puts the types into the module. */
struct mt_error *mt_snapshot_type_define(PyObject *module);
/* A Snapshot; it takes the recording, also when it fails.  NULL with an exception. */
PyObject *mt_snapshot_object(unsigned number, const char *path, struct mt_recording *recording);

#endif
