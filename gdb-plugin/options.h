/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options as GDB's own commands have them: "-size 4M", before the other words, and short as long as
 * they are the only ones that begin so. */
#ifndef MT_GDB_PLUGIN_OPTIONS_H
#define MT_GDB_PLUGIN_OPTIONS_H

#include "base/error.h"

struct mt_gdb_option {
	const char *name;   /* "-size" */
	const char **value; /* out: the word behind it, lent */
};

/* *first: index of the first word that is no option.  The table ends with a NULL name.
 * Errors: USAGE. */
struct mt_error *mt_gdb_options(int argc, char **argv, const struct mt_gdb_option *table,
				int *first);

#endif
