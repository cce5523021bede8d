/* SPDX-License-Identifier: GPL-3.0-or-later */
/* set, unset, show.  Most settings are a member of a struct: a row of a table says where it is,
 * which values it takes, and how `show` words it.  The others have functions of their own. */
#include "prompt/prompt.h"

#include <stddef.h>
#include <string.h>

/* ---- Settings that are a member of a struct ---- */

struct prompt_setting {
	enum { OF_PROMPT, OF_DEBUGGER, OF_VALUES } home; /* whose struct of settings has it */
	size_t offset;
	enum {
		SWITCH,
		LIMIT,
		CHOICE
	} type;                   /* a bool, a uint32_t with 0 for unlimited, a uint8_t */
	const char *sentence;     /* that `show` begins with; " is VALUE." follows */
	const char *const *words; /* CHOICE: of the values from 0 on, NULL at the end */
};

#define IN_PROMPT(member) .home = OF_PROMPT, .offset = offsetof(struct prompt_settings, member)
#define IN_DEBUGGER(member)                                                                        \
	.home = OF_DEBUGGER, .offset = offsetof(struct mt_debug_settings, member)
#define IN_VALUES(member) .home = OF_VALUES, .offset = offsetof(struct mt_expr_settings, member)
#define SETTING(...)                                                                               \
	&(const struct prompt_setting)                                                             \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

static void *member_of(struct prompt *prompt, const struct prompt_setting *setting)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	switch (setting->home) {
	case OF_DEBUGGER:
		return (char *)mt_debugger_settings(prompt->debugger) + setting->offset;
	case OF_VALUES:
		return (char *)mt_expr_program_settings(program) + setting->offset;
	default:
		return (char *)&prompt->settings + setting->offset;
	}
}

static bool is_beginning(const char *text, const char *of, size_t least)
{
	size_t length = strlen(text);

	return length >= least && strncmp(text, of, length) == 0;
}

/* "on", "1", "yes", "enable", nothing at all; and their opposites. */
static struct mt_error *parse_switch(const char *text, bool *out)
{
	bool is_on = !*text || is_beginning(text, "on", 2) || is_beginning(text, "yes", 1) ||
		     is_beginning(text, "enable", 1) || strcmp(text, "1") == 0;

	if (!is_on && !is_beginning(text, "off", 2) && !is_beginning(text, "no", 1) &&
	    !is_beginning(text, "disable", 1) && strcmp(text, "0") != 0)
		return mt_error_new(MT_ERROR_USAGE, "\"on\" or \"off\" expected.");
	*out = is_on;
	return NULL;
}

static struct mt_error *parse_limit(const char *text, uint32_t *out)
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

/* One of two words, or the beginning of one. */
static struct mt_error *parse_choice(const char *text, const char *const words[2], uint8_t *out)
{
	if (!*text)
		return mt_error_new(MT_ERROR_USAGE,
				    "Requires an argument. Valid arguments are %s, %s.", words[0],
				    words[1]);
	for (uint8_t i = 0; i < 2; i++)
		if (is_beginning(text, words[i], 1)) {
			*out = i;
			return NULL;
		}
	return mt_error_new(MT_ERROR_USAGE, "Undefined item: \"%s\".", text);
}

struct mt_error *prompt_set(struct prompt *prompt, const struct prompt_setting *setting,
			    const char *text)
{
	void *member = member_of(prompt, setting);

	switch (setting->type) {
	case SWITCH:
		return parse_switch(text, member);
	case LIMIT:
		return parse_limit(text, member);
	default:
		return parse_choice(text, setting->words, member);
	}
}

static void show_limit(struct mt_str *out, const char *sentence, uint32_t limit)
{
	if (limit)
		mt_str_appendf(out, "%s is %u.\n", sentence, limit);
	else
		mt_str_appendf(out, "%s is unlimited.\n", sentence);
}

static void show_setting(struct prompt *prompt, const struct prompt_setting *setting,
			 struct mt_str *out)
{
	const void *member = member_of(prompt, setting);

	if (setting->type == LIMIT)
		show_limit(out, setting->sentence, *(const uint32_t *)member);
	else if (setting->type == CHOICE)
		mt_str_appendf(out, "%s is \"%s\".\n", setting->sentence,
			       setting->words[*(const uint8_t *)member]);
	else
		mt_str_appendf(out, "%s is %s.\n", setting->sentence,
			       *(const bool *)member ? "on" : "off");
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
     .summary = "Remove an environment variable of the program",
     .run = unset_environment},
    {0},
};

/* ---- The others ---- */

static struct mt_error *set_detach(struct prompt *prompt, const char *rest)
{
	bool value = false;

	(void)prompt;
	mt_try(parse_switch(rest, &value));
	if (value)
		return NULL;
	return mt_error_new(MT_ERROR_UNSUPPORTED,
			    "mtdb debugs one process at a time, so one side of a fork is always "
			    "detached.  \"set follow-fork-mode child\" debugs the child.");
}

