/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about breakpoints. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

const char *prompt_watch_words(const struct mt_debug_breakpoint *one)
{
	return one->by_stepping               ? "Watchpoint"
	       : one->kind == MT_DEBUG_WATCH  ? "Hardware watchpoint"
	       : one->kind == MT_DEBUG_RWATCH ? "Hardware read watchpoint"
					      : "Hardware access (read/write) watchpoint";
}

static void tell_new(struct prompt *prompt, unsigned number)
{
	const struct mt_debug_breakpoint *one =
	    mt_debugger_find_breakpoint(prompt->debugger, number);
	if (!one)
		return;
	const char *kind = one->temporary                         ? "Temporary breakpoint"
			   : one->kind == MT_DEBUG_HARDWARE_BREAK ? "Hardware assisted breakpoint"
								  : "Breakpoint";
	if (one->kind >= MT_DEBUG_WATCH) {
		prompt_printf("%s %u: %s\n", prompt_watch_words(one), number, one->text);
		return;
	}
	if (!one->location_count) {
		prompt_printf("%s %u (%s) pending.\n", kind, number, one->text);
		return;
	}
	const struct mt_debug_location *place = &one->locations[0];
	prompt_printf("%s %u at 0x%llx", kind, number, (unsigned long long)place->address);
	if (one->location_count > 1)
		prompt_printf(": %s. (%zu locations)", one->text, one->location_count);
	else if (place->file)
		prompt_printf(": file %s, line %u.", place->file, place->source.line);
	prompt_printf("\n");
}

/* What is not there yet may come with a library. */
static struct mt_error *add_pending(struct prompt *prompt, struct mt_debug_new_breakpoint *what,
				    struct mt_error *error, unsigned *number)
{
	if (mt_error_code(error) != MT_ERROR_NOT_FOUND || what->kind >= MT_DEBUG_WATCH ||
	    !what->location || *what->location == '*' ||
	    (!prompt->asks_pending && !prompt->makes_pending))
		return error;
	fflush(stdout);
	fprintf(stderr, "%s\n", mt_error_message(error));
	mt_error_destroy(error);
	*number = 0;
	if (prompt->asks_pending &&
	    !prompt_asks(prompt, "Make breakpoint pending on future shared library load? "
				 "(y or [n]) "))
		return NULL;
	what->pending = true;
	return mt_debugger_break(prompt->debugger, what, number);
}

struct mt_error *prompt_add_breakpoint(struct prompt *prompt,
				       const struct mt_debug_new_breakpoint *what)
{
	struct mt_debug_new_breakpoint wanted = *what;
	struct mt_expr_program *program;
	unsigned number;
	struct mt_error *error = mt_debugger_break(prompt->debugger, &wanted, &number);

	if (error)
		mt_try(add_pending(prompt, &wanted, error, &number));
	tell_new(prompt, number);
	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	return mt_expr_set_integer(program, "bpnum", number);
}

static bool has_thread(struct prompt *prompt, unsigned number)
{
	for (size_t i = 0; i < mt_debugger_thread_count(prompt->debugger); i++)
		if (mt_debugger_thread(prompt->debugger, i)->number == number)
			return true;
	return false;
}

/* What stands behind the location. */
struct clauses {
	struct mt_str location, condition;
	bool has_condition;
	unsigned thread; /* 0: any */
};

/* TEXT: behind "thread". */
static struct mt_error *take_thread(struct prompt *prompt, const char *text,
				    struct clauses *clauses)
{
	mt_auto(mt_str) struct mt_str word = {0};
	uint64_t number;

	text = prompt_skip_blanks(text);
	mt_str_append_bytes(&word, text, strcspn(text, " \t"));
	mt_try(prompt_parse_count(word.text ? word.text : "", &number));
	clauses->thread = (unsigned)number;
	return has_thread(prompt, clauses->thread)
		   ? NULL
		   : mt_error_new(MT_ERROR_USAGE, "Unknown thread %u.", clauses->thread);
}

static void append_trimmed(struct mt_str *out, const char *start, const char *end)
{
	while (end > start && strchr(" \t", end[-1]))
		end--;
	mt_str_append_bytes(out, start, (size_t)(end - start));
}

/* "thread" with a number behind it, and something before.  NULL: there is none. */
static const char *find_thread(const char *text)
{
	const char *thread = prompt_find_word(text, "thread");

	while (thread && (thread == text ||
			  !isdigit((unsigned char)*prompt_skip_blanks(thread + strlen("thread")))))
		thread = prompt_find_word(thread + strlen("thread"), "thread");
	return thread;
}

