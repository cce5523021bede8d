/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/command.h"

#include "base/array.h"
#include "base/utf8.h"

#include <signal.h>
#include <string.h>

#define BLANKS " \t\n"

const struct mt_command *const mt_commands[] = {
    &mt_command_run,
    &mt_command_attach,
    &mt_command_decode,
    &mt_command_history,
    &mt_command_browse,
    &mt_command_stats,
    &mt_command_grep,
    &mt_command_explain,
    &mt_command_diff,
    &mt_command_view,
    &mt_command_dump,
    &mt_command_plan,
    &mt_command_doctor,
    &mt_command_help,
    &mt_command_start,
    &mt_command_stop,
    &mt_command_snapshot,
    &mt_command_trigger,
    &mt_command_delete,
    &mt_command_values,
    &mt_command_live_history,
    &mt_command_live_stats,
    &mt_command_live_grep,
    &mt_command_live_explain,
    &mt_command_save,
    &mt_command_info,
    &mt_command_window,
    &mt_command_live_context,
    NULL,
};

const struct mt_command *mt_command_find(const char *name)
{
	for (const struct mt_command *const *command = mt_commands; *command; command++)
		if ((*command)->where & MT_COMMAND_IN_SHELL && strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
}

/* The word at *AT, which moves to the next one; NULL without memory.  As in GDB, quotes and
 * backslashes may stand anywhere in it, and are taken away. */
static char *take_word(const char **at)
{
	struct mt_str word = {0};
	char quote = 0;

	mt_str_append(&word, "");
	for (; **at && (quote || !strchr(BLANKS, **at)); (*at)++) {
		if (**at == '\\' && (*at)[1])
			mt_str_append_bytes(&word, ++*at, 1);
		else if (**at == quote)
			quote = 0;
		else if (!quote && strchr("'\"", **at))
			quote = **at;
		else
			mt_str_append_bytes(&word, *at, 1);
	}
	*at += strspn(*at, BLANKS);
	if (!word.failed)
		return word.text;
	mt_str_deinit(&word);
	return NULL;
}

struct mt_error *mt_command_run_line(struct mt_command_context *context,
				     const struct mt_command *command, const char *line)
{
	MT_ARRAY(char *) words = {0};
	struct mt_error *error = NULL;
	char *word = strdup(command->name);

	line += strspn(line, BLANKS);
	while (word && !mt_array_push(&words, word) && *line) {
		word = command->is_raw ? strdup(line) : take_word(&line);
		line = command->is_raw ? "" : line;
	}
	if (!word || !words.count || *mt_array_last(&words) != word) {
		free(word);
		error = mt_error_no_memory();
	} else if (mt_array_push(&words, NULL)) {
		error = mt_error_no_memory();
	} else {
		error = command->run(context, (int)words.count - 1, words.items);
	}
	mt_array_each (one, &words)
		free(*one);
	mt_array_deinit(&words);
	return error;
}

#define LONGEST_NAME 16

/* The Levenshtein distance, computed a row of the table at a time. */
static size_t edit_distance(const char *typed, const char *name)
{
	size_t row[LONGEST_NAME + 1];
	size_t width = strlen(name);

	if (width > LONGEST_NAME)
		return SIZE_MAX;
	for (size_t i = 0; i <= width; i++)
		row[i] = i;
	for (size_t line = 0; typed[line]; line++) {
		size_t diagonal = row[0];

		row[0] = line + 1;
		for (size_t i = 0; i < width; i++) {
			size_t change = diagonal + (typed[line] != name[i]);
			size_t other = (row[i] < row[i + 1] ? row[i] : row[i + 1]) + 1;

			diagonal = row[i + 1];
			row[i + 1] = change < other ? change : other;
		}
	}
	return row[width];
}

const struct mt_command *mt_command_suggest(const char *name)
{
	const struct mt_command *nearest = NULL;
	size_t least = 3; /* anything further away is another word */

	for (const struct mt_command *const *command = mt_commands; *command; command++) {
		size_t distance = edit_distance(name, (*command)->name);

		if (!((*command)->where & MT_COMMAND_IN_SHELL))
			continue;
		if (*name && strncmp((*command)->name, name, strlen(name)) == 0)
			distance = 0;
		if (distance < least) {
			least = distance;
			nearest = *command;
		}
	}
	return nearest;
}

void mt_command_printf(const struct mt_command_context *context, const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_utf8_vappendf_lines(&text, format, args);
	va_end(args);
	context->print(context->context, text.failed ? "out of memory\n" : text.text);
}

int mt_exit_status(enum mt_error_code code)
{
	switch (code) {
	case MT_ERROR_USAGE:
	case MT_ERROR_TRIGGER:
		return 2;
	case MT_ERROR_INTERRUPTED:
		return 128 + SIGINT;
	default:
		return 1;
	}
}
