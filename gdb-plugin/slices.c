/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A call is over long after it began, and the outermost last: so all is decoded before the first
 * slice is given. */
#include "gdb-plugin/slices.h"

#include "base/array.h"
#include "decode/decode.h"
#include "elf/objfile.h"
#include "gdb-plugin/debugger.h"
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/progress.h"
#include "gdb-plugin/inferior/inferior.h"
#include "trace/sink_ops.h"

#include <uthash.h>

#define OPEN     UINT64_MAX
#define UNWANTED SIZE_MAX

struct key {
	const struct mt_function *function; /* NULL: of none */
	const char *name;
	const char *call_file; /* NULL: not known */
	uint64_t call_line;
};

/* Shared by the calls of one function from one line. */
struct site {
	struct key key;  /* while it is decoded */
	bool is_wanted;  /* else that is all */
	PyObject *texts; /* (function, file, line, call_file, call_line) */
	UT_hash_handle hh;
};

struct thread {
	pid_t tid;
	PyObject *name;
	uint64_t kept; /* of its last slices */
	UT_hash_handle hh;
};

struct slice {
	const struct site *site; /* NULL: not one of the last */
	struct thread *thread;
	uint64_t begin_ns, end_ns; /* OPEN: it did not return */
	uint32_t depth;
	uint32_t values; /* their number, from 1; 0: none were recorded */
};

/* Few calls have any. */
struct values {
	char *arguments, *result; /* NULL: not recorded */
};

struct slices {
	PyObject ob_base;
	struct mt_slices_filter filter;
	MT_ARRAY(struct slice) all;
	MT_ARRAY(struct values) values;
	MT_ARRAY(size_t) open; /* whose end is still to come; or UNWANTED */
	struct site *sites;
	struct thread *threads, *thread; /* NULL: nobody that is wanted */
	size_t next;
};

static PyObject *slices_class, *slice_class;

static struct mt_error *no_memory(void)
{
	PyErr_Clear();
	return mt_error_no_memory();
}

static struct mt_error *add_thread(struct slices *slices, const struct mt_thread *which)
{
	struct thread *created = calloc(1, sizeof(*created));

	if (!created)
		return no_memory();
	created->tid = which->tid;
	created->name = mt_py_text_or_none(which->name);
	HASH_ADD_INT(slices->threads, tid, created);
	HASH_FIND_INT(slices->threads, &which->tid, slices->thread);
	if (slices->thread && created->name)
		return NULL;
	if (slices->thread)
		return no_memory(); /* it is destroyed with the others */
	Py_XDECREF(created->name);
	free(created);
	return no_memory();
}

static struct mt_error *take_thread(void *self, const struct mt_thread *which)
{
	struct slices *slices = self;
	const struct mt_slices_filter *filter = &slices->filter;

	slices->thread = NULL;
	if (mt_tid_is_track(which->tid) || (filter->thread && filter->thread != which->tid))
		return NULL;
	HASH_FIND_INT(slices->threads, &which->tid, slices->thread);
	return slices->thread ? NULL : add_thread(slices, which);
}

/* None for 0. */
static PyObject *line_of(uint64_t line)
{
	return line ? PyLong_FromUnsignedLongLong(line) : mt_py_text_or_none(NULL);
}

static PyObject *texts_of(const struct key *key)
{
	const struct mt_source *source = key->function ? &key->function->source : NULL;
	mt_auto(mt_py) PyObject *function = mt_py_text_or_none(key->name);
	mt_auto(mt_py) PyObject *file = mt_py_text_or_none(source ? source->file : NULL);
	mt_auto(mt_py) PyObject *line = line_of(source ? source->line : 0);
	mt_auto(mt_py) PyObject *call_file = mt_py_text_or_none(key->call_file);
	mt_auto(mt_py) PyObject *call_line = line_of(key->call_line);

	if (!function || !file || !line || !call_file || !call_line)
		return NULL;
	return PyTuple_Pack(5, function, file, line, call_file, call_line);
}

static void site_destroy(struct site *site)
{
	Py_XDECREF(site->texts);
	free(site);
}

/* NULL: no memory. */
static struct site *find_site(struct slices *slices, const struct mt_slice *slice)
{
	const char *wanted = slices->filter.function;
	const struct key key = {slice->function, mt_slice_name(slice), slice->call_source.file,
				slice->call_source.line};
	struct site *site = NULL;

