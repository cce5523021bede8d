/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about signals. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#define SIGNALS 65

/* In GDB's order, which is older than Linux; then the others. */
static const int order[] = {
    SIGHUP,    SIGINT,  SIGQUIT,  SIGILL,  SIGTRAP, SIGABRT, SIGFPE,    SIGKILL,
    SIGBUS,    SIGSEGV, SIGSYS,   SIGPIPE, SIGALRM, SIGTERM, SIGURG,    SIGSTOP,
    SIGTSTP,   SIGCONT, SIGCHLD,  SIGTTIN, SIGTTOU, SIGIO,   SIGXCPU,   SIGXFSZ,
    SIGVTALRM, SIGPROF, SIGWINCH, SIGUSR1, SIGUSR2, SIGPWR,  SIGSTKFLT, 33,
};
#define ORDERED     (sizeof(order) / sizeof(order[0]))
#define LAST_NUMBER 15 /* of those that GDB takes as numbers */

/* The AT'th in that order; 0: there are no more. */
static int signal_at(size_t at)
{
	int signal = at < ORDERED ? order[at] : 34 + (int)(at - ORDERED);

	if (signal == SIGNALS - 1) /* 32 precedes the last one */
		return 32;
	return signal < SIGNALS ? signal : signal == SIGNALS ? SIGNALS - 1 : 0;
}

static struct mt_error *only_numbers(void)
{
	return mt_error_new(MT_ERROR_USAGE, "Only signals 1-15 are valid as numeric signals.\n"
					    "Use \"info signals\" for a list of symbolic signals.");
}

/* 0: there is no such signal. */
static int parse_name(const char *text, size_t length)
{
	for (int i = 1; i < SIGNALS; i++) {
		const struct prompt_text name = prompt_signal_name(i);

		if (strlen(name.text) == length && strncmp(name.text, text, length) == 0)
			return i;
	}
	return 0;
}

/* A name, or a number.  Errors: USAGE. */
static struct mt_error *parse_signal(const char *text, int *out)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	*out = parse_name(text, strlen(text));
	if (*out)
		return NULL;
	if (!isdigit((unsigned char)*text) || *end)
		return mt_error_new(MT_ERROR_USAGE, "No symbol \"%s\" in current context.", text);
	if (!number || number > LAST_NUMBER)
		return only_numbers();
	*out = (int)number;
	return NULL;
}

/* "0": none. */
static struct mt_error *signal_to_give(struct prompt *prompt, const char *rest, int *signal)
{
	*signal = 0;
	if (!mt_debugger_has_process(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "The program is not being run.");
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (signal number).");
	return strcmp(rest, "0") != 0 ? parse_signal(rest, signal) : NULL;
}

/* Other threads may have signals to be delivered. */
static struct mt_error *confirm_others(struct prompt *prompt)
{
	const struct mt_debug_thread *own = mt_debugger_selected(prompt->debugger), *thread;
	mt_auto(mt_str) struct mt_str question = {0};
	bool others = false;

	for (size_t i = 0; (thread = mt_debugger_thread(prompt->debugger, i)); i++) {
		int signal = mt_debugger_signal(prompt->debugger, thread->number);

		if (thread == own || !signal)
			continue;
		if (!others)
			prompt_printf("Note:\n");
		others = true;
		prompt_printf("  Thread %s previously stopped with signal %s, %s.\n",
			      prompt_thread_number(prompt, thread).text,
			      prompt_signal_name(signal).text, prompt_signal_words(signal).text);
	}
	mt_str_appendf(&question,
		       "Continuing thread %s (the current thread) with specified signal will\n"
		       "still deliver the signals noted above to their respective threads.\n"
		       "Continue anyway? (y or n) ",
		       prompt_thread_number(prompt, own).text);
	if (question.failed)
		return mt_error_no_memory();
	return !others || prompt_confirms(prompt, question.text)
		   ? NULL
		   : mt_error_new(MT_ERROR_USAGE, "Not confirmed.");
}

static struct mt_error *run_signal(struct prompt *prompt, const char *rest)
{
	struct mt_debug_stop stop;
	int signal;

	mt_try(signal_to_give(prompt, rest, &signal));
	mt_try(confirm_others(prompt));
	if (prompt_is_at_terminal(prompt)) {
		if (signal)
			prompt_printf("Continuing with signal %s.\n",
				      prompt_signal_name(signal).text);
		else
			prompt_printf("Continuing with no signal.\n");
	}
	mt_debugger_set_signal(prompt->debugger, signal);
	mt_try(mt_debugger_continue(prompt->debugger, &stop));
	return prompt_report_stop(prompt, &stop);
}

static struct mt_error *run_queue_signal(struct prompt *prompt, const char *rest)
{
	int signal;

