/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "births.h"

#include "gdb.h"
#include "hold.h"
#include "inferior.h"

#include <string.h>
#include <sys/syscall.h>

#define MOST_BYTES 512 /* of _Fork, up to its system call */

static const uint8_t load_number[] = {0xb8, SYS_clone, 0, 0, 0}; /* mov $SYS_clone,%eax */
static const uint8_t system_call[] = {0x0f, 0x05};

static PyObject *pause_at(PyObject *self, bool on)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	const struct mt_inferior *inferior = mt_py_context(self);

	if (!inferior)
		return NULL;
	if (mt_live_is_recording(&inferior->live) && mt_gdb_pid() == inferior->live.pid) {
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
	births->address = 0;
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

static uint64_t find_fork(void)
{
	mt_auto(mt_py) PyObject *value =
	    mt_py_call_gdb("parse_and_eval", "(s)", "(unsigned long) &_Fork");
	mt_auto(mt_py) PyObject *number = value ? PyNumber_Long(value) : NULL;
	uint64_t address = number ? PyLong_AsUnsignedLongLongMask(number) : 0;

	PyErr_Clear(); /* an older library has none */
	return address;
}

static struct mt_error *watch_fork(struct mt_inferior *inferior)
{
	uint64_t address = find_fork();
	uint8_t bytes[MOST_BYTES];
	size_t size =
	    address ? inferior->live.target->ops->read(inferior->live.target, inferior->live.pid,
						       address, bytes, sizeof(bytes))
		    : 0;
	const uint8_t *there = memmem(bytes, size, system_call, sizeof(system_call));

	if (!there)
		return NULL;
	mt_births_forget(&inferior->births);
	address += (uint64_t)(there - bytes);
	inferior->births.return_address = address + sizeof(system_call);
	if ((size_t)(there - bytes) >= sizeof(load_number) &&
	    memcmp(there - sizeof(load_number), load_number, sizeof(load_number)) == 0)
		address -= sizeof(load_number);
	inferior->births.address = address;
	return mt_births_restore(inferior);
}

struct mt_error *mt_births_new_objfile(const char *path)
{
	const char *name = strrchr(path, '/');

	mt_try(mt_inferior_check_exec());
	if (!name || strncmp(name, "/libc.so", 8) != 0)
		return NULL;
	struct mt_inferior *inferior = mt_inferior_selected();
	return inferior && mt_live_is_recording(&inferior->live) ? watch_fork(inferior) : NULL;
}
