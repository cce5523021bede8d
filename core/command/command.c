/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/command.h"

#include "base/str.h"

#include <signal.h>
#include <string.h>

const struct mt_command *const mt_commands[] = {
    &mt_command_run,  &mt_command_attach, &mt_command_decode, &mt_command_history, &mt_command_view,
    &mt_command_dump, &mt_command_plan,   &mt_command_doctor, &mt_command_help,    NULL,
};

const struct mt_command *mt_command_find(const char *name)
{
	for (const struct mt_command *const *command = mt_commands; *command; command++)
		if (strcmp((*command)->name, name) == 0)
			return *command;
	return NULL;
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
	mt_str_vappendf(&text, format, args);
	va_end(args);
	context->print(context->context, text.failed ? "out of memory\n" : text.text);
}

int mt_exit_status(enum mt_error_code code)
{
	switch (code) {
	case MT_ERROR_USAGE:
		return 2;
	case MT_ERROR_INTERRUPTED:
		return 128 + SIGINT;
	default:
		return 1;
	}
}
