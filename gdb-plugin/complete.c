/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "gdb-plugin/complete.h"

#include "gdb-plugin/gdb/gdb.h"
#include "gdb-plugin/gdb/hold.h"
#include "gdb-plugin/inferior/inferior.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define BLANKS " \t"

struct completing {
	PyObject *list;
	size_t word; /* its length */
};

static void offer_bytes(struct completing *completing, const char *text, size_t length)
{
	mt_auto(mt_py) PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)length);
	mt_auto(mt_py) PyObject *string =
	    bytes ? PyUnicode_FromEncodedObject(bytes, "utf-8", "replace") : NULL;

	if (!string || PyList_Append(completing->list, string))
		PyErr_Clear();
}

/* Instead of TYPED, of which readline replaces no more than the word at its end. */
static void offer(struct completing *completing, const char *typed, const char *whole,
		  size_t length)
{
	size_t stays = strlen(typed);

	stays -= completing->word < stays ? completing->word : stays;
	if (length >= stays)
		offer_bytes(completing, whole + stays, length - stays);
}

/* Of words between separators, those that begin as what was typed. */
static void offer_words(struct completing *completing, const char *typed, const char *words,
			const char *separators)
{
	size_t length;

	for (words += strspn(words, separators); *words; words += strspn(words, separators)) {
		length = strcspn(words, separators);
		if (strncmp(words, typed, strlen(typed)) == 0)
			offer(completing, typed, words, length);
		words += length;
	}
}

static void offer_options(struct completing *completing, const char *const *options,
			  const char *typed)
{
	for (; options && *options; options++) {
		size_t length = strcspn(*options, BLANKS "=");

		length += (*options)[length] == '=';
		if (strncmp(*options, typed, strlen(typed)) == 0)
			offer(completing, typed, *options, length);
	}
}

/* As another command's are: "complete COMMAND TYPED" prints each with the command before it. */
static void offer_like(struct completing *completing, const char *command, const char *typed)
{
	mt_auto(mt_str) struct mt_str shown = {0};
	size_t head = strlen(command) + 1;

	mt_hold_pause(); /* reading symbols */
	struct mt_error *error = mt_gdb_executef(&shown, "complete %s %s", command, typed);
	mt_hold_resume();
	if (error && mt_error_code(error) == MT_ERROR_INTERRUPTED)
		mt_gdb_interrupt();
	mt_error_destroy(error);
	for (const char *line = shown.text; line && *line; line += strspn(line, "\n")) {
		size_t length = strcspn(line, "\n");

		if (length >= head && strncmp(line, command, head - 1) == 0)
			offer(completing, typed, line + head, length - head);
		line += length;
	}
}

/* The values of the option at TEXT: "" if they are not listed, NULL if it takes none. */
static const char *values_of(const char *const *options, const char *text, size_t length)
{
	for (; options && *options; options++)
		if (strncmp(*options, text, length) == 0 && (*options)[length] == ' ')
			return islower((unsigned char)(*options)[length + 1])
				   ? *options + length + 1
				   : "";
	return NULL;
}

static const char *behind_word(const char *text)
{
	const char *end = *text == '"' ? strchr(text + 1, '"') : NULL;

	return end ? end + 1 : text + strcspn(text, BLANKS);
}

/* Past the options that are whole.  True: what is typed now is the value of one of them. */
static bool skip_options(const char *const *options, const char **text, const char **values)
{
	*text += strspn(*text, BLANKS);
	while (**text == '-') {
		const char *end = behind_word(*text);

		if (!*end)
			return false;
		*values = values_of(options, *text, (size_t)(end - *text));
		*text = end + strspn(end, BLANKS);
		if (!*values)
			continue;
		end = behind_word(*text);
		if (!*end)
			return true;
		*text = end + strspn(end, BLANKS);
	}
	return false;
}

PyObject *mt_complete(const struct mt_command *command, const char *text, const char *word)
{
	struct completing completing = {.list = PyList_New(0), .word = strlen(word)};
	const char *values = NULL;

	if (!completing.list)
		return NULL;
	if (skip_options(command->options, &text, &values)) {
		offer_words(&completing, text, values, "|");
		return completing.list;
	}
	if (!*text || *text == '-')
		offer_options(&completing, command->options, text);
	if (*text == '-')
		return completing.list;
	if (command->takes == MT_COMMAND_TAKES_FILE)
		offer_like(&completing, "file", text);
	if (command->takes == MT_COMMAND_TAKES_LOCATION)
		offer_like(&completing, "break", text);
	if (command->takes == MT_COMMAND_TAKES_TRIGGER)
		mt_array_each (trigger, &mt_gdb_debugger()->triggers) {
			char number[16];

			snprintf(number, sizeof(number), "%u", (*trigger)->number);
			offer_words(&completing, text, number, BLANKS);
		}
	return completing.list;
}
