/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `frame apply`: a command in several frames; and the flags that it shares with `thread apply`. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

struct mt_error *prompt_read_applying(const char *rest, struct prompt_applying *out)
{
	bool is_c = false, is_s = false;

	for (;;) {
		if (prompt_is_word(rest, "-q"))
			out->quiet = true;
		else if (prompt_is_word(rest, "-c"))
			is_c = true;
		else if (prompt_is_word(rest, "-s"))
			is_s = true;
		else if (prompt_is_word(rest, "-ascending"))
			out->ascending = true;
		else
			break;
		rest = prompt_skip_blanks(rest + strcspn(rest, " \t"));
	}
	if (is_c && is_s)
		return mt_error_new(MT_ERROR_USAGE, "-c and -s are mutually exclusive");
	out->errors = is_c   ? PROMPT_PRINT_ERRORS
		      : is_s ? PROMPT_SILENT_ERRORS
			     : PROMPT_STOP_AT_ERROR;
	out->command = rest;
	return NULL;
}

struct mt_error *prompt_apply(struct prompt *prompt, const struct prompt_applying *how,
			      void (*print_head)(void *context), void *context)
{
	if (!how->quiet && how->errors != PROMPT_SILENT_ERRORS)
		print_head(context);
	prompt_out_head(how->quiet || how->errors != PROMPT_SILENT_ERRORS ? NULL : print_head,
			context);
	struct mt_error *error = prompt_execute_one(prompt, how->command);
	if (error && how->errors == PROMPT_PRINT_ERRORS)
		prompt_printf("%s\n", mt_error_message(error));
	prompt_out_head(NULL, NULL);
	if (how->errors == PROMPT_STOP_AT_ERROR)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static void print_head(void *context)
{
	struct prompt *prompt = context;

	prompt_print_frame(prompt, mt_debugger_selected_frame(prompt->debugger), true);
}

/* FIRST to LAST, as far as there are frames.  The selected one is selected again in the end. */
static struct mt_error *apply_to(struct prompt *prompt, unsigned first, unsigned last,
				 const struct prompt_applying *how)
{
	unsigned selected = mt_debugger_selected_frame(prompt->debugger)->level;
	struct mt_error *error = NULL;

	for (unsigned level = first; !error && level <= last && !prompt_out_was_left(); level++) {
		if (!mt_debugger_frame(prompt->debugger, level))
			break;
		mt_debugger_select_frame(prompt->debugger, level);
		error = prompt_apply(prompt, how, print_head, prompt);
	}
	if (mt_debugger_frame(prompt->debugger, selected))
		mt_debugger_select_frame(prompt->debugger, selected);
	return error;
}

/* A number at *REST, which is moved behind it.  False: there is none. */
static bool read_number(const char **rest, unsigned *out)
{
	char *end;

	if (!isdigit((unsigned char)**rest))
		return false;
	*out = (unsigned)strtoul(*rest, &end, 10);
	*rest = end;
	return true;
}

/* "level 1 3-5 COMMAND" */
static struct mt_error *apply_to_levels(struct prompt *prompt, const char *rest)
{
	struct prompt_applying how = {0};
	const char *ranges = rest, *at = rest;
	unsigned first, last;

	while (read_number(&at, &first)) {
		if (*at == '-' && (at++, !read_number(&at, &last)))
			return mt_error_new(MT_ERROR_USAGE, "Invalid frame level: %s", ranges);
		at = prompt_skip_blanks(at);
	}
	if (at == ranges)
		return mt_error_new(MT_ERROR_USAGE, "Missing or invalid LEVEL... argument");
	mt_try(prompt_read_applying(at, &how));
	if (!*how.command)
		return mt_error_new(MT_ERROR_USAGE,
				    "Please specify a command to apply on the selected frames");
	while (read_number(&ranges, &first)) {
		last = first;
		if (*ranges == '-') {
			ranges++;
			read_number(&ranges, &last);
		}
		mt_try(apply_to(prompt, first, last, &how));
		ranges = prompt_skip_blanks(ranges);
	}
	return NULL;
}

struct mt_error *prompt_frame_apply(struct prompt *prompt, const char *rest)
{
	unsigned first = 0, last = UINT32_MAX - 1, count = 0, number;
	struct prompt_applying how = {0};

	if (!mt_debugger_selected_frame(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "No stack.");
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Missing COUNT argument.");
	if (prompt_is_word(rest, "level"))
		return apply_to_levels(prompt, prompt_skip_blanks(rest + strlen("level")));
	bool from_outermost = *rest == '-';
	const char *at = rest + from_outermost;
	if (prompt_is_word(rest, "all")) {
		at = rest + strlen("all");
	} else if (!read_number(&at, &number) || (*at && !strchr(" \t", *at))) {
		return mt_error_new(MT_ERROR_USAGE, "Invalid COUNT argument.");
	} else if (from_outermost) {
		while (mt_debugger_frame(prompt->debugger, count))
			count++;
		first = number < count ? count - number : 0;
	} else if (number) {
		last = number - 1;
	}
	mt_try(prompt_read_applying(prompt_skip_blanks(at), &how));
	if (!*how.command)
		return mt_error_new(MT_ERROR_USAGE, "Please specify a command to apply on %s",
				    prompt_is_word(rest, "all") ? "all frames"
								: "the selected frames");
	return apply_to(prompt, first, last, &how);
}

struct mt_error *prompt_faas(struct prompt *prompt, const char *rest)
{
	mt_auto(mt_str) struct mt_str text = {0};

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE,
				    "Please specify a command to apply on all frames");
	mt_str_appendf(&text, "all -s %s", rest);
	return text.failed ? mt_error_no_memory() : prompt_frame_apply(prompt, text.text);
}
