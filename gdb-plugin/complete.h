/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion of the command line that is being typed. */
#ifndef MT_GDB_PLUGIN_COMPLETE_H
#define MT_GDB_PLUGIN_COMPLETE_H

#include "command/command.h"
#include "gdb-plugin/gdb/py.h"

/* A list, for gdb.Command.complete(); WORD is the end of TEXT from which on readline replaces it.
 * NULL with an exception. */
PyObject *mt_complete(const struct mt_command *command, const char *text, const char *word);

#endif
