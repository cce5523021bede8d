/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of the module: mtrace.start(), stop(), snapshot(), history(), values(),
 * triggers(); see mtrace.pyi. */
#ifndef MT_GDB_PLUGIN_API_H
#define MT_GDB_PLUGIN_API_H

#include "gdb-plugin/gdb/py.h"

PyObject *mt_api_start(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *mt_api_stop(PyObject *module, PyObject *ignored);
PyObject *mt_api_snapshot(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *mt_api_history(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *mt_api_values(PyObject *module, PyObject *args, PyObject *keywords);
PyObject *mt_api_triggers(PyObject *module, PyObject *ignored);
extern const char mt_api_start_doc[], mt_api_stop_doc[], mt_api_snapshot_doc[],
    mt_api_history_doc[], mt_api_values_doc[], mt_api_triggers_doc[];

#endif
