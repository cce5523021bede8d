/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about the prompt itself, and what is told of the program. */
#include "prompt/prompt.h"

#include <string.h>

static struct mt_error *run_quit(struct prompt *prompt, const char *rest)
{
	(void)rest;
	if (mt_debugger_pid(prompt->debugger) &&
	    !prompt_confirms(prompt, mt_debugger_is_attached(prompt->debugger)
					 ? "A debugging session is active.\n\nThe process will be "
					   "detached.\n\nQuit anyway? (y or n) "
					 : "A debugging session is active.\n\nThe process will be "
					   "killed.\n\nQuit anyway? (y or n) "))
		return NULL;
	prompt->over = true;
	return NULL;
}

static struct mt_error *run_file(struct prompt *prompt, const char *rest)
{
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (a program).");
	return mt_debugger_load(prompt->debugger, rest);
}

static struct mt_error *run_source(struct prompt *prompt, const char *rest)
{
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE,
				    "source command requires file name of file to source.");
	return prompt_source(prompt, rest);
}

/* As in C: \n \t \\ and so on; a backslash at the end of the line is nothing. */
static struct mt_error *run_echo(struct prompt *prompt, const char *rest)
{
	static const char letters[] = "abefnrtv", meant[] = "\a\b\033\f\n\r\t\v";

	(void)prompt;
	for (; *rest; rest++) {
		const char *letter;

		if (*rest != '\\') {
			putchar(*rest);
			continue;
		}
		if (!*++rest)
			break;
		letter = strchr(letters, *rest);
		putchar(letter ? meant[letter - letters] : *rest);
	}
	return NULL;
}

/* ---- info ---- */

static void print_thread(struct prompt *prompt, const struct mt_debug_thread *thread, bool selected,
			 int width)
{
	mt_auto(mt_str) struct mt_str name = {0};
	const struct mt_debug_frame *frame;

	prompt_name_thread(prompt, thread, &name);
	mt_str_appendf(&name, " \"%s\"", thread->name);
	prompt_printf("%c %-4s %-*s ", selected ? '*' : ' ',
		      prompt_thread_number(prompt, thread).text, width,
		      name.failed ? "" : name.text);
	frame = mt_debugger_frame(prompt->debugger, 0);
	if (frame)
		prompt_print_frame(prompt, frame, false);
	else
		prompt_printf("(gone)\n");
}

static int thread_width(struct prompt *prompt)
{
	size_t width = 0;

	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++) {
		mt_auto(mt_str) struct mt_str name = {0};
		const struct mt_debug_thread *thread = mt_debugger_thread(prompt->debugger, i);

		prompt_name_thread(prompt, thread, &name);
		mt_str_appendf(&name, " \"%s\"", thread->name);
		if (name.length > width)
			width = name.length;
	}
	return (int)width;
}

static struct mt_error *info_threads(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_thread *selected = mt_debugger_selected(prompt->debugger);
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	unsigned level = frame ? frame->level : 0, number = selected ? selected->number : 0;
	int width = thread_width(prompt);

	(void)rest;
	if (!selected) {
		prompt_printf("No threads.\n");
		return NULL;
	}
	prompt_printf("  Id   %-*s Frame \n", width, "Target Id");
	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++) {
		const struct mt_debug_thread *thread = mt_debugger_thread(prompt->debugger, i);

		mt_try(mt_debugger_select_thread(prompt->debugger, thread->number));
		print_thread(prompt, thread, thread->number == number, width);
	}
	mt_try(mt_debugger_select_thread(prompt->debugger, number));
	mt_debugger_select_frame(prompt->debugger, level);
	return NULL;
}

static const struct prompt_command info_commands[] = {
    {.name = "breakpoints",
     .aliases = "b",
     .usage = "[NUMBER]...",
     .summary = "List breakpoints and watchpoints",
     .run = prompt_info_breakpoints},
    {.name = "watchpoints",
     .usage = "[NUMBER]...",
     .summary = "List watchpoints",
     .run = prompt_info_watchpoints},
    {.name = "threads", .summary = "List threads", .run = info_threads},
    {.name = "inferiors",
     .summary = "List the programs that were debugged one after the other",
     .run = prompt_info_inferiors},
    {.name = "program",
     .summary = "Tell why the program stands, and where",
     .run = prompt_info_program},
    {.name = "signals",
     .aliases = "handle",
     .usage = "[SIGNAL]",
     .summary = "Tell what each signal does: see \"handle\"",
     .run = prompt_info_signals},
    {.name = "locals",
     .summary = "Print the local variables of the selected frame",
     .run = prompt_info_locals},
    {.name = "args",
     .summary = "Print the arguments of the selected frame",
     .run = prompt_info_args},
    {.name = "symbol",
     .usage = "ADDRESS",
     .summary = "Name what is at an address",
     .run = prompt_info_symbol},
    {.name = "display", .summary = "List what is printed at each stop", .run = prompt_info_display},
    {.name = "proc",
     .usage = "[cmdline|cwd|exe|mappings|status]",
     .summary = "Tell what the system knows of the process",
     .run = prompt_info_proc},
    {.name = "scope",
     .usage = "LOCATION",
     .takes = PROMPT_LOCATION,
     .summary = "List the variables that code has in sight",
     .run = prompt_info_scope},
    {.name = "functions",
     .usage = "[REGEXP]",
     .summary = "List functions, with where they are declared",
     .run = prompt_info_functions},
    {.name = "variables",
     .usage = "[REGEXP]",
     .summary = "List variables outside of functions, with where they are declared",
     .run = prompt_info_variables},
    {.name = "line",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Tell the code of a source line",
     .run = prompt_info_line},
    {.name = "registers",
     .aliases = "r",
     .usage = "[NAME]...",
     .summary = "Print the registers as the selected frame has them",
     .help = "NAME is a register, or one of the groups general, float and vector.\n",
     .run = prompt_info_registers},
    {.name = "all-registers",
     .usage = "[NAME]...",
     .summary = "As \"info registers\", with the floating-point and vector registers",
     .run = prompt_info_all_registers},
    {.name = "sharedlibrary",
     .aliases = "dll shared",
     .summary = "List the libraries that are mapped",
     .run = prompt_info_sharedlibrary},
    {.name = "frame",
     .aliases = "f",
     .summary = "Tell all about the selected frame",
     .run = prompt_info_frame},
    {.name = "source", .summary = "Tell the source file", .run = prompt_info_source},
    {0},
};

