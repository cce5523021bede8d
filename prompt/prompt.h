/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtdb's prompt: lines become commands, commands ask the debugger (debug/debugger.h), and the
 * result is printed in GDB's words, which fingers and scripts know.
 *
 * A family of commands is a file with a table of its own, which table.c lists.  Output goes to
 * standard output, errors to standard error. */
#ifndef MT_PROMPT_PROMPT_H
#define MT_PROMPT_PROMPT_H

#include "base/array.h"
#include "base/str.h"
#include "debug/debugger.h"
#include "terminal/terminal.h"

struct mt_command;
struct prompt;
struct prompt_setting;

/* The argument of a command, for completion. */
enum prompt_takes {
	PROMPT_ANYTHING,
	PROMPT_LOCATION,
	PROMPT_FILE,
	PROMPT_COMMANDS,
	PROMPT_SETTINGS, /* as of `set` */
};

struct prompt_command {
	const char *name;
	const char *aliases; /* words that mean it, though others begin so: "b br"; or NULL */
	const char *usage;   /* the arguments: "[LOCATION]"; or NULL */
	const char *summary; /* a line, without a full stop */
	const char *help;    /* more, lines that end in \n; or NULL */
	bool repeats;        /* an empty line runs it again */
	uint8_t takes;       /* enum prompt_takes */
	/* `info`, `set`: their subcommands, ended by one without a name; or NULL. */
	const struct prompt_command *sub;
	/* One of these, or with `sub` none.  REST: the arguments, without blanks at their ends;
	 * with `sub`, arguments that begin with no subcommand.  Errors: reported to the user. */
	struct mt_error *(*run)(struct prompt *prompt, const char *rest);
	struct mt_error *(*run_variant)(struct prompt *prompt, const char *rest, int variant);
	const struct prompt_setting *setting; /* that is set */
	const struct mt_command *command;     /* of `mtrace` */
	int variant;
	/* Of a setting: its value, as a sentence and a line; NULL: as of SETTING. */
	struct mt_error *(*show)(struct prompt *prompt, const char *rest, struct mt_str *out);
};

/* Tables end with a command without a name. */
extern const struct prompt_command prompt_run_commands[];
extern const struct prompt_command prompt_core_commands[];
extern const struct prompt_command prompt_break_commands[];
extern const struct prompt_command prompt_stack_commands[];
extern const struct prompt_command prompt_thread_commands[];
extern const struct prompt_command prompt_list_commands[];
extern const struct prompt_command prompt_code_commands[];
extern const struct prompt_command prompt_print_commands[];
extern const struct prompt_command prompt_display_commands[];
extern const struct prompt_command prompt_record_commands[];
extern const struct prompt_command prompt_signal_commands[];
extern const struct prompt_command prompt_system_commands[];
extern const struct prompt_command prompt_other_commands[];
extern const struct prompt_command prompt_set_commands[];

/* table.c */
/* All tables, NULL at the end. */
extern const struct prompt_command *const prompt_tables[];
/* The command that TEXT begins with; *REST: behind its name.
 * Errors: USAGE ("Undefined command: \"x\".  Try \"help\".", "Ambiguous command …"). */
struct mt_error *prompt_find(const char *text, const struct prompt_command **command,
			     const char **rest);

/* The same in one table.  PREFIX: "info ", for what fails. */
struct mt_error *prompt_find_within(const struct prompt_command *table, const char *prefix,
				    const char *text, const struct prompt_command **command,
				    const char **rest);

/* Where `list` continues. */
struct prompt_listing {
	char *file;     /* NULL: nothing was listed yet */
	char *name;     /* of the file, as the compiler was given it */
	uint32_t first; /* of the lines that were printed last */
	uint32_t next;  /* behind them */
};

/* Where `x/i` continues, and whether `x` without a format is `x/i`. */
struct prompt_examining {
	bool code;
	uint64_t next;
	int32_t count; /* of the instructions that were printed last */
};

#define PROMPT_HEIGHT_OF_TERMINAL UINT32_MAX

/* Changed by `set`, as those of the debugger and of expressions are. */
struct prompt_settings {
	bool confirm;
	bool paginates;
	uint8_t pending;    /* enum prompt_pending */
	uint8_t syntax;     /* enum prompt_syntax */
	uint32_t height;    /* lines of a page; 0: unlimited */
	uint32_t list_size; /* lines that `list` prints; 0: unlimited */
};
enum prompt_pending { PROMPT_PENDING_AUTO, PROMPT_PENDING_ON, PROMPT_PENDING_OFF };
enum prompt_syntax { PROMPT_ATT_SYNTAX, PROMPT_INTEL_SYNTAX };

