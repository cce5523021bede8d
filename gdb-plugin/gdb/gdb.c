/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/gdb/gdb.h"

#include "base/utf8.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/gdb/progress.h"

#include <stdarg.h>

static bool interrupted;

struct mt_error *mt_gdb_execute(const char *command, struct mt_str *output)
{
	mt_auto(mt_py) PyObject *said =
	    mt_py_call_gdb("execute", "(sOO)", command, Py_False, output ? Py_True : Py_False);

	if (!said)
		return mt_py_error();
	if (output) {
		char *text = mt_py_text(said);

		mt_str_append(output, text ? text : "");
		free(text);
	}
	return NULL;
}

struct mt_error *mt_gdb_executef(struct mt_str *output, const char *format, ...)
{
	mt_auto(mt_str) struct mt_str command = {0};
	va_list args;

	va_start(args, format);
	mt_str_vappendf(&command, format, args);
	va_end(args);
	return command.failed ? mt_error_no_memory() : mt_gdb_execute(command.text, output);
}

/* gdb.execute() runs the breakpoint's commands when it is done, but not when it fails.  An error of
 * a command's own would discard them; that of a condition, which no language can parse, does not.
 */
struct mt_error *mt_gdb_execute_at_stop(const char *command)
{
	mt_auto(mt_str) struct mt_str ignored = {0};
	struct mt_error *error = mt_gdb_executef(&ignored, "%s\nif )\nend", command);

	if (error && mt_error_code(error) == MT_ERROR_USAGE) {
		mt_error_destroy(error);
		return NULL;
	}
	return error;
}

/* gdb.STDOUT is 0, gdb.STDERR 1. */
static void write_to(int stream, const char *text)
{
	if (interrupted)
		return;
	mt_gdb_progress_erase();
	mt_auto(mt_py) PyObject *bytes = PyBytes_FromString(text);
	mt_auto(mt_py) PyObject *string =
	    bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "replace") : NULL;
	mt_hold_pause(); /* at the pager */
	mt_auto(mt_py) PyObject *done =
	    string ? mt_py_call_gdb("write", "(Oi)", string, stream) : NULL;
	mt_hold_resume();

	if (!done) {
		interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
		PyErr_Clear();
	}
}

void mt_gdb_print(const char *text)
{
	write_to(0, text);
}

void mt_gdb_printf(const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	if (text.text && !text.failed)
		mt_gdb_print(text.text);
}

void mt_gdb_warn(const char *text)
{
	mt_auto(mt_str) struct mt_str line = {0};

	mt_utf8_appendf_lines(&line, "mtrace: %s\n", text);
	if (!line.failed)
		write_to(1, line.text);
}

void mt_gdb_print_error(const char *text)
{
	write_to(1, text);
}

void mt_gdb_interrupt(void)
{
	interrupted = true;
}

bool mt_gdb_is_interrupted(void)
{
	return interrupted;
}

struct mt_error *mt_gdb_interrupted(void)
{
	bool was = interrupted;

	interrupted = false;
	mt_gdb_progress_erase();
	return was ? mt_error_new(MT_ERROR_INTERRUPTED, "interrupted") : NULL;
}

void mt_gdb_set_convenience(const char *name, long long value)
{
	mt_auto(mt_py) PyObject *done =
	    mt_py_call_gdb("set_convenience_variable", "(sL)", name, value);

	(void)done;
	PyErr_Clear();
}

char *mt_gdb_connection(void)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *connection = inferior ? mt_py_get(inferior, "connection") : NULL;
	mt_auto(mt_py) PyObject *type =
	    connection && connection != Py_None ? mt_py_get(connection, "type") : NULL;
	char *text = type ? mt_py_text(type) : NULL;

	PyErr_Clear();
	return text;
}

bool mt_gdb_is_recording(void)
{
	mt_auto(mt_py) PyObject *recording = mt_py_call_gdb("current_recording", "()");

	PyErr_Clear();
	return recording && recording != Py_None;
}

bool mt_gdb_parameter(const char *name)
{
	mt_auto(mt_py) PyObject *value = mt_py_call_gdb("parameter", "(s)", name);

	PyErr_Clear();
	return value == Py_True;
}

PyObject *mt_gdb_read_memory(uint64_t address, size_t size)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *view =
	    inferior ? PyObject_CallMethod(inferior, "read_memory", "KK",
					   (unsigned long long)address, (unsigned long long)size)
		     : NULL;

	return view ? PyObject_CallMethod(view, "tobytes", NULL) : NULL;
}

bool mt_gdb_read_byte(uint64_t address, uint8_t *byte)
{
	mt_auto(mt_py) PyObject *bytes = mt_gdb_read_memory(address, 1);
	const char *there = bytes ? PyBytes_AsString(bytes) : NULL;

	PyErr_Clear();
	if (there)
		*byte = (uint8_t)*there;
	return there;
}

struct mt_error *mt_gdb_write_memory(uint64_t address, const void *bytes, size_t size)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *done =
	    inferior ? PyObject_CallMethod(inferior, "write_memory", "Ky#",
					   (unsigned long long)address, bytes, (Py_ssize_t)size)
		     : NULL;

	return done ? NULL : mt_py_error();
}

int mt_gdb_inferior(void)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	int number = inferior ? (int)mt_py_number(inferior, "num", 0) : 0;

	PyErr_Clear();
	return number;
}