/* LOCATION [thread NUMBER] [if CONDITION [thread NUMBER]] */
static struct mt_error *split(struct prompt *prompt, const char *text, struct clauses *clauses)
{
	const char *condition = prompt_find_word(text, "if"), *thread = find_thread(text);
	const char *end = text + strlen(text), *location_end = end;

	if (thread) {
		mt_try(take_thread(prompt, thread + strlen("thread"), clauses));
		location_end = thread;
	}
	if (condition && (!thread || condition < thread))
		location_end = condition;
	if (condition) {
		const char *start = prompt_skip_blanks(condition + strlen("if"));

		/* As GDB keeps it: with the blank before "thread". */
		mt_str_append_bytes(&clauses->condition, start,
				    (size_t)((thread > condition ? thread : end) - start));
		clauses->has_condition = true;
	}
	append_trimmed(&clauses->location, text, location_end);
	return clauses->location.failed || clauses->condition.failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *add(struct prompt *prompt, const char *rest,
			    struct mt_debug_new_breakpoint what)
{
	struct clauses clauses = {0};
	struct mt_error *error = split(prompt, rest, &clauses);
	char *location = NULL;

	what.location = clauses.location.text;
	if (!error && what.location && what.kind < MT_DEBUG_WATCH) {
		error = prompt_choose_function(prompt, what.location, &location);
		what.location = location;
	}
	what.condition = clauses.condition.text;
	what.thread = clauses.thread;
	if (!error && clauses.has_condition && !clauses.condition.length)
		error = mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	if (!error)
		error = prompt_add_breakpoint(prompt, &what);
	mt_str_deinit(&clauses.location);
	mt_str_deinit(&clauses.condition);
	free(location);
	return error;
}

static struct mt_error *run_break(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {0};

	return add(prompt, rest, what);
}

static struct mt_error *run_tbreak(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.temporary = true};

	return add(prompt, rest, what);
}

static struct mt_error *run_hbreak(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.kind = MT_DEBUG_HARDWARE_BREAK};

	return add(prompt, rest, what);
}

static struct mt_error *run_watch(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.kind = MT_DEBUG_WATCH};

	return add(prompt, rest, what);
}

static struct mt_error *run_rwatch(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.kind = MT_DEBUG_RWATCH};

	return add(prompt, rest, what);
}

static struct mt_error *run_awatch(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.kind = MT_DEBUG_AWATCH};

	return add(prompt, rest, what);
}

static struct mt_error *run_condition(struct prompt *prompt, const char *rest)
{
	char *end;
	unsigned long number = strtoul(rest, &end, 10);

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (breakpoint number).");
	if (end == rest || (*end && !strchr(" \t", *end)))
		return mt_error_new(MT_ERROR_USAGE, "Bad breakpoint argument: '%s'", rest);
	rest = prompt_skip_blanks(end);
	mt_try(mt_debugger_condition(prompt->debugger, (unsigned)number, rest));
	if (!*rest && prompt_is_at_terminal(prompt))
		prompt_printf("Breakpoint %lu now unconditional.\n", number);
	return NULL;
}

static struct mt_error *delete_one(struct prompt *prompt, unsigned number)
{
	return mt_debugger_delete(prompt->debugger, number);
}

static struct mt_error *run_delete(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_breakpoint *one;

	if (*rest)
		return prompt_each_number(prompt, "breakpoint", rest, delete_one);
	if (mt_debugger_breakpoint_count(prompt->debugger) && prompt_is_at_terminal(prompt) &&
	    !prompt_confirms(prompt, "Delete all breakpoints? (y or n) "))
		return NULL;
	while ((one = mt_debugger_breakpoint(prompt->debugger, 0)))
		mt_try(mt_debugger_delete(prompt->debugger, one->number));
	return NULL;
}

static struct mt_error *enable_one(struct prompt *prompt, unsigned number)
{
	return mt_debugger_enable(prompt->debugger, number, true);
}

static struct mt_error *disable_one(struct prompt *prompt, unsigned number)
{
	return mt_debugger_enable(prompt->debugger, number, false);
}

static struct mt_error *act_on(struct prompt *prompt, const char *rest,
			       struct mt_error *(*act)(struct prompt *prompt, unsigned number))
{
	if (*rest)
		return prompt_each_number(prompt, "breakpoint", rest, act);
	for (size_t i = 0; i < mt_debugger_breakpoint_count(prompt->debugger); i++)
		mt_try(act(prompt, mt_debugger_breakpoint(prompt->debugger, i)->number));
	return NULL;
}