/* Where lines come from, but for scripts. */
enum prompt_source { PROMPT_FROM_PIPE, PROMPT_FROM_TERMINAL, PROMPT_FROM_NOWHERE /* --batch */ };

enum prompt_state {
	PROMPT_AT_LINE,     /* a command is read, or run */
	PROMPT_AT_COMMANDS, /* the `commands` of breakpoints are run */
	PROMPT_OVER,        /* `quit`, or a signal that ends mtdb */
};

struct prompt_commands;
struct prompt_display;

struct prompt {
	struct mt_debugger *debugger;
	struct mt_live_debugger live; /* of `mtrace` */
	struct prompt_settings settings;
	struct terminal *terminal;
	struct mt_progress progress;
	enum prompt_state state;
	enum prompt_source source;
	FILE *script;    /* that is read by `source`; NULL: lines come from SOURCE */
	unsigned line;   /* of that script */
	unsigned depth;  /* of `source` within `source` */
	int status;      /* of mtdb */
	bool repeats;    /* the last command can be repeated by an empty line */
	char *last_line; /* that an empty line repeats; NULL: none */

	MT_ARRAY(struct prompt_commands *) commands;
	MT_ARRAY(unsigned) to_do; /* breakpoints whose commands are to be run */
	MT_ARRAY(struct prompt_display *) displays;
	unsigned last_display;          /* number of the newest */
	unsigned stops;                 /* how many were reported */
	struct mt_debug_stop last_stop; /* of this run, without what it borrows; pid 0: none yet */
	const char *recording;          /* of --recording; NULL: none was named */
	char *missing_file;             /* a source file that was reported as missing */
	struct prompt_listing listing;
	struct prompt_examining examining;
};

/* prompt.c: the whole of `mtdb PROGRAM`. */
int prompt_main(struct terminal *terminal, int argc, char **argv);
/* Whether the words are for the prompt, not a command of mtdb. */
bool prompt_is_meant(int argc, char **argv);
/* Runs a line, then the `commands` of the breakpoints that it stopped at. */
struct mt_error *prompt_execute(struct prompt *prompt, const char *line);
/* Runs the line alone. */
struct mt_error *prompt_execute_one(struct prompt *prompt, const char *line);
/* Errors: what reading gives; a command's, behind "FILE:LINE: Error in sourced command file:". */
struct mt_error *prompt_source(struct prompt *prompt, const char *path);
/* The next line of the script, or of the prompt's source.  NULL: there are no more.  The caller
 * frees it. */
char *prompt_read_line(struct prompt *prompt, const char *mark);
/* The last line that was typed at a terminal ended with Ctrl-C. */
bool prompt_line_was_cancelled(void);
/* The command does not come from a script or --batch: commands print more then. */
bool prompt_is_at_terminal(const struct prompt *prompt);
/* "No" without a terminal. */
bool prompt_asks(struct prompt *prompt, const char *question);
/* "Yes" without a terminal, or with `set confirm off`. */
bool prompt_confirms(struct prompt *prompt, const char *question);

/* front.c: events while the program runs. */
struct mt_debug_front prompt_front(struct prompt *prompt);
/* From now on Ctrl-C is the prompt's. */
void prompt_take_interrupts(void);
/* Ctrl-C was pressed since prompt_take_interrupt(). */
bool prompt_is_interrupted(void);
/* The same, and clears it. */
bool prompt_take_interrupt(void);

