/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set print …, set breakpoint … */
#include "prompt.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

static struct mt_error *parse_switch(const char *text, bool *out)
{
	*out = !*text || strcmp(text, "on") == 0 || strcmp(text, "1") == 0;
	if (*out || strcmp(text, "off") == 0 || strcmp(text, "0") == 0)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "\"on\" or \"off\" expected.");
}

static struct mt_error *set_switch(struct prompt *prompt, const char *rest, size_t place)
{
	struct mt_expr_program *program;
	bool value;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	mt_try(parse_switch(rest, &value));
	memcpy((char *)mt_expr_program_settings(program) + place, &value, sizeof(value));
	return NULL;
}

/* "unlimited" and 0 are no limit. */
static struct mt_error *set_limit(struct prompt *prompt, const char *rest, size_t place)
{
	struct mt_expr_program *program;
	uint64_t number = 0;
	uint32_t value;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument required (integer to set it to, or \"unlimited\".).");
	if (strncmp("unlimited", rest, strlen(rest)) != 0)
		mt_try(mt_parse_number(rest, "limit", 0, UINT32_MAX, &number));
	value = (uint32_t)number;
	memcpy((char *)mt_expr_program_settings(program) + place, &value, sizeof(value));
	return NULL;
}

#define SWITCH(function, member)                                                                   \
	static struct mt_error *function(struct prompt *prompt, const char *rest)                  \
	{                                                                                          \
		return set_switch(prompt, rest, offsetof(struct mt_expr_settings, member));        \
	}
#define LIMIT(function, member)                                                                    \
	static struct mt_error *function(struct prompt *prompt, const char *rest)                  \
	{                                                                                          \
		return set_limit(prompt, rest, offsetof(struct mt_expr_settings, member));         \
	}

SWITCH(set_pretty, pretty)
SWITCH(set_symbol, symbol)
SWITCH(set_address, address)
SWITCH(set_union, unions)
SWITCH(set_null_stop, null_stop)
SWITCH(set_array, array)
SWITCH(set_array_indexes, array_indexes)
SWITCH(set_static_members, static_members)
LIMIT(set_elements, elements)
LIMIT(set_repeats, repeats)

const struct prompt_command prompt_set_print_commands[] = {
    {.name = "pretty", .usage = "on|off", .summary = "Indent structures", .run = set_pretty},
    {.name = "symbol",
     .usage = "on|off",
     .summary = "Name what pointers point to",
     .run = set_symbol},
    {.name = "address",
     .usage = "on|off",
     .summary = "Print addresses of pointers",
     .run = set_address},
    {.name = "union",
     .usage = "on|off",
     .summary = "Print unions within structures",
     .run = set_union},
    {.name = "null-stop",
     .usage = "on|off",
     .summary = "End character arrays at their first null",
     .run = set_null_stop},
    {.name = "array",
     .usage = "on|off",
     .summary = "Print arrays over several lines",
     .run = set_array},
    {.name = "array-indexes",
     .usage = "on|off",
     .summary = "Print the index of each element",
     .run = set_array_indexes},
    {.name = "static-members",
     .usage = "on|off",
     .summary = "Print static members of classes",
     .run = set_static_members},
    {.name = "elements",
     .usage = "NUMBER",
     .summary = "Print so many elements of an array at most; 0: all",
     .run = set_elements},
    {.name = "repeats",
     .usage = "NUMBER",
     .summary = "Count elements that repeat more often; 0: print them all",
     .run = set_repeats},
    {0},
};

static struct mt_error *set_pending(struct prompt *prompt, const char *rest)
{
	bool value = false;

	prompt->asks_pending = strcmp(rest, "auto") == 0;
	if (!prompt->asks_pending)
		mt_try(parse_switch(rest, &value));
	prompt->makes_pending = value;
	return NULL;
}

const struct prompt_command prompt_set_break_commands[] = {
    {.name = "pending",
     .usage = "on|off|auto",
     .summary = "Keep breakpoints whose place may come with a library; auto: ask",
     .run = set_pending},
    {0},
};
