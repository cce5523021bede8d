/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the next launch hands to the program. */
#include "private.h"

#include <string.h>
#include <unistd.h>

struct mt_error *mt_debug_environment_init(struct mt_debugger *debugger)
{
	mt_debug_words *words = &debugger->environment;

	for (char **from = environ; from && *from; from++) {
		char *word = strdup(*from);

		if (!word || mt_array_push(words, word)) {
			free(word);
			return mt_error_no_memory();
		}
	}
	return mt_array_push(words, NULL) ? mt_error_no_memory() : NULL;
}

void mt_debug_environment_deinit(struct mt_debugger *debugger)
{
	mt_array_each (word, &debugger->environment)
		free(*word);
	mt_array_deinit(&debugger->environment);
}

static bool is_of(const char *word, const char *name)
{
	size_t length = strlen(name);

	return strncmp(word, name, length) == 0 && word[length] == '=';
}

static void unset(mt_debug_words *words, const char *name)
{
	for (size_t i = 0; i + 1 < words->count; i++) {
		if (!is_of(words->items[i], name))
			continue;
		free(words->items[i]);
		memmove(&words->items[i], &words->items[i + 1],
			(words->count - i - 1) * sizeof(words->items[0]));
		words->count--;
		return;
	}
}

struct mt_error *mt_debugger_set_environment(struct mt_debugger *debugger, const char *name,
					     const char *value)
{
	mt_debug_words *words = &debugger->environment;
	mt_auto(mt_str) struct mt_str word = {0};

	unset(words, name);
	if (!value)
		return NULL;
	mt_str_appendf(&word, "%s=%s", name, value);
	if (word.failed || mt_array_push(words, NULL))
		return mt_error_no_memory();
	words->items[words->count - 2] = word.text;
	word = (struct mt_str){0};
	return NULL;
}

const char *const *mt_debugger_environment(const struct mt_debugger *debugger)
{
	return (const char *const *)debugger->environment.items;
}

struct mt_error *mt_debugger_set_arguments(struct mt_debugger *debugger, const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		return mt_error_no_memory();
	free(debugger->arguments);
	debugger->arguments = copy;
	return NULL;
}

const char *mt_debugger_arguments(const struct mt_debugger *debugger)
{
	return debugger->arguments ? debugger->arguments : "";
}