	mt_try(signal_to_give(prompt, rest, &signal));
	if (signal && !mt_debugger_handling(prompt->debugger, signal).pass)
		return mt_error_new(MT_ERROR_USAGE,
				    "Signal handling set to not pass this signal to the program.");
	mt_debugger_set_signal(prompt->debugger, signal);
	return NULL;
}

/* ---- handle ---- */

/* "stop", "nopass" …  False: it is no such word. */
static bool apply_word(struct mt_debug_handling *handling, const char *word, size_t length)
{
	bool is_no = length > 2 && strncmp(word, "no", 2) == 0;
	const char *what = word + (is_no ? 2 : 0);
	size_t size = length - (is_no ? 2 : 0);

	if (strncmp(what, "stop", size) == 0 && size > 0) {
		handling->stop = !is_no;
		handling->print |= !is_no; /* "stop" implies "print" */
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

/* The debugger uses SIGINT and SIGTRAP itself. */
static bool is_debuggers(int signal)
{
	return signal == SIGTRAP || signal == SIGINT;
}

static void choose(struct prompt *prompt, bool chosen[SIGNALS], int signal)
{
	mt_auto(mt_str) struct mt_str question = {0};

	mt_str_appendf(&question,
		       "%s is used by the debugger.\nAre you sure you want to change it? (y or n) ",
		       prompt_signal_name(signal).text);
	if (chosen[signal] || !is_debuggers(signal) || question.failed ||
	    prompt_confirms(prompt, question.text))
		chosen[signal] = true;
	else
		prompt_printf("Not confirmed, unchanged.\n");
}

/* WORD: a name, "14", "3-5" or "all". */
static struct mt_error *choose_signals(struct prompt *prompt, bool chosen[SIGNALS],
				       const char *word, size_t length)
{
	int signal = parse_name(word, length);
	unsigned long first, last, from, to;
	char *end;

	if (length == 3 && strncmp(word, "all", 3) == 0) {
		for (int i = 1; i < SIGNALS; i++)
			chosen[i] |= !is_debuggers(i);
		return NULL;
	}
	if (signal) {
		choose(prompt, chosen, signal);
		return NULL;
	}
	first = last = strtoul(word, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		last = strtoul(end + 1, &end, 10);
	if (!isdigit((unsigned char)*word) || end != word + length)
		return mt_error_new(MT_ERROR_USAGE,
				    "Unrecognized or ambiguous flag word: \"%.*s\".", (int)length,
				    word);
	from = first < last ? first : last;
	to = first < last ? last : first;
	if (!from || to > LAST_NUMBER)
		return only_numbers();
	for (; from <= to; from++)
		choose(prompt, chosen, (int)from);
	return NULL;
}

static void print_heading(void)
{
	prompt_printf("Signal        Stop\tPrint\tPass to program\tDescription\n");
}

static void print_handling(struct prompt *prompt, int signal)
{
	const struct mt_debug_handling handling = mt_debugger_handling(prompt->debugger, signal);

	prompt_printf("%-13s %s\t%s\t%s\t\t%s\n", prompt_signal_name(signal).text,
		      handling.stop ? "Yes" : "No", handling.print ? "Yes" : "No",
		      handling.pass ? "Yes" : "No", prompt_signal_words(signal).text);
}

static const char *next_word(const char *text)
{
	return prompt_skip_blanks(text + strcspn(text, " \t"));
}

static struct mt_error *run_handle(struct prompt *prompt, const char *rest)
{
	struct mt_debug_handling handling = {0};
	bool chosen[SIGNALS] = {0}, is_first = true;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (signal to handle).");
	for (const char *at = rest; *at; at = next_word(at))
		if (!apply_word(&handling, at, strcspn(at, " \t")))
			mt_try(choose_signals(prompt, chosen, at, strcspn(at, " \t")));
	for (int i = 1; i < SIGNALS; i++) {
		if (!chosen[i])
			continue;
		handling = mt_debugger_handling(prompt->debugger, i);
		for (const char *at = rest; *at; at = next_word(at))
			apply_word(&handling, at, strcspn(at, " \t"));
		mt_debugger_handle(prompt->debugger, i, handling);
		if (!prompt_is_at_terminal(prompt))
			continue;
		if (is_first)
			print_heading();
		is_first = false;
		print_handling(prompt, i);
	}
	return NULL;
}

struct mt_error *prompt_info_signals(struct prompt *prompt, const char *rest)
{
	int signal;

	if (*rest) {
		print_heading();
		mt_try(parse_signal(rest, &signal));
		print_handling(prompt, signal);
		return NULL;
	}
	print_heading();
	prompt_printf("\n");
	for (size_t i = 0; (signal = signal_at(i)); i++)
		print_handling(prompt, signal);
	prompt_printf("\nUse the \"handle\" command to change these tables.\n");
	return NULL;
}

const struct prompt_command prompt_signal_commands[] = {
    {.name = "signal",
     .usage = "SIGNAL",
     .summary = "Continue the program with a signal; 0: with none",
     .run = run_signal},
    {.name = "queue-signal",
     .usage = "SIGNAL",
     .summary = "Queue a signal for the selected thread, delivered when it is continued",
     .run = run_queue_signal},
    {.name = "handle",
     .usage = "SIGNAL... [stop|nostop] [print|noprint] [pass|nopass]",
     .summary = "Set what a signal does: stop, be printed, be passed to the program",
     .help = "SIGNAL may be \"all\": all but SIGTRAP and SIGINT.\n",
     .run = run_handle},
    {0},
};
