/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call is over long after it began, and the outermost last: so all is decoded before the first
 * slice is given. */
#include "slices.h"

#include "base/array.h"
#include "decode/decode.h"
#include "gdb.h"
#include "progress.h"
#include "trace/sink_ops.h"

#include <uthash.h>

#define OPEN UINT64_MAX

struct key {
	const struct mt_function *function; /* NULL: of none */
	const char *name;
};

/* Shared by the slices of one function. */
struct name {
	struct key key; /* while it is decoded */
	PyObject *function, *file, *line;
	UT_hash_handle hh;
};

struct slice {
	struct name *name;
	uint64_t begin_ns, end_ns; /* OPEN: it did not return */
	uint32_t depth;
	pid_t thread;
};

struct slices {
	PyObject ob_base;
	MT_ARRAY(struct slice) all;
	MT_ARRAY(size_t) open; /* whose end is still to come */
	struct name *names;
	pid_t thread;
	size_t next;
};

static PyObject *slices_class, *slice_class;

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	((struct slices *)self)->thread = which->tid;
	return NULL;
}

static void name_destroy(struct name *name)
{
	Py_XDECREF(name->function);
	Py_XDECREF(name->file);
	Py_XDECREF(name->line);
	free(name);
}

static struct name *name_create(const struct key *key)
{
	const struct mt_source *source = key->function ? &key->function->source : NULL;
	struct name *name = calloc(1, sizeof(*name));

	if (!name)
		return NULL;
	name->key = *key;
	name->function = mt_py_text_or_none(key->name);
	name->file = mt_py_text_or_none(source ? source->file : NULL);
	name->line = source && source->line ? PyLong_FromUnsignedLong(source->line)
					    : mt_py_text_or_none(NULL);
	if (name->function && name->file && name->line)
		return name;
	name_destroy(name);
	return NULL;
}

static struct name *find_name(struct slices *slices, const struct mt_slice *slice)
{
	const struct key key = {slice->function, mt_slice_name(slice)};
	struct name *name = NULL;

	HASH_FIND(hh, slices->names, &key, sizeof(key), name);
	if (name)
		return name;
	struct name *created = name_create(&key);
	if (!created)
		return NULL;
	HASH_ADD(hh, slices->names, key, sizeof(key), created);
	HASH_FIND(hh, slices->names, &key, sizeof(key), name);
	if (!name)
		name_destroy(created);
	return name;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct slices *slices = self;
	const struct slice one = {
	    .name = find_name(slices, slice),
	    .begin_ns = slice->time_ns,
	    .end_ns = OPEN,
	    .depth = (uint32_t)slices->open.count,
	    .thread = slices->thread,
	};

	if (!one.name || mt_array_push(&slices->open, slices->all.count) ||
	    mt_array_push(&slices->all, one)) {
		PyErr_Clear();
		return mt_error_no_memory();
	}
	return NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct slices *slices = self;

	if (!(what->flags & MT_SLICE_END_OPEN))
		slices->all.items[*mt_array_last(&slices->open)].end_ns = what->time_ns;
	slices->open.count--;
	return NULL;
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = begin,
    .end = end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

PyObject *mt_slices_create(struct mt_recording *recording)
{
	const struct mt_command_context context = mt_gdb_context();
	const struct mt_decode_options options = {.progress = context.progress, .log = context.log};
	mt_auto(mt_py) PyObject *object =
	    PyType_GenericAlloc((PyTypeObject *)slices_class, 0); /* all zero */

	if (!object)
		return NULL;
	struct mt_error *error =
	    mt_decode(recording, &options, (struct mt_slice_sink){&sink_ops, object}, NULL);
	mt_gdb_progress_erase();
	if (error)
		return mt_py_answer(error);
	Py_INCREF(object);
	return object;
}

static PyObject *next(PyObject *self)
{
	struct slices *slices = (struct slices *)self;

	if (slices->next >= slices->all.count)
		return NULL;
	const struct slice *slice = &slices->all.items[slices->next++];
	mt_auto(mt_py) PyObject *end_ns = slice->end_ns == OPEN
					      ? mt_py_text_or_none(NULL)
					      : PyLong_FromUnsignedLongLong(slice->end_ns);
	return end_ns ? PyObject_CallFunction(slice_class, "iIOOOKO", (int)slice->thread,
					      (unsigned)slice->depth, slice->name->function,
					      slice->name->file, slice->name->line,
					      (unsigned long long)slice->begin_ns, end_ns)
		      : NULL;
}

static void dealloc(PyObject *self)
{
	struct slices *slices = (struct slices *)self;
	PyTypeObject *type = Py_TYPE(self);
	struct name *name, *after;

	HASH_ITER (hh, slices->names, name, after) {
		HASH_DEL(slices->names, name);
		name_destroy(name);
	}
	mt_array_deinit(&slices->all);
	mt_array_deinit(&slices->open);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *same(PyObject *self)
{
	Py_INCREF(self);
	return self;
}

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_iter, (void *)same},
    {Py_tp_iternext, (void *)next},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "mtrace._Slices",
    .basicsize = sizeof(struct slices),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

static const char doc[] =
    "A call: its thread (the system's thread ID), its depth in the stack, and its times.";

struct mt_error *mt_slices_define(PyObject *module)
{
	mt_auto(mt_py) PyObject *collections = PyImport_ImportModule("collections");

	slices_class = PyType_FromSpec(&spec);
	slice_class = collections
			  ? PyObject_CallMethod(collections, "namedtuple", "ss", "Slice",
						"thread depth function file line begin_ns end_ns")
			  : NULL;
	mt_auto(mt_py) PyObject *text = slice_class ? PyUnicode_FromString(doc) : NULL;
	if (!slices_class || !text || PyObject_SetAttrString(slice_class, "__doc__", text) ||
	    PyObject_SetAttrString(module, "Slice", slice_class))
		return mt_py_error();
	return NULL;
}
