/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/registry.h"

#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/snapshot_type.h"

struct registry {
	PyObject ob_base;
	PyObject *functions; /* a list */
};

static PyObject *snapshots; /* mtrace.events.snapshot */

static PyObject *connect(PyObject *self, PyObject *function)
{
	if (!PyCallable_Check(function)) {
		PyErr_SetString(PyExc_RuntimeError, "Function is not callable");
		return NULL;
	}
	if (PyList_Append(((struct registry *)self)->functions, function))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *disconnect(PyObject *self, PyObject *function)
{
	PyObject *functions = ((struct registry *)self)->functions;
	const Py_ssize_t index = PySequence_Index(functions, function);

	if (index < 0)
		PyErr_Clear();
	else if (PySequence_DelItem(functions, index))
		return NULL;
	Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((struct registry *)self)->functions);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"connect", connect, METH_O, "connect(function)\n--\n\nHave FUNCTION called from now on."},
    {"disconnect", disconnect, METH_O, "disconnect(function)\n--\n\nHave it called no more."},
    {NULL, NULL, 0, NULL},
};

static const char doc[] =
    "Functions that are called when something has happened, as those of gdb.events are.";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_new, (void *)mt_py_new_refused},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "mtrace.EventRegistry",
    .basicsize = sizeof(struct registry),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static PyObject *create(PyObject *class)
{
	struct registry *registry = PyObject_New(struct registry, (PyTypeObject *)class);

	if (!registry)
		return NULL;
	registry->functions = PyList_New(0);
	if (registry->functions)
		return (PyObject *)registry;
	Py_DECREF(registry);
	return NULL;
}

struct mt_error *mt_registries_define(PyObject *module)
{
	mt_auto(mt_py) PyObject *class = PyType_FromSpec(&spec);
	mt_auto(mt_py) PyObject *events = class ? PyModule_New("mtrace.events") : NULL;
	mt_auto(mt_py) PyObject *text = PyUnicode_FromString("Registries of events.");

	snapshots = events ? create(class) : NULL;
	if (!snapshots || !text || PyObject_SetAttrString(events, "__doc__", text) ||
	    PyObject_SetAttrString(events, "snapshot", snapshots) ||
	    PyObject_SetAttrString(module, "EventRegistry", class) ||
	    PyObject_SetAttrString(module, "events", events))
		return mt_py_error();
	return NULL;
}

/* Those who are there now: they may connect and disconnect others. */
static void emit(PyObject *registry, PyObject *event)
{
	PyObject *functions = ((struct registry *)registry)->functions;
	mt_auto(mt_py) PyObject *all = event ? PySequence_Tuple(functions) : NULL;
	const Py_ssize_t count = all ? PyTuple_Size(all) : 0;

	if (!all)
		mt_py_print_stack();
	for (Py_ssize_t i = 0; i < count; i++) {
		mt_hold_pause();
		mt_auto(mt_py) PyObject *done =
		    PyObject_CallFunctionObjArgs(PyTuple_GetItem(all, i), event, NULL);
		mt_hold_resume();
		if (!done)
			mt_py_print_stack();
	}
}

void mt_registries_taken(const struct mt_live_written *snapshot, struct mt_recording *recording)
{
	static bool is_emitting; /* one of them has taken it */

	if (is_emitting || PyList_Size(((struct registry *)snapshots)->functions) == 0)
		return;
	is_emitting = true;
	mt_auto(mt_py) PyObject *event =
	    mt_snapshot_object(snapshot->number, snapshot->path, mt_recording_share(recording));
	emit(snapshots, event);
	is_emitting = false;
}
