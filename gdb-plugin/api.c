/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/api.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/gdb/progress.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/slices.h"
#include "gdb-plugin/snapshot_type.h"
#include "gdb-plugin/trigger_type.h"

const char mt_api_start_doc[] =
    "start(engine=None, size=None, timestamps=None, threads=None, python_calls=False)\n--\n\n"
    "Start recording, now or when the program runs, like the command \"mtrace start\".";
const char mt_api_stop_doc[] = "stop()\n--\n\nStop recording.";
const char mt_api_snapshot_doc[] = "snapshot(path=None)\n--\n\n"
				   "Write what was recorded so far as a timeline, and return it.";
const char mt_api_history_doc[] =
    "history(n=None, function=None, thread=None, unfold=False)\n--\n\n"
    "Return the last N calls of the selected thread, or of the goroutine that it runs, or of\n"
    "THREAD, as a list of Slice, without writing a file.  Like the command \"mtrace history\" it takes\n"
    "\"set mtrace history-size\" for N (0: all calls), shows all threads of a program that ended, and\n"
    "leaves out what libraries called because it ended, unless UNFOLD; with FUNCTION, only its calls\n"
    "are returned.";
const char mt_api_values_doc[] =
    "values(function, results=False)\n--\n\n"
    "Record arguments, or results, with the calls of a function, like the command\n"
    "\"mtrace values\".";
const char mt_api_triggers_doc[] = "triggers()\n--\n\n"
				   "Return the triggers.";

PyObject *mt_api_start(PyObject *module, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"engine",  (char *)"size",         (char *)"timestamps",
				(char *)"threads", (char *)"python_calls", NULL};
	struct mt_live_start options = {0};
	int python_calls = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zzzzp", names, &options.engine,
					 &options.size, &options.stamps, &options.threads,
					 &python_calls))
		return NULL;
	options.python_calls = python_calls;
	return mt_py_answer(mt_live_start(mt_gdb_debugger(), &options));
}

PyObject *mt_api_stop(PyObject *module, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	(void)module;
	(void)ignored;
	return mt_py_answer(mt_live_stop(mt_gdb_debugger()));
}

PyObject *mt_api_snapshot(PyObject *module, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"path", NULL};
	struct mt_recording *recording = NULL;
	struct mt_inferior *inferior = mt_inferior_selected();
	const char *path = NULL, *written;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|z", names, &path))
		return NULL;
	struct mt_error *error = mt_live_snapshot(
	    mt_gdb_debugger(), inferior ? &inferior->live : NULL, path, &written, &recording);
	mt_gdb_progress_erase();
	return error ? mt_py_answer(error)
		     : mt_snapshot_object(mt_gdb_debugger()->snapshots, written, recording);
}

PyObject *mt_api_history(PyObject *module, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"n", (char *)"function", (char *)"thread", (char *)"unfold",
				NULL};
	struct mt_live_history what = mt_live_default_history(mt_gdb_debugger());
	uint64_t last = what.last, thread = UINT64_MAX;
	int unfold = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|O&zO&p", names, mt_py_optional_number,
					 &last, &what.function, mt_py_optional_number, &thread,
					 &unfold))
		return NULL;
	what.last = last;
	what.by_threads = thread != UINT64_MAX;
	if (what.by_threads)
		what.tid = (pid_t)thread;
	what.is_unfolded = unfold;
	return mt_slices_history(&what);
}

PyObject *mt_api_values(PyObject *module, PyObject *args, PyObject *keywords)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	static char *names[] = {(char *)"function", (char *)"results", NULL};
	const char *function;
	int results = 0;

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "s|p", names, &function, &results))
		return NULL;
	return mt_py_answer(mt_live_add_values(mt_gdb_debugger(), function, results));
}

PyObject *mt_api_triggers(PyObject *module, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_CALL);
	(void)module;
	(void)ignored;
	return mt_triggers_list();
}