	HASH_FIND(hh, slices->sites, &key, sizeof(key), site);
	if (site)
		return site;
	struct site *created = calloc(1, sizeof(*created));
	if (!created)
		return NULL;
	created->key = key;
	created->is_wanted =
	    !wanted || (slice->function && mt_function_matches(slice->function, wanted));
	created->texts = created->is_wanted ? texts_of(&key) : NULL;
	if (created->texts || !created->is_wanted) {
		HASH_ADD(hh, slices->sites, key, sizeof(key), created);
		HASH_FIND(hh, slices->sites, &key, sizeof(key), site);
	}
	if (!site)
		site_destroy(created);
	return site;
}

/* The slice's; NULL: no memory. */
static struct values *values_of(struct slices *slices, struct slice *slice)
{
	const struct values none = {NULL, NULL};

	if (!slice->values && mt_array_push(&slices->values, none) == 0)
		slice->values = (uint32_t)slices->values.count;
	return slice->values ? &slices->values.items[slice->values - 1] : NULL;
}

static struct mt_error *add(struct slices *slices, const struct site *site,
			    const struct mt_slice *slice)
{
	struct slice one = {
	    .site = site,
	    .thread = slices->thread,
	    .begin_ns = slice->time_ns,
	    .end_ns = OPEN,
	    .depth = slice->depth,
	};

	if (slice->arguments) {
		struct values *values = values_of(slices, &one);
		if (!values || !(values->arguments = strdup(slice->arguments)))
			return no_memory();
	}
	return mt_array_push(&slices->all, one) ? no_memory() : NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct slices *slices = self;
	const bool is_in_time =
	    slices->thread && (!slices->filter.end_ns || slice->time_ns < slices->filter.end_ns);
	const struct site *site = is_in_time ? find_site(slices, slice) : NULL;
	const bool is_wanted = site && site->is_wanted;

	if ((is_in_time && !site) ||
	    mt_array_push(&slices->open, is_wanted ? slices->all.count : UNWANTED))
		return no_memory();
	return is_wanted ? add(slices, site, slice) : NULL;
}

/* One that ended before the time that is wanted is the last one: so did all that it called. */
static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct slices *slices = self;
	const size_t index = *mt_array_last(&slices->open);

	slices->open.count--;
	if (index == UNWANTED)
		return NULL;
	struct slice *slice = &slices->all.items[index];
	if (what->time_ns < slices->filter.begin_ns) {
		slices->all.count--;
		return NULL;
	}
	if (!(what->flags & MT_SLICE_END_OPEN))
		slice->end_ns = what->time_ns;
	if (!what->result)
		return NULL;
	struct values *values = values_of(slices, slice);
	return values && (values->result = strdup(what->result)) ? NULL : no_memory();
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = take_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = begin,
    .end = end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

/* All zero, but for the filter.  NULL with an exception. */
static PyObject *create(const struct mt_slices_filter *filter)
{
	PyObject *object = PyType_GenericAlloc((PyTypeObject *)slices_class, 0);

	if (object)
		((struct slices *)object)->filter = *filter;
	return object;
}

static void keep_last(struct slices *slices, uint64_t count)
{
	for (size_t i = slices->all.count; i-- > 0;)
		if (slices->all.items[i].thread->kept++ >= count)
			slices->all.items[i].site = NULL;
}

/* What was lent is no more.  NULL with ERROR as the exception. */
static PyObject *finished(PyObject *object, struct mt_error *error)
{
	struct slices *slices = (struct slices *)object;

	mt_gdb_progress_erase();
	if (error)
		return mt_py_answer(error);
	if (slices->filter.last)
		keep_last(slices, slices->filter.last);
	slices->filter.function = NULL;
	Py_INCREF(object);
	return object;
}

PyObject *mt_slices_create(struct mt_recording *recording, const struct mt_slices_filter *filter)
{
	const struct mt_command_context context = mt_debugger_context();
	const struct mt_decode_options options = {.progress = context.progress,
						  .log = context.log,
						  .tid = filter->thread,
						  .by_threads = true};
	mt_auto(mt_py) PyObject *object = create(filter);

	return object ? finished(object, mt_decode(recording, &options,
						   (struct mt_slice_sink){&sink_ops, object}, NULL))
		      : NULL;
}