static struct mt_error *show_detach(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)prompt;
	(void)rest;
	mt_str_append(out, "Whether gdb will detach the child of a fork is on.\n");
	return NULL;
}

static struct mt_error *show_height(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)rest;
	show_limit(out, "Number of lines gdb thinks are in a page", prompt_out_rows(prompt));
	return NULL;
}

/* Lines are never broken, which is what scripts want of it. */
static struct mt_error *set_width(struct prompt *prompt, const char *rest)
{
	uint32_t columns;

	(void)prompt;
	return parse_limit(rest, &columns);
}

static struct mt_error *show_width(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	(void)prompt;
	(void)rest;
	show_limit(out, "Number of characters gdb thinks are in a line", 0);
	return NULL;
}

static struct mt_error *set_hardware_watches(struct prompt *prompt, const char *rest)
{
	uint64_t number;

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (integer to set it to.).");
	mt_try(mt_parse_number(rest, "can-use-hw-watchpoints", 0, INT32_MAX, &number));
	mt_debugger_settings(prompt->debugger)->hardware_watches = number != 0;
	return NULL;
}

static struct mt_error *show_hardware_watches(struct prompt *prompt, const char *rest,
					      struct mt_str *out)
{
	(void)rest;
	mt_str_appendf(out, "Debugger's willingness to use watchpoint hardware is %d.\n",
		       mt_debugger_settings(prompt->debugger)->hardware_watches);
	return NULL;
}

static struct mt_error *set_pending(struct prompt *prompt, const char *rest)
{
	bool is_auto = *rest && strncmp(rest, "auto", strlen(rest)) == 0, value = false;
	struct mt_error *error = is_auto ? NULL : parse_switch(rest, &value);

	if (error) {
		mt_error_destroy(error);
		return mt_error_new(MT_ERROR_USAGE, "\"on\", \"off\" or \"auto\" expected.");
	}
	prompt->settings.pending = is_auto ? PROMPT_PENDING_AUTO
				   : value ? PROMPT_PENDING_ON
					   : PROMPT_PENDING_OFF;
	return NULL;
}

static struct mt_error *show_pending(struct prompt *prompt, const char *rest, struct mt_str *out)
{
	static const char *const words[] = {[PROMPT_PENDING_AUTO] = "auto",
					    [PROMPT_PENDING_ON] = "on",
					    [PROMPT_PENDING_OFF] = "off"};

	(void)rest;
	mt_str_appendf(out, "Debugger's behavior regarding pending breakpoints is %s.\n",
		       words[prompt->settings.pending]);
	return NULL;
}

/* ---- The tables ---- */

static const char *const fork_modes[] = {
    [MT_DEBUG_FOLLOW_CHILD] = "child", [MT_DEBUG_FOLLOW_PARENT] = "parent", NULL};
static const char *const exec_modes[] = {
    [MT_DEBUG_EXEC_NEW] = "new", [MT_DEBUG_EXEC_SAME] = "same", NULL};
static const char *const flavors[] = {
    [PROMPT_ATT_SYNTAX] = "att", [PROMPT_INTEL_SYNTAX] = "intel", NULL};

static const struct prompt_command print_commands[] = {
    {.name = "address",
     .usage = "on|off",
     .summary = "Print addresses of pointers",
     .setting = SETTING(IN_VALUES(address), SWITCH, "Printing of addresses")},
    {.name = "array",
     .usage = "on|off",
     .summary = "Print arrays over several lines",
     .setting = SETTING(IN_VALUES(array), SWITCH, "Pretty formatting of arrays")},
    {.name = "array-indexes",
     .usage = "on|off",
     .summary = "Print the index of each element",
     .setting = SETTING(IN_VALUES(array_indexes), SWITCH, "Printing of array indexes")},
    {.name = "elements",
     .usage = "NUMBER",
     .summary = "Limit the array elements printed; 0: unlimited",
     .setting =
	 SETTING(IN_VALUES(elements), LIMIT, "Limit on string chars or array elements to print")},
    {.name = "null-stop",
     .usage = "on|off",
     .summary = "End character arrays at their first null",
     .setting = SETTING(IN_VALUES(null_stop), SWITCH,
			"Printing of char arrays to stop at first null char")},
    {.name = "pretty",
     .usage = "on|off",
     .summary = "Indent structures",
     .setting = SETTING(IN_VALUES(pretty), SWITCH, "Pretty formatting of structures")},
    {.name = "raw-values",
     .usage = "on|off",
     .summary = "Print std::string, Vec and their like as structures",
     .setting = SETTING(IN_VALUES(raw_values), SWITCH, "Whether to print values in raw form")},
    {.name = "repeats",
     .usage = "NUMBER",
     .summary = "Count elements that repeat more often than this; 0: print all",
     .setting = SETTING(IN_VALUES(repeats), LIMIT, "Threshold for repeated print elements")},
    {.name = "static-members",
     .usage = "on|off",
     .summary = "Print static members of classes",
     .setting = SETTING(IN_VALUES(static_members), SWITCH, "Printing of C++ static members")},
    {.name = "symbol",
     .usage = "on|off",
     .summary = "Print the symbols that pointers point to",
     .setting = SETTING(IN_VALUES(symbol), SWITCH, "Printing of symbols when printing pointers")},
    {.name = "union",
     .usage = "on|off",
     .summary = "Print unions within structures",
     .setting = SETTING(IN_VALUES(unions), SWITCH, "Printing of unions interior to structures")},
    {0},
};

