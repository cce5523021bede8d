/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `display`: expressions that are printed at each stop. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct prompt_display {
	unsigned number;
	bool disabled;
	bool is_local; /* its names are found in FUNCTION only */
	uint64_t function;
	struct mt_expr_format format;
	char text[]; /* the expression */
};

static bool is_memory(const struct prompt_display *display)
{
	return display->format.size ||
	       (display->format.letter && strchr("is", display->format.letter));
}

static struct prompt_display *find(struct prompt *prompt, unsigned number)
{
	for (size_t i = 0; i < prompt->displays.count; i++)
		if (prompt->displays.items[i]->number == number)
			return prompt->displays.items[i];
	return NULL;
}

/* ---- Where it can be evaluated ---- */

/* Whether the names in TEXT are found with FRAME; values do not matter. */
static struct mt_error *try_names(struct mt_expr_program *program,
				  const struct mt_expr_frame *frame, const char *text)
{
	struct mt_expr *expr;

	mt_try(mt_expr_parse(program, frame, text, &expr));
	mt_expr_destroy(expr);
	return NULL;
}

/* That FRAME is of; 0: not known. */
static uint64_t function_of(struct mt_expr_program *program, const struct mt_expr_frame *frame)
{
	mt_auto(mt_str) struct mt_str name = {0};
	uint64_t function = 0;

	mt_expr_frame_function(program, frame, &name, &function);
	return function;
}

static bool is_within(struct prompt *prompt, const struct prompt_display *display)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	if (!display->is_local)
		return true;
	if (function_of(program, &frame) != display->function)
		return false;
	struct mt_error *error = try_names(program, &frame, display->text);
	bool found = !error;
	mt_error_destroy(error);
	return found;
}

/* ---- Showing ---- */

static struct mt_error *show_memory(struct prompt *prompt, const struct prompt_display *display)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	const struct mt_expr_format *format = &display->format;
	mt_auto(mt_str) struct mt_str words = {0}, out = {0};

	prompt_printf("x/");
	if (format->count != 1)
		prompt_printf("%d", format->count);
	prompt_printf("%c", format->letter ? format->letter : 'x');
	if (format->size && !strchr("is", format->letter))
		prompt_printf("%c", format->size);
	prompt_printf(" %s%s", display->text,
		      format->count != 1 || format->letter != 's' ? "\n" : "  ");
	if (format->letter == 'i')
		return prompt_examine_code(prompt, display->text, format->count);
	mt_str_appendf(&words, "/%d%.1s%.1s %s", format->count, &format->letter, &format->size,
		       display->text);
	if (words.failed)
		return mt_error_no_memory();
	mt_try(
	    mt_expr_examine(mt_debugger_expressions(prompt->debugger), &frame, words.text, &out));
	prompt_printf("%s", out.failed ? "" : out.text);
	return NULL;
}

static struct mt_error *show_value(struct prompt *prompt, const struct prompt_display *display)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	mt_auto(mt_str) struct mt_str words = {0}, out = {0};

	if (display->format.letter)
		mt_str_appendf(&words, "/%c ", display->format.letter);
	mt_str_append(&words, display->text);
	if (words.failed)
		return mt_error_no_memory();
	prompt_printf("%s = ", words.text);
	mt_try(mt_expr_output(mt_debugger_expressions(prompt->debugger), &frame, words.text, &out));
	prompt_printf("%s\n", out.failed ? "" : out.text);
	return NULL;
}

static void show(struct prompt *prompt, const struct prompt_display *display)
{
	if (display->disabled || !is_within(prompt, display))
		return;
	prompt_printf("%u: ", display->number);
	struct mt_error *error =
	    is_memory(display) ? show_memory(prompt, display) : show_value(prompt, display);
	if (error)
		prompt_printf(is_memory(display) ? "%s\n" : "<error: %s>\n",
			      mt_error_message(error));
	mt_error_destroy(error);
}

void prompt_show_displays(struct prompt *prompt)
{
	mt_array_each (display, &prompt->displays)
		show(prompt, *display);
}

