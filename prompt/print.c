/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commands about values: what expr/expr.h makes of them, in the selected frame. */
#include "prompt/prompt.h"

#include <string.h>

static struct mt_error *evaluate(struct prompt *prompt, const char *text, int evaluation,
				 struct mt_str *out)
{
	struct mt_expr_program *program = mt_debugger_expressions(prompt->debugger);
	const struct mt_expr_frame frame = mt_debugger_expr_frame(prompt->debugger, NULL);

	switch (evaluation) {
	case PROMPT_SET_VARIABLE:
		return mt_expr_print(program, &frame, text, true, out);
	case PROMPT_OUTPUT:
		return mt_expr_output(program, &frame, text, out);
	case PROMPT_EXAMINE:
		return mt_expr_examine(program, &frame, text, out);
	case PROMPT_WHATIS:
		return mt_expr_whatis(program, &frame, text, out);
	case PROMPT_PTYPE:
		return mt_expr_ptype(program, &frame, text, out);
	case PROMPT_PRINTF:
		return mt_expr_printf(program, &frame, text, out);
	case PROMPT_INFO_SYMBOL:
		return mt_expr_info_symbol(program, &frame, text, out);
	case PROMPT_INFO_LOCALS:
		return mt_expr_locals(program, &frame, out);
	case PROMPT_INFO_ARGS:
		return mt_expr_args(program, &frame, out);
	case PROMPT_INFO_FUNCTIONS:
		return mt_expr_info_list(program, MT_EXPR_FUNCTIONS, text, out);
	case PROMPT_INFO_VARIABLES:
		return mt_expr_info_list(program, MT_EXPR_VARIABLES, text, out);
	case PROMPT_INFO_TYPES:
		return mt_expr_info_list(program, MT_EXPR_TYPES, text, out);
	default:
		return mt_expr_print(program, &frame, text, false, out);
	}
}

/* Prints also what came out before an error. */
static struct mt_error *show(struct mt_error *error, const struct mt_str *out)
{
	if (out->text && !out->failed)
		prompt_printf("%s", out->text);
	return error ? error : out->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *prompt_evaluate(struct prompt *prompt, const char *rest, int evaluation)
{
	mt_auto(mt_str) struct mt_str out = {0};

	if (!*rest && evaluation == PROMPT_SET_VARIABLE)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (expression to compute).");
	if (!*rest && evaluation == PROMPT_INFO_SYMBOL)
		return mt_error_new(MT_ERROR_USAGE, "Argument required (address).");
	if ((evaluation == PROMPT_INFO_LOCALS || evaluation == PROMPT_INFO_ARGS) &&
	    !mt_debugger_selected_frame(prompt->debugger))
		return mt_error_new(MT_ERROR_USAGE, "No frame selected.");
	return show(evaluate(prompt, rest, evaluation, &out), &out);
}

static struct mt_error *run_x(struct prompt *prompt, const char *rest)
{
	struct mt_expr_format format = {.count = 1};
	const char *text = rest;

	if (*rest == '/')
		mt_try(mt_expr_format_parse(rest + 1, &format, &text));
	if (format.letter)
		prompt->examining.code = format.letter == 'i';
	if (prompt->examining.code)
		return prompt_examine_code(prompt, prompt_skip_blanks(text),
					   *rest ? format.count : 0);
	return prompt_evaluate(prompt, rest, PROMPT_EXAMINE);
}

struct scope {
	struct mt_expr_program *program;
	const char *location;
	struct mt_str out;
};

static struct mt_error *scope_at(void *context, const struct mt_location *location)
{
	struct scope *scope = context;

	return mt_expr_info_scope(scope->program, scope->location, location->address, &scope->out);
}

struct mt_error *prompt_info_scope(struct prompt *prompt, const char *rest)
{
	struct scope scope = {mt_debugger_expressions(prompt->debugger), rest, {0}};

	if (!*rest)
		return mt_error_new(MT_ERROR_USAGE, "requires an argument (a location)");
	struct mt_error *error =
	    show(mt_debugger_locate(prompt->debugger, rest, scope_at, &scope), &scope.out);
	mt_str_deinit(&scope.out);
	return error;
}

const struct prompt_command prompt_print_commands[] = {
    {.name = "print",
     .aliases = "p inspect",
     .usage = "[/FORMAT] [EXPRESSION]",
     .summary = "Print the value of an expression",
     .help = "FORMAT is x, d, u, o, t, c, a, f, s or z.  Without EXPRESSION: the last value.\n",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_PRINT},
    {.name = "output",
     .usage = "[/FORMAT] EXPRESSION",
     .summary = "Print a value without its number and a newline",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_OUTPUT},
    {.name = "x",
     .usage = "[/COUNT FORMAT SIZE] [ADDRESS]",
     .summary = "Print memory",
     .help = "FORMAT is as for \"print\", or i for instructions; SIZE is b, h, w or g.\n",
     .repeats = true,
     .run = run_x},
    {.name = "whatis",
     .usage = "EXPRESSION",
     .summary = "Print the type of an expression",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_WHATIS},
    {.name = "ptype",
     .usage = "[/FLAGS] EXPRESSION",
     .summary = "Print the definition of a type, or of an expression's type",
     .help = "FLAGS: o for offsets, sizes and holes (of C and C++), x for these in hexadecimal, m\n"
	     "without methods, t without typedefs; d, M, T for their opposites.\n",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_PTYPE},
    {.name = "printf",
     .usage = "\"FORMAT\", EXPRESSION...",
     .summary = "Print values as C's printf does",
     .run_variant = prompt_evaluate,
     .variant = PROMPT_PRINTF},
    {0},
};