static struct mt_error *run_enable(struct prompt *prompt, const char *rest)
{
	return act_on(prompt, rest, enable_one);
}

static struct mt_error *run_disable(struct prompt *prompt, const char *rest)
{
	return act_on(prompt, rest, disable_one);
}

static struct mt_error *run_ignore(struct prompt *prompt, const char *rest)
{
	char *end;
	unsigned number = (unsigned)strtoul(rest, &end, 10);
	uint64_t count = 0;

	if (end == rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (a breakpoint number).");
	rest = prompt_skip_blanks(end);
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE,
				    "Second argument (specified ignore-count) is missing.");
	mt_try(prompt_parse_count(rest, &count));
	mt_try(mt_debugger_ignore(prompt->debugger, number, count));
	if (!prompt_is_at_terminal(prompt))
		return NULL;
	if (!count)
		prompt_printf("Will stop next time breakpoint %u is reached.\n", number);
	else if (count == 1)
		prompt_printf("Will ignore next crossing of breakpoint %u.\n", number);
	else
		prompt_printf("Will ignore next %llu crossings of breakpoint %u.\n",
			      (unsigned long long)count, number);
	return NULL;
}

static const struct prompt_command delete_commands[] = {
    {.name = "breakpoints",
     .usage = "[NUMBER]...",
     .summary = "Delete breakpoints",
     .run = run_delete},
    {.name = "display",
     .usage = "[NUMBER]...",
     .summary = "As \"undisplay\"",
     .run = prompt_undisplay},
    {0},
};

static const struct prompt_command enable_commands[] = {
    {.name = "breakpoints",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints stop the program again",
     .run = run_enable},
    {.name = "display",
     .usage = "[NUMBER]...",
     .summary = "Print again what \"display\" asked for",
     .run = prompt_enable_display},
    {0},
};

static const struct prompt_command disable_commands[] = {
    {.name = "breakpoints",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints not stop the program for now",
     .run = run_disable},
    {.name = "display",
     .usage = "[NUMBER]...",
     .summary = "Print not, for now, what \"display\" asked for",
     .run = prompt_disable_display},
    {0},
};

const struct prompt_command prompt_break_commands[] = {
    {.name = "break",
     .aliases = "b br bre brea",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "Stop the program when it comes to LOCATION",
     .help =
	 "LOCATION is a FUNCTION, a LINE, FILE:LINE, FILE:FUNCTION or *ADDRESS; without one it\n"
	 "is where the selected frame stands.\n",
     .run = run_break},
    {.name = "tbreak",
     .aliases = "tb tbr",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "Stop the program when it comes to LOCATION, once",
     .run = run_tbreak},
    {.name = "hbreak",
     .aliases = "hb",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "As break, by one of the processor's four debug registers",
     .run = run_hbreak},
    {.name = "watch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION changes",
     .help = "Debug registers watch the memory that the value comes from, wherever that is at the\n"
	     "time.  What is in registers or does not fit is looked at behind each instruction,\n"
	     "which is slow.  When the frame that EXPRESSION belongs to returns, the program\n"
	     "stops and the watchpoint is deleted.  With -location it is the memory that\n"
	     "EXPRESSION means now.\n",
     .run = run_watch},
    {.name = "rwatch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION is read",
     .run = run_rwatch},
    {.name = "awatch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION is read or written",
     .run = run_awatch},
    {.name = "delete",
     .aliases = "d del",
     .usage = "[NUMBER]...",
     .summary = "Delete breakpoints; without a number, all of them",
     .sub = delete_commands,
     .run = run_delete},
    {.name = "enable",
     .aliases = "en",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints stop the program again",
     .sub = enable_commands,
     .run = run_enable},
    {.name = "disable",
     .aliases = "dis disa",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints not stop the program for now",
     .sub = disable_commands,
     .run = run_disable},
    {.name = "condition",
     .usage = "NUMBER [EXPRESSION]",
     .summary = "Let a breakpoint stop the program only if EXPRESSION is true",
     .run = run_condition},
    {.name = "commands",
     .usage = "[NUMBER]",
     .summary = "Do the lines that follow, up to \"end\", when a breakpoint stops the program",
     .help = "If the first one is \"silent\", the stop itself is not told.\n",
     .run = prompt_run_commands_command},
    {.name = "ignore",
     .usage = "NUMBER COUNT",
     .summary = "Let a breakpoint not stop the program the next COUNT times",
     .run = run_ignore},
    {0},
};
