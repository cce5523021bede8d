/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The slices of a recording, as an iterator of Python's.  Little is kept of each; its object is
 * made when it is asked for. */
#ifndef MT_GDB_PLUGIN_SLICES_H
#define MT_GDB_PLUGIN_SLICES_H

#include "py.h"

#include "perf/recording.h"

/* mtrace.Slice */
struct mt_error *mt_slices_define(PyObject *module);
/* By thread, and in the order of their begins.  NULL with an exception. */
PyObject *mt_slices_create(struct mt_recording *recording);

#endif
