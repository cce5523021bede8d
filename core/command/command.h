/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands, one file each, behind one table.  A command knows no front end: it prints, and
 * reaches the system under it, through its context. */
#ifndef MT_COMMAND_COMMAND_H
#define MT_COMMAND_COMMAND_H

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"

struct mt_target;

struct mt_command_context {
	/* Prints a result that was asked for: standard output. */
	void (*print)(void *context, const char *text);
	/* Prints longer output that is not the result: standard error. */
	void (*report)(void *context, const char *text);
	void *context;
	const struct mt_log *log; /* messages of a line: standard error */
	const struct mt_progress *progress;
	/* Creates a target to run or attach with; NULL: the front end has none.
	 * Errors: NO_MEMORY. */
	struct mt_error *(*target_create)(void *context, struct mt_target **out);
	/* Lets the user choose one of ITEMS, each a WHAT ("process"); NULL: the front end cannot.
	 * Errors: INTERRUPTED (none was chosen); USAGE (no terminal, no items). */
	struct mt_error *(*choose)(void *context, const char *what, const char *const *items,
				   size_t count, size_t *chosen);
	const char *prefix; /* what the user types before a command's name: "mtdb" */
	const char *help;   /* and for its help: "mtdb help" */
	bool print_colour;  /* print() writes to a terminal that shows colours */
	bool report_colour; /* report() does */
	int exit_status;    /* out, for scripts: that of the program for `run`; else 0 */
};

struct mt_command {
	const char *name;
	const char *summary;        /* one line, no full stop */
	const char *usage;          /* "[OPTION…] RECORDING" */
	const char *help;           /* the full text; lines end in \n */
	const char *const *options; /* for completion: "--output=FILE" …, NULL at the end */
	int failure_status;         /* exit status of any failure; 0: by mt_exit_status() */
	/* argv[0] is the command's name.  Errors: USAGE, and those of its work. */
	struct mt_error *(*run)(struct mt_command_context *context, int argc, char **argv);
};

/* All of them, in the order in which help lists them, NULL at the end. */
extern const struct mt_command *const mt_commands[];
/* NULL: no such command. */
const struct mt_command *mt_command_find(const char *name);
/* The command that was probably meant; NULL: none is close. */
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
