/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace info */
#include "commands.h"

#include "gdb.h"
#include "live.h"
#include "trigger.h"

static struct mt_error *info(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return mt_error_new(MT_ERROR_USAGE, "mtrace info takes no arguments");
	if (mt_live_session())
		mt_gdb_printf("Recording process %d with the engine %s.\n", mt_live_pid(),
			      mt_session_result(mt_live_session()).engine);
	else if (mt_live_is_armed())
		mt_gdb_print("Recording begins when the program runs.\n");
	else
		mt_gdb_print("Nothing is recorded (\"mtrace start\" begins).\n");
	mt_gdb_printf("Snapshots: %u\n", mt_live_snapshots());
	mt_triggers_print();
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_info = {
    .name = "info",
    .group = "COMMAND_STATUS",
    .usage = "",
    .help = "Show what is recorded, the snapshots and the triggers.",
    .run = info,
};