/* ---- help ---- */

static void help_all(void)
{
	for (size_t i = 0; prompt_tables[i]; i++)
		for (const struct prompt_command *one = prompt_tables[i]; one->name; one++)
			prompt_printf("%s%s%s -- %s.\n", one->name, one->usage ? " " : "",
				      one->usage ? one->usage : "", one->summary);
}

/* "info breakpoints": all the words that lead to WANTED from TABLE. */
static bool put_words(const struct prompt_command *table, const struct prompt_command *wanted,
		      struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str inner = {0};

	for (const struct prompt_command *one = table; one && one->name; one++) {
		if (one != wanted && !put_words(one->sub, wanted, &inner))
			continue;
		mt_str_appendf(out, "%s%s%s", one->name, inner.text ? " " : "",
			       inner.text ? inner.text : "");
		return true;
	}
	return false;
}

static void help_one(const struct prompt_command *command, const char *words)
{
	prompt_printf("%s.\n", command->summary);
	if (command->usage)
		prompt_printf("Usage: %s %s\n", words, command->usage);
	if (command->help)
		prompt_printf("%s", command->help);
	for (const struct prompt_command *one = command->sub; one && one->name; one++)
		prompt_printf("%s %s%s%s -- %s.\n", words, one->name, one->usage ? " " : "",
			      one->usage ? one->usage : "", one->summary);
}

static struct mt_error *run_help(struct prompt *prompt, const char *rest)
{
	mt_auto(mt_str) struct mt_str words = {0};
	const struct prompt_command *command;
	const char *behind;

	(void)prompt;
	if (!*rest) {
		help_all();
		return NULL;
	}
	mt_try(prompt_find(rest, &command, &behind));
	for (size_t i = 0; prompt_tables[i] && !put_words(prompt_tables[i], command, &words); i++)
		continue;
	if (words.failed)
		return mt_error_no_memory();
	help_one(command, words.text);
	return NULL;
}

static bool mentions(const struct prompt_command *command, const char *word)
{
	return strcasestr(command->name, word) || strcasestr(command->summary, word) ||
	       (command->help && strcasestr(command->help, word));
}

static void list_mentions(const char *outer, const struct prompt_command *table, const char *word)
{
	for (const struct prompt_command *one = table; one->name; one++) {
		if (mentions(one, word))
			prompt_printf("%s%s%s -- %s.\n", outer, *outer ? " " : "", one->name,
				      one->summary);
		if (one->sub)
			list_mentions(one->name, one->sub, word);
	}
}

static struct mt_error *run_apropos(struct prompt *prompt, const char *rest)
{
	(void)prompt;
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (a word to look for).");
	for (size_t i = 0; prompt_tables[i]; i++)
		list_mentions("", prompt_tables[i], rest);
	return NULL;
}

const struct prompt_command prompt_other_commands[] = {
    {.name = "info",
     .aliases = "i inf",
     .usage = "SUBJECT",
     .summary = "Tell about the program, or what was set",
     .sub = info_commands},
    {.name = "file",
     .usage = "PROGRAM",
     .takes = PROMPT_FILE,
     .summary = "Take PROGRAM as the one to debug",
     .run = run_file},
    {.name = "source",
     .usage = "FILE",
     .takes = PROMPT_FILE,
     .summary = "Do the commands in a file",
     .run = run_source},
    {.name = "echo",
     .usage = "TEXT",
     .summary = "Print TEXT, in which \\n and the like are as in C",
     .run = run_echo},
    {.name = "help",
     .aliases = "h",
     .usage = "[COMMAND]",
     .takes = PROMPT_COMMANDS,
     .summary = "List the commands, or tell more of one",
     .run = run_help},
    {.name = "apropos",
     .usage = "WORD",
     .summary = "List the commands whose help mentions WORD",
     .run = run_apropos},
    {.name = "quit", .aliases = "q exit", .summary = "End mtdb", .run = run_quit},
    {0},
};
