/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions that GDB's program imports from libraries, which it calls by a table: ours may take
 * their place in there. */
#ifndef MT_GDB_PLUGIN_GDB_IMPORTS_H
#define MT_GDB_PLUGIN_GDB_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

struct mt_import {
	const char *name;
	void *function; /* ours, of the same type */
	bool is_placed; /* by mt_imports_replace() */
};

/* Those are left out that GDB does not import. */
void mt_imports_replace(struct mt_import *imports, size_t count);

#endif
