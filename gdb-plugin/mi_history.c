/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a history, as `mtrace history` shows them, as dictionaries. */
#include "command/command.h"
#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/progress.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/mi.h"
#include "output/args.h"
#include "output/text_window.h"

#include <stdio.h>
#include <string.h>

#define ALL_CALLS UINT32_MAX /* of a thread: more than a history can have */

struct history {
	PyObject *threads; /* of the answer */
	PyObject *lines;   /* of the last thread; lent */
	uint64_t zero_ns;
};

/* An exception becomes the error that ends the run. */
static struct mt_error *error_unless(bool is_whole)
{
	return is_whole ? NULL : mt_py_error();
}

static bool put_time(const struct history *history, PyObject *line, uint64_t time_ns)
{
	return mt_mi_put(line, "time-ns",
			 PyLong_FromLongLong((long long)(time_ns - history->zero_ns)));
}

/* Names are MI's: "tail-call". */
static bool put_argument(PyObject *line, const struct mt_arg *arg)
{
	char name[32], text[32];

	snprintf(name, sizeof(name), "%s%s", mt_arg_name_text(arg->name),
		 arg->type == MT_ARG_TYPE_PLACE ? "-file" : "");
	for (char *at = name; (at = strchr(at, '_'));)
		*at = '-';
	switch (arg->type) {
	case MT_ARG_TYPE_POINTER:
		snprintf(text, sizeof(text), "0x%llx", (unsigned long long)arg->number);
		return mt_mi_put_text(line, name, text);
	case MT_ARG_TYPE_TEXT:
		return mt_mi_put_text(line, name, arg->text);
	case MT_ARG_TYPE_PLACE:
		snprintf(text, sizeof(text), "%s-line", mt_arg_name_text(arg->name));
		return mt_mi_put_text(line, name, arg->text) &&
		       mt_mi_put_number(line, text, arg->number);
	default:
		return mt_mi_put_number(line, name, arg->number);
	}
}

static bool put_arguments(PyObject *line, const struct mt_args *args)
{
	for (size_t i = 0; i < args->count; i++)
		if (!put_argument(line, &args->items[i]))
			return false;
	return true;
}

static bool put_segment(struct history *history, PyObject *line,
			const struct mt_thread_segment *segment)
{
	history->zero_ns = segment->end_ns;
	return mt_mi_put_text(line, "kind", "segment") &&
	       mt_mi_put_number(line, "length-ns", segment->end_ns - segment->begin_ns) &&
	       (!segment->snapshot || mt_mi_put_number(line, "snapshot", segment->snapshot));
}

static bool put_end(PyObject *line, const struct mt_text_entry *entry)
{
	const struct mt_slice_end end = {
	    .time_ns = entry->end_ns, .flags = entry->end_flags, .result = entry->result};
	struct mt_args args;

	if (!entry->has_ended || end.flags & MT_SLICE_END_OPEN)
		return mt_mi_put_number(line, "open", 1);
	mt_args_of_end(&args, &end);
	return mt_mi_put_number(line, "duration-ns", end.time_ns - entry->slice.time_ns) &&
	       put_arguments(line, &args);
}

static bool put_slice(const struct history *history, PyObject *line,
		      const struct mt_text_entry *entry)
{
	struct mt_args args;

	mt_args_of_slice(&args, &entry->slice);
	return mt_mi_put_text(line, "kind", mt_slice_category(&entry->slice)) &&
	       mt_mi_put_number(line, "level", entry->depth) &&
	       mt_mi_put_text(line, "name", mt_slice_name(&entry->slice)) &&
	       put_time(history, line, entry->slice.time_ns) && put_arguments(line, &args) &&
	       put_end(line, entry);
}

static bool put_instant(const struct history *history, PyObject *line,
			const struct mt_text_entry *entry)
{
	const struct mt_instant *instant = &entry->instant;
	const bool is_folded = instant->kind == MT_INSTANT_FOLDED;
	struct mt_args args;

	mt_args_of_instant(&args, instant);
	return mt_mi_put_text(line, "kind", is_folded ? "folded" : "event") &&
	       mt_mi_put_number(line, "level", entry->depth) &&
	       (is_folded ? mt_mi_put_number(line, "count", instant->value)
			  : mt_mi_put_text(line, "name", mt_instant_name(instant))) &&
	       put_time(history, line, instant->time_ns) && put_arguments(line, &args);
}

/* What holds a reference to a dictionary is given it first. */
static struct mt_error *take_thread(void *self, const struct mt_thread *thread)
{
	struct history *history = self;
	PyObject *one = PyDict_New();

	if (!mt_mi_add(history->threads, one))
		return mt_py_error();
	history->lines = PyList_New(0);
	return error_unless(mt_mi_put(one, "lines", history->lines) &&
			    mt_mi_put_number(one, "pid", (uint64_t)thread->pid) &&
			    mt_mi_put_number(one, "tid", (uint64_t)thread->tid) &&
			    mt_mi_put_text(one, "name", thread->name));
}

static struct mt_error *take_entry(void *self, const struct mt_text_entry *entry)
{
	struct history *history = self;
	PyObject *line = PyDict_New();

	if (!mt_mi_add(history->lines, line))
		return mt_py_error();
	switch (entry->kind) {
	case MT_TEXT_SEGMENT:
		return error_unless(put_segment(history, line, &entry->segment));
	case MT_TEXT_INSTANT:
		return error_unless(put_instant(history, line, entry));
	default:
		return error_unless(put_slice(history, line, entry));
	}
}

static struct mt_error *take_elided(void *self, size_t count)
{
	struct history *history = self;
	PyObject *line = PyDict_New();

	if (!mt_mi_add(history->lines, line))
		return mt_py_error();
	return error_unless(mt_mi_put_text(line, "kind", "elided") &&
			    mt_mi_put_number(line, "count", count));
}

static const struct mt_text_lines lines = {
    .thread = take_thread,
    .entry = take_entry,
    .elided = take_elided,
};

static struct mt_error *read_history(int argc, char **argv, PyObject *threads)
{
	struct history history = {.threads = threads};
	struct mt_live_debugger *debugger = mt_gdb_debugger();
	struct mt_live_history what;
	struct mt_text_window *window;

	mt_try(mt_command_read_history(debugger, argc, argv, &what));
	mt_try(mt_text_window_create(&lines, &history, what.last ? what.last : ALL_CALLS, &window));
	const struct mt_slice_sink sink = mt_text_window_sink(window);
	struct mt_error *error = mt_live_history(debugger, &what, &sink);
	mt_text_window_destroy(window);
	mt_gdb_progress_erase();
	return error;
}

PyObject *mt_mi_history(int argc, char **argv)
{
	mt_auto(mt_py) PyObject *threads = PyList_New(0);
	struct mt_error *error = threads ? read_history(argc, argv, threads) : mt_error_no_memory();

	return error ? mt_py_answer(error) : Py_BuildValue("{s:O}", "threads", threads);
}
