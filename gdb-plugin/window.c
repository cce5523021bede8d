/* SPDX-License-Identifier: GPL-3.0-or-later */
/* GDB calls a window of Python's to draw itself, to scroll, and for clicks; never for a key.  So
 * what the arrows scroll is the selected line, and all else are commands.
 *
 * GDB does not redraw such a window at stops: it is done before each prompt, while it is open. */
#include "gdb-plugin/window.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"

#include <ctype.h>
#include <stdlib.h>

#define ROWS_ABOVE 3 /* of a line that is shown in the source window */

struct window {
	PyObject ob_base;
	PyObject *tui;       /* GDB's window */
	PyObject *on_prompt; /* connected while it is open */
	size_t first;        /* column that is shown */
};

static PyObject *window_class;
static struct window *opened; /* NULL: none is */

/* Where the host's charset lacks a character, a '?' stands for it. */
static void write_text(struct window *window, const char *text)
{
	mt_auto(mt_py) PyObject *string = mt_py_text_or_none(text);
	mt_auto(mt_py) PyObject *done =
	    string ? PyObject_CallMethod(window->tui, "write", "O", string) : NULL;

	if (done)
		return;
	PyErr_Clear();
	mt_auto(mt_py) PyObject *bytes =
	    string ? PyUnicode_AsEncodedString(string, "ascii", "replace") : NULL;
	mt_auto(mt_py) PyObject *plain =
	    bytes ? PyUnicode_FromEncodedObject(bytes, "ascii", "replace") : NULL;
	mt_auto(mt_py) PyObject *again =
	    plain ? PyObject_CallMethod(window->tui, "write", "O", plain) : NULL;
	PyErr_Clear();
}

static size_t height_of(const struct window *window)
{
	long long height = mt_py_number(window->tui, "height", 0);

	return height > 0 ? (size_t)height : 0;
}

/* The last column stays empty: ncurses goes on in the next line behind it. */
static void put_lines(struct window *window, struct mt_view *view, struct mt_str *out)
{
	long long width = mt_py_number(window->tui, "width", 0);
	size_t rows = height_of(window);
	size_t at = mt_view_top(view, rows);

	for (size_t row = 0; row < rows && at != MT_VIEW_NONE; row++) {
		mt_str_append(out, row ? "\n" : "");
		bool is_selected = at == mt_view_selected(view);
		mt_str_append(out, is_selected ? "\033[7m" : "");
		mt_view_line(view, at, window->first, width > 1 ? (size_t)width - 1 : 0, out);
		mt_str_append(out, is_selected ? "\033[0m" : "");
		at = mt_view_below(view, at);
	}
}

static void draw(struct window *window)
{
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_view *view = NULL;
	struct mt_error *error = mt_live_view(mt_gdb_debugger(), &view);
	struct mt_error *interrupted = mt_gdb_interrupted();

	mt_str_append(&out, error ? mt_error_message(error) : "");
	if (!error)
		put_lines(window, view, &out);
	mt_error_destroy(error);
	mt_error_destroy(interrupted);
	mt_auto(mt_py) PyObject *erased = PyObject_CallMethod(window->tui, "erase", NULL);
	PyErr_Clear();
	if (out.text && !out.failed)
		write_text(window, out.text);
}

static bool is_valid(const struct window *window)
{
	mt_auto(mt_py) PyObject *valid = PyObject_CallMethod(window->tui, "is_valid", NULL);
	bool is = valid && PyObject_IsTrue(valid) == 1;

	PyErr_Clear();
	return is;
}

bool mt_window_draw(void *context)
{
	(void)context;
	if (!opened || !is_valid(opened))
		return false;
	draw(opened);
	return true;
}

/* GDB would run what follows a newline in it, and take a quote for its end. */
static bool is_plain(const char *file)
{
	for (; *file; file++)
		if (iscntrl((unsigned char)*file) || *file == '\'' || *file == '"')
			return false;
	return true;
}

struct mt_error *mt_window_show_source(void *context, const char *file, uint32_t line)
{
	(void)context;
	if (!is_plain(file))
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "GDB cannot be asked for a source file with such a name");
	mt_auto(mt_str) struct mt_str text = {0}, ignored = {0};
	bool is_open = opened && is_valid(opened);
	uint32_t top = line > ROWS_ABOVE ? line - ROWS_ABOVE : 1;

	/* What GDB prints itself when Python executes a command does not go to the TUI. */
	mt_try(is_open ? mt_gdb_executef(&text, "list '%s':%u,%u", file, line, line)
		       : mt_gdb_executef(&text, "list '%s':%u", file, line));
	if (text.text && !text.failed)
		mt_gdb_print(text.text);
	/* The source window begins behind the line that was listed last. */
	return is_open ? mt_gdb_executef(&ignored, "list '%s':%u,%u", file, top, top) : NULL;
}

