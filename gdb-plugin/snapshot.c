/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtrace snapshot, mtrace save */
#include "commands.h"

#include "gdb.h"
#include "live.h"

static struct mt_error *snapshot(int argc, char **argv)
{
	char *path = NULL;

	if (argc > 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace snapshot takes one file: \"%s\"",
				    argv[2]);
	mt_try(mt_live_snapshot(mt_live_selected(), argc > 1 ? argv[1] : NULL, &path, NULL));
	mt_gdb_printf("Snapshot %u is in %s.\n", mt_live_snapshots(), path);
	free(path);
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_snapshot = {
    .name = "snapshot",
    .group = "COMMAND_DATA",
    .usage = "[FILE]",
    .help = "Write what was recorded so far as a timeline.\n"
	    "FILE's ending says the format: .fxt (for https://ui.perfetto.dev), .json or .txt "
	    "(default:\nset mtrace output).",
    .completion = {.like = "file"},
    .run = snapshot,
};

static struct mt_error *save(int argc, char **argv)
{
	struct mt_recording *recording = NULL;

	if (argc != 2)
		return mt_error_new(MT_ERROR_USAGE, "mtrace save needs one file");
	mt_try(mt_live_recording(mt_live_selected(), argv[1], &recording));
	mt_recording_close(recording);
	mt_gdb_printf("The recording is in %s.\n", argv[1]);
	return NULL;
}

const struct mt_gdb_command mt_gdb_command_save = {
    .name = "save",
    .group = "COMMAND_DATA",
    .usage = "FILE",
    .help = "Write what was recorded so far as a recording.\n"
	    "It is a perf.data file, for \"mtrace decode\", mtdb and perf script.",
    .completion = {.like = "file"},
    .run = save,
};
