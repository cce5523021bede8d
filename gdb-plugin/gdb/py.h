/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Python's limited API, in our own manner: what fails gives a struct mt_error, and exceptions are
 * made of errors, and errors of exceptions, in py.c alone.  No exception is pending outside of the
 * few lines between a call and mt_py_error().
 *
 * The one exception that users see is mtrace.Error: a gdb.GdbError, which GDB prints as a line, and
 * a gdb.error, which scripts catch.  KeyboardInterrupt (Ctrl-C, or "q" at the pager) is passed on.
 */
#ifndef MT_GDB_PLUGIN_GDB_PY_H
#define MT_GDB_PLUGIN_GDB_PY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "base/error.h"

/* mt_auto(mt_py) PyObject *object: a reference that is given back at the end of the scope. */
static inline void mt_py_cleanup(PyObject **object)
{
	Py_XDECREF(*object);
}

/* Adds the class Error to the module; until then failures are gdb.GdbError. */
struct mt_error *mt_py_error_define(PyObject *module);
/* The exception that is pending becomes an error: INTERRUPTED; USAGE (of GDB); INTERNAL (others).
 */
struct mt_error *mt_py_error(void);
/* An error becomes the pending exception; NULL, for `return`.  No error: None. */
PyObject *mt_py_answer(struct mt_error *error);
/* Reports an error outside of commands, where nobody catches an exception: as a line, Ctrl-C too.
 * Returns None. */
PyObject *mt_py_report(struct mt_error *error);

/* An attribute; NULL with an exception: it has none.  No memory stays behind. */
PyObject *mt_py_get(PyObject *object, const char *name);
/* Reports the exception that a script has raised, as GDB does by `set python print-stack`.  Ctrl-C
 * is noted, see mt_gdb_interrupt(). */
void mt_py_print_stack(void);

/* gdb.NAME; NULL with an exception: it has none. */
PyObject *mt_py_gdb(const char *name);
/* gdb.NAME(…), the arguments as for Py_BuildValue(), in parentheses.  NULL with an exception. */
PyObject *mt_py_call_gdb(const char *name, const char *format, ...);

/* The text of a str, the caller's to free; NULL without memory, or it is no str. */
char *mt_py_text(PyObject *text);
/* A str, interned; None for NULL.  NULL with an exception. */
PyObject *mt_py_text_or_none(const char *text);
/* The attribute as a number; OTHERWISE if it has none. */
long long mt_py_number(PyObject *object, const char *attribute, long long otherwise);
/* A converter for "O&" of PyArg_ParseTuple(), to a uint64_t, which None leaves as it is. */
int mt_py_optional_number(PyObject *number, void *out);

/* The tp_new of types whose objects scripts do not make: raises TypeError. */
PyObject *mt_py_new_refused(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* A new class of a class of gdb's, NAME(gdb.BASE), with these attributes. */
PyObject *mt_py_class(const char *name, const char *base, PyObject *attributes);
/* A function that knows CONTEXT, by mt_py_context(self).  As a class's attribute it gets no self of
 * the instance.  DEFINITION must live for ever. */
PyObject *mt_py_function(PyMethodDef *definition, void *context);
void *mt_py_context(PyObject *self);

/* An internal breakpoint whose stop() is such a function.  NULL with an exception. */
PyObject *mt_py_breakpoint(uint64_t address, PyMethodDef *stop, void *context);
/* With the reference.  NULL is fine, and one that GDB has thrown away itself. */
void mt_py_delete_breakpoint(PyObject *breakpoint);
/* All of them that are there. */
struct mt_error *mt_py_each_breakpoint(struct mt_error *(*found)(void *context, uint64_t address),
				       void *context);
/* GDB's breakpoints may have changed: those above say so themselves. */
void mt_py_breakpoints_changed(void);
/* How often they have. */
unsigned long mt_py_breakpoint_changes(void);
/* From now on they are left to GDB, which exits and takes them out of what it lets go. */
void mt_py_keep_breakpoints(void);

#endif
