/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set, unset, show: a setting is a row in a table, with what `set` does and what `show` says. */
#include "prompt/set.h"

#include <string.h>

/* ---- What a setting may be ---- */

static bool is_beginning(const char *text, const char *of, size_t least)
{
	size_t length = strlen(text);

	return length >= least && strncmp(text, of, length) == 0;
}

struct mt_error *prompt_parse_switch(const char *text, bool *out)
{
	bool is_off = is_beginning(text, "off", 2) || is_beginning(text, "no", 1) ||
		      is_beginning(text, "disable", 1) || strcmp(text, "0") == 0;

	*out = !*text || is_beginning(text, "on", 2) || is_beginning(text, "yes", 1) ||
	       is_beginning(text, "enable", 1) || strcmp(text, "1") == 0;
	if (*out || is_off)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "\"on\" or \"off\" expected.");
}

const char *prompt_switch_words(bool value)
{
	return value ? "on" : "off";
}

struct mt_error *prompt_parse_limit(const char *text, uint32_t *out)
{
	uint64_t number = 0;

	if (!*text)
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument required (integer to set it to, or \"unlimited\").");
	if (!is_beginning(text, "unlimited", 1))
		mt_try(mt_parse_number(text, "limit", 0, UINT32_MAX, &number));
	*out = (uint32_t)number;
	return NULL;
}

void prompt_show_limit(struct mt_str *out, const char *what, uint64_t limit)
{
	if (limit)
		mt_str_appendf(out, "%s is %llu.\n", what, (unsigned long long)limit);
	else
		mt_str_appendf(out, "%s is unlimited.\n", what);
}

/* One of two words, or the beginning of one: whether it is the second. */
static struct mt_error *parse_choice(const char *text, const char *const words[2], bool *second)
{
	bool is[2] = {is_beginning(text, words[0], 1), is_beginning(text, words[1], 1)};

	if (!*text)
		return mt_error_new(MT_ERROR_USAGE,
				    "Requires an argument. Valid arguments are %s, %s.", words[0],
				    words[1]);
	if (!is[0] && !is[1])
		return mt_error_new(MT_ERROR_USAGE, "Undefined item: \"%s\".", text);
	*second = is[1];
	return NULL;
}

/* ---- The program ---- */

static struct mt_error *set_args(struct prompt *prompt, const char *rest)
{
	return mt_debugger_set_arguments(prompt->debugger, rest);
}

static struct mt_error *show_args(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out,
		       "Argument list to give program being debugged when it is started is "
		       "\"%s\".\n",
		       mt_debugger_arguments(prompt->debugger));
	return NULL;
}

/* "NAME VALUE" and "NAME=VALUE". */
static struct mt_error *set_environment(struct prompt *prompt, const char *rest)
{
	size_t length = strcspn(rest, " \t=");
	const char *value = prompt_skip_blanks(rest + length);
	mt_auto(mt_str) struct mt_str name = {0};

	if (!length)
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument required (environment variable and value).");
	mt_str_append_bytes(&name, rest, length);
	if (name.failed)
		return mt_error_no_memory();
	if (*value == '=')
		value = prompt_skip_blanks(value + 1);
	else if (!*value)
		prompt_printf("Setting environment variable \"%s\" to null value.\n", name.text);
	return mt_debugger_set_environment(prompt->debugger, name.text, value);
}

/* All of it, or one variable. */
static struct mt_error *show_environment(struct prompt *prompt, const char *rest,
					 struct mt_str *out)
{
	const char *const *words = mt_debugger_environment(prompt->debugger);
	size_t length = strlen(rest);

	for (; *words && !length; words++)
		mt_str_appendf(out, "%s\n", *words);
	while (*words && !(strncmp(*words, rest, length) == 0 && (*words)[length] == '='))
		words++;
	if (*words)
		mt_str_appendf(out, "%s = %s\n", rest, *words + length + 1);
	else if (length)
		mt_str_appendf(out, "Environment variable \"%s\" not defined.\n", rest);
	return NULL;
}

static struct mt_error *unset_environment(struct prompt *prompt, const char *rest)
{
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (environment variable).");
	return mt_debugger_set_environment(prompt->debugger, rest, NULL);
}

static const struct prompt_command unset_commands[] = {
    {.name = "environment",
     .usage = "NAME",
     .summary = "Do not give the program this variable",
     .run = unset_environment},
    {0},
};

/* ---- Forks and exec ---- */

static const char *const fork_modes[2] = {"child", "parent"};
static const char *const exec_modes[2] = {"new", "same"};

