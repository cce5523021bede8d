/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mtdb's prompt: lines become commands, commands ask the debugger (debug/debugger.h), and what came
 * of it is told in GDB's words, so that fingers and scripts know it.
 *
 * A family of commands is a file with a table of its own, which table.c lists.  What is
 * asked for goes to standard output, what failed to standard error. */
#ifndef MT_PROMPT_PROMPT_H
#define MT_PROMPT_PROMPT_H

#include "base/array.h"
#include "base/str.h"
#include "debug/debugger.h"
#include "terminal/terminal.h"

struct prompt;

/* What stands behind a command, for completion. */
enum prompt_takes {
	PROMPT_ANYTHING,
	PROMPT_LOCATION,
	PROMPT_FILE,
	PROMPT_COMMANDS,
	PROMPT_SETTINGS, /* as behind `set` */
};

struct prompt_command {
	const char *name;
	const char *aliases; /* words that mean it, though they may begin others: "b br"; or NULL */
	const char *usage;   /* behind the name: "[LOCATION]"; or NULL */
	const char *summary; /* a line, without a full stop */
	const char *help;    /* more, lines that end in \n; or NULL */
	bool repeats;        /* an empty line does it again */
	uint8_t takes;       /* enum prompt_takes */
	/* `info`, `set`: the words behind it, ended by one without a name; or NULL. */
	const struct prompt_command *sub;
	/* REST: what stands behind the name, without blanks at its ends.  With `sub`: what no word
	 * of it fits; or NULL.  Errors: told to the user. */
	struct mt_error *(*run)(struct prompt *prompt, const char *rest);
	/* Of a setting: how it is, in a sentence and a line; or NULL. */
	struct mt_error *(*show)(struct prompt *prompt, const char *rest, struct mt_str *out);
};

/* Tables end with a command without a name. */
extern const struct prompt_command prompt_run_commands[];
extern const struct prompt_command prompt_alter_commands[];
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

/* What `list` goes on from. */
struct prompt_listing {
	char *file;     /* NULL: nothing was listed yet */
	char *name;     /* of the file, as people know it */
	uint32_t first; /* of the lines that were printed last */
	uint32_t next;  /* behind them */
};

struct prompt_record;
struct prompt_commands;
struct prompt_display;

struct prompt {
	struct mt_debugger *debugger;
	struct prompt_record *record; /* what `mtrace` keeps */
	MT_ARRAY(struct prompt_commands *) commands;
	MT_ARRAY(struct prompt_display *) displays;
	unsigned last_display;    /* the number of the one that came last */
	MT_ARRAY(unsigned) to_do; /* breakpoints whose commands are to be done */
	unsigned stops;           /* how many were told */
	bool does_commands;       /* it is at them */
	struct terminal *terminal;
	struct mt_progress progress;
	bool batch;
	bool confirm;
	bool asks_pending;              /* a breakpoint without a place: whether to keep it */
	bool makes_pending;             /* when nobody is asked: it is kept */
	bool interactive;               /* lines come from a terminal */
	bool over;                      /* `quit` was said */
	int ended_by;                   /* a signal that came while the program ran; 0: none */
	bool repeats;                   /* the last command can be done again by an empty line */
	bool has_stopped;               /* a verb ended in this run */
	struct mt_debug_stop last_stop; /* so; what it lends is gone */
	unsigned last_hit;              /* the breakpoint at which the program stands; 0: none */
	int status;                     /* of mtdb */
	char *last_line;                /* what an empty line repeats; NULL: nothing */
	unsigned depth;                 /* of `source` within `source` */
	char *missing_file;             /* a source file that was told to be missing */
	struct prompt_listing listing;
	bool examines_code; /* `x` does, without another format */
	uint64_t next_instruction;
	int32_t examined; /* how many it printed last */
	bool paginates;
	bool has_height; /* it was set; else it is the terminal's */
	uint32_t height; /* lines of a page; 0: all */
	bool intel;      /* the syntax of instructions; else AT&T's */
	unsigned line;   /* of that script */
	FILE *input;     /* lines of a script come from here; NULL: from the terminal */
};

