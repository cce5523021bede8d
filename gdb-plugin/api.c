/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api.h"

#include "gdb.h"
#include "inferior.h"
#include "progress.h"
#include "snapshot_type.h"
#include "trigger.h"

const char mt_api_start_doc[] =
    "start(engine=None, size=None, timestamps=None, threads=None)\n--\n\n"
    "Start recording, now or when the program runs, like the command \"mtrace start\".";
const char mt_api_stop_doc[] = "stop()\n--\n\nStop recording.";
const char mt_api_snapshot_doc[] = "snapshot(path=None)\n--\n\n"
				   "Write what was recorded so far as a timeline, and return it.";
const char mt_api_values_doc[] =
    "values(function, results=False)\n--\n\n"
    "Record arguments, or results, with the calls of a function, like the command\n"
    "\"mtrace values\".";
const char mt_api_triggers_doc[] = "triggers()\n--\n\n"
				   "Return the triggers.";

PyObject *mt_api_start(PyObject *module, PyObject *args, PyObject *keywords)
{
	static char *names[] = {(char *)"engine", (char *)"size", (char *)"timestamps",
				(char *)"threads", NULL};
	struct mt_live_start options = {0};

	(void)module;
	if (!PyArg_ParseTupleAndKeywords(args, keywords, "|zzzz", names, &options.engine,
					 &options.size, &options.stamps, &options.threads))
		return NULL;
	return mt_py_answer(mt_live_start(mt_gdb_debugger(), &options));
}

PyObject *mt_api_stop(PyObject *module, PyObject *ignored)
{
	(void)module;
	(void)ignored;
	return mt_py_answer(mt_live_stop(mt_gdb_debugger()));
}

PyObject *mt_api_snapshot(PyObject *module, PyObject *args, PyObject *keywords)
{
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

PyObject *mt_api_values(PyObject *module, PyObject *args, PyObject *keywords)
{
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
	(void)module;
	(void)ignored;
	return mt_triggers_list();
}
