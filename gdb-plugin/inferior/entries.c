/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/inferior/entries.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"

struct mt_entry {
	uint64_t address;
	PyObject *breakpoint;
};

static PyObject *stop_at(PyObject *self, PyObject *ignored)
{
	mt_auto(mt_hold) struct mt_hold outer = mt_hold_begin(MT_HOLD_EVENT);
	const struct mt_inferior *inferior = mt_py_context(self);

	(void)ignored;
	if (!inferior)
		return NULL;
	if (inferior->live.state == MT_LIVE_SHOWN && mt_gdb_pid() == inferior->live.pid) {
		mt_auto(mt_py) PyObject *none =
		    mt_py_report(mt_session_record_missed(inferior->live.session, mt_gdb_lwp()));
		(void)none;
	}
	Py_RETURN_FALSE;
}

static bool is_missed(const uint64_t *missed, size_t count, uint64_t address)
{
	for (size_t i = 0; i < count; i++)
		if (missed[i] == address)
			return true;
	return false;
}

static bool is_set(const struct mt_entries *entries, uint64_t address)
{
	mt_array_each (entry, &entries->items)
		if (entry->address == address)
			return true;
	return false;
}

struct mt_error *mt_entries_update(struct mt_inferior *inferior)
{
	static PyMethodDef stop = {"stop", stop_at, METH_NOARGS, NULL};
	struct mt_entries *entries = &inferior->entries;
	size_t count, kept = 0;
	const uint64_t *missed =
	    mt_session_missed(inferior->live.session, inferior->live.pid, &count);

	mt_array_each (entry, &entries->items) {
		if (is_missed(missed, count, entry->address))
			entries->items.items[kept++] = *entry;
		else
			mt_py_delete_breakpoint(entry->breakpoint);
	}
	entries->items.count = kept;
	for (size_t i = 0; i < count; i++) {
		struct mt_entry entry = {.address = missed[i]};

		if (is_set(entries, entry.address))
			continue;
		entry.breakpoint = mt_py_breakpoint(entry.address, &stop, inferior);
		if (!entry.breakpoint)
			return mt_py_error();
		if (mt_array_push(&entries->items, entry)) {
			mt_py_delete_breakpoint(entry.breakpoint);
			return mt_error_no_memory();
		}
	}
	return NULL;
}

void mt_entries_withdraw(struct mt_entries *entries)
{
	mt_array_each (entry, &entries->items)
		mt_py_delete_breakpoint(entry->breakpoint);
	mt_array_deinit(&entries->items);
}
