/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB has two things no event tells in time: that the program stopped, before that is shown, and by
 * which command it is resumed.  Its documented hooks (hook-stop, hook-next …) do.  A hook that the
 * user has stays: ours is put before it. */
#ifndef MT_GDB_PLUGIN_HOOKS_H
#define MT_GDB_PLUGIN_HOOKS_H

#include "py.h"

/* Put in those that are missing: none yet, or the user defined one of his own meanwhile. */
struct mt_error *mt_hooks_define(void);
/* mtrace._hook(NAME), which they call. */
PyObject *mt_hooks_run(PyObject *self, PyObject *name);

#endif
