/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/snapshot_type.h"

#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/slices.h"

struct snapshot {
	PyObject ob_base;
	unsigned number;
	char *path;
	struct mt_recording *recording;
};

static PyObject *snapshot_class;

static PyObject *iterate(PyObject *self)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	const struct mt_slices_filter all = {0};

	return mt_slices_create(((struct snapshot *)self)->recording, &all);
}

static PyObject *slices(PyObject *self, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"function", (char *)"thread", (char *)"begin_ns",
				(char *)"end_ns", NULL};
	struct mt_slices_filter filter = {0};
	uint64_t thread = 0;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zO&O&O&", names, &filter.function,
					 mt_py_optional_number, &thread, mt_py_optional_number,
					 &filter.begin_ns, mt_py_optional_number, &filter.end_ns))
		return NULL;
	filter.thread = (pid_t)thread;
	return mt_slices_create(((struct snapshot *)self)->recording, &filter);
}

static void dealloc(PyObject *self)
{
	struct snapshot *snapshot = (struct snapshot *)self;
	PyTypeObject *type = Py_TYPE(self);

	mt_recording_close(snapshot->recording);
	free(snapshot->path);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *get_path(PyObject *self, void *closure)
{
	(void)closure;
	return mt_py_text_or_none(((struct snapshot *)self)->path);
}

static PyObject *get_number(PyObject *self, void *closure)
{
	(void)closure;
	return PyLong_FromUnsignedLong(((struct snapshot *)self)->number);
}

static PyGetSetDef members[] = {
    {(char *)"path", get_path, NULL, (char *)"The path of its timeline.", NULL},
    {(char *)"number", get_number, NULL, (char *)"The number of the snapshot, from 1.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"slices", (PyCFunction)(void *)slices, METH_VARARGS | METH_KEYWORDS,
     "slices(function=None, thread=None, begin_ns=None, end_ns=None)\n--\n\n"
     "An iterator over the slices of FUNCTION, whose name may be a glob and may lack parameters\n"
     "and namespaces, of THREAD, and of those that ran between the times BEGIN_NS and END_NS.  No\n"
     "objects are made of others."},
    {NULL, NULL, 0, NULL},
};

static const char snapshot_doc[] =
    "What was recorded up to a given time.  Iterating yields its slices (Slice) by thread, in the "
    "order in which they began.";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)snapshot_doc},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_new, (void *)mt_py_new_refused},
    {Py_tp_iter, (void *)iterate},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "mtrace.Snapshot",
    .basicsize = sizeof(struct snapshot),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

struct mt_error *mt_snapshot_type_define(PyObject *module)
{
	snapshot_class = PyType_FromSpec(&spec);
	if (!snapshot_class || PyObject_SetAttrString(module, "Snapshot", snapshot_class))
		return mt_py_error();
	return mt_slices_define(module);
}

PyObject *mt_snapshot_object(unsigned number, const char *path, struct mt_recording *recording)
{
	struct snapshot *snapshot = PyObject_New(struct snapshot, (PyTypeObject *)snapshot_class);

	if (!snapshot) {
		mt_recording_close(recording);
		return NULL;
	}
	snapshot->number = number;
	snapshot->path = strdup(path);
	snapshot->recording = recording;
	return (PyObject *)snapshot;
}
