/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion at the prompt, for readline.  Its callbacks have no context, so the prompt is kept
 * here. */
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

/* Functions by their names without parameters, so that each is one word: all overloads are meant.
 */
static void offer_functions(struct words *words, const struct prompt *prompt)
{
	struct mt_space *space = mt_debugger_space(prompt->debugger);
	struct mt_objfile *before = NULL;

	for (size_t i = 0; i < mt_space_mapping_count(space); i++) {
		struct mt_objfile *objfile = mt_space_mapping(space, i)->objfile;
		size_t count = 0;
		const struct mt_symbol *symbols =
		    objfile && objfile != before ? mt_objfile_symbols(objfile, &count) : NULL;

		for (size_t at = 0; at < count; at++) {
			const char *name = symbols[at].kind == MT_FUNCTION_SYMBOL
					       ? mt_objfile_symbol_name(objfile, &symbols[at])
					       : NULL;

			if (name && !strpbrk(name, " <"))
				offer(words, name, strcspn(name, "("));
		}
		before = objfile;
	}
}

/* The command that the words before the last one are, or NULL. */
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

/* As readline wants them: the longest common beginning, the words, NULL. */
static char **matches_of(struct words *words)
{
	char **items = words->items.items;
	size_t count = 0, common;

	/* Functions of several files may have one name. */
	if (words->items.count)
		qsort(items, words->items.count, sizeof(*items), compare_words);
	for (size_t i = 0; i < words->items.count; i++) {
		if (count && strcmp(items[count - 1], items[i]) == 0)
			free(items[i]);
		else
			items[count++] = items[i];
	}
	words->items.count = count;
	char **matches = count ? calloc(count + 2, sizeof(*matches)) : NULL;
	common = count ? strlen(items[0]) : 0;
	for (size_t i = 1; i < count; i++)
		for (size_t at = 0; at < common; at++)
			if (items[i][at] != items[0][at])
				common = at;
	if (matches)
		matches[0] = strndup(items[0], common);
	if (!matches || !matches[0]) {
		free(matches);
		mt_array_each (word, &words->items)
			free(*word);
		return NULL;
	}
	if (count > 1)
		memcpy(matches + 1, items, count * sizeof(*matches));
	else
		free(items[0]);
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
	bool first = command && !*rest; /* argument of the command */
	if (command && command->takes == PROMPT_FILE)
		rl_attempted_completion_over = 0;
	else if (first && command->sub)
		offer_commands(&words, command->sub);
	else if (first && command->takes == PROMPT_COMMANDS)
		offer_all_commands(&words);
	else if (first && command->takes == PROMPT_SETTINGS)
		offer_commands(&words, prompt_set_commands[0].sub);
	else if (command && command->takes == PROMPT_LOCATION)
		offer_functions(&words, asking);
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
