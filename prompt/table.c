/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what is typed to a command: its name, an alias, or the beginning of one alone. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

// clang-format off
const struct prompt_command *const prompt_tables[] = {
    prompt_run_commands,
    prompt_alter_commands,
    prompt_break_commands,
    prompt_stack_commands,
    prompt_thread_commands,
    prompt_code_commands,
    prompt_list_commands,
    prompt_print_commands,
    prompt_display_commands,
    prompt_record_commands,
    prompt_signal_commands,
    prompt_system_commands,
    prompt_set_commands,
    prompt_other_commands,
    NULL,
};
// clang-format on

struct match {
	const struct prompt_command *found;
	struct mt_str candidates;
	unsigned count;
};

static size_t name_length(const char *text)
{
	size_t length = 0;

	if (*text == '!')
		return 1;
	while (isalnum((unsigned char)text[length]) ||
	       (text[length] && strchr("-_.", text[length])))
		length++;
	return length;
}

static bool is_alias(const struct prompt_command *command, const char *text, size_t length)
{
	const char *at = command->aliases;

	while (at && *at) {
		size_t size = strcspn(at, " ");

		if (size == length && strncmp(at, text, length) == 0)
			return true;
		at += size;
		at += strspn(at, " ");
	}
	return false;
}

static bool is_exact(const struct prompt_command *command, const char *text, size_t length)
{
	return (strlen(command->name) == length && strncmp(command->name, text, length) == 0) ||
	       is_alias(command, text, length);
}

static void look_in(struct match *match, const struct prompt_command *table, const char *text,
		    size_t length)
{
	for (const struct prompt_command *command = table; command->name; command++) {
		if (strncmp(command->name, text, length) != 0)
			continue;
		match->found = command;
		match->count++;
		mt_str_appendf(&match->candidates, "%s%s", match->count > 1 ? ", " : "",
			       command->name);
	}
}

static const struct prompt_command *find_exact(const struct prompt_command *table, const char *text,
					       size_t length)
{
	for (const struct prompt_command *command = table; command->name; command++)
		if (is_exact(command, text, length))
			return command;
	return NULL;
}

static struct mt_error *judge(struct match *match, const char *prefix, const char *text,
			      size_t length)
{
	struct mt_error *error = NULL;

	if (!match->count)
		error = mt_error_new(MT_ERROR_USAGE,
				     "Undefined %scommand: \"%.*s\".  Try \"help%s%.*s\".", prefix,
				     (int)length, text, *prefix ? " " : "",
				     (int)(*prefix ? strlen(prefix) - 1 : 0), prefix);
	else if (match->count > 1)
		error = mt_error_new(MT_ERROR_USAGE, "Ambiguous %scommand \"%.*s\": %s.", prefix,
				     (int)length, text, match->candidates.text);
	mt_str_deinit(&match->candidates);
	return error;
}

static struct mt_error *find_in(const struct prompt_command *const *tables, const char *prefix,
				const char *text, const struct prompt_command **command,
				const char **rest)
{
	size_t length = name_length(text);
	struct match match = {0};

	*command = NULL;
	for (size_t i = 0; tables[i] && !*command; i++)
		*command = find_exact(tables[i], text, length);
	for (size_t i = 0; tables[i] && !*command && length; i++)
		look_in(&match, tables[i], text, length);
	if (!*command) {
		mt_try(judge(&match, prefix, text, length));
		*command = match.found;
	}
	*rest = prompt_skip_blanks(text + length);
	return NULL;
}

struct mt_error *prompt_find_within(const struct prompt_command *table, const char *prefix,
				    const char *text, const struct prompt_command **command,
				    const char **rest)
{
	const struct prompt_command *const tables[] = {table, NULL};

	return find_in(tables, prefix, text, command, rest);
}

/* Into the words behind `info` and the like; PREFIX: those in front of them. */
static struct mt_error *find_sub(struct mt_str *prefix, const struct prompt_command **command,
				 const char **rest)
{
	const struct prompt_command *outer = *command;
	const char *text = *rest;

	mt_str_appendf(prefix, "%s ", outer->name);
	if (prefix->failed)
		return mt_error_no_memory();
	struct mt_error *error = prompt_find_within(outer->sub, prefix->text, text, command, rest);
	if (!error || !outer->run)
		return error;
	mt_error_destroy(error);
	*command = outer;
	*rest = text;
	return NULL;
}

struct mt_error *prompt_find(const char *text, const struct prompt_command **command,
			     const char **rest)
{
	mt_auto(mt_str) struct mt_str prefix = {0};

	mt_try(find_in(prompt_tables, "", text, command, rest));
	while ((*command)->sub && **rest) {
		const struct prompt_command *outer = *command;

		mt_try(find_sub(&prefix, command, rest));
		if (*command == outer)
			break;
	}
	return NULL;
}

const char *prompt_skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

bool prompt_is_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && (!text[length] || strchr(" \t", text[length]));
}

struct mt_error *prompt_parse_count(const char *text, uint64_t *count)
{
	char *end;

	*count = 1;
	if (!*text)
		return NULL;
	*count = strtoull(text, &end, 0);
	if (isdigit((unsigned char)*text) && !*end)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "No symbol \"%s\" in current context.", text);
}

struct mt_error *prompt_each_number(struct prompt *prompt, const char *what, const char *text,
				    struct mt_error *(*act)(struct prompt *prompt, unsigned number))
{
	while (*text) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (end != text && *end == '-')
			last = strtoul(end + 1, &end, 10);
		if (!isdigit((unsigned char)*text) || (*end && !strchr(" \t", *end)) ||
		    last < first || last - first > 100000)
			return mt_error_new(MT_ERROR_USAGE, "Bad %s number '%s'", what, text);
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

const char *prompt_find_word(const char *text, const char *word)
{
	int depth = 0;

	for (const char *at = text; *at; at++) {
		const char *end = *at == '"' || *at == '\'' ? strchr(at + 1, *at) : NULL;

		at = end ? end : at;
		depth += (*at == '(') - (*at == ')');
		bool begins = at == text || strchr(" \t", at[-1]);
		size_t length = strlen(word);
		if (!depth && begins && strncmp(at, word, length) == 0 &&
		    (!at[length] || strchr(" \t(", at[length])))
			return at;
	}
	return NULL;
}
