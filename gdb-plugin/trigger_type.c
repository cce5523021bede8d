/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/trigger_type.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/snapshot_type.h"
#include "gdb-plugin/trigger.h"

#include <stdio.h>

struct trigger {
	PyObject ob_base;
	uint32_t number;    /* 0: it could not be set */
	PyObject *callback; /* NULL: none, or it is gone */
};

static PyObject *trigger_class;

/* NULL: it was deleted. */
static struct mt_live_trigger *find(PyObject *self)
{
	mt_array_each (trigger, &mt_gdb_debugger()->triggers)
		if ((*trigger)->number == ((struct trigger *)self)->number)
			return *trigger;
	return NULL;
}

/* NULL with an exception. */
static struct mt_live_trigger *get(PyObject *self)
{
	struct mt_live_trigger *trigger = find(self);

	if (!trigger)
		mt_py_answer(mt_error_new(MT_ERROR_USAGE, "Trigger %u is invalid.",
					  ((struct trigger *)self)->number));
	return trigger;
}

/* The newest trigger takes it; else it is as it was. */
static void settle(struct trigger *object)
{
	const struct mt_live_debugger *debugger = mt_gdb_debugger();
	struct mt_live_trigger *newest =
	    debugger->triggers.count ? *mt_array_last(&debugger->triggers) : NULL;

	if (newest && newest->script == object) {
		Py_INCREF((PyObject *)object);
		object->number = newest->number;
	} else {
		Py_CLEAR(object->callback);
	}
}

static int init(PyObject *self, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"spec", (char *)"condition", (char *)"callback", NULL};
	struct trigger *object = (struct trigger *)self;
	mt_auto(mt_str) struct mt_str text = {0};
	const char *words, *condition = NULL;
	PyObject *callback = Py_None;

	if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|zO", names, &words, &condition,
					 &callback))
		return -1;
	if (object->number || (callback != Py_None && !PyCallable_Check(callback))) {
		PyErr_SetString(PyExc_TypeError, object->number
						     ? "it is a trigger already"
						     : "callback must be callable, or None");
		return -1;
	}
	mt_str_append(&text, words);
	if (condition)
		mt_str_appendf(&text, " if %s", condition);
	if (callback != Py_None) {
		Py_INCREF(callback);
		object->callback = callback;
	}
	struct mt_error *error = text.failed
				     ? mt_error_no_memory()
				     : mt_live_add_trigger(mt_gdb_debugger(), text.text, object);
	settle(object);
	if (!error)
		return 0;
	mt_py_answer(error);
	return -1;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((struct trigger *)self)->callback);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *is_valid(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	const struct mt_live_trigger *trigger = find(self);

	(void)ignored;
	return PyBool_FromLong(trigger && mt_trigger_is_set(NULL, trigger));
}

static PyObject *delete (PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	char number[16];

	(void)ignored;
	if (!get(self))
		return NULL;
	snprintf(number, sizeof(number), "%u", ((struct trigger *)self)->number);
	return mt_py_answer(mt_live_delete_trigger(mt_gdb_debugger(), number));
}

static PyObject *get_number(PyObject *self, void *closure)
{
	(void)closure;
	return PyLong_FromUnsignedLong(((struct trigger *)self)->number);
}

static PyObject *get_location(PyObject *self, void *closure)
{
	const struct mt_live_trigger *trigger = get(self);

	(void)closure;
	return trigger ? mt_py_text_or_none(trigger->spec.location) : NULL;
}

static PyObject *get_condition(PyObject *self, void *closure)
{
	const struct mt_live_trigger *trigger = get(self);

	(void)closure;
	return trigger ? mt_py_text_or_none(trigger->spec.condition) : NULL;
}

static PyObject *get_hits(PyObject *self, void *closure)
{
	const struct mt_live_trigger *trigger = get(self);

	(void)closure;
	return trigger ? PyLong_FromUnsignedLong(trigger->hits) : NULL;
}

static PyObject *get_callback(PyObject *self, void *closure)
{
	PyObject *callback = ((struct trigger *)self)->callback;

	(void)closure;
	if (!callback)
		return mt_py_text_or_none(NULL);
	Py_INCREF(callback);
	return callback;
}

