/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/debugger.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/progress.h"
#include "gdb-plugin/gdb/target.h"
#include "gdb-plugin/inferior/hooks.h"
#include "gdb-plugin/inferior/inferior.h"
#include "gdb-plugin/inferior/refuse.h"
#include "gdb-plugin/mi.h"
#include "gdb-plugin/registry.h"
#include "gdb-plugin/settings.h"
#include "gdb-plugin/trigger.h"
#include "gdb-plugin/trigger_type.h"
#include "gdb-plugin/window.h"
#include "process/proc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

static struct mt_live *selected(void *context, bool make)
{
	struct mt_inferior *inferior = mt_inferior_selected();

	(void)context;
	if (make)
		mt_window_define();
	if (!inferior && make)
		inferior = mt_inferior_of(mt_gdb_inferior());
	return inferior ? &inferior->live : NULL;
}

static pid_t pid_of(void *context)
{
	(void)context;
	return mt_gdb_pid();
}

static pid_t lwp_of(void *context)
{
	(void)context;
	return mt_gdb_lwp();
}

static void tell_thread(PyObject *one, mt_live_thread_found *found, void *context)
{
	mt_auto(mt_py) PyObject *ptid = mt_py_get(one, "ptid");
	mt_auto(mt_py) PyObject *text = mt_py_get(one, "name");
	char *name = text && text != Py_None ? mt_py_text(text) : NULL;
	const struct mt_live_thread thread = {
	    .number = (unsigned)mt_py_number(one, "num", 0),
	    .lwp = ptid ? (pid_t)PyLong_AsLong(PyTuple_GetItem(ptid, 1)) : 0,
	    .name = name ? name : "",
	};

	PyErr_Clear();
	found(context, &thread);
	free(name);
}

struct numbered {
	long long number;
	Py_ssize_t index;
};

static int compare_numbers(const void *one, const void *other)
{
	const struct numbered *a = one, *b = other;

	return (a->number > b->number) - (a->number < b->number);
}

/* By their numbers: GDB has them in the order of a hash table. */
static void each_thread(void *context, mt_live_thread_found *found, void *found_context)
{
	mt_auto(mt_py) PyObject *inferior = mt_py_call_gdb("selected_inferior", "()");
	mt_auto(mt_py) PyObject *threads =
	    inferior ? PyObject_CallMethod(inferior, "threads", NULL) : NULL;
	const Py_ssize_t count = threads ? PyTuple_Size(threads) : 0;
	struct numbered *order = count > 0 ? calloc((size_t)count, sizeof(*order)) : NULL;

	(void)context;
	for (Py_ssize_t i = 0; order && i < count; i++)
		order[i] =
		    (struct numbered){mt_py_number(PyTuple_GetItem(threads, i), "num", 0), i};
	if (order)
		qsort(order, (size_t)count, sizeof(*order), compare_numbers);
	for (Py_ssize_t i = 0; order && i < count; i++)
		tell_thread(PyTuple_GetItem(threads, order[i].index), found, found_context);
	free(order);
	PyErr_Clear();
}

/* Text is changed at stops: it may run by "continue &", or a breakpoint's condition calls us. */
static struct mt_error *refuse(void *context)
{
	pid_t pid = mt_gdb_pid();

	(void)context;
	mt_try(mt_refuse(pid));
	if (!pid || !mt_gdb_is_running())
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "process %d is running: stop it first (\"interrupt\")",
			    pid);
}

static struct mt_error *explain_nothing(void *context)
{
	(void)context;
	for (const struct mt_inferior *other = NULL; (other = mt_inferior_next(other));)
		if (other->live.session)
			return mt_error_new(MT_ERROR_USAGE,
					    "nothing was recorded of this inferior, but of "
					    "inferior %d (\"inferior %d\" selects that)",
					    other->number, other->number);
	return mt_refuse_looking_back();
}

static struct mt_error *begin(void *context, struct mt_live *live)
{
	(void)context;
	mt_try(mt_hooks_define());
	mt_try(mt_inferior_begin((struct mt_inferior *)live, mt_gdb_pid(), false));
	mt_error_destroy(mt_gdb_target_flush_in_command(live->target));
	return NULL;
}

static void ended(void *context, struct mt_live *live)
{
	(void)context;
	mt_inferior_leave((struct mt_inferior *)live);
}

static void list_others(void *context)
{
	const struct mt_inferior *selected = mt_inferior_selected();

	(void)context;
	for (const struct mt_inferior *one = NULL; (one = mt_inferior_next(one));)
		if (one != selected && mt_live_is_recording(&one->live))
			mt_gdb_printf("Inferior %d is recorded, too: process %d.\n", one->number,
				      one->live.pid);
}

