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

static void print_new(struct prompt *prompt, unsigned number)
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
	const struct mt_debug_location *location = &one->locations[0];
	prompt_printf("%s %u at 0x%llx", kind, number, (unsigned long long)location->address);
	if (one->location_count > 1)
		prompt_printf(": %s. (%zu locations)", one->text, one->location_count);
	else if (location->file)
		prompt_printf(": file %s, line %u.", location->file, location->source.line);
	prompt_printf("\n");
}

struct mt_error *prompt_add_breakpoint(struct prompt *prompt,
				       const struct mt_debug_new_breakpoint *what)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	struct mt_debug_new_breakpoint wanted = *what;
	unsigned number = 0;
	struct mt_error *error = mt_debugger_break(prompt->debugger, &wanted, &number);

	if (error) { /* a location that is unknown may come with a library */
		if (mt_error_code(error) != MT_ERROR_NOT_FOUND || what->kind >= MT_DEBUG_WATCH ||
		    !what->location || *what->location == '*' ||
		    prompt->settings.pending == PROMPT_PENDING_OFF)
			return error;
		prompt_report("%s\n", mt_error_message(error));
		mt_error_destroy(error);
		wanted.pending = prompt->settings.pending == PROMPT_PENDING_ON ||
				 prompt_asks(prompt, "Make breakpoint pending on future shared "
						     "library load? (y or [n]) ");
		if (wanted.pending)
			mt_try(mt_debugger_break(prompt->debugger, &wanted, &number));
	}
	print_new(prompt, number);
	return mt_expr_set_integer(program, "bpnum", number);
}

/* The arguments of `break`. */
struct clauses {
	struct mt_str location, condition;
	bool has_condition;
	unsigned thread; /* 0: any */
};

/* TEXT: what follows "thread". */
static struct mt_error *parse_thread(struct prompt *prompt, const char *text, unsigned *out)
{
	mt_auto(mt_str) struct mt_str word = {0};
	const struct mt_debug_thread *thread;
	uint64_t number;

	text = prompt_skip_blanks(text);
	mt_str_append_bytes(&word, text, strcspn(text, " \t"));
	mt_try(prompt_parse_count(word.text ? word.text : "", &number));
	*out = (unsigned)number;
	for (size_t i = 0; (thread = mt_debugger_thread(prompt->debugger, i)); i++)
		if (thread->number == *out)
			return NULL;
	return mt_error_new(MT_ERROR_USAGE, "Unknown thread %u.", *out);
}

/* LOCATION [thread NUMBER] [if CONDITION [thread NUMBER]] */
static struct mt_error *parse_clauses(struct prompt *prompt, const char *text,
				      struct clauses *clauses)
{
	const char *condition = prompt_find_word(text, "if");
	const char *thread = prompt_find_word(text, "thread");
	const char *end = text + strlen(text), *location_end = end;

	/* A function may have that name: a number follows the word, and something precedes it. */
	while (thread && (thread == text ||
			  !isdigit((unsigned char)*prompt_skip_blanks(thread + strlen("thread")))))
		thread = prompt_find_word(thread + strlen("thread"), "thread");
	if (thread) {
		mt_try(parse_thread(prompt, thread + strlen("thread"), &clauses->thread));
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
	while (location_end > text && strchr(" \t", location_end[-1]))
		location_end--;
	mt_str_append_bytes(&clauses->location, text, (size_t)(location_end - text));
	return clauses->location.failed || clauses->condition.failed ? mt_error_no_memory() : NULL;
}

#define TEMPORARY (-1) /* variant of `break` that is no enum mt_debug_break_kind */

static struct mt_error *run_break(struct prompt *prompt, const char *rest, int variant)
{
	struct clauses clauses = {0};
	struct mt_error *error = parse_clauses(prompt, rest, &clauses);
	struct mt_debug_new_breakpoint what = {
	    .kind = variant == TEMPORARY ? MT_DEBUG_BREAK : (uint8_t)variant,
	    .temporary = variant == TEMPORARY,
	    .location = clauses.location.text,
	    .condition = clauses.condition.text,
	    .thread = clauses.thread,
	};
	char *function = NULL;

	if (!error && what.location && what.kind < MT_DEBUG_WATCH) {
		error = prompt_choose_function(prompt, what.location, &function);
		what.location = function;
	}
	if (!error && clauses.has_condition && !clauses.condition.length)
		error = mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	if (!error)
		error = prompt_add_breakpoint(prompt, &what);
	mt_str_deinit(&clauses.location);
	mt_str_deinit(&clauses.condition);
	free(function);
	return error;
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

static struct mt_error *delete_one(struct prompt *prompt, unsigned number, int variant)
{
	(void)variant;
	return mt_debugger_delete(prompt->debugger, number);
}

static struct mt_error *run_delete(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_breakpoint *one;

	if (*rest)
		return prompt_each_number(prompt, "breakpoint", rest, delete_one, 0);
	if (mt_debugger_breakpoint_count(prompt->debugger) && prompt_is_at_terminal(prompt) &&
	    !prompt_confirms(prompt, "Delete all breakpoints? (y or n) "))
		return NULL;
	while ((one = mt_debugger_breakpoint(prompt->debugger, 0)))
		mt_try(mt_debugger_delete(prompt->debugger, one->number));
	return NULL;
}

static struct mt_error *enable_one(struct prompt *prompt, unsigned number, int enable)
{
	return mt_debugger_enable(prompt->debugger, number, enable);
}

static struct mt_error *run_enable(struct prompt *prompt, const char *rest, int enable)
{
	const struct mt_debug_breakpoint *one;