static struct mt_error *set_fork_mode(struct prompt *prompt, const char *rest)
{
	bool is_parent = false;

	mt_try(parse_choice(rest, fork_modes, &is_parent));
	mt_debugger_settings(prompt->debugger)->follow_child = !is_parent;
	return NULL;
}

static struct mt_error *show_fork_mode(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Debugger response to a program call of fork or vfork is \"%s\".\n",
		       fork_modes[!mt_debugger_settings(prompt->debugger)->follow_child]);
	return NULL;
}

static struct mt_error *set_exec_mode(struct prompt *prompt, const char *rest)
{
	bool is_same = false;

	mt_try(parse_choice(rest, exec_modes, &is_same));
	mt_debugger_settings(prompt->debugger)->exec_is_another = !is_same;
	return NULL;
}

static struct mt_error *show_exec_mode(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Follow exec mode is \"%s\".\n",
		       exec_modes[!mt_debugger_settings(prompt->debugger)->exec_is_another]);
	return NULL;
}

static struct mt_error *set_detach(struct prompt *prompt, const char *rest)
{
	bool value;

	(void)prompt;
	mt_try(prompt_parse_switch(rest, &value));
	if (value)
		return NULL;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "mtdb debugs one process at a time, so that one side of a fork always "
			    "runs on by itself.  \"set follow-fork-mode child\" debugs the child.");
}

static struct mt_error *show_detach(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)prompt;
	(void)rest;
	mt_str_append(out, "Whether gdb will detach the child of a fork is on.\n");
	return NULL;
}

/* ---- The prompt ---- */

static struct mt_error *set_confirm(struct prompt *prompt, const char *rest)
{
	return prompt_parse_switch(rest, &prompt->confirm);
}

static struct mt_error *show_confirm(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Whether to confirm potentially dangerous operations is %s.\n",
		       prompt_switch_words(prompt->confirm));
	return NULL;
}

static struct mt_error *set_pagination(struct prompt *prompt, const char *rest)
{
	return prompt_parse_switch(rest, &prompt->paginates);
}

static struct mt_error *show_pagination(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "State of pagination is %s.\n", prompt_switch_words(prompt->paginates));
	return NULL;
}

static struct mt_error *set_height(struct prompt *prompt, const char *rest)
{
	mt_try(prompt_parse_limit(rest, &prompt->height));
	prompt->has_height = true;
	return NULL;
}

static struct mt_error *show_height(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	prompt_show_limit(out, "Number of lines gdb thinks are in a page", prompt_out_rows(prompt));
	return NULL;
}

/* Lines are never broken, which is what scripts want of it. */
static struct mt_error *set_width(struct prompt *prompt, const char *rest)
{
	uint32_t columns;

	(void)prompt;
	return prompt_parse_limit(rest, &columns);
}

static struct mt_error *show_width(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)prompt;
	(void)rest;
	prompt_show_limit(out, "Number of characters gdb thinks are in a line", 0);
	return NULL;
}

static const char *const flavors[2] = {"att", "intel"};

static struct mt_error *set_flavor(struct prompt *prompt, const char *rest)
{
	return parse_choice(rest, flavors, &prompt->intel);
}

static struct mt_error *show_flavor(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "The disassembly flavor is \"%s\".\n", flavors[prompt->intel]);
	return NULL;
}

static struct mt_error *set_hardware_watches(struct prompt *prompt, const char *rest)
{
	uint64_t number;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (integer to set it to.).");
	mt_try(mt_parse_number(rest, "can-use-hw-watchpoints", 0, INT32_MAX, &number));
	mt_debugger_set_hardware_watches(prompt->debugger, number != 0);
	return NULL;
}

static struct mt_error *show_hardware_watches(struct prompt *prompt, const char *rest,
					      struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Debugger's willingness to use watchpoint hardware is %d.\n",
		       mt_debugger_has_hardware_watches(prompt->debugger));
	return NULL;
}