/* GDB gives all of it or nothing. */
static size_t read_code(void *context, uint64_t address, void *bytes, size_t size)
{
	const size_t in_page = PAGE_BYTES - address % PAGE_BYTES;
	mt_auto(mt_py) PyObject *all = mt_gdb_read_memory(address, size);

	PyErr_Clear();
	if (!all && size > in_page)
		return read_code(context, address, bytes, in_page);
	if (all)
		memcpy(bytes, PyBytes_AsString(all), size);
	return all ? size : 0;
}

struct seeking {
	uint64_t address;
	bool is_found;
};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct seeking *seeking = context;

	seeking->is_found |=
	    map->executable && seeking->address >= map->start && seeking->address < map->end;
	return NULL;
}

/* Before it runs, of what GDB can read. */
static bool has_code(void *context, uint64_t address)
{
	struct seeking seeking = {.address = address};
	uint8_t byte;

	if (!mt_gdb_pid())
		return read_code(context, address, &byte, 1);
	struct mt_error *error = mt_proc_each_map(mt_gdb_pid(), see_map, &seeking);
	const bool is_known = !error;
	mt_error_destroy(error);
	return !is_known || seeking.is_found;
}

/* "f + 2 in section .text" */
static uint64_t function_start(void *context, uint64_t address)
{
	mt_auto(mt_str) struct mt_str text = {0};
	struct mt_error *error =
	    mt_gdb_executef(&text, "info symbol 0x%llx", (unsigned long long)address);
	const char *end = text.text ? strstr(text.text, " in section ") : NULL;
	uint64_t offset = 0, scale = 1;

	(void)context;
	mt_error_destroy(error);
	while (end && end > text.text && end[-1] >= '0' && end[-1] <= '9') {
		offset += (uint64_t)(*--end - '0') * scale;
		scale *= 10;
	}
	return end && end - text.text > 3 && strncmp(end - 3, " + ", 3) == 0 && offset < address
		   ? address - offset
		   : 0;
}

static void set_variable(void *context, const char *name, uint64_t value)
{
	(void)context;
	mt_gdb_set_convenience(name, (long long)value);
}

static void taken(void *context, const struct mt_live_written *snapshot,
		  struct mt_recording *recording)
{
	(void)context;
	mt_mi_notify(snapshot);
	mt_registries_taken(snapshot, recording);
}

static const char *const engines[] = {"auto", "calls", "pt", "sample", NULL};

static const struct mt_live_debugger_ops ops = {
    .engines = engines,
    .selected = selected,
    .pid = pid_of,
    .lwp = lwp_of,
    .each_thread = each_thread,
    .refuse = refuse,
    .explain_nothing = explain_nothing,
    .begin = begin,
    .ended = ended,
    .list_others = list_others,
    .set_breakpoint = mt_trigger_set,
    .delete_breakpoint = mt_trigger_delete,
    .has_breakpoint = mt_trigger_is_set,
    .each_location = mt_trigger_locations,
    .read_code = read_code,
    .has_code = has_code,
    .function_start = function_start,
    .expect_gates = mt_trigger_expect_gates,
    .set_aside = mt_trigger_set_aside,
    .moved = mt_trigger_moved,
    .cost = "about 200 us a call",
    .name = "GDB",
    .evaluate = mt_trigger_evaluate,
    .arguments = mt_trigger_arguments,
    .draw_window = mt_window_draw,
    .show_source = mt_window_show_source,
    .setting = mt_setting,
    .taken = taken,
    .tell_script = mt_trigger_tell,
    .set_variable = set_variable,
    .set_result = mt_trigger_set_result,
};

static void print(void *context, const char *text)
{
	(void)context;
	mt_gdb_print(text);
}

static void report(void *context, const char *text)
{
	(void)context;
	mt_gdb_print_error(text);
}

static void log_line(void *context, enum mt_log_level level, const char *text)
{
	(void)context;
	(void)level;
	mt_gdb_warn(text);
}

static const struct mt_log gdb_log = {.line = log_line, .least = MT_LOG_WARNING};

struct mt_command_context mt_debugger_context(void)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		size.ws_col = 0;
	return (struct mt_command_context){.columns = size.ws_col,
					   .print = print,
					   .report = report,
					   .log = &gdb_log,
					   .progress = &mt_gdb_progress,
					   .debugger = mt_gdb_debugger(),
					   .prefix = "mtrace",
					   .help = "help mtrace"};
}

void mt_debugger_define(void)
{
	struct mt_live_debugger *debugger = mt_gdb_debugger();

	debugger->ops = &ops;
	debugger->printer = (struct mt_printer){print, NULL};
	debugger->log = &gdb_log;
	debugger->progress = &mt_gdb_progress;
}
