/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands, one file each, behind one table.  A command knows no front end: what it prints and
 * what it needs from the system under it come through its context. */
#ifndef MT_COMMAND_COMMAND_H
#define MT_COMMAND_COMMAND_H

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"

struct mt_target;

struct mt_command_context {
	/* A result that was asked for: standard output. */
	void (*print)(void *context, const char *text);
	void *context;
	const struct mt_log *log; /* words beside it: standard error */
	const struct mt_progress *progress;
	/* A fresh target to run or attach with.  Errors: NO_MEMORY. */
	struct mt_error *(*target_create)(void *context, struct mt_target **out);
	bool colour;     /* print() ends in a terminal that shows colours */
	int exit_status; /* out, for scripts: what `run` passes through; else 0 */
};

struct mt_command {
	const char *name;
	const char *summary;        /* one line, no full stop */
	const char *usage;          /* "[OPTION…] RECORDING" */
	const char *help;           /* the whole text */
	const char *const *options; /* for completion: "--output=FILE" …, NULL at the end */
	/* argv[0] is the command's name. Errors: USAGE and whatever it does. */
	struct mt_error *(*run)(struct mt_command_context *context, int argc, char **argv);
};

/* All of them, ended by a NULL name. */
extern const struct mt_command mt_commands[];
/* NULL: none of that name. */
const struct mt_command *mt_command_find(const char *name);

#endif
