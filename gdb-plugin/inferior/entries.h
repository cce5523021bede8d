/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of functions that have a breakpoint within the bytes that their patch would take, as behind
 * `push %rbp; mov %rsp,%rbp`: the patch stays out, and an internal breakpoint at the entry says
 * instead that a thread is there. */
#ifndef MT_GDB_PLUGIN_INFERIOR_ENTRIES_H
#define MT_GDB_PLUGIN_INFERIOR_ENTRIES_H

#include "base/array.h"
#include "gdb-plugin/gdb/py.h"

struct mt_inferior;

struct mt_entries {
	MT_ARRAY(struct mt_entry) items;
};

/* What is recorded is shown, and the selected inferior's: breakpoints are where they are needed,
 * and nowhere else. */
struct mt_error *mt_entries_update(struct mt_inferior *inferior);
/* Removes them, until the next update. */
void mt_entries_withdraw(struct mt_entries *entries);

#endif
