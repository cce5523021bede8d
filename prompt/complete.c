/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt: readline asks with what has been typed, and is given what could stand
 * there.  Its callbacks know no context, so the prompt that asks is kept here. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

/* readline's headers declare what needs stdio. */
#include <readline/readline.h>

struct words {
	MT_ARRAY(char *) items;
	size_t length; /* of what was typed */
	const char *typed;
};

static struct prompt *asking;

static void offer(struct words *words, const char *text, size_t length)
{
	char *word;

	if (length < words->length || strncmp(text, words->typed, words->length) != 0)
		return;
	word = strndup(text, length);
	if (word && mt_array_push(&words->items, word))
		free(word);
}

static int compare_words(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Functions are many, and those of several files may have one name. */
static void sort_words(struct words *words)
{
	size_t kept = 0;

	if (!words->items.count)
		return;
	qsort(words->items.items, words->items.count, sizeof(char *), compare_words);
	for (size_t i = 0; i < words->items.count; i++) {
		if (kept && strcmp(words->items.items[kept - 1], words->items.items[i]) == 0)
			free(words->items.items[i]);
		else
			words->items.items[kept++] = words->items.items[i];
	}
	words->items.count = kept;
}

static void offer_commands(struct words *words, const struct prompt_command *table)
{
	for (const struct prompt_command *command = table; command->name; command++)
		offer(words, command->name, strlen(command->name));
}

static void offer_all_commands(struct words *words)
{
	for (size_t i = 0; prompt_tables[i]; i++)
		offer_commands(words, prompt_tables[i]);
}

/* A function by its name without parameters, so that it is one word: all overloads are meant. */
static void offer_functions_of(struct words *words, struct mt_objfile *objfile)
{
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name = symbols[i].kind == MT_FUNCTION_SYMBOL
				       ? mt_objfile_symbol_name(objfile, &symbols[i])
				       : NULL;

		if (name && !strpbrk(name, " <"))
			offer(words, name, strcspn(name, "("));
	}
}

static void offer_functions(struct words *words, const struct prompt *prompt)
{
	struct mt_space *space = mt_debugger_space(prompt->debugger);
	const struct mt_objfile *before = NULL;

	for (size_t i = 0; space && i < mt_space_mapping_count(space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(space, i);

		if (mapping->objfile && mapping->objfile != before)
			offer_functions_of(words, mapping->objfile);
		before = mapping->objfile;
	}
}

/* What the words in front of the last one mean, as far as they mean something. */
static const struct prompt_command *command_before(int start, const char **rest)
{
	mt_auto(mt_str) struct mt_str text = {0};
	const struct prompt_command *command = NULL;

	mt_str_append_bytes(&text, rl_line_buffer, (size_t)start);
	while (text.length && isspace((unsigned char)text.text[text.length - 1]))
		text.text[--text.length] = '\0';
	if (text.failed)
		return NULL;
	struct mt_error *error =
	    prompt_find(prompt_skip_blanks(text.text ? text.text : ""), &command, rest);
	*rest = !error && **rest ? "more" : ""; /* TEXT ends here */
	mt_error_destroy(error);
	return error ? NULL : command;
}

static void offer_behind(struct words *words, const struct prompt *prompt,
			 const struct prompt_command *command, bool first)
{
	if (command->sub && first)
		offer_commands(words, command->sub);
	else if (command->takes == PROMPT_COMMANDS && first)
		offer_all_commands(words);
	else if (command->takes == PROMPT_SETTINGS && first)
		offer_commands(words, prompt_set_commands[0].sub);
	else if (command->takes == PROMPT_LOCATION)
		offer_functions(words, prompt);
}

/* In readline's order: the longest beginning that all have, the words, NULL. */
static char **matches_of(struct words *words)
{
	size_t count = words->items.count, common = count ? strlen(words->items.items[0]) : 0;
	char **matches = count ? calloc(count + 2, sizeof(*matches)) : NULL;

	for (size_t i = 1; i < count; i++)
		for (size_t at = 0; at < common; at++)
			if (words->items.items[i][at] != words->items.items[0][at])
				common = at;
	if (matches)
		matches[0] = strndup(words->items.items[0], common);
	if (!matches || !matches[0]) {
		free(matches);
		mt_array_each (word, &words->items)
			free(*word);
		return NULL;
	}
	if (count > 1)
		memcpy(matches + 1, words->items.items, count * sizeof(*matches));
	else
		free(words->items.items[0]);
	return matches;
}

/* NULL and rl_attempted_completion_over 0: readline completes names of files. */
static char **complete(const char *text, int start, int end)
{
	struct words words = {.typed = text, .length = (size_t)(end - start)};
	const struct prompt_command *command = NULL;
	const char *rest;
	bool first_word = !*prompt_skip_blanks(rl_line_buffer) ||
			  prompt_skip_blanks(rl_line_buffer) - rl_line_buffer >= start;

	rl_attempted_completion_over = 1;
	if (first_word)
		offer_all_commands(&words);
	else
		command = command_before(start, &rest);
	if (command && command->takes == PROMPT_FILE)
		rl_attempted_completion_over = 0;
	else if (command)
		offer_behind(&words, asking, command, !*rest);
	sort_words(&words);
	char **matches = matches_of(&words);
	mt_array_deinit(&words.items);
	return matches;
}

void prompt_complete_for(struct prompt *prompt)
{
	asking = prompt;
	rl_readline_name = "mtdb";
	rl_attempted_completion_function = complete;
	rl_completer_word_break_characters = " \t\n";
}
