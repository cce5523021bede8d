/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about frames. */
#include "prompt/prompt.h"

#include <ctype.h>
#include <string.h>

static struct mt_error *no_stack(void)
{
	return mt_error_new(MT_ERROR_USAGE, "No stack.");
}

/* What `info locals` says of the frame, indented. */
static struct mt_error *print_locals(struct prompt *prompt, const struct mt_debug_frame *frame)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);
	mt_auto(mt_str) struct mt_str text = {0};
	const char *line;

	mt_try(mt_expr_locals(mt_debugger_expressions(prompt->debugger), &at, &text));
	if (text.failed)
		return mt_error_no_memory();
	for (line = text.text; line && *line; line += strcspn(line, "\n") + 1)
		prompt_printf("%s%.*s\n", strncmp(line, "No ", 3) == 0 ? "" : "        ",
			      (int)strcspn(line, "\n"), line);
	return NULL;
}

static struct mt_error *print_frames(struct prompt *prompt, unsigned first, unsigned last,
				     bool is_full)
{
	const struct mt_debug_frame *frame;
	unsigned level = first;

	for (; level <= last && !prompt_out_was_left() &&
	       (frame = mt_debugger_frame(prompt->debugger, level));
	     level++) {
		prompt_print_frame(prompt, frame, true);
		if (is_full && frame->type != MT_DEBUG_SIGNAL_FRAME)
			mt_try(print_locals(prompt, frame));
	}
	if (level > last) {
		if (prompt_is_at_terminal(prompt) && mt_debugger_frame(prompt->debugger, level))
			prompt_printf("(More stack frames follow...)\n");
		return NULL;
	}
	const char *why = mt_debugger_frames_end(prompt->debugger);
	if (why)
		prompt_printf("Backtrace stopped: %s\n", why);
	return NULL;
}

static struct mt_error *run_backtrace(struct prompt *prompt, const char *rest)
{
	unsigned count = 0;
	uint64_t number;
	bool is_full = false;

	if (!mt_debugger_frame(prompt->debugger, 0))
		return no_stack();
	while (prompt_is_word(rest, "full") || prompt_is_word(rest, "-full")) {
		is_full = true;
		rest = prompt_skip_blanks(rest + strcspn(rest, " \t"));
	}
	if (!*rest)
		return print_frames(prompt, 0, UINT32_MAX - 1, is_full);
	if (*rest != '-') {
		mt_try(prompt_parse_count(rest, &number));
		return number ? print_frames(prompt, 0, (unsigned)number - 1, is_full) : NULL;
	}
	mt_try(prompt_parse_count(rest + 1, &number));
	while (mt_debugger_frame(prompt->debugger, count))
		count++;
	return print_frames(prompt, number < count ? count - (unsigned)number : 0, count - 1,
			    is_full);
}

static struct mt_error *show_selected(struct prompt *prompt)
{
	prompt_show_frame(prompt, mt_debugger_selected_frame(prompt->debugger), true);
	return NULL;
}

static struct mt_error *select_level(struct prompt *prompt, const char *rest)
{
	uint64_t level;

	if (!mt_debugger_frame(prompt->debugger, 0))
		return no_stack();
	mt_try(prompt_parse_count(rest, &level));
	if (level >= UINT32_MAX || !mt_debugger_frame(prompt->debugger, (unsigned)level))
		return mt_error_new(MT_ERROR_USAGE, "No frame at level %s.", rest);
	mt_debugger_select_frame(prompt->debugger, (unsigned)level);
	return show_selected(prompt);
}

static bool is_of_function(struct prompt *prompt, const struct mt_debug_frame *frame,
			   const char *name)
{
	const struct mt_expr_frame at = mt_debugger_expr_frame(prompt->debugger, frame);
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	mt_auto(mt_str) struct mt_str known = {0};
	uint64_t low_pc;

	if (mt_expr_frame_function(program, &at, &known, &low_pc) && !known.failed)
		return strcmp(known.text, name) == 0;
	return frame->function && strcmp(frame->function, name) == 0;
}