PyObject *mt_slices_history(const struct mt_live_history *what)
{
	const struct mt_slices_filter filter = {.function = what->function, .last = what->last};
	const struct mt_live_history all = {.last = what->last,
					    .tid = what->tid,
					    .by_threads = what->by_threads,
					    .is_unfolded = what->is_unfolded};
	mt_auto(mt_py) PyObject *object = create(&filter);
	const struct mt_slice_sink sink = {&sink_ops, object};
	mt_auto(mt_py) PyObject *slices =
	    object ? finished(object, mt_live_history(mt_gdb_debugger(), &all, &sink)) : NULL;

	return slices ? PySequence_List(slices) : NULL;
}

static PyObject *make(const struct slices *slices, const struct slice *slice)
{
	const struct values none = {NULL, NULL};
	const struct values *values =
	    slice->values ? &slices->values.items[slice->values - 1] : &none;
	const bool is_open = slice->end_ns == OPEN;
	mt_auto(mt_py) PyObject *end_ns =
	    is_open ? mt_py_text_or_none(NULL) : PyLong_FromUnsignedLongLong(slice->end_ns);
	mt_auto(mt_py) PyObject *duration_ns =
	    is_open ? mt_py_text_or_none(NULL)
		    : PyLong_FromUnsignedLongLong(slice->end_ns - slice->begin_ns);
	mt_auto(mt_py) PyObject *arguments = mt_py_text_or_none(values->arguments);
	mt_auto(mt_py) PyObject *result = mt_py_text_or_none(values->result);
	PyObject *texts = slice->site->texts;

	if (!end_ns || !duration_ns || !arguments || !result)
		return NULL;
	return PyObject_CallFunction(
	    slice_class, "iIOOOKOOOOOOO", (int)slice->thread->tid, (unsigned)slice->depth,
	    PyTuple_GetItem(texts, 0), PyTuple_GetItem(texts, 1), PyTuple_GetItem(texts, 2),
	    (unsigned long long)slice->begin_ns, end_ns, duration_ns, slice->thread->name,
	    PyTuple_GetItem(texts, 3), PyTuple_GetItem(texts, 4), arguments, result);
}

static PyObject *next(PyObject *self)
{
	struct slices *slices = (struct slices *)self;

	while (slices->next < slices->all.count && !slices->all.items[slices->next].site)
		slices->next++;
	if (slices->next == slices->all.count)
		return NULL;
	PyObject *made = make(slices, &slices->all.items[slices->next]);
	slices->next += made != NULL; /* after Ctrl-C it is the next one still */
	return made;
}

static void dealloc(PyObject *self)
{
	struct slices *slices = (struct slices *)self;
	PyTypeObject *type = Py_TYPE(self);
	struct site *site, *site_after;
	struct thread *thread, *thread_after;

	HASH_ITER (hh, slices->sites, site, site_after) {
		HASH_DEL(slices->sites, site);
		site_destroy(site);
	}
	HASH_ITER (hh, slices->threads, thread, thread_after) {
		HASH_DEL(slices->threads, thread);
		Py_XDECREF(thread->name);
		free(thread);
	}
	mt_array_each (values, &slices->values) {
		free(values->arguments);
		free(values->result);
	}
	mt_array_deinit(&slices->values);
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
    {Py_tp_new, (void *)mt_py_new_refused},
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
    "A call: its thread (the system's thread ID), its depth in the stack, where its function begins\n"
    "and where it was called, its times, and what was recorded of its values.";

struct mt_error *mt_slices_define(PyObject *module)
{
	mt_auto(mt_py) PyObject *collections = PyImport_ImportModule("collections");

	slices_class = PyType_FromSpec(&spec);
	slice_class = collections
			  ? PyObject_CallMethod(collections, "namedtuple", "ss", "Slice",
						"thread depth function file line begin_ns end_ns "
						"duration_ns thread_name call_file call_line "
						"arguments result")
			  : NULL;
	mt_auto(mt_py) PyObject *text = slice_class ? PyUnicode_FromString(doc) : NULL;
	if (!slices_class || !text || PyObject_SetAttrString(slice_class, "__doc__", text) ||
	    PyObject_SetAttrString(module, "Slice", slice_class))
		return mt_py_error();
	return NULL;
}