static const struct prompt_command set_commands[] = {
    {.name = "args",
     .usage = "[ARGUMENTS]",
     .summary = "Give the program these arguments when it is started",
     .run = set_args,
     .show = show_args},
    {.name = "breakpoint",
     .usage = "WHAT VALUE",
     .summary = "Change what breakpoints do",
     .sub = prompt_set_break_commands},
    {.name = "can-use-hw-watchpoints",
     .usage = "NUMBER",
     .summary = "With 0, watch by looking behind each instruction, not by debug registers",
     .run = set_hardware_watches,
     .show = show_hardware_watches},
    {.name = "confirm",
     .usage = "on|off",
     .summary = "Ask before something is lost, or not",
     .run = set_confirm,
     .show = show_confirm},
    {.name = "detach-on-fork",
     .usage = "on",
     .summary = "Let go of that side of a fork which is not followed; always",
     .run = set_detach,
     .show = show_detach},
    {.name = "disassembly-flavor",
     .usage = "att|intel",
     .summary = "Print instructions in AT&T's syntax, or in Intel's",
     .run = set_flavor,
     .show = show_flavor},
    {.name = "environment",
     .usage = "NAME [VALUE]",
     .summary = "Give the program this variable when it is started",
     .run = set_environment,
     .show = show_environment},
    {.name = "follow-exec-mode",
     .usage = "same|new",
     .summary = "Take what exec makes of a program for the same inferior, or for a new one",
     .run = set_exec_mode,
     .show = show_exec_mode},
    {.name = "follow-fork-mode",
     .usage = "parent|child",
     .summary = "Debug the parent after a fork, or the child",
     .run = set_fork_mode,
     .show = show_fork_mode},
    {.name = "height",
     .usage = "NUMBER",
     .summary = "Print a page of so many lines at a time; 0: all at once",
     .run = set_height,
     .show = show_height},
    {.name = "pagination",
     .usage = "on|off",
     .summary = "Print a page at a time, or all at once",
     .run = set_pagination,
     .show = show_pagination},
    {.name = "print",
     .aliases = "p pr",
     .usage = "WHAT VALUE",
     .summary = "Change how values are printed",
     .sub = prompt_set_print_commands},
    {.name = "variable",
     .aliases = "var",
     .usage = "EXPRESSION",
     .summary = "Evaluate an expression that assigns",
     .run = prompt_set_variable},
    {.name = "width",
     .usage = "NUMBER",
     .summary = "Nothing: lines are never broken",
     .run = set_width,
     .show = show_width},
    {0},
};

/* ---- show ---- */

static struct mt_error *show_one(struct prompt *prompt, const struct prompt_command *setting,
				 const char *name, const char *rest)
{
	mt_auto(mt_str) struct mt_str text = {0};

	if (name)
		mt_str_appendf(&text, "%s:  ", name);
	mt_try(setting->show(prompt, rest, &text));
	if (text.failed)
		return mt_error_no_memory();
	prompt_printf("%s", text.text ? text.text : "");
	return NULL;
}

/* PREFIX: "print " of those within `set print`. */
static struct mt_error *show_table(struct prompt *prompt, const struct prompt_command *table,
				   const char *prefix)
{
	for (; table->name; table++) {
		mt_auto(mt_str) struct mt_str name = {0};

		mt_str_appendf(&name, "%s%s%s", prefix, table->name, table->sub ? " " : "");
		if (name.failed)
			return mt_error_no_memory();
		if (table->sub)
			mt_try(show_table(prompt, table->sub, name.text));
		else if (table->show)
			mt_try(show_one(prompt, table, name.text, ""));
	}
	return NULL;
}

static struct mt_error *run_show(struct prompt *prompt, const char *rest)
{
	const struct prompt_command *found = NULL, *table = set_commands;
	mt_auto(mt_str) struct mt_str prefix = {0};
	const char *word = rest;

	mt_str_append(&prefix, "show ");
	while (table && *rest && !prefix.failed) {
		word = rest;
		mt_try(prompt_find_within(table, prefix.text, word, &found, &rest));
		table = found->sub;
		mt_str_appendf(&prefix, "%s ", found->name);
	}
	if (prefix.failed)
		return mt_error_no_memory();
	if (table)
		return show_table(prompt, table, prefix.text + strlen("show "));
	if (found->show)
		return show_one(prompt, found, NULL, rest);
	return mt_error_new(MT_ERROR_USAGE, "Undefined show command: \"%s\".  Try \"help show\".",
			    word);
}

const struct prompt_command prompt_set_commands[] = {
    {.name = "set",
     .usage = "WHAT VALUE",
     .summary = "Change what is kept",
     .sub = set_commands,
     .run = prompt_set_variable},
    {.name = "show",
     .usage = "[WHAT]",
     .summary = "Tell how something is that was set, or all",
     .takes = PROMPT_SETTINGS,
     .run = run_show},
    {.name = "unset", .usage = "WHAT", .summary = "Undo a set", .sub = unset_commands},
    {0},
};
