/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The module `mtrace` of GDB's Python: everything is made when it is imported. */
#include "gdb-plugin/api.h"
#include "gdb-plugin/commands.h"
#include "gdb-plugin/debugger.h"
#include "gdb-plugin/gdb/py.h"
#include "gdb-plugin/inferior/events.h"
#include "gdb-plugin/inferior/hooks.h"
#include "gdb-plugin/mi.h"
#include "gdb-plugin/registry.h"
#include "gdb-plugin/settings.h"
#include "gdb-plugin/snapshot_type.h"
#include "gdb-plugin/trigger.h"
#include "gdb-plugin/trigger_type.h"

static struct mt_error *set_up(PyObject *module)
{
	mt_debugger_define();
	mt_try(mt_py_error_define(module));
	mt_try(mt_snapshot_type_define(module));
	mt_try(mt_registries_define(module));
	mt_try(mt_commands_define());
	mt_try(mt_mi_define());
	mt_try(mt_settings_define());
	mt_try(mt_triggers_define());
	mt_try(mt_trigger_type_define(module));
	return mt_events_connect();
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void *)mt_api_start, METH_VARARGS | METH_KEYWORDS, mt_api_start_doc},
    {"stop", mt_api_stop, METH_NOARGS, mt_api_stop_doc},
    {"snapshot", (PyCFunction)(void *)mt_api_snapshot, METH_VARARGS | METH_KEYWORDS,
     mt_api_snapshot_doc},
    {"history", (PyCFunction)(void *)mt_api_history, METH_VARARGS | METH_KEYWORDS,
     mt_api_history_doc},
    {"values", (PyCFunction)(void *)mt_api_values, METH_VARARGS | METH_KEYWORDS, mt_api_values_doc},
    {"triggers", mt_api_triggers, METH_NOARGS, mt_api_triggers_doc},
    {"_hook", mt_hooks_run, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "mtrace",
    .m_doc =
	"Record the function calls of the program that GDB debugs.  Failures raise mtrace.Error.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_mtrace(void);
PyMODINIT_FUNC PyInit_mtrace(void)
{
	mt_auto(mt_py) PyObject *module = PyModule_Create(&definition);
	struct mt_error *error = module ? set_up(module) : NULL;

	if (error)
		return mt_py_answer(error);
	Py_XINCREF(module);
	return module;
}
