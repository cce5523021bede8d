/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mtdb PROGRAM`: runs the commands of the command line, then a line after the other. */
#include "prompt/prompt.h"

#include "base/array.h"
#include "base/path.h"
#include "process/corefile.h"
#include "ptrace/target.h"
#include "terminal/ending.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* readline's headers declare what needs stdio. */
#include <readline/history.h>
#include <readline/readline.h>

#define PROMPT          "(mtdb) "
#define DEEPEST_SOURCES 50

/* A command of the command line, or a file of commands, in its order. */
struct order {
	bool is_file;
	const char *text;
};

struct options {
	MT_ARRAY(struct order) orders;
	const char *pid;
	const char *core;
	bool batch;
	bool has_arguments; /* what follows the program is for it, also the name of a core file */
	char **program;     /* and its arguments, NULL at the end */
};

static bool cancelled; /* Ctrl-C ended the last line */

/* ---- Lines ---- */

static char *read_from_file(FILE *input)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t length = getline(&line, &room, input);

	if (length < 0) {
		free(line);
		return NULL;
	}
	while (length && (line[length - 1] == '\n' || line[length - 1] == '\r'))
		line[--length] = 0;
	return line;
}

/* False: a signal came, at the latest now: it cannot slip in between looking and waiting. */
static bool wait_for_key(int fd)
{
	struct pollfd input = {.fd = fd, .events = POLLIN};
	sigset_t ending, before;
	bool waited = false;

	ending_fill(&ending);
	sigprocmask(SIG_BLOCK, &ending, &before);
	if (!rl_pending_signal() && !prompt_is_interrupted() && !ending_signal())
		waited = ppoll(&input, 1, NULL, &before) >= 0 || errno != EINTR;
	sigprocmask(SIG_SETMASK, &before, NULL);
	return waited;
}

/* Ctrl-C takes back what is typed. */
static int read_key(FILE *input)
{
	unsigned char key;

	for (;;) {
		if (wait_for_key(fileno(input))) {
			ssize_t got = read(fileno(input), &key, 1);

			if (got == 1)
				return key;
			if (got == 0 || errno != EINTR)
				return EOF;
		}
		/* readline hands it on to our own handler, as it may have done between two keys. */
		rl_check_signals();
		if (ending_signal())
			return EOF;
		cancelled = prompt_take_interrupt();
		if (!cancelled)
			continue;
		rl_replace_line("", 1);
		return '\n';
	}
}

bool prompt_line_was_cancelled(void)
{
	return cancelled;
}

char *prompt_read_line(struct prompt *prompt, const char *mark)
{
	char *line;

	if (prompt->script) {
		prompt->line++;
		return read_from_file(prompt->script);
	}
	if (prompt->source != PROMPT_FROM_TERMINAL)
		prompt_printf("%s", mark);
	terminal_flush(prompt->terminal);
	if (prompt->source != PROMPT_FROM_TERMINAL)
		return read_from_file(stdin);
	for (;;) {
		cancelled = false;
		prompt_take_interrupt();
		ending_hold(); /* the terminal's modes are readline's */
		line = readline(mark);
		ending_release();
		if (!cancelled)
			break;
		free(line);
		puts("Quit");
	}
	if (line && *prompt_skip_blanks(line))
		add_history(line);
	return line;
}

static bool ask(struct prompt *prompt, const char *question, bool otherwise)
{
	if (prompt->source != PROMPT_FROM_TERMINAL || prompt->script) {
		prompt_printf("%s[answered %c; input not from terminal]\n", question,
			      otherwise ? 'Y' : 'N');
		return otherwise;
	}
	char *answer = prompt_read_line(prompt, question);
	char letter = answer ? (char)tolower((unsigned char)*prompt_skip_blanks(answer)) : 0;
	free(answer);
	return letter == 'y' || (letter != 'n' && otherwise);
}

bool prompt_is_at_terminal(const struct prompt *prompt)
{
	return prompt->source != PROMPT_FROM_NOWHERE && !prompt->script;
}

bool prompt_confirms(struct prompt *prompt, const char *question)
{
	return !prompt->settings.confirm || ask(prompt, question, true);
}

bool prompt_asks(struct prompt *prompt, const char *question)
{
	return ask(prompt, question, false);
}

/* ---- Commands ---- */

struct mt_error *prompt_execute(struct prompt *prompt, const char *line)
{
	struct mt_error *error = prompt_execute_one(prompt, line);

	if (!error)
		error = prompt_do_commands(prompt);
	if (ending_signal())
		prompt->state = PROMPT_OVER;
	return error;
}

struct mt_error *prompt_execute_one(struct prompt *prompt, const char *line)
{
	const struct prompt_command *command;
	mt_auto(mt_str) struct mt_str text = {0};
	const char *rest;

	line = prompt_skip_blanks(line);
	if (!*line || *line == '#')
		return NULL;
	mt_str_append(&text, line);
	while (text.length && isspace((unsigned char)text.text[text.length - 1]))
		text.text[--text.length] = 0;
	if (text.failed)
		return mt_error_no_memory();
	mt_try(prompt_find(text.text, &command, &rest));
	prompt->repeats = command->repeats;
	if (command->run)
		return command->run(prompt, rest);
	if (command->run_variant)
		return command->run_variant(prompt, rest, command->variant);
	if (command->command)
		return prompt_run_mtrace(prompt, command->command, rest);
	if (command->setting)
		return prompt_set(prompt, command->setting, rest);
	return mt_error_new(MT_ERROR_USAGE, "\"%s\" must be followed by the name of a subcommand.",
			    command->name);
}

/* Nobody reads the output any more. */
static bool is_unread(const struct prompt *prompt)
{
	return prompt->terminal->output_errno == EPIPE;
}

static void print_error(struct mt_error *error)
{
	fflush(stdout);
	if (*mt_error_message(error))
		prompt_report("%s\n", mt_error_message(error));
	mt_error_destroy(error);
}

struct mt_error *prompt_source(struct prompt *prompt, const char *path)
{
	FILE *file, *outer = prompt->script;
	unsigned outer_line = prompt->line, number = 0;
	struct mt_error *error = NULL;
	char *line;

	if (prompt->depth == DEEPEST_SOURCES)
		return mt_error_new(MT_ERROR_USAGE, "%s: files source one another endlessly.",
				    path);
	file = fopen(path, "re");
	if (!file)
		return mt_error_new(MT_ERROR_NOT_FOUND, "%s: %s.", path, strerrordesc_np(errno));
	prompt->depth++;
	prompt->script = file;
	prompt->line = 0;
	while (!error && prompt->state != PROMPT_OVER && !is_unread(prompt) &&
	       !prompt_is_interrupted() && (line = read_from_file(file))) {
		number = ++prompt->line;
		error = prompt_execute(prompt, line);
		free(line);
	}
	prompt->script = outer;
	prompt->line = outer_line;
	prompt->depth--;
	fclose(file);
	if (!error)
		return NULL;
	struct mt_error *with_line =
	    mt_error_new(mt_error_code(error), "%s:%u: Error in sourced command file:\n%s", path,
			 number, mt_error_message(error));
	mt_error_destroy(error);
	return with_line;
}

/* "Quit" is the error if Ctrl-C, or "q" at the end of a page, ended the command. */
static struct mt_error *end_command(struct prompt *prompt, struct mt_error *error)
{
	bool is_interrupted = prompt_take_interrupt();

	if (is_interrupted)
		mt_debugger_forget_frames(prompt->debugger);
	if (!is_interrupted && !prompt_out_was_left())
		return error;
	mt_error_destroy(error);
	return mt_error_new(MT_ERROR_INTERRUPTED, "Quit");
}

/* An empty line repeats the last command, if that can be repeated. */
static void take_line(struct prompt *prompt, char *line)
{
	bool is_empty = !*prompt_skip_blanks(line);
	const char *text = is_empty && prompt->last_line ? prompt->last_line : line;
	struct mt_error *error;

	if (is_empty && prompt->source != PROMPT_FROM_TERMINAL) {
		free(line);
		return;
	}
	prompt->repeats = false;
	prompt_out_begin(prompt);
	error = prompt_execute(prompt, text);
	terminal_flush(prompt->terminal);
	prompt->status = error != NULL;
	error = end_command(prompt, error);
	if (error)
		print_error(error);
	if (!is_empty) {
		free(prompt->last_line);
		prompt->last_line = prompt->repeats ? line : NULL;
	}
	if (is_empty || !prompt->repeats)
		free(line);
}

/* ---- The command line ---- */

static bool is_option(const char *word, const char *name)
{
	while (*word == '-')
		word++;
	return strcmp(word, name) == 0;
}

static struct mt_error *add_order(struct options *options, char ***words, bool is_file)
{
	const struct order order = {is_file, *++*words};

	if (!order.text)
		return mt_error_new(MT_ERROR_USAGE, "option \"%s\" requires a value", (*words)[-1]);
	return mt_array_push(&options->orders, order) ? mt_error_no_memory() : NULL;
}

/* *words: at an option; stays at its last word. */
static struct mt_error *take_option(struct options *options, const char **recording, char ***words)
{
	const char *word = **words;

	if (is_option(word, "batch"))
		options->batch = true;
	else if (is_option(word, "x") || is_option(word, "command"))
		return add_order(options, words, true);
	else if (is_option(word, "ex") || is_option(word, "eval-command"))
		return add_order(options, words, false);
	else if (is_option(word, "p") || is_option(word, "pid"))
		options->pid = *++*words;
	else if (is_option(word, "c") || is_option(word, "core"))
		options->core = *++*words;
	else if (is_option(word, "recording"))
		*recording = *++*words;
	else if (is_option(word, "args"))
		options->has_arguments = true;
	else if (!is_option(word, "q") && !is_option(word, "quiet") && !is_option(word, "nx"))
		return mt_error_new(MT_ERROR_USAGE, "unknown option \"%s\" (see \"mtdb --help\")",
				    word);
	if (!**words)
		return mt_error_new(MT_ERROR_USAGE, "option \"%s\" requires a value", word);
	return NULL;
}

bool prompt_is_meant(int argc, char **argv)
{
	static const char *const names[] = {"batch", "x",     "command", "ex",   "eval-command",
					    "p",     "pid",   "c",       "core", "recording",
					    "q",     "quiet", "nx",      "args"};
	mt_auto(mt_str) struct mt_str found = {0};
	struct stat file;

	if (argc < 2)
		return false;
	if (argv[1][0] != '-')
		return (stat(argv[1], &file) == 0 && S_ISREG(file.st_mode)) ||
		       (!strchr(argv[1], '/') && mt_path_find(argv[1], &found));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is_option(argv[1], names[i]))
			return true;
	return false;
}

/* Quotes the words, so that a shell passes them on as they are. */
static struct mt_error *set_arguments(struct prompt *prompt, char **words)
{
	mt_auto(mt_str) struct mt_str text = {0};

	for (; *words; words++) {
		mt_str_append(&text, text.length ? " " : "");
		if (!**words)
			mt_str_append(&text, "''");
		for (const char *at = *words; *at; at++) {
			/* A shell drops a newline behind a backslash. */
			if (*at == '\n') {
				mt_str_append(&text, "'\n'");
				continue;
			}
			if (!isalnum((unsigned char)*at) && !strchr("-_=+./:,%@", *at))
				mt_str_append(&text, "\\");
			mt_str_append_bytes(&text, at, 1);
		}
	}
	if (text.failed)
		return mt_error_no_memory();
	return text.text ? mt_debugger_set_arguments(prompt->debugger, text.text) : NULL;
}

static struct mt_error *open_program(struct prompt *prompt, const struct options *options)
{
	char **words = options->program;
	const char *core = options->core;

	if (words[0]) {
		mt_try(mt_debugger_load(prompt->debugger, words[0]));
		if (words[1] && !words[2] && !core && !options->has_arguments &&
		    mt_is_corefile(words[1]))
			core = words[1];
		else
			mt_try(set_arguments(prompt, words + 1));
	}
	if (core)
		mt_try(prompt_core_file(prompt, core));
	return options->pid ? prompt_attach(prompt, options->pid) : NULL;
}

static struct mt_error *run_session(struct prompt *prompt, const struct options *options)
{
	const struct mt_debug_front front = prompt_front(prompt);
	struct mt_target *target;
	char *line;

	mt_try(mt_ptrace_target_create(&target));
	mt_try(mt_debugger_create(target, &front, &prompt->debugger));
	prompt->progress = prompt_progress(prompt);
	prompt_record_init(prompt);
	struct mt_error *error = open_program(prompt, options);
	if (error && prompt->source == PROMPT_FROM_NOWHERE)
		return error;
	if (error)
		print_error(error);
	mt_array_each (order, &options->orders) {
		if (prompt->state == PROMPT_OVER || is_unread(prompt))
			break;
		prompt_out_begin(prompt);
		error = order->is_file ? prompt_source(prompt, order->text)
				       : prompt_execute(prompt, order->text);
		error = end_command(prompt, error);
		prompt->status = error != NULL;
		if (error)
			print_error(error);
		terminal_flush(prompt->terminal);
	}
	while (prompt->source != PROMPT_FROM_NOWHERE && prompt->state != PROMPT_OVER &&
	       !is_unread(prompt)) {
		line = prompt_read_line(prompt, PROMPT);
		if (!line) {
			prompt_printf("%s\n", prompt->source == PROMPT_FROM_TERMINAL ? "quit" : "");
			break;
		}
		take_line(prompt, line);
	}
	return NULL;
}

int prompt_main(struct terminal *terminal, int argc, char **argv)
{
	struct prompt prompt = {.terminal = terminal,
				.settings = {.confirm = true,
					     .paginates = true,
					     .height = PROMPT_HEIGHT_OF_TERMINAL,
					     .list_size = 10}};
	struct options options = {0};
	struct mt_error *error = NULL;
	char **words = argv + 1;

	(void)argc;
	for (; !error && *words && **words == '-'; words++)
		error = take_option(&options, &prompt.recording, &words);
	options.program = words;
	prompt.source = options.batch          ? PROMPT_FROM_NOWHERE
			: isatty(STDIN_FILENO) ? PROMPT_FROM_TERMINAL
					       : PROMPT_FROM_PIPE;
	prompt_complete_for(&prompt);
	prompt_out_begin(&prompt);
	rl_getc_function = read_key;
	prompt_take_interrupts();
	if (!error)
		error = run_session(&prompt, &options);
	if (error) {
		print_error(error);
		prompt.status = 1;
		prompt.state = PROMPT_OVER;
	}
	mt_debugger_destroy(prompt.debugger);
	mt_live_debugger_deinit(&prompt.live);
	prompt_commands_deinit(&prompt);
	prompt_displays_deinit(&prompt);
	mt_array_deinit(&options.orders);
	free(prompt.last_line);
	free(prompt.missing_file);
	prompt_listing_deinit(&prompt.listing);
	if (ending_signal())
		return 128 + ending_signal();
	return options.batch || prompt.state == PROMPT_OVER ? prompt.status : 0;
}
