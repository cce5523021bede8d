/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "births.h"

#include "elf/dynamic_symbol.h"
#include "gdb.h"
#include "hold.h"
#include "inferior.h"
#include "process/proc.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INT3       0xcc
#define MOST_BYTES 512 /* of _Fork, up to its system call */

static const uint8_t load_number[] = {0xb8, SYS_clone, 0, 0, 0}; /* mov $SYS_clone,%eax */
static const uint8_t system_call[] = {0x0f, 0x05};

static PyObject *pause_at(PyObject *self, bool on)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	struct mt_inferior *inferior = mt_py_context(self);

	if (!inferior)
		return NULL;
	if (mt_live_is_recording(&inferior->live) && mt_gdb_pid() == inferior->live.pid) {
		unsigned *forking = &inferior->births.forking;

		*forking = on ? *forking + 1 : *forking - (*forking > 0);
		mt_auto(mt_py) PyObject *none =
		    mt_py_report(mt_session_pause(inferior->live.session, mt_gdb_lwp(), on));
		(void)none;
	}
	Py_RETURN_FALSE;
}

static PyObject *stop_before(PyObject *self, PyObject *ignored)
{
	(void)ignored;
	return pause_at(self, true);
}

static PyObject *stop_behind(PyObject *self, PyObject *ignored)
{
	(void)ignored;
	return pause_at(self, false);
}

void mt_births_withdraw(struct mt_births *births)
{
	mt_py_delete_breakpoint(births->before);
	mt_py_delete_breakpoint(births->behind);
	births->before = births->behind = NULL;
}

void mt_births_forget(struct mt_births *births)
{
	mt_births_withdraw(births);
	births->address = births->libc = 0;
	births->forking = 0;
}

struct mt_error *mt_births_restore(struct mt_inferior *inferior)
{
	static PyMethodDef before = {"stop", stop_before, METH_NOARGS, NULL};
	static PyMethodDef behind = {"stop", stop_behind, METH_NOARGS, NULL};
	struct mt_births *births = &inferior->births;

	if (!births->address || births->before)
		return NULL;
	births->before = mt_py_breakpoint(births->address, &before, inferior);
	if (births->before)
		births->behind = mt_py_breakpoint(births->return_address, &behind, inferior);
	return births->behind ? NULL : mt_py_error();
}

struct pending {
	struct mt_target *target;
	pid_t parent, child;
};

static struct mt_error *clean_at(void *context, uint64_t address)
{
	const struct pending *pending = context;
	const struct mt_target_ops *ops = pending->target->ops;
	uint8_t there = 0, own = INT3;

	if (ops->read(pending->target, pending->child, address, &there, 1) != 1 || there != INT3 ||
	    ops->read(pending->target, pending->parent, address, &own, 1) != 1)
		return NULL;
	/* With `breakpoint always-inserted` it is in the parent's memory, too. */
	if (own == INT3 && (pending->parent != mt_gdb_pid() || !mt_gdb_read_byte(address, &own)))
		return NULL;
	return own == INT3 ? NULL : ops->write(pending->target, pending->child, address, &own, 1);
}

static bool is_pending(pid_t child, pid_t parent)
{
	return child > 0 && mt_proc_status_number(child, "PPid") == parent &&
	       mt_proc_status_number(child, "TracerPid") == getpid() && !mt_inferior_find(child);
}

struct mt_error *mt_births_clean_pending(struct mt_inferior *inferior)
{
	struct pending pending = {.target = inferior->live.target, .parent = inferior->live.pid};
	const bool may_have = inferior->births.forking && mt_live_is_recording(&inferior->live);
	DIR *processes = may_have ? opendir("/proc") : NULL;
	struct mt_error *error = NULL;

	for (struct dirent *entry; processes && !error && (entry = readdir(processes));) {
		pending.child = atoi(entry->d_name);
		if (is_pending(pending.child, pending.parent))
			error = mt_py_each_breakpoint(clean_at, &pending);
	}
	if (processes)
		closedir(processes);
	return error;
}

/* glibc's, and musl's, which is the loader, too. */
static bool is_libc(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && (strncmp(name, "/libc.so", 8) == 0 || strncmp(name, "/libc-2.", 8) == 0 ||
			strncmp(name, "/ld-musl", 8) == 0);
}

static struct mt_error *see_libc(void *context, const struct mt_map *map)
{
	struct mt_births *births = context;

	if (births->libc || map->offset || !is_libc(map->path))
		return NULL;
	const uint64_t offset = mt_elf_dynamic_symbol(map->path, "_Fork");

	births->libc = map->start;
	births->address = offset ? map->start + offset : 0;
	return NULL;
}

static uint64_t find_in_program(void)
{
	mt_auto(mt_py) PyObject *value =
	    mt_py_call_gdb("parse_and_eval", "(s)", "(unsigned long) &_Fork");
	mt_auto(mt_py) PyObject *number = value ? PyNumber_Long(value) : NULL;
	const uint64_t address = number ? PyLong_AsUnsignedLongLongMask(number) : 0;

	PyErr_Clear();
	return address;
}

/* Not by GDB's symbols, where there is a library: for a name it reads more of the library's
 * debugging information than for all else at a start. */
static struct mt_error *find_fork(const struct mt_live *live, struct mt_births *births)
{
	mt_try(live->target->ops->each_map(live->target, live->pid, see_libc, births));
	if (!births->libc && !mt_proc_loader(live->pid))
		births->address = find_in_program();
	return NULL;
}

struct mt_error *mt_births_find(struct mt_inferior *inferior)
{
	const struct mt_live *live = &inferior->live;
	struct mt_births *births = &inferior->births;
	uint8_t bytes[MOST_BYTES];

	mt_births_forget(births);
	mt_try(find_fork(live, births));
	const size_t size = births->address
				? live->target->ops->read(live->target, live->pid, births->address,
							  bytes, sizeof(bytes))
				: 0;
	const uint8_t *there = memmem(bytes, size, system_call, sizeof(system_call));
	const size_t offset = there ? (size_t)(there - bytes) : 0;

	births->return_address = births->address + offset + sizeof(system_call);
	if (offset >= sizeof(load_number) &&
	    memcmp(there - sizeof(load_number), load_number, sizeof(load_number)) == 0)
		births->address -= sizeof(load_number);
	births->address = there ? births->address + offset : 0;
	return NULL;
}

struct mt_error *mt_births_new_objfile(void)
{
	mt_try(mt_inferior_check_exec());
	struct mt_inferior *inferior = mt_inferior_selected();

	if (!inferior || !mt_live_is_recording(&inferior->live) || inferior->births.address ||
	    inferior->births.libc)
		return NULL;
	mt_try(mt_births_find(inferior));
	return mt_births_restore(inferior);
}