struct mt_error *prompt_info_display(struct prompt *prompt, const char *rest)
{
	(void)rest;
	if (!prompt->displays.count) {
		prompt_printf("There are no auto-display expressions now.\n");
		return NULL;
	}
	prompt_printf("Auto-display expressions now in effect:\nNum Enb Expression\n");
	mt_array_each (at, &prompt->displays) {
		const struct prompt_display *display = *at;
		const struct mt_expr_format *format = &display->format;

		prompt_printf("%u:   %c  ", display->number, "yn"[display->disabled]);
		if (is_memory(display))
			prompt_printf("/%d%c%c ", format->count, format->size ? format->size : 'b',
				      format->letter ? format->letter : 'x');
		else if (format->letter)
			prompt_printf("/%c ", format->letter);
		prompt_printf("%s%s\n", display->text,
			      is_within(prompt, display)
				  ? ""
				  : " (cannot be evaluated in the current context)");
	}
	return NULL;
}

/* ---- The list ---- */

/* The names in an expression that is not local are found without a frame, too. */
static struct mt_error *bind_to_function(struct prompt *prompt, struct prompt_display *display)
{
	struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);

	display->function = function_of(program, &frame);
	mt_try(try_names(program, &frame, display->text));
	frame.pc = 0;
	struct mt_error *error = try_names(program, &frame, display->text);
	display->is_local = error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *run_display(struct prompt *prompt, const char *rest)
{
	struct mt_expr_format format = {.count = 1};

	if (!*rest) {
		prompt_show_displays(prompt);
		return NULL;
	}
	if (*rest == '/')
		mt_try(mt_expr_format_parse(rest + 1, &format, &rest));
	rest = prompt_skip_blanks(rest);
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	size_t size = strlen(rest) + 1;
	struct prompt_display *display = calloc(1, sizeof(*display) + size);
	if (!display)
		return mt_error_no_memory();
	memcpy(display->text, rest, size);
	display->format = format;
	struct mt_error *error = bind_to_function(prompt, display);
	if (!error && mt_array_push(&prompt->displays, display))
		error = mt_error_no_memory();
	if (error) {
		free(display);
		return error;
	}
	display->number = ++prompt->last_display;
	if (prompt_is_at_terminal(prompt) && mt_debugger_selected_frame(prompt->debugger))
		show(prompt, display);
	return NULL;
}

static struct mt_error *no_such(unsigned number)
{
	return mt_error_new(MT_ERROR_NOT_FOUND, "No display number %u.", number);
}

static struct mt_error *remove_one(struct prompt *prompt, unsigned number, int variant)
{
	size_t kept = 0;

	(void)variant;
	if (!find(prompt, number))
		return no_such(number);
	for (size_t i = 0; i < prompt->displays.count; i++) {
		struct prompt_display *display = prompt->displays.items[i];

		if (display->number == number)
			free(display);
		else
			prompt->displays.items[kept++] = display;
	}
	prompt->displays.count = kept;
	return NULL;
}

void prompt_displays_deinit(struct prompt *prompt)
{
	mt_array_each (display, &prompt->displays)
		free(*display);
	mt_array_deinit(&prompt->displays);
}

struct mt_error *prompt_undisplay(struct prompt *prompt, const char *rest)
{
	if (*rest)
		return prompt_each_number(prompt, "display", rest, remove_one, 0);
	if (prompt->displays.count &&
	    prompt_confirms(prompt, "Delete all auto-display expressions? (y or n) "))
		prompt_displays_deinit(prompt);
	return NULL;
}

static struct mt_error *enable_one(struct prompt *prompt, unsigned number, int enable)
{
	struct prompt_display *display = find(prompt, number);

	if (!display)
		return no_such(number);
	display->disabled = !enable;
	return NULL;
}

struct mt_error *prompt_enable_displays(struct prompt *prompt, const char *rest, int enable)
{
	if (*rest)
		return prompt_each_number(prompt, "display", rest, enable_one, enable);
	mt_array_each (display, &prompt->displays)
		(*display)->disabled = !enable;
	return NULL;
}

const struct prompt_command prompt_display_commands[] = {
    {.name = "display",
     .usage = "[/FORMAT] [EXPRESSION]",
     .summary = "Print the value of an expression each time the program stops",
     .help =
	 "FORMAT is as for \"print\", or as for \"x\" for memory: i, s, or with a size.  Without\n"
	 "EXPRESSION all are printed now.  Local variables are printed in their function only.\n",
     .run = run_display},
    {.name = "undisplay",
     .usage = "[NUMBER]...",
     .summary = "Cancel expressions of \"display\"",
     .run = prompt_undisplay},
    {0},
};