/* prompt.c: the whole of `mtdb PROGRAM`. */
int prompt_main(struct terminal *terminal, int argc, char **argv);
/* Whether the words mean it, and no command of mtdb's. */
bool prompt_is_meant(int argc, char **argv);
/* And what breakpoints want to be done when they stop the program. */
struct mt_error *prompt_execute(struct prompt *prompt, const char *line);
/* Without that. */
struct mt_error *prompt_execute_one(struct prompt *prompt, const char *line);
/* Errors: what reading gives; a command's, behind "FILE:LINE: Error in sourced command file:". */
struct mt_error *prompt_source(struct prompt *prompt, const char *path);
/* One line of whoever gives lines now.  NULL: that was all.  The caller's to free. */
char *prompt_read_line(struct prompt *prompt, const char *mark);
/* The last line that was typed at a terminal ended with Ctrl-C. */
bool prompt_line_was_cancelled(void);
/* The command was typed, and does not come from a script: more is told then. */
bool prompt_is_at_terminal(const struct prompt *prompt);
/* No, where nobody can be asked. */
bool prompt_asks(struct prompt *prompt, const char *question);
/* Yes, where nobody can be asked. */
bool prompt_confirms(struct prompt *prompt, const char *question);

/* front.c: what happens while the program runs. */
struct mt_debug_front prompt_front(struct prompt *prompt);
/* The signals that end a program end mtdb, which is at its prompt. */
void prompt_release_signals(void);
/* Ctrl-C was pressed since it was asked last. */
bool prompt_is_interrupted(void);
/* And forgets it. */
bool prompt_take_interrupt(void);

