/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about breakpoints. */
#include "prompt.h"

#include <ctype.h>
#include <string.h>

static void tell_new(struct prompt *prompt, unsigned number)
{
	const struct mt_debug_breakpoint *one =
	    mt_debugger_find_breakpoint(prompt->debugger, number);
	struct mt_debug_place place;

	if (!one)
		return;
	const char *kind = one->temporary ? "Temporary breakpoint" : "Breakpoint";
	if (!one->location_count) {
		prompt_printf("%s %u (%s) pending.\n", kind, number, one->text);
		return;
	}
	mt_debugger_place(prompt->debugger, one->locations[0].address, &place);
	prompt_printf("%s %u at 0x%llx", kind, number, (unsigned long long)place.address);
	if (one->location_count > 1)
		prompt_printf(": %s. (%zu locations)", one->text, one->location_count);
	else if (place.file)
		prompt_printf(": file %s, line %u.", place.file, place.source.line);
	prompt_printf("\n");
}

/* What is not there yet may come with a library. */
static struct mt_error *add_pending(struct prompt *prompt, struct mt_debug_new_breakpoint *what,
				    struct mt_error *error, unsigned *number)
{
	if (mt_error_code(error) != MT_ERROR_NOT_FOUND || *what->location == '*')
		return error;
	fflush(stdout);
	fprintf(stderr, "%s\n", mt_error_message(error));
	mt_error_destroy(error);
	*number = 0;
	if (!prompt_asks(prompt, "Make breakpoint pending on future shared library load? "
				 "(y or [n]) "))
		return NULL;
	what->pending = true;
	return mt_debugger_break(prompt->debugger, what, number);
}

struct mt_error *prompt_add_breakpoint(struct prompt *prompt,
				       const struct mt_debug_new_breakpoint *what)
{
	struct mt_debug_new_breakpoint wanted = *what;
	unsigned number;
	struct mt_error *error = mt_debugger_break(prompt->debugger, &wanted, &number);

	if (error)
		mt_try(add_pending(prompt, &wanted, error, &number));
	tell_new(prompt, number);
	return NULL;
}

static struct mt_error *run_break(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.location = rest};

	return prompt_add_breakpoint(prompt, &what);
}

static struct mt_error *run_tbreak(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_new_breakpoint what = {.location = rest, .temporary = true};

	return prompt_add_breakpoint(prompt, &what);
}

/* "1 3-5": calls DO for each number. */
static struct mt_error *each_number(struct prompt *prompt, const char *text,
				    struct mt_error *(*act)(struct prompt *prompt, unsigned number))
{
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end != text && *end == '-')
			last = strtoul(end + 1, &end, 10);
		if (!isdigit((unsigned char)*text) || (*end && !strchr(" \t", *end)) ||
		    last < first || last - first > 100000)
			return mt_error_new(MT_ERROR_USAGE, "Bad breakpoint number '%s'", text);
		for (; first <= last; first++) {
			struct mt_error *error = act(prompt, (unsigned)first);

			if (error)
				prompt_printf("%s\n", mt_error_message(error));
			mt_error_destroy(error);
		}
		text = prompt_skip_blanks(end);
	}
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
		return each_number(prompt, rest, delete_one);
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
		return each_number(prompt, rest, act);
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

const struct prompt_command prompt_break_commands[] = {
    {.name = "break",
     .aliases = "b br bre brea",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Stop the program when it comes to LOCATION",
     .help =
	 "LOCATION is a FUNCTION, a LINE, FILE:LINE, FILE:FUNCTION or *ADDRESS; without one it\n"
	 "is where the selected frame stands.\n",
     .run = run_break},
    {.name = "tbreak",
     .aliases = "tb tbr",
     .usage = "[LOCATION]",
     .takes = PROMPT_LOCATION,
     .summary = "Stop the program when it comes to LOCATION, once",
     .run = run_tbreak},
    {.name = "delete",
     .aliases = "d del",
     .usage = "[NUMBER]...",
     .summary = "Delete breakpoints; without a number, all of them",
     .run = run_delete},
    {.name = "enable",
     .aliases = "en",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints stop the program again",
     .run = run_enable},
    {.name = "disable",
     .aliases = "dis disa",
     .usage = "[NUMBER]...",
     .summary = "Let breakpoints not stop the program for now",
     .run = run_disable},
    {.name = "ignore",
     .usage = "NUMBER COUNT",
     .summary = "Let a breakpoint not stop the program the next COUNT times",
     .run = run_ignore},
    {0},
};