static struct mt_error *found_somewhere(void *context, const struct mt_location *location)
{
	(void)context;
	(void)location;
	return NULL;
}

static struct mt_error *select_function(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame;

	if (!mt_debugger_frame(prompt->debugger, 0))
		return no_stack();
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Missing function name argument");
	mt_try(mt_debugger_locate(prompt->debugger, rest, found_somewhere, NULL));
	for (unsigned level = 0; (frame = mt_debugger_frame(prompt->debugger, level)); level++) {
		if (!is_of_function(prompt, frame, rest))
			continue;
		mt_debugger_select_frame(prompt->debugger, level);
		return show_selected(prompt);
	}
	return mt_error_new(MT_ERROR_NOT_FOUND, "No frame for function \"%s\".", rest);
}

static struct mt_error *run_frame(struct prompt *prompt, const char *rest)
{
	if (!mt_debugger_frame(prompt->debugger, 0))
		return *rest ? mt_error_new(MT_ERROR_USAGE, "No registers.") : no_stack();
	return *rest ? select_level(prompt, rest) : show_selected(prompt);
}

static struct mt_error *run_up(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	uint64_t count;

	if (!frame)
		return no_stack();
	mt_try(prompt_parse_count(rest, &count));
	unsigned level = frame->level, began = level;
	for (; count && mt_debugger_frame(prompt->debugger, level + 1); count--)
		level++;
	if (level == began && count)
		return mt_error_new(MT_ERROR_USAGE, "Initial frame selected; you cannot go up.");
	mt_debugger_select_frame(prompt->debugger, level);
	return show_selected(prompt);
}

static struct mt_error *run_down(struct prompt *prompt, const char *rest)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(prompt->debugger);
	uint64_t count;

	if (!frame)
		return no_stack();
	mt_try(prompt_parse_count(rest, &count));
	if (!frame->level && count)
		return mt_error_new(MT_ERROR_USAGE, "Bottom (innermost) frame selected; you "
						    "cannot go down.");
	mt_debugger_select_frame(prompt->debugger,
				 count < frame->level ? frame->level - (unsigned)count : 0);
	return show_selected(prompt);
}

static const struct prompt_command frame_commands[] = {
    {.name = "apply",
     .usage = "all|COUNT|-COUNT|level LEVEL... [-q] [-c|-s] COMMAND",
     .summary = "Run a command in several frames",
     .help = "-q: do not name them; -c: print errors and continue; -s: skip frames where it fails\n"
	     "or prints nothing.\n",
     .run = prompt_frame_apply},
    {.name = "level",
     .usage = "LEVEL",
     .summary = "Select a frame by its level",
     .run = select_level},
    {.name = "function",
     .usage = "FUNCTION",
     .takes = PROMPT_LOCATION,
     .summary = "Select the innermost frame of a function",
     .run = select_function},
    {0},
};

const struct prompt_command prompt_stack_commands[] = {
    {.name = "backtrace",
     .aliases = "bt where",
     .usage = "[full] [[-]COUNT]",
     .summary = "Print the frames of the stack, or the innermost or outermost COUNT",
     .help = "With \"full\" the local variables of each.\n",
     .repeats = true,
     .run = run_backtrace},
    {.name = "frame",
     .aliases = "f",
     .usage = "[LEVEL]",
     .summary = "Select a frame and print it",
     .sub = frame_commands,
     .run = run_frame},
    {.name = "faas",
     .usage = "COMMAND",
     .summary = "Run a command in all frames, and name those where it prints something",
     .run = prompt_faas},
    {.name = "up",
     .usage = "[COUNT]",
     .summary = "Select the frame that called this one",
     .repeats = true,
     .run = run_up},
    {.name = "down",
     .aliases = "do dow",
     .usage = "[COUNT]",
     .summary = "Select the frame that this one called",
     .repeats = true,
     .run = run_down},
    {0},
};
