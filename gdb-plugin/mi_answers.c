/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `mtrace info` prints, as dictionaries and lists.  A field that has nothing to say is left
 * out, since MI has no null; what is true is 1. */
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/mi.h"

bool mt_mi_put(PyObject *dictionary, const char *name, PyObject *item)
{
	mt_auto(mt_py) PyObject *mine = item;

	return mine && PyDict_SetItemString(dictionary, name, mine) == 0;
}

bool mt_mi_add(PyObject *list, PyObject *item)
{
	mt_auto(mt_py) PyObject *mine = item;

	return mine && PyList_Append(list, mine) == 0;
}

bool mt_mi_put_text(PyObject *dictionary, const char *name, const char *text)
{
	return !text || !*text || mt_mi_put(dictionary, name, mt_py_text_or_none(text));
}

bool mt_mi_put_number(PyObject *dictionary, const char *name, uint64_t number)
{
	return mt_mi_put(dictionary, name, PyLong_FromUnsignedLongLong(number));
}

/* DICTIONARY if IS_WHOLE, else NULL, and it is no more. */
static PyObject *finished(PyObject *dictionary, bool is_whole)
{
	if (is_whole)
		return dictionary;
	Py_XDECREF(dictionary);
	return NULL;
}

static const struct mt_live *selected(void)
{
	const struct mt_live_debugger *debugger = mt_gdb_debugger();

	return debugger->ops->selected(debugger->context, false);
}

static bool put_recording(PyObject *answer, const struct mt_live *live)
{
	if (mt_live_is_recording(live))
		return mt_mi_put_text(answer, "state", "recording") &&
		       mt_mi_put_number(answer, "pid", (uint64_t)live->pid) &&
		       mt_mi_put_text(answer, "engine", mt_session_result(live->session).engine);
	return mt_mi_put_text(answer, "state",
			      live && live->state == MT_LIVE_ARMED ? "armed" : "off");
}

PyObject *mt_mi_started(void)
{
	PyObject *answer = PyDict_New();

	return finished(answer, answer && put_recording(answer, selected()));
}

PyObject *mt_mi_snapshot(const struct mt_live_written *snapshot)
{
	PyObject *one = PyDict_New();

	return finished(one, one && mt_mi_put_number(one, "number", snapshot->number) &&
				 mt_mi_put_text(one, "file", snapshot->whole));
}

PyObject *mt_mi_taken(void)
{
	PyObject *answer = PyDict_New();

	return finished(answer,
			answer &&
			    mt_mi_put(answer, "snapshot",
				      mt_mi_snapshot(mt_array_last(&mt_gdb_debugger()->written))));
}

/* The texts are those of `mtrace info`. */
static PyObject *describe(const struct mt_live_trigger *trigger)
{
	const struct mt_live_debugger *debugger = mt_gdb_debugger();
	const struct mt_trigger_spec *spec = &trigger->spec;
	mt_auto(mt_str) struct mt_str what = {0}, how = {0};
	PyObject *one = PyDict_New();

	mt_trigger_spec_describe(spec, &what);
	mt_trigger_describe_limits(&spec->limits, &what);
	mt_live_tell_gates(debugger, trigger, &how);
	bool is_set = debugger->ops->has_breakpoint(debugger->context, trigger);
	return finished(one, one && mt_mi_put_number(one, "number", trigger->number) &&
				 mt_mi_put_text(one, "what", what.text) &&
				 mt_mi_put_text(one, "location", spec->location) &&
				 mt_mi_put_text(one, "condition", spec->condition) &&
				 mt_mi_put_number(one, "hits", trigger->hits) &&
				 mt_mi_put_number(one, "done", mt_live_is_done(trigger)) &&
				 mt_mi_put_number(one, "deleted", !is_set) &&
				 mt_mi_put_text(one, "evaluation", how.text));
}

PyObject *mt_mi_trigger(void)
{
	PyObject *answer = PyDict_New();

	return finished(
	    answer, answer && mt_mi_put(answer, "trigger",
					describe(*mt_array_last(&mt_gdb_debugger()->triggers))));
}

static void add_thread(void *context, const struct mt_live_thread *thread)
{
	const struct mt_live *live = selected();
	struct mt_engine_ring ring = {.span_ns = UINT64_MAX};
	PyObject *threads = context, *one = PyDict_New();

	bool is_whole = one && mt_mi_put_number(one, "id", thread->number) &&
			mt_mi_put_number(one, "tid", (uint64_t)thread->lwp) &&
			mt_mi_put_text(one, "name", thread->name);
	if (mt_session_look(live->session, thread->lwp, &ring))
		is_whole =
		    is_whole && mt_mi_put_number(one, "ring-bytes", ring.bytes) &&
		    mt_mi_put_number(one, "used-bytes", ring.used) &&
		    (ring.span_ns == UINT64_MAX || mt_mi_put_number(one, "span-ns", ring.span_ns));
	mt_mi_add(threads, finished(one, is_whole));
	PyErr_Clear(); /* the next one may find memory */
}

static PyObject *threads_of(const struct mt_live *live)
{
	const struct mt_live_debugger *debugger = mt_gdb_debugger();
	PyObject *threads = PyList_New(0);

	if (threads && mt_live_is_recording(live) &&
	    debugger->ops->pid(debugger->context) == live->pid)
		debugger->ops->each_thread(debugger->context, add_thread, threads);
	return threads;
}

static PyObject *all_snapshots(void)
{
	PyObject *snapshots = PyList_New(0);
	bool is_whole = snapshots;

	mt_array_each (one, &mt_gdb_debugger()->written)
		is_whole = is_whole && mt_mi_add(snapshots, mt_mi_snapshot(one));
	return finished(snapshots, is_whole);
}

static PyObject *all_triggers(void)
{
	PyObject *triggers = PyList_New(0);
	bool is_whole = triggers;

	mt_array_each (one, &mt_gdb_debugger()->triggers)
		is_whole = is_whole && mt_mi_add(triggers, describe(*one));
	return finished(triggers, is_whole);
}

PyObject *mt_mi_info(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return mt_py_answer(
		    mt_error_new(MT_ERROR_USAGE, "-mtrace-info takes no arguments"));
	const struct mt_live *live = selected();
	PyObject *answer = PyDict_New();

	return finished(answer, answer && put_recording(answer, live) &&
				    mt_mi_put(answer, "threads", threads_of(live)) &&
				    mt_mi_put(answer, "snapshots", all_snapshots()) &&
				    mt_mi_put(answer, "triggers", all_triggers()));
}
