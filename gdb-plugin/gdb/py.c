/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/py.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"

#include <stdio.h>
#include <string.h>

#define CONTEXT_NAME "mtrace.context"
#define OURS         "_is_of_mtrace" /* an attribute of breakpoints */

static PyObject *error_class; /* mtrace.Error */

struct mt_error *mt_py_error_define(PyObject *module)
{
	mt_auto(mt_py) PyObject *line = mt_py_gdb("GdbError");
	mt_auto(mt_py) PyObject *error = mt_py_gdb("error");
	mt_auto(mt_py) PyObject *bases = line && error ? Py_BuildValue("(OO)", line, error) : NULL;

	if (bases)
		error_class = PyErr_NewExceptionWithDoc(
		    "mtrace.Error", "A failure of mtrace.  Commands print it as a line.", bases,
		    NULL);
	if (!error_class || PyObject_SetAttrString(module, "Error", error_class))
		return mt_py_error();
	return NULL;
}

static char *message_of(PyObject *type, PyObject *value)
{
	mt_auto(mt_py) PyObject *text = value ? PyObject_Str(value) : PyObject_Str(type);
	char *message = text ? mt_py_text(text) : NULL;

	PyErr_Clear();
	return message;
}

static bool is_of_gdb(PyObject *type)
{
	mt_auto(mt_py) PyObject *error = mt_py_gdb("error");
	mt_auto(mt_py) PyObject *ours = mt_py_gdb("GdbError");

	return error && ours &&
	       (PyErr_GivenExceptionMatches(type, error) ||
		PyErr_GivenExceptionMatches(type, ours));
}

struct mt_error *mt_py_error(void)
{
	mt_auto(mt_py) PyObject *type = NULL, *value = NULL, *traceback = NULL;
	struct mt_error *error;
	char *message;

	PyErr_Fetch(&type, &value, &traceback);
	if (!type)
		return mt_error_new(MT_ERROR_INTERNAL, "GDB gave neither a result nor an error");
	if (PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt))
		return mt_error_new(MT_ERROR_INTERRUPTED, "interrupted");
	if (PyErr_GivenExceptionMatches(type, PyExc_MemoryError))
		return mt_error_no_memory();
	message = message_of(type, value);
	error = mt_error_new(is_of_gdb(type) ? MT_ERROR_USAGE : MT_ERROR_INTERNAL, "%s",
			     message ? message : "GDB's Python failed");
	free(message);
	return error;
}

PyObject *mt_py_answer(struct mt_error *error)
{
	mt_auto(mt_error) struct mt_error *taken = error;

	if (!error)
		Py_RETURN_NONE;
	if (mt_error_code(error) == MT_ERROR_INTERRUPTED) {
		mt_error_destroy(mt_gdb_interrupted()); /* it is reported now */
		PyErr_SetNone(PyExc_KeyboardInterrupt);
		return NULL;
	}
	Py_XINCREF(error_class);
	mt_auto(mt_py) PyObject *class = error_class ? error_class : mt_py_gdb("GdbError");
	if (class)
		PyErr_SetString(class, mt_error_message(taken));
	return NULL;
}

PyObject *mt_py_report(struct mt_error *error)
{
	if (mt_gdb_is_interrupted())
		mt_hold_pass_on();
	mt_error_destroy(mt_gdb_interrupted());
	if (error)
		mt_gdb_warn(mt_error_message(error));
	mt_error_destroy(error);
	Py_RETURN_NONE;
}

/* A type keeps the names that were looked up in it; and we keep those that we look up at each
 * stop, by where they stand. */
PyObject *mt_py_get(PyObject *object, const char *name)
{
	static struct {
		char name[32];
		PyObject *interned;
	} kept[64];
	const size_t slot = ((uintptr_t)name >> 2) % (sizeof(kept) / sizeof(kept[0]));

	if (kept[slot].interned && strcmp(kept[slot].name, name) == 0)
		return PyObject_GetAttr(object, kept[slot].interned);
	PyObject *interned = PyUnicode_InternFromString(name);
	PyObject *value = interned ? PyObject_GetAttr(object, interned) : NULL;
	if (strlen(name) >= sizeof(kept[slot].name)) {
		Py_XDECREF(interned);
		return value;
	}
	Py_XDECREF(kept[slot].interned);
	strcpy(kept[slot].name, name);
	kept[slot].interned = interned;
	return value;
}

