/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about signals. */
#include "prompt.h"

#include "trace/slice.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>
#include <strings.h>

#define SIGNALS 65

/* 0: no signal is called so.  As GDB, only 1 to 15 are taken as numbers. */
static int parse_signal(const char *text, size_t length)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (isdigit((unsigned char)*text) && end == text + length)
		return number <= 15 ? (int)number : 0;
	for (int i = 1; i < SIGNALS; i++) {
		const char *name = mt_signal_name((uint32_t)i);

		if (strlen(name) == length && strncasecmp(name, text, length) == 0)
			return i;
	}
	return 0;
}

static struct mt_error *run_signal(struct prompt *prompt, const char *rest)
{
	struct mt_debug_stop stop;
	int signal = parse_signal(rest, strlen(rest));

	if (!mt_debugger_pid(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (signal number).");
	if (!signal && strcmp(rest, "0") != 0)
		return mt_error_new(MT_ERROR_USAGE, "No symbol \"%s\" in current context.", rest);
	if (prompt_is_at_terminal(prompt)) {
		if (signal)
			prompt_printf("Continuing with signal %s.\n",
				      mt_signal_name((uint32_t)signal));
		else
			prompt_printf("Continuing with no signal.\n");
	}
	mt_debugger_set_signal(prompt->debugger, signal);
	mt_try(mt_debugger_continue(prompt->debugger, &stop));
	return prompt_tell_stop(prompt, &stop);
}

/* ---- handle ---- */

struct change {
	bool signals[SIGNALS];
	bool any;
};

static bool all_but_debuggers(int signal)
{
	return signal != SIGTRAP && signal != SIGINT;
}

/* "stop", "nopass" … False: it is no such word. */
static bool apply_word(struct mt_debug_handling *handling, const char *word, size_t length)
{
	bool is_no = length > 2 && strncmp(word, "no", 2) == 0;
	const char *what = word + (is_no ? 2 : 0);
	size_t size = length - (is_no ? 2 : 0);

	if (strncmp(what, "stop", size) == 0 && size > 0) {
		handling->stop = !is_no;
		handling->print |= !is_no; /* who stops, tells why */
	} else if (strncmp(what, "print", size) == 0 && size > 1) {
		handling->print = !is_no;
		handling->stop &= !is_no;
	} else if (strncmp(what, "pass", size) == 0 && size > 1) {
		handling->pass = !is_no;
	} else if (strncmp(what, "ignore", size) == 0 && size > 0) {
		handling->pass = is_no;
	} else {
		return false;
	}
	return true;
}

static struct mt_error *choose_signals(struct change *change, const char *word, size_t length)
{
	int signal = parse_signal(word, length);

	change->any = true;
	if (length == 3 && strncmp(word, "all", 3) == 0) {
		for (int i = 1; i < SIGNALS; i++)
			change->signals[i] |= all_but_debuggers(i);
		return NULL;
	}
	if (!signal)
		return mt_error_new(MT_ERROR_USAGE,
				    "Unrecognized or ambiguous flag word: \"%.*s\".", (int)length,
				    word);
	change->signals[signal] = true;
	return NULL;
}

static void print_heading(void)
{
	prompt_printf("Signal        Stop\tPrint\tPass to program\tDescription\n");
}

static void print_handling(struct prompt *prompt, int signal)
{
	const struct mt_debug_handling handling = mt_debugger_handling(prompt->debugger, signal);

	prompt_printf("%-13s %s\t%s\t%s\t\t%s\n", mt_signal_name((uint32_t)signal),
		      handling.stop ? "Yes" : "No", handling.print ? "Yes" : "No",
		      handling.pass ? "Yes" : "No", prompt_signal_words(signal));
}

static void apply_words(struct prompt *prompt, const char *text, int signal)
{
	struct mt_debug_handling handling = mt_debugger_handling(prompt->debugger, signal);

	for (; *text; text = prompt_skip_blanks(text + strcspn(text, " \t")))
		apply_word(&handling, text, strcspn(text, " \t"));
	mt_debugger_handle(prompt->debugger, signal, handling);
}

static struct mt_error *run_handle(struct prompt *prompt, const char *rest)
{
	struct mt_debug_handling ignored = {0};
	struct change change = {0};
	bool told = false;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (signal to handle).");
	for (const char *at = rest; *at; at = prompt_skip_blanks(at + strcspn(at, " \t")))
		if (!apply_word(&ignored, at, strcspn(at, " \t")))
			mt_try(choose_signals(&change, at, strcspn(at, " \t")));
	for (int i = 1; i < SIGNALS; i++) {
		if (!change.signals[i])
			continue;
		apply_words(prompt, rest, i);
		if (!told && prompt_is_at_terminal(prompt))
			print_heading();
		told = true;
		if (prompt_is_at_terminal(prompt))
			print_handling(prompt, i);
	}
	return NULL;
}

struct mt_error *prompt_info_signals(struct prompt *prompt, const char *rest)
{
	int signal = parse_signal(rest, strlen(rest));

	if (*rest && !signal)
		return mt_error_new(MT_ERROR_USAGE,
				    "Only signals 1-15 are valid as numeric signals.\n"
				    "Use \"info signals\" for a list of symbolic signals.");
	print_heading();
	if (signal) {
		print_handling(prompt, signal);
		return NULL;
	}
	prompt_printf("\n");
	for (int i = 1; i < SIGNALS; i++)
		print_handling(prompt, i);
	prompt_printf("\nUse the \"handle\" command to change these tables.\n");
	return NULL;
}

const struct prompt_command prompt_signal_commands[] = {
    {.name = "signal",
     .usage = "SIGNAL",
     .summary = "Let the program go on with a signal; 0: without the one that it stopped for",
     .run = run_signal},
    {.name = "handle",
     .usage = "SIGNAL... [stop|nostop] [print|noprint] [pass|nopass]",
     .summary = "Say what a signal does: stop the program, be told, be given to the program",
     .help = "SIGNAL may be \"all\": all but SIGTRAP and SIGINT.\n",
     .run = run_handle},
    {0},
};
