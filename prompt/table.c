/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the command that is typed: by its name, an alias, or an unambiguous beginning. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

// clang-format off
const struct prompt_command *const prompt_tables[] = {
    prompt_run_commands,
    prompt_core_commands,
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

static bool is_exact(const struct prompt_command *command, const char *text, size_t length)
{
	const char *alias = command->aliases;

	if (strlen(command->name) == length && strncmp(command->name, text, length) == 0)
		return true;
	while (alias && *alias) {
		size_t size = strcspn(alias, " ");

		if (size == length && strncmp(alias, text, length) == 0)
			return true;
		alias += size;
		alias += strspn(alias, " ");
	}
	return false;
}

static struct mt_error *find_in(const struct prompt_command *const *tables, const char *prefix,
				const char *text, const struct prompt_command **command,
				const char **rest)
{
	mt_auto(mt_str) struct mt_str candidates = {0};
	size_t length = *text == '!';
	unsigned count = 0;

	while (*text != '!' && text[length] &&
	       (isalnum((unsigned char)text[length]) || strchr("-_.", text[length])))
		length++;
	*rest = prompt_skip_blanks(text + length);
	for (; *tables; tables++)
		for (const struct prompt_command *one = *tables; one->name; one++) {
			bool is_it = is_exact(one, text, length);

			if (!is_it && (!length || strncmp(one->name, text, length) != 0))
				continue;
			*command = one;
			if (is_it)
				return NULL;
			mt_str_appendf(&candidates, "%s%s", count++ ? ", " : "", one->name);
		}
	if (!count)
		return mt_error_new(MT_ERROR_USAGE,
				    "Undefined %scommand: \"%.*s\".  Try \"help%s%.*s\".", prefix,
				    (int)length, text, *prefix ? " " : "",
				    (int)(*prefix ? strlen(prefix) - 1 : 0), prefix);
	if (count > 1)
		return mt_error_new(MT_ERROR_USAGE, "Ambiguous %scommand \"%.*s\": %s.", prefix,
				    (int)length, text, candidates.text);
	return NULL;
}

struct mt_error *prompt_find_within(const struct prompt_command *table, const char *prefix,
				    const char *text, const struct prompt_command **command,
				    const char **rest)
{
	const struct prompt_command *const tables[] = {table, NULL};

	return find_in(tables, prefix, text, command, rest);
}

struct mt_error *prompt_find(const char *text, const struct prompt_command **command,
			     const char **rest)
{
	mt_auto(mt_str) struct mt_str prefix = {0};

	mt_try(find_in(prompt_tables, "", text, command, rest));
	while ((*command)->sub && **rest) {
		const struct prompt_command *outer = *command;
		const char *words = *rest;

		mt_str_appendf(&prefix, "%s ", outer->name);
		if (prefix.failed)
			return mt_error_no_memory();
		struct mt_error *error =
		    prompt_find_within(outer->sub, prefix.text, words, command, rest);
		if (!error)
			continue;
		if (!outer->run && !outer->run_variant)
			return error;
		mt_error_destroy(error);
		*command = outer;
		*rest = words;
		return NULL;
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
				    struct mt_error *(*act)(struct prompt *prompt, unsigned number,
							    int variant),
				    int variant)
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
			struct mt_error *error = act(prompt, (unsigned)first, variant);

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
