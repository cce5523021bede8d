/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `commands`: lines that are run when a breakpoint has stopped the program.
 *
 * They run after the command that ran the program.  When one of them continues the program, the
 * rest of its list is dropped. */
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

/* Reads lines up to "end". */
static struct mt_error *read_lines(struct prompt *prompt, struct prompt_commands *one)
{
	char *line, *text;

	while ((line = prompt_read_line(prompt, prompt_is_at_terminal(prompt) ? ">" : ""))) {
		const char *start = prompt_skip_blanks(line);
		size_t length = strlen(start);

		while (length && isspace((unsigned char)start[length - 1]))
			length--;
		text = strndup(start, length);
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

/* The number that is typed, or that of the newest breakpoint. */
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
	one = find(prompt, number);
	if (!one) {
		one = calloc(1, sizeof(*one));
		if (!one || mt_array_push(&prompt->commands, one)) {
			free(one);
			return mt_error_no_memory();
		}
		one->breakpoint = number;
	}
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

/* Runs a copy, since the commands may change their own list. */
static struct mt_error *run_commands(struct prompt *prompt, unsigned breakpoint)
{
	const struct prompt_commands *one = find(prompt, breakpoint);
	struct prompt_commands copy = {0};
	struct mt_error *error = NULL;
	unsigned stops = prompt->stops;

	for (size_t i = 0; one && !error && i < one->lines.count; i++) {
		char *text = strdup(one->lines.items[i]);

		if (text && !mt_array_push(&copy.lines, text))
			continue;
		free(text);
		error = mt_error_no_memory();
	}
	for (size_t i = 0; !error && i < copy.lines.count; i++) {
		if (i == 0 && strcmp(copy.lines.items[i], "silent") == 0)
			continue;
		error = prompt_execute_one(prompt, copy.lines.items[i]);
		if (prompt->state == PROMPT_OVER || prompt->stops != stops)
			break; /* it was continued: the other lines were of the former stop */
	}
	forget_lines(&copy);
	return error;
}

struct mt_error *prompt_do_commands(struct prompt *prompt)
{
	struct mt_error *error = NULL;

	if (prompt->state == PROMPT_AT_COMMANDS)
		return NULL;
	while (!error && prompt->state != PROMPT_OVER && prompt->to_do.count) {
		unsigned breakpoint = prompt->to_do.items[0];

		prompt->state = PROMPT_AT_COMMANDS;
		prompt->to_do.count--;
		memmove(prompt->to_do.items, prompt->to_do.items + 1,
			prompt->to_do.count * sizeof(breakpoint));
		error = run_commands(prompt, breakpoint);
		if (prompt->state == PROMPT_AT_COMMANDS)
			prompt->state = PROMPT_AT_LINE;
	}
	prompt->to_do.count = 0;
	return error;
}
