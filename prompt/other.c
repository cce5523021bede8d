/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about the prompt itself, and `info`. */
#include "prompt/prompt.h"

#include <string.h>

static struct mt_error *run_quit(struct prompt *prompt, const char *rest)
{
	(void)rest;
	if (mt_debugger_has_process(prompt->debugger) &&
	    !prompt_confirms(prompt, mt_debugger_is_attached(prompt->debugger)
					 ? "A debugging session is active.\n\nThe process will be "
					   "detached.\n\nQuit anyway? (y or n) "
					 : "A debugging session is active.\n\nThe process will be "
					   "killed.\n\nQuit anyway? (y or n) "))
		return NULL;
	prompt->state = PROMPT_OVER;
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

/* Escapes are C's; a backslash at the end of the line prints nothing. */
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

/* "Thread 0x7ffff7d8b740 (LWP 123) \"name\"" */
static void append_target_id(struct prompt *prompt, const struct mt_debug_thread *thread,
			     struct mt_str *out)
{
	prompt_name_thread(prompt, thread, out);
	if (*thread->name) /* a core file has none */
		mt_str_appendf(out, " \"%s\"", thread->name);
}

static struct mt_error *info_threads(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_thread *selected = mt_debugger_selected(prompt->debugger), *thread;
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	unsigned level = frame ? frame->level : 0, number = selected ? selected->number : 0;
	mt_auto(mt_str) struct mt_str name = {0};
	int width = 0;

	(void)rest;
	if (!selected) {
		prompt_printf("No threads.\n");
		return NULL;
	}
	for (size_t i = 0; (thread = mt_debugger_thread(prompt->debugger, i)); i++) {
		mt_str_clear(&name);
		append_target_id(prompt, thread, &name);
		if ((int)name.length > width)
			width = (int)name.length;
	}
	prompt_printf("  Id   %-*s Frame \n", width, "Target Id");
	for (size_t i = 0; (thread = mt_debugger_thread(prompt->debugger, i)); i++) {
		mt_try(mt_debugger_select_thread(prompt->debugger, thread->number));
		mt_str_clear(&name);
		append_target_id(prompt, thread, &name);
		prompt_printf("%c %-4s %-*s ", thread->number == number ? '*' : ' ',
			      prompt_thread_number(prompt, thread).text, width,
			      name.failed ? "" : name.text);
		frame = mt_debugger_frame(prompt->debugger, 0);
		if (frame)
			prompt_print_frame(prompt, frame, false);
		else
			prompt_printf("(gone)\n");
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
     .run_variant = prompt_info_breakpoints},
    {.name = "watchpoints",
     .usage = "[NUMBER]...",
     .summary = "List watchpoints",
     .run_variant = prompt_info_breakpoints,
     .variant = true},
    {.name = "threads", .summary = "List threads", .run = info_threads},
    {.name = "inferiors",
     .summary = "List the inferiors: the processes debugged so far",
     .run = prompt_info_inferiors},
    {.name = "program",
     .summary = "Show where the program is stopped, and why",
     .run = prompt_info_program},
    {.name = "signals",
     .aliases = "handle",
     .usage = "[SIGNAL]",
     .summary = "Show what each signal does: see \"handle\"",
     .run = prompt_info_signals},
    {.name = "locals",
     .summary = "Print the local variables of the selected frame",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_LOCALS},
    {.name = "args",
     .summary = "Print the arguments of the selected frame",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_ARGS},
    {.name = "symbol",
     .usage = "ADDRESS",
     .summary = "Print the symbol at an address",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_SYMBOL},
    {.name = "display",
     .summary = "List the expressions of \"display\"",
     .run = prompt_info_display},
    {.name = "proc",
     .usage = "[cmdline|cwd|exe|mappings|status]",
     .summary = "Show information of the system about the process",
     .run = prompt_info_proc},
    {.name = "scope",
     .usage = "LOCATION",
     .takes = PROMPT_LOCATION,
     .summary = "List the variables that are in scope at LOCATION",
     .run = prompt_info_scope},
    {.name = "functions",
     .usage = "[REGEXP]",
     .summary = "List functions and where they are defined",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_FUNCTIONS},
    {.name = "variables",
     .usage = "[REGEXP]",
     .summary = "List global and static variables and where they are defined",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_VARIABLES},
    {.name = "types",
     .usage = "[REGEXP]",
     .summary = "List types and where they are defined",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_INFO_TYPES},
    {.name = "line",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Show the addresses of a source line",
     .run = prompt_info_line},
    {.name = "registers",
     .aliases = "r",
     .usage = "[NAME]...",
     .summary = "Print the registers of the selected frame",
     .help = "NAME is a register, or one of the groups general, float and vector.\n",
     .run_variant = prompt_info_registers},
    {.name = "all-registers",
     .usage = "[NAME]...",
     .summary = "As \"info registers\", with the floating-point and vector registers",
     .run_variant = prompt_info_registers,
     .variant = true},
    {.name = "sharedlibrary",
     .aliases = "dll shared",
     .summary = "List the shared libraries",
     .run = prompt_info_sharedlibrary},
    {.name = "frame",
     .aliases = "f",
     .summary = "Show details of the selected frame",
     .run = prompt_info_frame},
    {.name = "source", .summary = "Show the current source file", .run = prompt_info_source},
    {0},
};

/* ---- help ---- */

/* Appends "info breakpoints": the words that lead to WANTED in TABLE. */
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

/* OUTER: the words in front of the command, with a blank; or "". */
static void print_summary(const char *outer, const struct prompt_command *command)
{
	prompt_printf("%s%s%s%s -- %s.\n", outer, command->name, command->usage ? " " : "",
		      command->usage ? command->usage : "", command->summary);
}

static struct mt_error *run_help(struct prompt *prompt, const char *rest)
{
	mt_auto(mt_str) struct mt_str words = {0};
	const struct prompt_command *command, *one;
	const char *behind;