static PyObject *render(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	(void)ignored;
	draw((struct window *)self);
	Py_RETURN_NONE;
}

static PyObject *vscroll(PyObject *self, PyObject *lines)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct mt_view *view = NULL;
	struct mt_error *error = mt_live_view(mt_gdb_debugger(), &view);
	long count = PyLong_AsLong(lines);

	PyErr_Clear();
	if (!error)
		mt_view_move(view, count);
	mt_error_destroy(error);
	draw((struct window *)self);
	Py_RETURN_NONE;
}

static PyObject *hscroll(PyObject *self, PyObject *columns)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct window *window = (struct window *)self;
	long count = PyLong_AsLong(columns);

	PyErr_Clear();
	if (count >= 0)
		window->first += (size_t)count < 4096 - window->first ? (size_t)count : 0;
	else
		window->first -= window->first < (size_t)-count ? window->first : (size_t)-count;
	draw(window);
	Py_RETURN_NONE;
}

/* Selects the line; a second time, folds it. */
static PyObject *click(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct window *window = (struct window *)self;
	struct mt_view *view = NULL;
	int x, y, button;

	if (!PyArg_ParseTuple(args, "iii", &x, &y, &button))
		return NULL;
	struct mt_error *error = mt_live_view(mt_gdb_debugger(), &view);
	size_t at = error ? MT_VIEW_NONE : mt_view_top(view, height_of(window));
	for (; y > 0 && at != MT_VIEW_NONE; y--)
		at = mt_view_below(view, at);
	mt_error_destroy(error);
	if (at != MT_VIEW_NONE && at == mt_view_selected(view))
		mt_view_fold(view);
	else if (at != MT_VIEW_NONE)
		mt_view_select(view, at);
	draw(window);
	Py_RETURN_NONE;
}

static PyObject *before_prompt(PyObject *self, PyObject *args)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	(void)self;
	(void)args;
	mt_window_draw(NULL);
	Py_RETURN_NONE;
}

/* METHOD: "connect", "disconnect". */
static void call_registry(const struct window *window, const char *method)
{
	mt_auto(mt_py) PyObject *registries = mt_py_gdb("events");
	mt_auto(mt_py) PyObject *registry =
	    registries ? PyObject_GetAttrString(registries, "before_prompt") : NULL;
	mt_auto(mt_py) PyObject *done =
	    registry ? PyObject_CallMethod(registry, method, "O", window->on_prompt) : NULL;

	PyErr_Clear();
}

static void shut(struct window *window)
{
	if (opened == window)
		opened = NULL;
	if (window->on_prompt)
		call_registry(window, "disconnect");
	Py_XDECREF(window->on_prompt);
	window->on_prompt = NULL;
}

static PyObject *close_window(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	(void)ignored;
	shut((struct window *)self);
	Py_RETURN_NONE;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	shut((struct window *)self);
	Py_XDECREF(((struct window *)self)->tui);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *create(PyObject *self, PyObject *tui)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	static PyMethodDef definition = {"mtrace", before_prompt, METH_VARARGS, NULL};
	struct window *window =
	    (struct window *)PyType_GenericAlloc((PyTypeObject *)window_class, 0); /* all zero */

	(void)self;
	if (!window)
		return NULL;
	Py_INCREF(tui);
	window->tui = tui;
	mt_auto(mt_py) PyObject *title = PyUnicode_FromString("calls");
	if (title && PyObject_SetAttrString(tui, "title", title))
		PyErr_Clear();
	window->on_prompt = mt_py_function(&definition, NULL);
	if (window->on_prompt)
		call_registry(window, "connect");
	PyErr_Clear();
	opened = window;
	return (PyObject *)window;
}

static PyMethodDef methods[] = {
    {"render", render, METH_NOARGS, NULL},      {"vscroll", vscroll, METH_O, NULL},
    {"hscroll", hscroll, METH_O, NULL},         {"click", click, METH_VARARGS, NULL},
    {"close", close_window, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_dealloc, (void *)dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "mtrace._Window",
    .basicsize = sizeof(struct window),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

void mt_window_define(void)
{
	static PyMethodDef definition = {"mtrace", create, METH_O, NULL};

	if (window_class)
		return;
	window_class = PyType_FromSpec(&spec);
	mt_auto(mt_py) PyObject *factory = window_class ? mt_py_function(&definition, NULL) : NULL;
	mt_auto(mt_py) PyObject *done =
	    factory ? mt_py_call_gdb("register_window_type", "(sO)", "mtrace", factory) : NULL;
	PyErr_Clear();
	if (done)
		mt_error_destroy(
		    mt_gdb_execute("tui new-layout mtrace mtrace 1 src 1 status 0 cmd 1", NULL));
}
