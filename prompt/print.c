/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about values: what expr/expr.h makes of them, in the selected frame. */
#include "prompt/prompt.h"

#include <string.h>

typedef struct mt_error *(*whole_command)(struct mt_expr_program *program,
					  const struct mt_expr_frame *frame, const char *text,
					  struct mt_str *out);

/* What came out before it failed is shown, too. */
static struct mt_error *show(struct mt_error *error, const struct mt_str *out)
{
	if (out->text && !out->failed)
		prompt_printf("%s", out->text);
	return error ? error : out->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *run(struct prompt *prompt, const char *rest, whole_command command)
{
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_expr_program *program;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	return show(command(program, &frame, rest, &out), &out);
}

static struct mt_error *print_loudly(struct mt_expr_program *program,
				     const struct mt_expr_frame *frame, const char *text,
				     struct mt_str *out)
{
	return mt_expr_print(program, frame, text, false, out);
}

static struct mt_error *print_silently(struct mt_expr_program *program,
				       const struct mt_expr_frame *frame, const char *text,
				       struct mt_str *out)
{
	return mt_expr_print(program, frame, text, true, out);
}

static struct mt_error *run_print(struct prompt *prompt, const char *rest)
{
	return run(prompt, rest, print_loudly);
}

static struct mt_error *run_x(struct prompt *prompt, const char *rest)
{
	struct mt_expr_format format = {.count = 1};
	const char *behind = rest;

	if (*rest == '/')
		mt_try(mt_expr_format_parse(rest + 1, &format, &behind));
	if (format.letter)
		prompt->examines_code = format.letter == 'i';
	if (prompt->examines_code)
		return prompt_examine_code(prompt, prompt_skip_blanks(behind),
					   *rest ? format.count : 0);
	return run(prompt, rest, mt_expr_examine);
}

static struct mt_error *run_whatis(struct prompt *prompt, const char *rest)
{
	return run(prompt, rest, mt_expr_whatis);
}

static struct mt_error *run_ptype(struct prompt *prompt, const char *rest)
{
	return run(prompt, rest, mt_expr_ptype);
}

static struct mt_error *run_printf(struct prompt *prompt, const char *rest)
{
	return run(prompt, rest, mt_expr_printf);
}

static struct mt_error *run_output(struct prompt *prompt, const char *rest)
{
	return run(prompt, rest, mt_expr_output);
}

static struct mt_error *info_list(struct prompt *prompt, bool functions, const char *pattern)
{
	mt_auto(mt_str) struct mt_str out = {0};
	struct mt_expr_program *program;

	mt_try(mt_debugger_expressions(prompt->debugger, &program));
	return show(mt_expr_info_list(program, functions, pattern, &out), &out);
}

struct mt_error *prompt_info_functions(struct prompt *prompt, const char *rest)
{
	return info_list(prompt, true, rest);
}

struct mt_error *prompt_info_variables(struct prompt *prompt, const char *rest)
{
	return info_list(prompt, false, rest);
}

struct scope {
	struct mt_expr_program *program;
	const char *location;
	struct mt_str out;
};

static struct mt_error *scope_at(void *context, const struct mt_location *place)
{
	struct scope *scope = context;

	return mt_expr_info_scope(scope->program, scope->location, place->address, &scope->out);
}

struct mt_error *prompt_info_scope(struct prompt *prompt, const char *rest)
{
	struct scope scope = {.location = rest};

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "requires an argument (a location)");
	mt_try(mt_debugger_expressions(prompt->debugger, &scope.program));
	struct mt_error *error =
	    show(mt_debugger_locate(prompt->debugger, rest, scope_at, &scope), &scope.out);
	mt_str_deinit(&scope.out);
	return error;
}

struct mt_error *prompt_set_variable(struct prompt *prompt, const char *rest)
{
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	return run(prompt, rest, print_silently);
}

static struct mt_error *locals(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_str *out)
{
	(void)text;
	return mt_expr_locals(program, frame, out);
}

static struct mt_error *args(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			     const char *text, struct mt_str *out)
{
	(void)text;
	return mt_expr_args(program, frame, out);
}

static struct mt_error *check_frame(struct prompt *prompt)
{
	return mt_debugger_selected_frame(prompt->debugger)
		   ? NULL
		   : mt_error_new(MT_ERROR_USAGE, "No frame selected.");
}

struct mt_error *prompt_info_locals(struct prompt *prompt, const char *rest)
{
	mt_try(check_frame(prompt));
	return run(prompt, rest, locals);
}

struct mt_error *prompt_info_args(struct prompt *prompt, const char *rest)
{
	mt_try(check_frame(prompt));
	return run(prompt, rest, args);
}

struct mt_error *prompt_info_symbol(struct prompt *prompt, const char *rest)
{
	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (address).");
	return run(prompt, rest, mt_expr_info_symbol);
}

const struct prompt_command prompt_print_commands[] = {
    {.name = "print",
     .aliases = "p inspect",
     .usage = "[/FORMAT] [EXPRESSION]",
     .summary = "Print the value of an expression",
     .help =
	 "FORMAT is x, d, u, o, t, c, a, f, s or z.  Without EXPRESSION the last value again.\n",
     .run = run_print},
    {.name = "output",
     .usage = "[/FORMAT] EXPRESSION",
     .summary = "Print a value alone: no number, no newline",
     .run = run_output},
    {.name = "x",
     .usage = "[/COUNT FORMAT SIZE] [ADDRESS]",
     .summary = "Print memory",
     .help = "FORMAT is as of \"print\", or i for instructions; SIZE is b, h, w or g.\n",
     .repeats = true,
     .run = run_x},
    {.name = "whatis",
     .usage = "EXPRESSION",
     .summary = "Print the type of an expression",
     .run = run_whatis},
    {.name = "ptype",
     .usage = "EXPRESSION",
     .summary = "Print what the type of an expression, or a type, is made of",
     .run = run_ptype},
    {.name = "printf",
     .usage = "\"FORMAT\", EXPRESSION...",
     .summary = "Print values as C's printf does",
     .run = run_printf},
    {0},
};