static struct mt_error *select_thread_of(PyObject *inferior)
{
	mt_auto(mt_py) PyObject *threads = PyObject_CallMethod(inferior, "threads", NULL);
	PyObject *thread = threads ? PyTuple_GetItem(threads, 0) : NULL;
	mt_auto(mt_py) PyObject *done = thread ? PyObject_CallMethod(thread, "switch", NULL) : NULL;

	return done ? NULL : mt_py_error();
}

struct mt_error *mt_gdb_select_inferior(int number)
{
	mt_auto(mt_py) PyObject *inferiors = mt_py_call_gdb("inferiors", "()");
	Py_ssize_t count = inferiors ? PyTuple_Size(inferiors) : 0;

	for (Py_ssize_t i = 0; i < count; i++)
		if (mt_py_number(PyTuple_GetItem(inferiors, i), "num", 0) == number)
			return select_thread_of(PyTuple_GetItem(inferiors, i));
	PyErr_Clear();
	return mt_error_new(MT_ERROR_GONE, "GDB has no inferior %d", number);
}

struct mt_error *mt_gdb_visit(pid_t pid, PyObject **back)
{
	*back = NULL;
	if (mt_gdb_pid() == pid)
		return NULL;
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");
	mt_auto(mt_py) PyObject *inferiors = mt_py_call_gdb("inferiors", "()");
	Py_ssize_t count = thread && inferiors ? PyTuple_Size(inferiors) : 0;

	for (Py_ssize_t i = 0; i < count && thread != Py_None; i++) {
		PyObject *one = PyTuple_GetItem(inferiors, i);

		if (mt_py_number(one, "pid", 0) != pid)
			continue;
		mt_try(select_thread_of(one));
		Py_INCREF(thread);
		*back = thread;
		return NULL;
	}
	PyErr_Clear();
	return mt_error_new(MT_ERROR_GONE, "GDB cannot look at process %d now", pid);
}

void mt_gdb_return(PyObject *back)
{
	mt_auto(mt_py) PyObject *done = back ? PyObject_CallMethod(back, "switch", NULL) : NULL;

	PyErr_Clear();
	Py_XDECREF(back);
}

pid_t mt_gdb_pid(void)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	pid_t pid = inferior ? (pid_t)mt_py_number(inferior, "pid", 0) : 0;

	PyErr_Clear();
	return pid;
}

static pid_t lwp_of(PyObject *thread)
{
	mt_auto(mt_py) PyObject *ptid =
	    thread && thread != Py_None ? mt_py_get(thread, "ptid") : NULL;
	long lwp = ptid ? PyLong_AsLong(PyTuple_GetItem(ptid, 1)) : 0;

	PyErr_Clear();
	return lwp > 0 ? (pid_t)lwp : 0;
}

pid_t mt_gdb_lwp(void)
{
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");

	return lwp_of(thread);
}

static bool runs(PyObject *thread)
{
	mt_auto(mt_py) PyObject *answer =
	    thread && thread != Py_None ? PyObject_CallMethod(thread, "is_running", NULL) : NULL;

	PyErr_Clear();
	return answer == Py_True;
}

bool mt_gdb_is_running(void)
{
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");

	return runs(thread);
}

bool mt_gdb_is_standing(void)
{
	mt_auto(mt_py) PyObject *thread = mt_py_call_gdb("selected_thread", "()");
	const bool is_one = thread && thread != Py_None;

	PyErr_Clear();
	return is_one && !runs(thread);
}

static void read_registers_of(PyObject *inferior)
{
	mt_auto(mt_py) PyObject *threads = PyObject_CallMethod(inferior, "threads", NULL);
	Py_ssize_t count = threads ? PyTuple_Size(threads) : 0;

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *thread = PyTuple_GetItem(threads, i);
		mt_auto(mt_py) PyObject *switched =
		    runs(thread) ? NULL : PyObject_CallMethod(thread, "switch", NULL);
		mt_auto(mt_py) PyObject *read =
		    switched ? mt_py_call_gdb("parse_and_eval", "(s)", "$pc") : NULL;

		(void)read;
		PyErr_Clear();
	}
}

void mt_gdb_read_registers(void)
{
	mt_auto(mt_py) PyObject *selected = mt_py_call_gdb("selected_thread", "()");
	mt_auto(mt_py) PyObject *inferiors = mt_py_call_gdb("inferiors", "()");
	Py_ssize_t count =
	    selected && selected != Py_None && inferiors ? PyTuple_Size(inferiors) : 0;

	for (Py_ssize_t i = 0; i < count; i++)
		read_registers_of(PyTuple_GetItem(inferiors, i));
	mt_auto(mt_py) PyObject *back =
	    count ? PyObject_CallMethod(selected, "switch", NULL) : NULL;
	(void)back;
	PyErr_Clear();
}

bool mt_gdb_thread_is_running(pid_t lwp)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *threads =
	    inferior ? PyObject_CallMethod(inferior, "threads", NULL) : NULL;
	Py_ssize_t count = threads ? PyTuple_Size(threads) : 0;
	bool any = false;

	PyErr_Clear();
	for (Py_ssize_t i = 0; i < count && !any; i++)
		any = (!lwp || lwp_of(PyTuple_GetItem(threads, i)) == lwp) &&
		      runs(PyTuple_GetItem(threads, i));
	return any;
}
