/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace info */
#include "commands.h"

#include "gdb.h"
#include "live.h"
#include "trigger.h"
#include "written.h"

#include <stdio.h>

#define NS_PER_MS 1e6

static const char *size_text(uint64_t bytes, char *text, size_t size)
{
	if (bytes >= 1u << 20)
		snprintf(text, size, "%lluM", (unsigned long long)(bytes >> 20));
	else
		snprintf(text, size, "%lluk", (unsigned long long)(bytes >> 10));
	return text;
}

static void print_thread(const struct mt_live *live, PyObject *thread)
{
	mt_auto(mt_py) PyObject *ptid = PyObject_GetAttrString(thread, "ptid");
	mt_auto(mt_py) PyObject *text = PyObject_GetAttrString(thread, "name");
	long lwp = ptid ? PyLong_AsLong(PyTuple_GetItem(ptid, 1)) : 0;
	char *name = text && text != Py_None ? mt_py_text(text) : NULL;
	struct mt_engine_ring ring = {.span_ns = UINT64_MAX};
	char size[32];

	PyErr_Clear();
	mt_gdb_printf("  %-4lld LWP %-8ld %-16s ", mt_py_number(thread, "num", 0), lwp,
		      name ? name : "");
	free(name);
	if (mt_session_look(live->session, (pid_t)lwp, &ring))
		mt_gdb_printf("%3llu%% of %s", (unsigned long long)(ring.used * 100 / ring.bytes),
			      size_text(ring.bytes, size, sizeof(size)));
	else
		mt_gdb_print("not recorded");
	if (ring.span_ns != UINT64_MAX)
		mt_gdb_printf(", the last %.3f ms", (double)ring.span_ns / NS_PER_MS);
	mt_gdb_print("\n");
}

static void print_threads(const struct mt_live *live)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *threads =
	    inferior ? PyObject_CallMethod(inferior, "threads", NULL) : NULL;
	Py_ssize_t count = threads ? PyTuple_Size(threads) : 0;

	PyErr_Clear();
	if (mt_gdb_pid() != live->pid)
		return;
	mt_gdb_print("Threads, and how full their rings are:\n");
	while (count-- > 0)
		print_thread(live, PyTuple_GetItem(threads, count));
}

static void print_live(const struct mt_live *live)
{
	if (mt_live_session(live))
		mt_gdb_printf("Recording process %d with the engine %s.\n", live->pid,
			      mt_session_result(live->session).engine);
	else if (live && live->armed)
		mt_gdb_print("Recording begins when the program runs.\n");
	else
		mt_gdb_print("Nothing is recorded (\"mtrace start\" begins).\n");
	if (mt_live_session(live))
		print_threads(live);
}

static void print_others(const struct mt_live *selected)
{
	for (const struct mt_live *live = mt_live_next(NULL); live; live = mt_live_next(live))
		if (live != selected && mt_live_session(live))
			mt_gdb_printf("Inferior %d is recorded, too: process %d.\n", live->inferior,
				      live->pid);
}

static struct mt_error *info(int argc, char **argv)
{
	const struct mt_live *live = mt_live_selected();

	(void)argv;
	if (argc > 1)
		return mt_error_new(MT_ERROR_USAGE, "mtrace info takes no arguments");
	print_live(live);
	print_others(live);
	mt_gdb_printf("Snapshots: %u\n", mt_live_snapshots());
	mt_written_print();
	mt_triggers_print();
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_info = {
    .name = "info",
    .group = "COMMAND_STATUS",
    .usage = "",
    .help = "Show what is recorded, the snapshots and the triggers.\n"
	    "Of each thread: how much of its ring is full, and how far back that reaches.",
    .run = info,
};
