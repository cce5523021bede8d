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
	/* What is told beside it, of many lines: standard error. */
	void (*tell)(void *context, const char *text);
	void *context;
	const struct mt_log *log; /* a line beside it */
	const struct mt_progress *progress;
	/* A fresh target to run or attach with; NULL: the front end has none.
	 * Errors: NO_MEMORY. */
	struct mt_error *(*target_create)(void *context, struct mt_target **out);
	/* One of ITEMS, each a WHAT ("process"), as the user chooses; NULL: the front end has no
	 * way. Errors: INTERRUPTED (none was chosen); USAGE (it cannot be done now). */
	struct mt_error *(*choose)(void *context, const char *what, const char *const *items,
				   size_t count, size_t *chosen);
	const char *prefix; /* what stands before a command's name when it is typed: "mtdb" */
	const char *help;   /* and to be told of it: "mtdb help" */
	bool print_colour;  /* print() ends in a terminal that shows colours */
	bool tell_colour;   /* tell() does */
	int exit_status;    /* out, for scripts: what `run` passes through; else 0 */
};

struct mt_command {
	const char *name;
	const char *summary;        /* one line, no full stop */
	const char *usage;          /* "[OPTION…] RECORDING" */
	const char *help;           /* the whole text; lines end in \n */
	const char *const *options; /* for completion: "--output=FILE" …, NULL at the end */
	int failure_status;         /* exit status of any failure; 0: by mt_exit_status() */
	/* argv[0] is the command's name. Errors: USAGE and whatever it does. */
	struct mt_error *(*run)(struct mt_command_context *context, int argc, char **argv);
};

/* All of them, in the order in which help lists them, NULL at the end. */
extern const struct mt_command *const mt_commands[];
/* NULL: none of that name. */
const struct mt_command *mt_command_find(const char *name);
/* The command that was perhaps meant; NULL: none is near. */
const struct mt_command *mt_command_suggest(const char *name);

extern const struct mt_command mt_command_run;
extern const struct mt_command mt_command_attach;
extern const struct mt_command mt_command_decode;
extern const struct mt_command mt_command_history;
extern const struct mt_command mt_command_dump;
extern const struct mt_command mt_command_plan;
extern const struct mt_command mt_command_view;
extern const struct mt_command mt_command_doctor;
extern const struct mt_command mt_command_help;

void mt_command_printf(const struct mt_command_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* 2 for USAGE, 130 for INTERRUPTED, 1 for all others. */
int mt_exit_status(enum mt_error_code code);

#endif
