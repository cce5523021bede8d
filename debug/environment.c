/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment and the arguments of the next launch. */
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

struct mt_error *mt_debugger_set_environment(struct mt_debugger *debugger, const char *name,
					     const char *value)
{
	mt_debug_words *words = &debugger->environment;
	mt_auto(mt_str) struct mt_str word = {0};
	size_t length = strlen(name), kept = 0;

	mt_array_each (at, words) {
		if (*at && strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			free(*at);
		else
			words->items[kept++] = *at;
	}
	words->count = kept;
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
