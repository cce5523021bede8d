/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands, one file each, behind one table.  A command knows no front end: it prints, and
 * reaches the system under it, through its context. */
#ifndef MT_COMMAND_COMMAND_H
#define MT_COMMAND_COMMAND_H

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct mt_live_debugger;
struct mt_live_history;
struct mt_target;
struct mt_view;

/* Of a front end that can take the whole terminal. */
struct mt_command_screen {
	/* Why it cannot.  Errors: USAGE. */
	struct mt_error *(*check)(void);
	/* Shows VIEW, whose lines are TITLE's, until the user leaves it.
	 * Errors: check()'s; INTERRUPTED; SYSTEM; NO_MEMORY. */
	struct mt_error *(*show)(struct mt_view *view, const char *title,
				 const struct mt_progress *progress);
};

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
	/* NULL: the front end has none, or shows no more than text now. */
	const struct mt_command_screen *screen;
	/* What `mtrace …` is about: live/live.h; NULL: the front end is no debugger. */
	struct mt_live_debugger *debugger;
	unsigned columns;   /* of the terminal that is printed to; 0: none is known */
	const char *prefix; /* what the user types before a command's name: "mtdb" */
	const char *help;   /* and for its help: "mtdb help" */
	bool print_colour;  /* print() writes to a terminal that shows colours */
	bool report_colour; /* report() does */
	int exit_status;    /* out, for scripts: that of the program for `run`; else 0 */
};

/* Where a command is offered: a set. */
enum mt_command_where {
	MT_COMMAND_IN_SHELL = 1,    /* mtdb NAME */
	MT_COMMAND_IN_DEBUGGER = 2, /* mtrace NAME, in GDB and at mtdb's prompt */
};

/* What follows the options, for completion. */
enum mt_command_takes {
	MT_COMMAND_TAKES_NOTHING,
	MT_COMMAND_TAKES_FILE,
	MT_COMMAND_TAKES_LOCATION,
	MT_COMMAND_TAKES_TRIGGER, /* its number */
};

struct mt_command {
	const char *name;
	const char *summary; /* one line, no full stop */
	const char *usage;   /* "[OPTION…] RECORDING" */
	const char *help;    /* the full text; lines end in \n */
	/* For completion: "--output=FILE"; in a debugger also "-name one|other" (its values) or
	 * "-name VALUE".  NULL at the end; or NULL. */
	const char *const *options;
	uint8_t where;      /* enum mt_command_where */
	uint8_t takes;      /* enum mt_command_takes */
	bool is_raw;        /* argv[1] is the rest of the line as it was typed */
	const char *group;  /* of GDB's help: "COMMAND_DATA"; NULL: that one */
	int failure_status; /* exit status of failures but TRIGGER; 0: by mt_exit_status() */
	/* argv[0] is the command's name.  Errors: USAGE, and those of its work. */
	struct mt_error *(*run)(struct mt_command_context *context, int argc, char **argv);
};

/* All of them, in the order in which help lists them, NULL at the end. */
extern const struct mt_command *const mt_commands[];
/* Finds one that the shell offers.  NULL: no such command. */
const struct mt_command *mt_command_find(const char *name);
/* Runs a command with what a debugger's user typed behind its name: words with blanks between them,
 * unless they are quoted.  Errors: NO_MEMORY; the command's. */
struct mt_error *mt_command_run_line(struct mt_command_context *context,
				     const struct mt_command *command, const char *line);
/* The words of `mtrace history`, argv[0] among them, which outlive *OUT.  Errors: USAGE. */
struct mt_error *mt_command_read_history(struct mt_live_debugger *debugger, int argc, char **argv,
					 struct mt_live_history *out);
/* The command that was probably meant; NULL: none is close. */
const struct mt_command *mt_command_suggest(const char *name);

extern const struct mt_command mt_command_run;
extern const struct mt_command mt_command_attach;
extern const struct mt_command mt_command_decode;
extern const struct mt_command mt_command_history;
extern const struct mt_command mt_command_browse;
extern const struct mt_command mt_command_stats;
extern const struct mt_command mt_command_grep;
extern const struct mt_command mt_command_explain;
extern const struct mt_command mt_command_diff;
extern const struct mt_command mt_command_dump;
extern const struct mt_command mt_command_plan;
extern const struct mt_command mt_command_view;
extern const struct mt_command mt_command_doctor;
extern const struct mt_command mt_command_help;
extern const struct mt_command mt_command_start;
extern const struct mt_command mt_command_stop;
extern const struct mt_command mt_command_snapshot;
extern const struct mt_command mt_command_trigger;
extern const struct mt_command mt_command_delete;
extern const struct mt_command mt_command_values;
extern const struct mt_command mt_command_live_history;
extern const struct mt_command mt_command_live_stats;
extern const struct mt_command mt_command_live_grep;
extern const struct mt_command mt_command_live_explain;
extern const struct mt_command mt_command_save;
extern const struct mt_command mt_command_info;
extern const struct mt_command mt_command_window;
extern const struct mt_command mt_command_live_context;

void mt_command_printf(const struct mt_command_context *context, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* 2 for USAGE and TRIGGER, 130 for INTERRUPTED, 1 for all others. */
int mt_exit_status(enum mt_error_code code);

#endif
