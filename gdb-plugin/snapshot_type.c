/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "snapshot_type.h"

#include "base/array.h"
#include "gdb.h"
#include "target/decode.h"

struct snapshot {
	PyObject ob_base;
	unsigned number;
	char *path;
	struct mt_recording *recording;
};

static PyObject *snapshot_class, *slice_class;

/* A slice whose end is still to come. */
struct pending {
	Py_ssize_t index; /* in the list */
	PyObject *function, *file;
	uint32_t line;
	uint64_t begin_ns;
};

struct builder {
	PyObject *list;
	pid_t thread;
	MT_ARRAY(struct pending) open;
};

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	((struct builder *)self)->thread = which->tid;
	return NULL;
}

static struct mt_error *ignore_segment(void *self, const struct mt_segment *segment)
{
	(void)self;
	(void)segment;
	return NULL;
}

static struct mt_error *ignore_instant(void *self, const struct mt_instant *instant)
{
	(void)self;
	(void)instant;
	return NULL;
}

static PyObject *text_or_none(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	mt_auto(mt_py) PyObject *bytes = PyBytes_FromString(text);
	PyObject *string = bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "replace") : NULL;

	if (string)
		PyUnicode_InternInPlace(&string);
	return string;
}

/* In the list its place is kept, so that slices come in the order of their begins. */
static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct builder *builder = self;
	const struct mt_source *source = slice->function ? &slice->function->source : NULL;
	struct pending pending = {
	    .index = PyList_Size(builder->list),
	    .function = text_or_none(mt_slice_name(slice)),
	    .file = text_or_none(source ? source->file : NULL),
	    .line = source ? source->line : 0,
	    .begin_ns = slice->time_ns,
	};

	if (pending.function && pending.file && !PyList_Append(builder->list, Py_None) &&
	    !mt_array_push(&builder->open, pending))
		return NULL;
	Py_XDECREF(pending.function);
	Py_XDECREF(pending.file);
	return mt_py_error();
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct builder *builder = self;
	struct pending *pending = mt_array_last(&builder->open);
	mt_auto(mt_py) PyObject *function = pending->function;
	mt_auto(mt_py) PyObject *file = pending->file;
	mt_auto(mt_py) PyObject *none = text_or_none(NULL);
	mt_auto(mt_py) PyObject *end_ns = what->flags & MT_SLICE_END_OPEN
					      ? text_or_none(NULL)
					      : PyLong_FromUnsignedLongLong(what->time_ns);
	mt_auto(mt_py) PyObject *line =
	    pending->line ? PyLong_FromUnsignedLong(pending->line) : text_or_none(NULL);
	PyObject *slice = PyObject_CallFunction(
	    slice_class, "iIOOOKO", (int)builder->thread, (unsigned)builder->open.count - 1,
	    function, file, line, (unsigned long long)pending->begin_ns, end_ns);

	builder->open.count--;
	/* It takes the reference. */
	return slice && !PyList_SetItem(builder->list, pending->index, slice) ? NULL
									      : mt_py_error();
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = thread,
    .segment_begin = ignore_segment,
    .begin = begin,
    .end = end,
    .instant = ignore_instant,
    .segment_end = ignore_segment,
};

static void builder_deinit(struct builder *builder)
{
	mt_array_each (pending, &builder->open) {
		Py_XDECREF(pending->function);
		Py_XDECREF(pending->file);
	}
	mt_array_deinit(&builder->open);
}

static PyObject *slices(PyObject *self)
{
	const struct snapshot *snapshot = (struct snapshot *)self;
	const struct mt_command_context context = mt_gdb_context();
	const struct mt_decode_options options = {.progress = context.progress, .log = context.log};
	struct builder builder = {.list = PyList_New(0)};
	struct mt_error *error = NULL;

	if (!builder.list)
		return NULL;
	error = mt_decode(snapshot->recording, &options,
			  (struct mt_slice_sink){&sink_ops, &builder}, NULL);
	builder_deinit(&builder);
	mt_auto(mt_py) PyObject *list = builder.list;
	return error ? mt_py_answer(error) : PyObject_GetIter(list);
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
	return text_or_none(((struct snapshot *)self)->path);
}

static PyObject *get_number(PyObject *self, void *closure)
{
	(void)closure;
	return PyLong_FromUnsignedLong(((struct snapshot *)self)->number);
}

static PyGetSetDef members[] = {
    {(char *)"path", get_path, NULL, (char *)"The file of its timeline.", NULL},
    {(char *)"number", get_number, NULL, (char *)"Counted from 1.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static const char snapshot_doc[] =
    "What was recorded up to a moment.  Iterating gives its slices (Slice), by thread, and in the "
    "order in which they began.";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)snapshot_doc},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_iter, (void *)slices},
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
	mt_auto(mt_py) PyObject *collections = PyImport_ImportModule("collections");

	snapshot_class = PyType_FromSpec(&spec);
	slice_class = collections
			  ? PyObject_CallMethod(collections, "namedtuple", "ss", "Slice",
						"thread depth function file line begin_ns end_ns")
			  : NULL;
	if (!snapshot_class || !slice_class ||
	    PyObject_SetAttrString(module, "Snapshot", snapshot_class) ||
	    PyObject_SetAttrString(module, "Slice", slice_class))
		return mt_py_error();
	return NULL;
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
