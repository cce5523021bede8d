/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may come next in a command line that is being typed. */
#ifndef MT_GDB_PLUGIN_COMPLETE_H
#define MT_GDB_PLUGIN_COMPLETE_H

#include "base/str.h"
#include "py.h"

struct mt_completion {
	/* Each "-name", "-name one|other" (its values), "-name VALUE" (not listed) or "--name=…".
	 * NULL at the end; or NULL. */
	const char *const *options;
	/* Behind the options: words, with blanks between; and what a command of GDB's takes.  Both
	 * may be NULL. */
	void (*words)(struct mt_str *words);
	const char *like;
};

/* A list, for gdb.Command.complete(); WORD is the end of TEXT from which on readline replaces it.
 * NULL with an exception. */
PyObject *mt_complete(const struct mt_completion *how, const char *text, const char *word);

#endif