static const struct prompt_command break_commands[] = {
    {.name = "pending",
     .usage = "on|off|auto",
     .summary = "Keep breakpoints whose location may come with a library; auto: ask",
     .run = set_pending,
     .show = show_pending},
    {0},
};

static const struct prompt_command set_commands[] = {
    {.name = "args",
     .usage = "[ARGUMENTS]",
     .summary = "Set the arguments that the program is started with",
     .run = set_args,
     .show = show_args},
    {.name = "breakpoint",
     .usage = "WHAT VALUE",
     .summary = "Change settings of breakpoints",
     .sub = break_commands},
    {.name = "can-use-hw-watchpoints",
     .usage = "NUMBER",
     .summary = "With 0, watch by single-stepping, not by debug registers",
     .run = set_hardware_watches,
     .show = show_hardware_watches},
    {.name = "confirm",
     .usage = "on|off",
     .summary = "Ask before potentially dangerous operations",
     .setting = SETTING(IN_PROMPT(confirm), SWITCH,
			"Whether to confirm potentially dangerous operations")},
    {.name = "detach-on-fork",
     .usage = "on",
     .summary = "Detach the side of a fork that is not followed; always on",
     .run = set_detach,
     .show = show_detach},
    {.name = "disassembly-flavor",
     .usage = "att|intel",
     .summary = "Print instructions in AT&T's syntax, or in Intel's",
     .setting = SETTING(IN_PROMPT(syntax), CHOICE, "The disassembly flavor", flavors)},
    {.name = "environment",
     .usage = "NAME [VALUE]",
     .summary = "Set an environment variable for the program",
     .run = set_environment,
     .show = show_environment},
    {.name = "follow-exec-mode",
     .usage = "same|new",
     .summary = "Keep the inferior when the program calls exec, or make a new one",
     .setting = SETTING(IN_DEBUGGER(follow_exec), CHOICE, "Follow exec mode", exec_modes)},
    {.name = "follow-fork-mode",
     .usage = "parent|child",
     .summary = "Debug the parent after a fork, or the child",
     .setting = SETTING(IN_DEBUGGER(follow_fork), CHOICE,
			"Debugger response to a program call of fork or vfork", fork_modes)},
    {.name = "height",
     .usage = "NUMBER",
     .summary = "Set the number of lines in a page; 0: unlimited",
     .setting = SETTING(IN_PROMPT(height), LIMIT, NULL),
     .show = show_height},
    {.name = "listsize",
     .usage = "NUMBER",
     .summary = "Set the number of lines that \"list\" prints; 0: unlimited",
     .setting =
	 SETTING(IN_PROMPT(list_size), LIMIT, "Number of source lines gdb will list by default")},
    {.name = "pagination",
     .usage = "on|off",
     .summary = "Pause after each page of output",
     .setting = SETTING(IN_PROMPT(paginates), SWITCH, "State of pagination")},
    {.name = "print",
     .aliases = "p pr",
     .usage = "WHAT VALUE",
     .summary = "Change how values are printed",
     .sub = print_commands},
    {.name = "variable",
     .aliases = "var",
     .usage = "EXPRESSION",
     .summary = "Evaluate an expression that assigns",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_SET_VARIABLE},
    {.name = "width",
     .usage = "NUMBER",
     .summary = "Accepted and ignored: lines are never broken",
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
	if (setting->show)
		mt_try(setting->show(prompt, rest, &text));
	else
		show_setting(prompt, setting->setting, &text);
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
		else if (table->show || table->setting)
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
	if (found->show || found->setting)
		return show_one(prompt, found, NULL, rest);
	return mt_error_new(MT_ERROR_USAGE, "Undefined show command: \"%s\".  Try \"help show\".",
			    word);
}

const struct prompt_command prompt_set_commands[] = {
    {.name = "set",
     .usage = "WHAT VALUE",
     .summary = "Change a setting",
     .sub = set_commands,
     .run = prompt_set_other},
    {.name = "show",
     .usage = "[WHAT]",
     .summary = "Show a setting, or all settings",
     .takes = PROMPT_SETTINGS,
     .run = run_show},
    {.name = "unset", .usage = "WHAT", .summary = "Undo \"set\"", .sub = unset_commands},
    {0},
};
