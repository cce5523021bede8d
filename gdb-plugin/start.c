/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace start, mtrace stop */
#include "commands.h"

#include "gdb.h"
#include "live.h"
#include "options.h"

static const char *const options[] = {"-engine auto|calls|pt", "-size SIZE", "-threads all|current",
				      "-timestamps sampled|full", NULL};

static struct mt_error *start(int argc, char **argv)
{
	const char *size = NULL;
	struct mt_live_options live = {0};
	const struct mt_gdb_option table[] = {{"-engine", &live.engine},
					      {"-size", &size},
					      {"-threads", &live.threads},
					      {"-timestamps", &live.stamps},
					      {NULL, NULL}};
	int first = 1;

	mt_try(mt_gdb_options(argc, argv, table, &first));
	if (first < argc)
		return mt_error_new(MT_ERROR_USAGE, "mtrace start takes options only: \"%s\"",
				    argv[first]);
	if (size)
		mt_try(mt_parse_size(size, &live.ring_bytes));
	mt_try(mt_live_start(&live));
	if (mt_gdb_pid())
		mt_gdb_printf("Recording the calls of process %d.\n", mt_gdb_pid());
	else
		mt_gdb_print("The program's calls will be recorded when it runs.\n");
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_start = {
    .name = "start",
    .group = "COMMAND_RUNNING",
    .usage = "[-engine ENGINE] [-size SIZE] [-threads all|current] "
	     "[-timestamps sampled|full]",
    .help = "Record the program's function calls.\n"
	    "Before \"run\", recording begins with the program's first instruction; while it is\n"
	    "stopped, when it goes on.  Each thread has a ring of its own, which holds its last "
	    "calls.\n\n"
	    "Options:\n"
	    "  -engine ENGINE      auto, calls or pt (default: set mtrace engine)\n"
	    "  -size SIZE          of each thread's ring, such as 16M (default: set mtrace "
	    "buffer-size)\n"
	    "  -threads WHICH      all, or current: the selected one, before \"run\" the first\n"
	    "  -timestamps WHICH   sampled or full (default: set mtrace timestamps)",
    .completion = {.options = options},
    .run = start,
};

static struct mt_error *stop(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		return mt_error_new(MT_ERROR_USAGE, "mtrace stop takes no arguments");
	mt_try(mt_live_stop());
	mt_gdb_print("Not recording any more.\n");
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_stop = {
    .name = "stop",
    .group = "COMMAND_RUNNING",
    .usage = "",
    .help = "Stop recording.\n"
	    "The program runs on as if it had never been recorded.  What was recorded can still "
	    "be\nlooked at, until the next start.",
    .run = stop,
};
