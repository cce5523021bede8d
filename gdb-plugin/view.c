/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace view: as mtdb's, but without a file it opens what was written here last. */
#include "commands.h"

#include "gdb.h"
#include "written.h"

static struct mt_error *view(int argc, char **argv)
{
	struct mt_command_context context = mt_gdb_context();
	const char *last = mt_written_last();
	char *words[4] = {NULL};
	bool named = false;

	for (int i = 1; i < argc; i++)
		named |= argv[i][0] != '-';
	if (named || !last || argc > 2)
		return mt_command_view.run(&context, argc, argv);
	for (int i = 0; i < argc; i++)
		words[i] = argv[i];
	words[argc] = (char *)last;
	return mt_command_view.run(&context, argc + 1, words);
}

static const char *const options[] = {"--no-browser", NULL};

const struct mt_gdb_command mt_gdb_command_view = {
    .name = "view",
    .group = "COMMAND_DATA",
    .usage = "[--no-browser] [FILE]",
    .help = "Open a timeline in the browser.\n"
	    "FILE is by default the one that was written last.  The page comes from\n"
	    "ui.perfetto.dev; it fetches the file from this machine, by port 9001 of 127.0.0.1,\n"
	    "once and within five minutes, and sends it nowhere.\n\n"
	    "Options:\n"
	    "  --no-browser   only print the address to open",
    .completion = {.options = options, .like = "file"},
    .run = view,
};