/* out.c: what is printed, from all files. */
enum prompt_style { PROMPT_FUNCTION, PROMPT_FILENAME, PROMPT_VARIABLE, PROMPT_ADDRESS };
void prompt_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
void prompt_styled(enum prompt_style style, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* A command begins: its output is a page at a time, where somebody reads it. */
void prompt_out_begin(const struct prompt *prompt);
/* The rest of it is not: the terminal may be the program's. */
void prompt_out_unpaged(void);
/* What stands before whatever is printed from now on, if anything is; NULL: nothing does. */
void prompt_out_head(const char *text);
/* Lines of a page; 0: all that there is. */
unsigned prompt_out_rows(const struct prompt *prompt);
/* How far long work is; Ctrl-C ends it. */
struct mt_progress prompt_progress(struct prompt *prompt);
/* The reader had enough: nothing is printed until the next command. */
bool prompt_out_was_left(void);

/* say.c */
/* "Thread 0x7ffff7d8b740 (LWP 123)" */
void prompt_name_thread(struct prompt *prompt, const struct mt_debug_thread *thread,
			struct mt_str *out);
/* "3", or "2.3" where there were several inferiors. */
struct prompt_text {
	char text[32];
};
struct prompt_text prompt_thread_number(const struct prompt *prompt,
					const struct mt_debug_thread *thread);
/* The stop that a verb ended with, and where the program stands. */
struct mt_error *prompt_tell_stop(struct prompt *prompt, const struct mt_debug_stop *stop);
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
/* "Hardware watchpoint" */
const char *prompt_watch_words(const struct mt_debug_breakpoint *one);
/* And tell where it is. */
struct mt_error *prompt_add_breakpoint(struct prompt *prompt,
				       const struct mt_debug_new_breakpoint *what);

/* breaks.c: within `info` */
struct mt_error *prompt_info_breakpoints(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_watchpoints(struct prompt *prompt, const char *rest);
/* Of a thread that is gone, or with 0 of all: they are deleted, and that is told. */
void prompt_drop_breakpoints_of(struct prompt *prompt, unsigned thread);

/* choose.c: TEXT, or for "?" a function that is chosen now; *OUT is the caller's to free.
 * Errors: mt_choose_function()'s. */
struct mt_error *prompt_choose_function(struct prompt *prompt, const char *text, char **out);
struct mt_error *prompt_choose_process(struct prompt *prompt, pid_t *pid);

/* complete.c: the prompt at which readline completes from now on. */
void prompt_complete_for(struct prompt *prompt);

/* print.c: within `set` and `info` */
struct mt_error *prompt_set_variable(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_locals(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_args(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_symbol(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_functions(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_variables(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_scope(struct prompt *prompt, const char *rest);

/* display.c: after a stop, and within `info`, `delete`, `enable` and `disable` */
void prompt_show_displays(struct prompt *prompt);
struct mt_error *prompt_info_display(struct prompt *prompt, const char *rest);
struct mt_error *prompt_undisplay(struct prompt *prompt, const char *rest);
struct mt_error *prompt_enable_display(struct prompt *prompt, const char *rest);
struct mt_error *prompt_disable_display(struct prompt *prompt, const char *rest);
void prompt_displays_deinit(struct prompt *prompt);

/* list.c */
/* `list` goes on around LINE of the file that was shown last. */
void prompt_list_around(struct prompt *prompt, uint32_t line);
void prompt_listing_deinit(struct prompt_listing *listing);
/* Lines FIRST to LAST with their numbers.  NAME: as people know the file. */
struct mt_error *prompt_print_lines(struct prompt *prompt, const char *file, const char *name,
				    uint32_t first, uint32_t last);

/* code.c */
/* "call   0x1149 <find>".  Returns how many bytes it has; 0: there is no memory. */
size_t prompt_put_instruction(struct prompt *prompt, uint64_t address, struct mt_str *out);
/* `x/i`: COUNT instructions (0: as many as before) at what TEXT evaluates to, or behind those
 * before. */
struct mt_error *prompt_examine_code(struct prompt *prompt, const char *text, int32_t count);

/* info.c: behind `info`. */
struct mt_error *prompt_info_line(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_sharedlibrary(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_frame(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_source(struct prompt *prompt, const char *rest);

/* registers.c: behind `info`. */
struct mt_error *prompt_info_registers(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_all_registers(struct prompt *prompt, const char *rest);

/* system.c: behind `info`. */
struct mt_error *prompt_info_proc(struct prompt *prompt, const char *rest);

/* inferior.c */
struct mt_error *prompt_info_inferiors(struct prompt *prompt, const char *rest);
struct mt_error *prompt_info_program(struct prompt *prompt, const char *rest);

/* signal.c */
struct mt_error *prompt_info_signals(struct prompt *prompt, const char *rest);

/* commands.c */
struct mt_error *prompt_run_commands_command(struct prompt *prompt, const char *rest);
void prompt_show_commands(struct prompt *prompt, unsigned breakpoint);
/* The stop is not to be told. */
bool prompt_commands_are_silent(struct prompt *prompt, unsigned breakpoint);
struct mt_error *prompt_do_commands(struct prompt *prompt);
void prompt_commands_deinit(struct prompt *prompt);

/* record.c, trigger.c */
struct mt_error *prompt_record_create(struct prompt *prompt);
void prompt_record_destroy(struct prompt *prompt);
void prompt_record_ran(struct prompt *prompt);
/* A crash, or the end, is worth a snapshot. */
void prompt_record_stopped(struct prompt *prompt, const struct mt_debug_stop *stop);
/* The thread that came to a silent breakpoint is selected: whether the program stops. */
bool prompt_trigger_hit(struct prompt *prompt, unsigned breakpoint);

/* Parsing what is typed. */
/* WORD on its own in TEXT, not within parentheses or quotes: "if".  NULL: it is not there. */
const char *prompt_find_word(const char *text, const char *word);
bool prompt_is_word(const char *text, const char *word); /* TEXT begins with it, as a whole */
const char *prompt_skip_blanks(const char *text);
/* ACT on each of "1 3-5"; what it fails with is told, and the others are done.  WHAT: "breakpoint".
 * Errors: USAGE. */
struct mt_error *prompt_each_number(struct prompt *prompt, const char *what, const char *text,
				    struct mt_error *(*act)(struct prompt *prompt,
							    unsigned number));
/* A count behind a command, 1 if there is none.  Errors: USAGE. */
struct mt_error *prompt_parse_count(const char *text, uint64_t *count);

#endif
