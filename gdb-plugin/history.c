/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace history */
#include "base/str.h"
#include "command/timeline.h"
#include "commands.h"
#include "gdb.h"
#include "live.h"
#include "options.h"
#include "settings.h"

#include <ctype.h>

static const char *const options[] = {"-thread NUMBER", NULL};

/* GDB's number of a thread becomes the system's. */
static struct mt_error *find_thread(const char *text, pid_t *lwp)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *threads =
	    inferior ? PyObject_CallMethod(inferior, "threads", NULL) : NULL;
	uint64_t number;

	mt_try(mt_parse_number(text, "thread", 1, INT32_MAX, &number));
	for (Py_ssize_t i = 0; threads && i < PyTuple_Size(threads); i++) {
		PyObject *thread = PyTuple_GetItem(threads, i);
		mt_auto(mt_py) PyObject *ptid = PyObject_GetAttrString(thread, "ptid");

		if (!ptid || mt_py_number(thread, "num", 0) != (long long)number)
			continue;
		*lwp = (pid_t)PyLong_AsLong(PyTuple_GetItem(ptid, 1));
		return NULL;
	}
	PyErr_Clear();
	return mt_error_new(MT_ERROR_USAGE, "Unknown thread %s.", text);
}

static struct mt_error *print(struct mt_timeline *timeline)
{
	const struct mt_command_context context = mt_gdb_context();
	struct mt_recording *recording = NULL;
	const struct mt_live *live = mt_live_selected();
	struct mt_decode_stats stats = {0};

	mt_try(mt_live_recording(live, NULL, &recording));
	if (live->pid != mt_gdb_pid())
		timeline->tid = 0; /* of the process before */
	timeline->printer = (struct mt_printer){context.print, context.context};
	struct mt_error *error = mt_timeline_write(&context, recording, timeline, &stats);
	mt_recording_close(recording);
	if (!error && timeline->tid && !stats.events)
		return mt_error_new(MT_ERROR_USAGE,
				    "no calls of thread %d were recorded (\"mtrace info\" tells "
				    "which threads are)",
				    timeline->tid);
	return error;
}

static struct mt_error *history(int argc, char **argv)
{
	const char *thread = NULL;
	const struct mt_gdb_option table[] = {{"-thread", &thread}, {NULL, NULL}};
	struct mt_timeline timeline = {.last = (uint64_t)mt_setting_number(MT_SETTING_HISTORY_SIZE),
				       .tid = mt_gdb_lwp()};
	int first = 1;

	mt_try(mt_gdb_options(argc, argv, table, &first));
	if (first < argc && isdigit((unsigned char)argv[first][0]))
		mt_try(mt_parse_number(argv[first++], "number of calls", 1, UINT32_MAX,
				       &timeline.last));
	if (first < argc)
		timeline.function = argv[first++];
	if (first < argc)
		return mt_error_new(MT_ERROR_USAGE,
				    "mtrace history takes a number and a function: \"%s\" is one "
				    "word too many (quote a name that holds blanks)",
				    argv[first]);
	if (thread)
		mt_try(find_thread(thread, &timeline.tid));
	return print(&timeline);
}

const struct mt_gdb_command mt_gdb_command_history = {
    .name = "history",
    .group = "COMMAND_STACK",
    .usage = "[-thread NUMBER] [COUNT] [FUNCTION]",
    .help =
	"Show the last function calls of the selected thread.\n"
	"They are indented by depth, with times before the end, durations, and where each was\n"
	"called.  Of a program that ended all threads are shown.\n\n"
	"COUNT is how many calls (default: set mtrace history-size).\n"
	"FUNCTION: only calls of it are shown, and counted, with their callers.  Parameters and\n"
	"namespaces may be left out; \"*\" and \"?\" stand for any letters.\n"
	"Options:\n"
	"  -thread NUMBER   another thread, by GDB's number",
    .completion = {.options = options, .like = "break"},
    .run = history,
};
