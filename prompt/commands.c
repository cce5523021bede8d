/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `commands`: what is done when a breakpoint has stopped the program.
 *
 * They are done when the command that let the program run is over, so that one among them that lets
 * it go on does so for good: the rest of its list is forgotten. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

struct prompt_commands {
	unsigned breakpoint;
	MT_ARRAY(char *) lines;
};

static struct prompt_commands *find(struct prompt *prompt, unsigned breakpoint)
{
	mt_array_each (one, &prompt->commands)
		if ((*one)->breakpoint == breakpoint)
			return *one;
	return NULL;
}

static void forget_lines(struct prompt_commands *one)
{
	mt_array_each (line, &one->lines)
		free(*line);
	mt_array_deinit(&one->lines);
}

void prompt_commands_deinit(struct prompt *prompt)
{
	mt_array_each (one, &prompt->commands) {
		forget_lines(*one);
		free(*one);
	}
	mt_array_deinit(&prompt->commands);
	mt_array_deinit(&prompt->to_do);
}

static struct prompt_commands *find_or_add(struct prompt *prompt, unsigned breakpoint)
{
	struct prompt_commands *one = find(prompt, breakpoint);

	if (one)
		return one;
	one = calloc(1, sizeof(*one));
	if (!one || mt_array_push(&prompt->commands, one)) {
		free(one);
		return NULL;
	}
	one->breakpoint = breakpoint;
	return one;
}

/* Without blanks around it. */
static char *trimmed(const char *line)
{
	size_t length;

	line = prompt_skip_blanks(line);
	length = strlen(line);
	while (length && isspace((unsigned char)line[length - 1]))
		length--;
	return strndup(line, length);
}

/* Up to "end". */
static struct mt_error *read_lines(struct prompt *prompt, struct prompt_commands *one)
{
	char *line, *text;

	while ((line = prompt_read_line(prompt, prompt_is_at_terminal(prompt) ? ">" : ""))) {
		text = trimmed(line);
		free(line);
		bool is_end = text && strcmp(text, "end") == 0;
		if (!text || (!is_end && mt_array_push(&one->lines, text))) {
			free(text);
			return mt_error_no_memory();
		}
		if (is_end) {
			free(text);
			return NULL;
		}
	}
	return NULL;
}

/* Of the number that is typed, or the breakpoint that was made last. */
static struct mt_error *breakpoint_of(struct prompt *prompt, const char *text, unsigned *number)
{
	const struct mt_debug_breakpoint *last = NULL, *one;
	uint64_t wanted;

	for (size_t i = 0; (one = mt_debugger_breakpoint(prompt->debugger, i)); i++)
		if (!one->silent)
			last = one;
	if (!*text && !last)
		return mt_error_new(MT_ERROR_USAGE, "No breakpoints specified.");
	if (!*text) {
		*number = last->number;
		return NULL;
	}
	struct mt_error *error = mt_parse_number(text, "breakpoint", 0, UINT32_MAX, &wanted);
	if (error) {
		mt_error_destroy(error);
		return mt_error_new(MT_ERROR_USAGE, "Bad breakpoint argument: '%s'", text);
	}
	*number = (unsigned)wanted;
	return mt_debugger_find_breakpoint(prompt->debugger, *number)
		   ? NULL
		   : mt_error_new(MT_ERROR_USAGE, "No breakpoint number %u.", *number);
}

struct mt_error *prompt_run_commands_command(struct prompt *prompt, const char *rest)
{
	struct prompt_commands *one;
	unsigned number = 0;

	mt_try(breakpoint_of(prompt, rest, &number));
	if (prompt_is_at_terminal(prompt))
		prompt_printf("Type commands for breakpoint(s) %u, one per line.\n"
			      "End with a line saying just \"end\".\n",
			      number);
	one = find_or_add(prompt, number);
	if (!one)
		return mt_error_no_memory();
	forget_lines(one);
	return read_lines(prompt, one);
}

void prompt_show_commands(struct prompt *prompt, unsigned breakpoint)
{
	struct prompt_commands *one = find(prompt, breakpoint);

	if (!one)
		return;
	mt_array_each (line, &one->lines)
		prompt_printf("        %s\n", *line);
}

bool prompt_commands_are_silent(struct prompt *prompt, unsigned breakpoint)
{
	const struct prompt_commands *one = find(prompt, breakpoint);

	return one && one->lines.count && strcmp(one->lines.items[0], "silent") == 0;
}

/* They may change what they are of: a copy is done. */
static struct mt_error *copy(const struct prompt_commands *one, struct prompt_commands *out)
{
	mt_array_each (line, &one->lines) {
		char *text = strdup(*line);

		if (!text || mt_array_push(&out->lines, text)) {
			free(text);
			return mt_error_no_memory();
		}
	}
	return NULL;
}

static struct mt_error *do_lines(struct prompt *prompt, const struct prompt_commands *list)
{
	unsigned stops = prompt->stops;

	mt_array_each (line, &list->lines) {
		if (strcmp(*line, "silent") == 0 && line == list->lines.items)
			continue;
		mt_try(prompt_execute_one(prompt, *line));
		if (prompt->over || prompt->stops != stops)
			return NULL; /* it went on, and the rest was of the former stop */
	}
	return NULL;
}

static struct mt_error *do_of(struct prompt *prompt, unsigned breakpoint)
{
	const struct prompt_commands *one = find(prompt, breakpoint);
	struct prompt_commands list = {0};
	struct mt_error *error = one ? copy(one, &list) : NULL;

	if (!error)
		error = do_lines(prompt, &list);
	forget_lines(&list);
	return error;
}

struct mt_error *prompt_do_commands(struct prompt *prompt)
{
	struct mt_error *error = NULL;

	if (prompt->does_commands)
		return NULL;
	prompt->does_commands = true;
	while (!error && !prompt->over && prompt->to_do.count) {
		unsigned breakpoint = prompt->to_do.items[0];

		prompt->to_do.count--;
		memmove(prompt->to_do.items, prompt->to_do.items + 1,
			prompt->to_do.count * sizeof(breakpoint));
		error = do_of(prompt, breakpoint);
	}
	prompt->does_commands = false;
	prompt->to_do.count = 0;
	return error;
}
