/* SPDX-License-Identifier: GPL-3.0-or-later */
/* No event of GDB's reports in time that the program stopped, before that is shown, by which
 * command it is resumed, and that it is about to be let go.  Its documented hooks (hook-stop,
 * hook-next …) do.  They are defined when recording begins.  A hook that the user has stays: ours
 * is put before it.  `define` asks no question because of ours, and `help user-defined` does not
 * list them; `show user` does. */
#ifndef MT_GDB_PLUGIN_INFERIOR_HOOKS_H
#define MT_GDB_PLUGIN_INFERIOR_HOOKS_H

#include "gdb-plugin/gdb/py.h"

/* Defines those that are missing: at first all, later those that the user defined anew.  Not while
 * GDB follows a fork, or reports a stop. */
struct mt_error *mt_hooks_define(void);
/* The same, unless nobody has used `define` since: what is asked of GDB takes a tenth of a stop. */
struct mt_error *mt_hooks_ensure(void);
/* The same, if they are out of the way of a `define` that has ended, or failed. */
struct mt_error *mt_hooks_unveil(void);
/* mtrace._hook(NAME), which the hooks call. */
PyObject *mt_hooks_run(PyObject *self, PyObject *name);

#endif