static void print_message(PyObject *type, PyObject *value)
{
	mt_auto(mt_py) PyObject *name = PyObject_Str(type);
	char *class = name ? mt_py_text(name) : NULL, *message = message_of(type, value);
	mt_auto(mt_str) struct mt_str line = {0};

	mt_str_appendf(&line, "Python Exception %s: %s\n", class ? class : "",
		       message ? message : "");
	mt_gdb_print_error(line.text ? line.text : "Error occurred in Python.\n");
	free(class);
	free(message);
}

void mt_py_print_stack(void)
{
	mt_auto(mt_py) PyObject *type = NULL, *value = NULL, *traceback = NULL;

	PyErr_Fetch(&type, &value, &traceback);
	if (!type || PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt)) {
		if (type)
			mt_gdb_interrupt();
		return;
	}
	mt_auto(mt_py) PyObject *how = mt_py_call_gdb("parameter", "(s)", "python print-stack");
	char *wanted = how ? mt_py_text(how) : NULL;
	PyErr_Clear();
	if (wanted && strcmp(wanted, "full") == 0) {
		PyErr_Restore(type, value, traceback);
		type = value = traceback = NULL;
		PyErr_Print();
	} else if (!wanted || strcmp(wanted, "none") != 0) {
		print_message(type, value);
	}
	free(wanted);
}

PyObject *mt_py_gdb(const char *name)
{
	static PyObject *gdb; /* an import takes as long as a question */

	if (!gdb)
		gdb = PyImport_ImportModule("gdb");
	return gdb ? mt_py_get(gdb, name) : NULL;
}

PyObject *mt_py_call_gdb(const char *name, const char *format, ...)
{
	mt_auto(mt_py) PyObject *function = mt_py_gdb(name);
	va_list args;

	if (!function)
		return NULL;
	va_start(args, format);
	mt_auto(mt_py) PyObject *arguments = Py_VaBuildValue(format, args);
	va_end(args);
	return arguments ? PyObject_CallObject(function, arguments) : NULL;
}

char *mt_py_text(PyObject *text)
{
	mt_auto(mt_py) PyObject *bytes = PyUnicode_AsUTF8String(text);
	const char *string = bytes ? PyBytes_AsString(bytes) : NULL;

	PyErr_Clear();
	return string ? strdup(string) : NULL;
}

PyObject *mt_py_text_or_none(const char *text)
{
	if (!text)
		Py_RETURN_NONE;
	mt_auto(mt_py) PyObject *bytes = PyBytes_FromString(text);
	PyObject *string = bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "replace") : NULL;

	if (string)
		PyUnicode_InternInPlace(&string);
	return string;
}

long long mt_py_number(PyObject *object, const char *attribute, long long otherwise)
{
	mt_auto(mt_py) PyObject *value = mt_py_get(object, attribute);
	long long number = value ? PyLong_AsLongLong(value) : otherwise;

	if (PyErr_Occurred()) {
		PyErr_Clear();
		return otherwise;
	}
	return number;
}

int mt_py_optional_number(PyObject *number, void *out)
{
	uint64_t *value = out;

	if (number != Py_None)
		*value = PyLong_AsUnsignedLongLong(number);
	return !PyErr_Occurred();
}

PyObject *mt_py_new_refused(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
	(void)args;
	(void)keywords;
	PyErr_Format(PyExc_TypeError, "cannot create instances of %R", type);
	return NULL;
}

PyObject *mt_py_class(const char *name, const char *base, PyObject *attributes)
{
	mt_auto(mt_py) PyObject *parent = mt_py_gdb(base);

	if (!parent || !attributes)
		return NULL;
	return PyObject_CallFunction((PyObject *)&PyType_Type, "s(O)O", name, parent, attributes);
}

PyObject *mt_py_function(PyMethodDef *definition, void *context)
{
	mt_auto(mt_py) PyObject *capsule =
	    context ? PyCapsule_New(context, CONTEXT_NAME, NULL) : NULL;

	return PyCFunction_NewEx(definition, capsule, NULL);
}

void *mt_py_context(PyObject *self)
{
	return PyCapsule_GetPointer(self, CONTEXT_NAME);
}