static PyGetSetDef members[] = {
    {(char *)"number", get_number, NULL, (char *)"The number of the trigger.", NULL},
    {(char *)"location", get_location, NULL, (char *)"Where it is, as it was written.", NULL},
    {(char *)"condition", get_condition, NULL, (char *)"Its condition; None if it has none.", NULL},
    {(char *)"hits", get_hits, NULL, (char *)"How many of its hits counted.", NULL},
    {(char *)"callback", get_callback, NULL, (char *)"What is called at each of them.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"is_valid", is_valid, METH_NOARGS,
     "is_valid()\n--\n\nWhether it is there: neither it nor its breakpoint was deleted."},
    {"delete", delete, METH_NOARGS, "delete()\n--\n\nDelete it."},
    {NULL, NULL, 0, NULL},
};

static const char doc[] =
    "Trigger(spec, condition=None, callback=None)\n--\n\n"
    "A trigger, of the words SPEC as the command \"mtrace trigger\" takes them, \"if CONDITION\" among\n"
    "them or not.  At each hit that counts, CALLBACK is called with the trigger and the Snapshot,\n"
    "None if nothing is recorded, where the selected thread stands at the hit.  If it returns\n"
    "something true, or raises, the program stops there.  What gdb.Breakpoint.stop() must not do, it\n"
    "must not do either, except that it may delete triggers.";

static PyType_Slot slots[] = {
    {Py_tp_doc, (void *)doc},
    {Py_tp_init, (void *)init},
    {Py_tp_new, (void *)PyType_GenericNew},
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, members},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "mtrace.Trigger",
    .basicsize = sizeof(struct trigger),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

struct mt_error *mt_trigger_type_define(PyObject *module)
{
	trigger_class = PyType_FromSpec(&spec);
	if (!trigger_class || PyObject_SetAttrString(module, "Trigger", trigger_class))
		return mt_py_error();
	return NULL;
}

/* Lent; NULL with an exception. */
static PyObject *object_of(struct mt_live_trigger *trigger)
{
	if (!trigger->script) {
		struct trigger *object =
		    PyObject_New(struct trigger, (PyTypeObject *)trigger_class);

		if (!object)
			return NULL;
		object->number = trigger->number;
		object->callback = NULL;
		trigger->script = object;
	}
	return trigger->script;
}

PyObject *mt_triggers_list(void)
{
	mt_auto(mt_py) PyObject *list = PyList_New(0);

	if (!list)
		return NULL;
	mt_array_each (trigger, &mt_gdb_debugger()->triggers) {
		PyObject *object = object_of(*trigger);
		if (!object || PyList_Append(list, object))
			return NULL;
	}
	Py_INCREF(list);
	return list;
}

void mt_trigger_forget_object(struct mt_live_trigger *trigger)
{
	struct trigger *object = trigger->script;

	trigger->script = NULL;
	if (!object)
		return;
	Py_CLEAR(object->callback); /* which may know the trigger */
	Py_DECREF((PyObject *)object);
}

struct mt_error *mt_trigger_tell(void *context, const struct mt_live_trigger *trigger,
				 const struct mt_live_written *taken,
				 struct mt_recording *recording, bool *stops)
{
	mt_auto(mt_py) PyObject *callback = get_callback(trigger->script, NULL);
	mt_auto(mt_py) PyObject *snapshot = NULL, *answer = NULL;

	(void)context;
	if (callback == Py_None)
		return NULL;
	snapshot =
	    taken ? mt_snapshot_object(taken->number, taken->path, mt_recording_share(recording))
		  : mt_py_text_or_none(NULL);
	mt_hold_pause();
	if (snapshot)
		answer = PyObject_CallFunctionObjArgs(callback, trigger->script, snapshot, NULL);
	mt_hold_resume();
	const int is_true = answer ? PyObject_IsTrue(answer) : -1;
	if (is_true < 0)
		mt_py_print_stack();
	*stops |= is_true != 0;
	return mt_gdb_interrupted();
}