/* out.c: all output of the prompt. */
enum prompt_style { PROMPT_FUNCTION, PROMPT_FILENAME, PROMPT_VARIABLE, PROMPT_ADDRESS };
void prompt_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Text with colours, whose foreign parts went through base/utf8.h. */
void prompt_print_made(const char *text);
/* To standard error, behind what was printed. */
void prompt_report(const char *format, ...) __attribute__((format(printf, 1, 2)));
void prompt_styled(enum prompt_style style, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A command begins: its output is paged, if it is read at a terminal. */
void prompt_out_begin(const struct prompt *prompt);
/* The rest of its output is not paged: the terminal may be the program's. */
void prompt_out_unpaged(void);
/* PRINT is called before the next output, if there is any; NULL: nothing is. */
void prompt_out_head(void (*print)(void *context), void *context);
/* Lines of a page; 0: unlimited. */
unsigned prompt_out_rows(const struct prompt *prompt);
/* Progress of long work; Ctrl-C interrupts it. */
struct mt_progress prompt_progress(struct prompt *prompt);
/* The user quit at the end of a page: nothing is printed until the next command. */
bool prompt_out_was_left(void);

/* report.c */
/* "Thread 0x7ffff7d8b740 (LWP 123)" */
void prompt_name_thread(struct prompt *prompt, const struct mt_debug_thread *thread,
			struct mt_str *out);
/* "3", or "2.3" where there were several inferiors. */
struct prompt_text {
	char text[32];
};
struct prompt_text prompt_thread_number(const struct prompt *prompt,
					const struct mt_debug_thread *thread);
/* Prints why and where the program stopped. */
struct mt_error *prompt_report_stop(struct prompt *prompt, const struct mt_debug_stop *stop);
/* "ns::f", by its language; nothing: not known.  And "n=3, s=0x4006b4 \"x\"". */
void prompt_name_function(struct prompt *prompt, const struct mt_debug_frame *frame,
			  struct mt_str *out);
void prompt_list_arguments(struct prompt *prompt, const struct mt_debug_frame *frame,
			   struct mt_str *out);
/* "#0  main () at t.c:3"; without a level when that is false. */
void prompt_print_frame(struct prompt *prompt, const struct mt_debug_frame *frame, bool level);
/* The frame, and below it its source line. */
void prompt_show_frame(struct prompt *prompt, const struct mt_debug_frame *frame, bool level);
/* The line alone. */
void prompt_show_line(struct prompt *prompt, const struct mt_debug_frame *frame);
struct prompt_text prompt_signal_name(int signal);  /* "SIGSEGV" */
struct prompt_text prompt_signal_words(int signal); /* "Segmentation fault" */

/* run.c, break.c */
struct mt_error *prompt_attach(struct prompt *prompt, const char *pid);
/* Kills the program, or detaches from it, if there is one, and the user agrees. */
struct mt_error *prompt_leave_program(struct prompt *prompt);

/* core.c */
/* PATH "": no core file any more. */
struct mt_error *prompt_core_file(struct prompt *prompt, const char *path);
/* Of `info proc`. */
struct mt_error *prompt_info_proc_of_core(struct prompt *prompt, const char *rest);
/* The recording of the program that left the core file; false: none is looked at. */
bool prompt_core_recording(struct prompt *prompt, struct mt_str *path);

/* "Hardware watchpoint" */
const char *prompt_watch_words(const struct mt_debug_breakpoint *one);
/* Sets a breakpoint and prints its location. */
struct mt_error *prompt_add_breakpoint(struct prompt *prompt,
				       const struct mt_debug_new_breakpoint *what);

/* breaks.c: `info breakpoints`, and `info watchpoints`. */
struct mt_error *prompt_info_breakpoints(struct prompt *prompt, const char *rest,
					 int watchpoints_only);
struct mt_error *prompt_rbreak(struct prompt *prompt, const char *rest);
/* Deletes those of a thread that is gone, or with 0 of all threads, and reports it. */
void prompt_drop_breakpoints_of(struct prompt *prompt, unsigned thread);

/* apply.c: how `thread apply` and `frame apply` run a command. */
struct prompt_applying {
	const char *command;
	bool quiet;     /* -q: without the names of the threads or frames */
	bool ascending; /* of all threads the oldest first */
	enum {
		PROMPT_STOP_AT_ERROR,
		PROMPT_PRINT_ERRORS,  /* -c */
		PROMPT_SILENT_ERRORS, /* -s: nor is what has no output named */
	} errors;
};
/* The words with a "-" in front; behind them begins the command.  Errors: USAGE. */
struct mt_error *prompt_read_applying(const char *rest, struct prompt_applying *out);
/* Runs the command in what is selected, which PRINT_HEAD names. */
struct mt_error *prompt_apply(struct prompt *prompt, const struct prompt_applying *how,
			      void (*print_head)(void *context), void *context);
struct mt_error *prompt_frame_apply(struct prompt *prompt, const char *rest);
struct mt_error *prompt_faas(struct prompt *prompt, const char *rest);

/* choose.c: TEXT, or for "?" and "." a function that is chosen now; *OUT is the caller's to free.
 * Errors: mt_choose_function()'s. */
struct mt_error *prompt_choose_function(struct prompt *prompt, const char *text, char **out);
struct mt_error *prompt_choose_process(struct prompt *prompt, pid_t *pid);

/* complete.c: the prompt at which readline completes from now on. */
void prompt_complete_for(struct prompt *prompt);

/* print.c: commands that print what expr/expr.h makes of their arguments. */
enum prompt_evaluation {
	PROMPT_PRINT,
	PROMPT_SET_VARIABLE,
	PROMPT_OUTPUT,
	PROMPT_EXAMINE,
	PROMPT_WHATIS,
	PROMPT_PTYPE,
	PROMPT_PRINTF,
	PROMPT_INFO_SYMBOL,
	PROMPT_INFO_LOCALS,
	PROMPT_INFO_ARGS,
	PROMPT_INFO_FUNCTIONS,
	PROMPT_INFO_VARIABLES,
	PROMPT_INFO_TYPES,
};
struct mt_error *prompt_evaluate(struct prompt *prompt, const char *rest, int evaluation);
struct mt_error *prompt_info_scope(struct prompt *prompt, const char *rest);

/* display.c: after a stop, and within `info`, `delete`, `enable` and `disable` */
void prompt_show_displays(struct prompt *prompt);
struct mt_error *prompt_info_display(struct prompt *prompt, const char *rest);
struct mt_error *prompt_undisplay(struct prompt *prompt, const char *rest);
struct mt_error *prompt_enable_displays(struct prompt *prompt, const char *rest, int enable);
void prompt_displays_deinit(struct prompt *prompt);

/* list.c */
/* `list` continues around LINE of the file that was shown last. */
void prompt_list_around(struct prompt *prompt, uint32_t line);
void prompt_listing_deinit(struct prompt_listing *listing);
/* Lines FIRST to LAST with their numbers.  NAME: of the file, to be shown. */
struct mt_error *prompt_print_lines(struct prompt *prompt, const char *file, const char *name,
				    uint32_t first, uint32_t last);

/* code.c */
/* From memory, or from the file before the program runs: how many bytes. */
size_t prompt_read_code(struct prompt *prompt, uint64_t address, void *bytes, size_t size);
/* "call   0x1149 <find>".  Returns how many bytes it has; 0: there is no memory. */
size_t prompt_put_instruction(struct prompt *prompt, uint64_t address, struct mt_str *out);
/* `x/i`: COUNT instructions (0: as many as before) at what TEXT evaluates to, or behind those
 * before. */
struct mt_error *prompt_examine_code(struct prompt *prompt, const char *text, int32_t count);

/* info.c: subcommands of `info`. */
struct mt_error *prompt_info_inferiors(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_program(struct prompt *prompt, const char *rest);
/* ALL: `info all-registers`. */
struct mt_error *prompt_info_registers(struct prompt *prompt, const char *rest, int all);
struct mt_error *prompt_info_line(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_sharedlibrary(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_frame(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_source(struct prompt *prompt, const char *rest);

/* set.c */
struct mt_error *prompt_set(struct prompt *prompt, const struct prompt_setting *setting,
			    const char *text);

/* set_other.c */
struct mt_error *prompt_set_other(struct prompt *prompt, const char *rest);

/* system.c: of `info`. */
struct mt_error *prompt_info_proc(struct prompt *prompt, const char *rest);

/* signal.c */
struct mt_error *prompt_info_signals(struct prompt *prompt, const char *rest);

/* commands.c */
struct mt_error *prompt_run_commands_command(struct prompt *prompt, const char *rest);
void prompt_show_commands(struct prompt *prompt, unsigned breakpoint);
/* The first one is "silent": the stop is not to be printed. */
bool prompt_commands_are_silent(struct prompt *prompt, unsigned breakpoint);
struct mt_error *prompt_do_commands(struct prompt *prompt);
void prompt_commands_deinit(struct prompt *prompt);

/* record.c */
void prompt_record_init(struct prompt *prompt);
struct mt_error *prompt_run_mtrace(struct prompt *prompt, const struct mt_command *command,
				   const char *rest);
/* A crash, or the end, is worth a snapshot. */
void prompt_record_stopped(struct prompt *prompt, const struct mt_debug_stop *stop);
/* See passes() in debug/debugger.h. */
bool prompt_trigger_passes(struct prompt *prompt, unsigned *breakpoint);
/* The thread that came to a silent breakpoint is selected: whether the program stops. */
bool prompt_trigger_hit(struct prompt *prompt, unsigned breakpoint);
/* The condition of a breakpoint could not be evaluated.  False: it is no trigger's. */
bool prompt_trigger_failed(struct prompt *prompt, unsigned breakpoint, const char *why);

/* Parsing what is typed. */
/* WORD on its own in TEXT, not within parentheses or quotes: "if".  NULL: it is not there. */
const char *prompt_find_word(const char *text, const char *word);
bool prompt_is_word(const char *text, const char *word); /* TEXT begins with it, as a whole */
const char *prompt_skip_blanks(const char *text);
/* Calls ACT for each of "1 3-5"; its errors are printed.  WHAT: "breakpoint".
 * Errors: USAGE. */
struct mt_error *prompt_each_number(struct prompt *prompt, const char *what, const char *text,
				    struct mt_error *(*act)(struct prompt *prompt, unsigned number,
							    int variant),
				    int variant);
/* A count behind a command, 1 if there is none.  Errors: USAGE. */
struct mt_error *prompt_parse_count(const char *text, uint64_t *count);

#endif
