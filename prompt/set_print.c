/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set print …, set breakpoint … */
#include "prompt/set.h"

#include <stddef.h>
#include <string.h>

static struct mt_error *settings_of(struct prompt *prompt, char **out)
{
	struct mt_expr_program *program;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	*out = (char *)mt_expr_program_settings(program);
	return NULL;
}

static struct mt_error *set_switch(struct prompt *prompt, const char *rest, size_t place)
{
	char *settings;
	bool value;

	mt_try(settings_of(prompt, &settings));
	mt_try(prompt_parse_switch(rest, &value));
	memcpy(settings + place, &value, sizeof(value));
	return NULL;
}

static struct mt_error *show_switch(struct prompt *prompt, size_t place, const char *what,
				    struct mt_str *out)
{
	char *settings;
	bool value;

	mt_try(settings_of(prompt, &settings));
	memcpy(&value, settings + place, sizeof(value));
	mt_str_appendf(out, "%s is %s.\n", what, prompt_switch_words(value));
	return NULL;
}

static struct mt_error *set_limit(struct prompt *prompt, const char *rest, size_t place)
{
	char *settings;
	uint32_t value;

	mt_try(settings_of(prompt, &settings));
	mt_try(prompt_parse_limit(rest, &value));
	memcpy(settings + place, &value, sizeof(value));
	return NULL;
}

static struct mt_error *show_limit(struct prompt *prompt, size_t place, const char *what,
				   struct mt_str *out)
{
	char *settings;
	uint32_t value;

	mt_try(settings_of(prompt, &settings));
	memcpy(&value, settings + place, sizeof(value));
	prompt_show_limit(out, what, value);
	return NULL;
}

#define SETTING(kind, member, what)                                                                \
	static struct mt_error *set_##member(struct prompt *prompt, const char *rest)              \
	{                                                                                          \
		return set_##kind(prompt, rest, offsetof(struct mt_expr_settings, member));        \
	}                                                                                          \
	static struct mt_error *show_##member(struct prompt *prompt, const char *rest,             \
					      struct mt_str *out)                                  \
	{                                                                                          \
		(void)rest;                                                                        \
		return show_##kind(prompt, offsetof(struct mt_expr_settings, member), what, out);  \
	}

SETTING(switch, pretty, "Pretty formatting of structures")
SETTING(switch, symbol, "Printing of symbols when printing pointers")
SETTING(switch, address, "Printing of addresses")
SETTING(switch, unions, "Printing of unions interior to structures")
SETTING(switch, null_stop, "Printing of char arrays to stop at first null char")
SETTING(switch, array, "Pretty formatting of arrays")
SETTING(switch, array_indexes, "Printing of array indexes")
SETTING(switch, static_members, "Printing of C++ static members")
SETTING(limit, elements, "Limit on string chars or array elements to print")
SETTING(limit, repeats, "Threshold for repeated print elements")

const struct prompt_command prompt_set_print_commands[] = {
    {.name = "address",
     .usage = "on|off",
     .summary = "Print addresses of pointers",
     .run = set_address,
     .show = show_address},
    {.name = "array",
     .usage = "on|off",
     .summary = "Print arrays over several lines",
     .run = set_array,
     .show = show_array},
    {.name = "array-indexes",
     .usage = "on|off",
     .summary = "Print the index of each element",
     .run = set_array_indexes,
     .show = show_array_indexes},
    {.name = "elements",
     .usage = "NUMBER",
     .summary = "Print so many elements of an array at most; 0: all",
     .run = set_elements,
     .show = show_elements},
    {.name = "null-stop",
     .usage = "on|off",
     .summary = "End character arrays at their first null",
     .run = set_null_stop,
     .show = show_null_stop},
    {.name = "pretty",
     .usage = "on|off",
     .summary = "Indent structures",
     .run = set_pretty,
     .show = show_pretty},
    {.name = "repeats",
     .usage = "NUMBER",
     .summary = "Count elements that repeat more often; 0: print them all",
     .run = set_repeats,
     .show = show_repeats},
    {.name = "static-members",
     .usage = "on|off",
     .summary = "Print static members of classes",
     .run = set_static_members,
     .show = show_static_members},
    {.name = "symbol",
     .usage = "on|off",
     .summary = "Name what pointers point to",
     .run = set_symbol,
     .show = show_symbol},
    {.name = "union",
     .usage = "on|off",
     .summary = "Print unions within structures",
     .run = set_unions,
     .show = show_unions},
    {0},
};

static struct mt_error *set_pending(struct prompt *prompt, const char *rest)
{
	bool asks = *rest && strncmp(rest, "auto", strlen(rest)) == 0, value = false;

	struct mt_error *error = asks ? NULL : prompt_parse_switch(rest, &value);
	if (error) {
		mt_error_destroy(error);
		return mt_error_new(MT_ERROR_USAGE, "\"on\", \"off\" or \"auto\" expected.");
	}
	prompt->asks_pending = asks;
	prompt->makes_pending = value;
	return NULL;
}

static struct mt_error *show_pending(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Debugger's behavior regarding pending breakpoints is %s.\n",
		       prompt->asks_pending ? "auto" : prompt_switch_words(prompt->makes_pending));
	return NULL;
}

const struct prompt_command prompt_set_break_commands[] = {
    {.name = "pending",
     .usage = "on|off|auto",
     .summary = "Keep breakpoints whose place may come with a library; auto: ask",
     .run = set_pending,
     .show = show_pending},
    {0},
};
