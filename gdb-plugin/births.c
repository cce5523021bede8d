/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "births.h"

#include "gdb.h"
#include "live.h"

#include <string.h>

#define MOST_BYTES 512 /* of _Fork, up to its system call */

static const uint8_t instruction[] = {0x0f, 0x05};

/* Before the system call, and behind it. */
static struct side {
	bool before;
	PyObject *breakpoint;
} sides[] = {{true, NULL}, {false, NULL}};

static PyObject *stop(PyObject *self, PyObject *ignored)
{
	const struct side *side = mt_py_context(self);
	struct mt_session *session = mt_live_session();

	(void)ignored;
	if (!side)
		return NULL;
	if (session) {
		mt_auto(mt_py) PyObject *told =
		    mt_py_tell(mt_session_pause(session, mt_gdb_lwp(), side->before));
		if (!told)
			return NULL;
	}
	Py_RETURN_FALSE;
}

void mt_births_forget(void)
{
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		mt_py_delete_breakpoint(sides[i].breakpoint);
		sides[i].breakpoint = NULL;
	}
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

static struct mt_error *watch_fork(void)
{
	static PyMethodDef definition = {"stop", stop, METH_NOARGS, NULL};
	struct mt_target *target = mt_live_target();
	uint64_t address = find_fork();
	uint8_t bytes[MOST_BYTES];
	size_t size =
	    address ? target->ops->read(target, mt_live_pid(), address, bytes, sizeof(bytes)) : 0;
	const uint8_t *there = memmem(bytes, size, instruction, sizeof(instruction));

	if (!there)
		return NULL;
	mt_births_forget();
	address += (uint64_t)(there - bytes);
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		sides[i].breakpoint =
		    mt_py_breakpoint(address + i * sizeof(instruction), &definition, &sides[i]);
		if (!sides[i].breakpoint)
			return mt_py_error();
	}
	return NULL;
}

struct mt_error *mt_births_new_objfile(const char *path)
{
	const char *name = strrchr(path, '/');

	bool is_new;

	if (!mt_live_session())
		return NULL;
	mt_try(mt_live_check_exec(&is_new));
	if (is_new)
		mt_births_forget();
	if (!name || strncmp(name, "/libc.so", 8) != 0)
		return NULL;
	return watch_fork();
}