static PyObject *all_breakpoints; /* gdb.breakpoints, as it was */

static PyObject *without_ours(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_py) PyObject *all = PyObject_CallObject(all_breakpoints, NULL);
	mt_auto(mt_py) PyObject *rest = all ? PyList_New(0) : NULL;
	Py_ssize_t count = rest ? PySequence_Size(all) : 0;

	(void)self;
	(void)ignored;
	for (Py_ssize_t i = 0; i < count; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(all, i);
		if (!one || (!PyObject_HasAttrString(one, OURS) && PyList_Append(rest, one)))
			return NULL;
	}
	return rest ? PyList_AsTuple(rest) : NULL;
}

/* Other scripts are not to meet with our breakpoints, which GDB has among all that Python made. */
static int hide_ours(void)
{
	static PyMethodDef definition = {"breakpoints", without_ours, METH_NOARGS,
					 "breakpoints () -> Tuple.\n"
					 "Return a tuple of all breakpoints."};

	if (all_breakpoints)
		return 0;
	mt_auto(mt_py) PyObject *gdb = PyImport_ImportModule("gdb");
	mt_auto(mt_py) PyObject *ours = mt_py_function(&definition, NULL);
	all_breakpoints = gdb && ours ? mt_py_get(gdb, "breakpoints") : NULL;
	return all_breakpoints ? PyObject_SetAttrString(gdb, "breakpoints", ours) : -1;
}

static unsigned long breakpoint_changes;

void mt_py_breakpoints_changed(void)
{
	breakpoint_changes++;
}

unsigned long mt_py_breakpoint_changes(void)
{
	return breakpoint_changes;
}

PyObject *mt_py_breakpoint(uint64_t address, PyMethodDef *stop, void *context)
{
	mt_auto(mt_py) PyObject *function = mt_py_function(stop, context);
	mt_auto(mt_py) PyObject *attributes =
	    function ? Py_BuildValue("{s:O,s:O}", "stop", function, OURS, Py_True) : NULL;
	mt_auto(mt_py) PyObject *class = mt_py_class("Breakpoint", "Breakpoint", attributes);
	mt_auto(mt_py) PyObject *keywords =
	    class ? Py_BuildValue("{s:O}", "internal", Py_True) : NULL;
	char location[32];

	mt_py_breakpoints_changed();
	snprintf(location, sizeof(location), "*0x%llx", (unsigned long long)address);
	mt_auto(mt_py) PyObject *arguments =
	    keywords && !hide_ours() ? Py_BuildValue("(s)", location) : NULL;
	return arguments ? PyObject_Call(class, arguments, keywords) : NULL;
}

/* They are given an address each (mt_py_breakpoint()). */
static uint64_t address_of(PyObject *breakpoint)
{
	mt_auto(mt_py) PyObject *location = PyObject_GetAttrString(breakpoint, "location");
	char *text = location ? mt_py_text(location) : NULL;
	const uint64_t address = text && *text == '*' ? strtoull(text + 1, NULL, 16) : 0;

	PyErr_Clear();
	free(text);
	return address;
}

struct mt_error *mt_py_each_breakpoint(struct mt_error *(*found)(void *context, uint64_t address),
				       void *context)
{
	mt_auto(mt_py) PyObject *all =
	    all_breakpoints ? PyObject_CallObject(all_breakpoints, NULL) : NULL;
	Py_ssize_t count = all ? PySequence_Size(all) : 0;

	if (all_breakpoints && !all)
		return mt_py_error();
	for (Py_ssize_t i = 0; i < count; i++) {
		mt_auto(mt_py) PyObject *one = PySequence_GetItem(all, i);
		if (one && PyObject_HasAttrString(one, OURS))
			mt_try(found(context, address_of(one)));
	}
	return NULL;
}

static bool keeps_breakpoints;

void mt_py_keep_breakpoints(void)
{
	keeps_breakpoints = true;
}

void mt_py_delete_breakpoint(PyObject *breakpoint)
{
	if (!breakpoint)
		return;
	mt_py_breakpoints_changed();
	mt_auto(mt_py) PyObject *done =
	    keeps_breakpoints ? NULL : PyObject_CallMethod(breakpoint, "delete", NULL);
	PyErr_Clear();
	Py_DECREF(breakpoint);
}