	(void)prompt;
	for (size_t i = 0; !*rest && prompt_tables[i]; i++)
		for (one = prompt_tables[i]; one->name; one++)
			print_summary("", one);
	if (!*rest)
		return NULL;
	mt_try(prompt_find(rest, &command, &behind));
	for (size_t i = 0; prompt_tables[i] && !put_words(prompt_tables[i], command, &words); i++)
		continue;
	prompt_printf("%s.\n", command->summary);
	if (command->usage)
		prompt_printf("Usage: %s %s\n", words.failed ? "" : words.text, command->usage);
	prompt_printf("%s", command->help ? command->help : "");
	mt_str_append(&words, " ");
	if (words.failed)
		return mt_error_no_memory();
	for (one = command->sub; one && one->name; one++)
		print_summary(words.text, one);
	return NULL;
}

static void list_mentions(const char *outer, const struct prompt_command *table, const char *word)
{
	for (const struct prompt_command *one = table; one->name; one++) {
		if (strcasestr(one->name, word) || strcasestr(one->summary, word) ||
		    (one->help && strcasestr(one->help, word)))
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
     .summary = "Show information about the program, or about breakpoints",
     .sub = info_commands},
    {.name = "file",
     .usage = "PROGRAM",
     .takes = PROMPT_FILE,
     .summary = "Set the program to debug",
     .run = run_file},
    {.name = "source",
     .usage = "FILE",
     .takes = PROMPT_FILE,
     .summary = "Run the commands in a file",
     .run = run_source},
    {.name = "echo",
     .usage = "TEXT",
     .summary = "Print TEXT, with the escapes of C: \\n",
     .run = run_echo},
    {.name = "help",
     .aliases = "h",
     .usage = "[COMMAND]",
     .takes = PROMPT_COMMANDS,
     .summary = "List the commands, or show the help of one",
     .run = run_help},
    {.name = "apropos",
     .usage = "WORD",
     .summary = "List the commands whose help mentions WORD",
     .run = run_apropos},
    {.name = "quit", .aliases = "q exit", .summary = "Exit mtdb", .run = run_quit},
    {0},
};
