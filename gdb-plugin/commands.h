/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mtrace …`: one file a command, or a few that belong together, behind one table.  A command that
 * mtdb has too is taken from core/command and needs no file. */
#ifndef MT_GDB_PLUGIN_COMMANDS_H
#define MT_GDB_PLUGIN_COMMANDS_H

#include "base/error.h"
#include "complete.h"

#include <stddef.h>

struct mt_gdb_command {
	const char *name;  /* behind "mtrace " */
	const char *group; /* gdb.COMMAND_… */
	const char *usage; /* behind the name */
	const char *help;  /* its first line is the summary, with a full stop */
	struct mt_completion completion;
	struct mt_error *(*run)(int argc, char **argv); /* argv[0] is the name */
	/* Instead of it, for a command whose text is not words: ARGUMENT as it was typed. */
	struct mt_error *(*run_text)(const char *argument);
};

extern const struct mt_gdb_command mt_gdb_command_start;
extern const struct mt_gdb_command mt_gdb_command_stop;
extern const struct mt_gdb_command mt_gdb_command_snapshot;
extern const struct mt_gdb_command mt_gdb_command_history;
extern const struct mt_gdb_command mt_gdb_command_save;
extern const struct mt_gdb_command mt_gdb_command_info;
extern const struct mt_gdb_command mt_gdb_command_view;
extern const struct mt_gdb_command mt_gdb_command_trigger;
extern const struct mt_gdb_command mt_gdb_command_delete;

struct mt_error *mt_commands_define(void);

#endif