	if (*rest)
		return prompt_each_number(prompt, "breakpoint", rest, enable_one, enable);
	for (size_t i = 0; (one = mt_debugger_breakpoint(prompt->debugger, i)); i++)
		mt_try(mt_debugger_enable(prompt->debugger, one->number, enable));
	return NULL;
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
     .summary = "Enable breakpoints",
     .run_variant = run_enable,
     .variant = true},
    {.name = "display",
     .usage = "[NUMBER]...",
     .summary = "Enable expressions of \"display\"",
     .run_variant = prompt_enable_displays,
     .variant = true},
    {0},
};

static const struct prompt_command disable_commands[] = {
    {.name = "breakpoints",
     .usage = "[NUMBER]...",
     .summary = "Disable breakpoints",
     .run_variant = run_enable,
     .variant = false},
    {.name = "display",
     .usage = "[NUMBER]...",
     .summary = "Disable expressions of \"display\"",
     .run_variant = prompt_enable_displays,
     .variant = false},
    {0},
};

const struct prompt_command prompt_break_commands[] = {
    {.name = "break",
     .aliases = "b br bre brea",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "Set a breakpoint at LOCATION",
     .help = "LOCATION is a FUNCTION, a LINE, FILE:LINE, FILE:FUNCTION or *ADDRESS; without it,\n"
	     "the breakpoint is set where the selected frame is stopped.\n",
     .run_variant = run_break,
     .variant = MT_DEBUG_BREAK},
    {.name = "tbreak",
     .aliases = "tb tbr",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "Set a temporary breakpoint at LOCATION",
     .run_variant = run_break,
     .variant = TEMPORARY},
    {.name = "hbreak",
     .aliases = "hb",
     .usage = "[LOCATION] [thread NUMBER] [if CONDITION]",
     .takes = PROMPT_LOCATION,
     .summary = "Set a hardware breakpoint: in one of four debug registers",
     .run_variant = run_break,
     .variant = MT_DEBUG_HARDWARE_BREAK},
    {.name = "rbreak",
     .usage = "[FILE:][REGEXP]",
     .summary = "Set a breakpoint at each function whose name REGEXP fits",
     .help = "FILE: only at functions of that source file.  Without REGEXP, at all functions.\n",
     .run = prompt_rbreak},
    {.name = "watch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION changes",
     .help = "Debug registers watch the memory that the value comes from, and follow it when it\n"
	     "moves.  A value in registers, or one that is too large, is checked after each\n"
	     "instruction, which is slow; so is any where debug registers are never hit, as\n"
	     "under some hypervisors.  When the frame that EXPRESSION belongs to returns, the\n"
	     "program stops and the watchpoint is deleted.  -location watches the memory that\n"
	     "EXPRESSION refers to now.\n",
     .run_variant = run_break,
     .variant = MT_DEBUG_WATCH},
    {.name = "rwatch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION is read",
     .run_variant = run_break,
     .variant = MT_DEBUG_RWATCH},
    {.name = "awatch",
     .usage = "[-location] EXPRESSION [thread NUMBER] [if CONDITION]",
     .summary = "Stop the program when the value of EXPRESSION is read or written",
     .run_variant = run_break,
     .variant = MT_DEBUG_AWATCH},
    {.name = "delete",
     .aliases = "d del",
     .usage = "[NUMBER]...",
     .summary = "Delete breakpoints; without a number, all",
     .sub = delete_commands,
     .run = run_delete},
    {.name = "enable",
     .aliases = "en",
     .usage = "[NUMBER]...",
     .summary = "Enable breakpoints",
     .sub = enable_commands,
     .run_variant = run_enable,
     .variant = true},
    {.name = "disable",
     .aliases = "dis disa",
     .usage = "[NUMBER]...",
     .summary = "Disable breakpoints",
     .sub = disable_commands,
     .run_variant = run_enable,
     .variant = false},
    {.name = "condition",
     .usage = "NUMBER [EXPRESSION]",
     .summary = "Make a breakpoint conditional; without EXPRESSION, unconditional",
     .run = run_condition},
    {.name = "commands",
     .usage = "[NUMBER]",
     .summary = "Set commands to be run when a breakpoint is hit",
     .help =
	 "They follow, a line each, up to \"end\".  If the first is \"silent\", the stop is not\n"
	 "reported.\n",
     .run = prompt_run_commands_command},
    {.name = "ignore",
     .usage = "NUMBER COUNT",
     .summary = "Ignore the next COUNT hits of a breakpoint",
     .run = run_ignore},
    {0},
};
