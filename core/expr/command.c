/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole commands: print, whatis, ptype, output, info symbol. */
#include "expr/node.h"

#include <ctype.h>
#include <string.h>

/* "/x" before the expression. */
static struct mt_error *take_format(const char **text, struct mt_expr_format *format)
{
	*format = (struct mt_expr_format){.count = 1};
	while (isspace((unsigned char)**text))
		++*text;
	if (**text != '/')
		return NULL;
	return mt_expr_format_parse(*text + 1, format, text);
}

static struct mt_error *evaluate_text(struct mt_expr_program *program,
				      const struct mt_expr_frame *frame, const char *text,
				      struct mt_value **out)
{
	struct mt_expr *expr = NULL;
	struct mt_error *error;

	if (!*text) {
		/* `print` alone shows the last value again. */
		struct mt_value last;

		mt_try(mt_history_get(program, false, 0, &last));
		return mt_value_hand_out(&last, out);
	}
	mt_try(mt_expr_parse(program, frame, text, &expr));
	if (expr->root && expr->root->kind == MT_NODE_TYPE)
		error = mt_error_new(MT_ERROR_USAGE, "Attempt to use a type name as an expression");
	else
		error = mt_expr_evaluate(expr, frame, out);
	mt_expr_destroy(expr);
	return error;
}

static struct mt_error *record_and_print(struct mt_expr_program *program,
					 const struct mt_expr_frame *frame,
					 const struct mt_value *value,
					 const struct mt_expr_format *format, struct mt_str *out)
{
	unsigned number;

	mt_try(mt_expr_record(program, value, &number));
	mt_str_appendf(out, "$%u = ", number);
	mt_try(mt_value_print(value, frame, format, out));
	mt_str_append(out, "\n");
	return NULL;
}

struct mt_error *mt_expr_print(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, bool silent, struct mt_str *out)
{
	struct mt_expr_format format;
	struct mt_value *value = NULL;
	struct mt_error *error;
	size_t before = out->length;

	/* "/r" without a letter means the last one. */
	bool is_told;

	while (isspace((unsigned char)*text))
		++text;
	is_told = *text == '/';
	mt_try(take_format(&text, &format));
	if (format.size)
		return mt_error_new(MT_ERROR_USAGE,
				    "Size letters are meaningless in \"print\" command.");
	if (format.count != 1)
		return mt_error_new(MT_ERROR_USAGE,
				    "Item count other than 1 is meaningless in \"print\" command.");
	if (format.letter == 'i')
		return mt_error_new(MT_ERROR_USAGE,
				    "Format letter \"i\" is meaningless in \"print\" command.");
	if (is_told && !format.letter)
		format.letter = program->user->last_letter;
	else if (is_told)
		program->user->last_letter = format.letter;
	mt_try(evaluate_text(program, frame, text, &value));
	error = silent ? NULL : record_and_print(program, frame, value, &format, out);
	mt_value_destroy(value);
	if (error && out->text) {
		out->length = before;
		out->text[before] = '\0';
	}
	return error;
}

struct mt_error *mt_expr_output(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out)
{
	struct mt_expr_format format;
	struct mt_value *value = NULL;
	struct mt_error *error;

	mt_try(take_format(&text, &format));
	mt_try(evaluate_text(program, frame, text, &value));
	error = mt_value_print(value, frame, &format, out);
	mt_value_destroy(value);
	return error;
}

/* The type alone: nothing is written, and what was optimized out does not matter. */
static struct mt_error *type_of_text(struct mt_expr_program *program,
				     const struct mt_expr_frame *frame, const char *text,
				     struct mt_type **type, bool *is_type)
{
	struct mt_expr *expr = NULL;
	struct mt_arena arena = {0};
	struct mt_eval eval = {
	    .program = program, .frame = frame, .arena = &arena, .no_side_effects = true};
	struct mt_value value;
	struct mt_error *error;

	mt_try(mt_expr_parse(program, frame, text, &expr));
	*is_type = expr->root && expr->root->kind == MT_NODE_TYPE;
	eval.language = expr->language;
	if (!expr->root) {
		mt_expr_destroy(expr);
		return mt_error_new(MT_ERROR_USAGE,
				    "The history is empty, or an expression is missing.");
	}
	error = *is_type ? NULL : mt_eval(&eval, expr->root, &value);
	if (!error)
		*type = *is_type ? expr->root->type : value.type;
	mt_arena_deinit(&arena);
	mt_expr_destroy(expr);
	return error;
}

/* "/ox" before the expression of `ptype` and `whatis`; IS_WHOLE: `ptype`. */
static struct mt_error *take_flags(const char **text, bool is_whole, struct mt_type_flags *flags)
{
	const char *c = *text;

	*flags = (struct mt_type_flags){0};
	if (*c != '/')
		return NULL;
	for (c++; *c && !isspace((unsigned char)*c); c++) {
		if (!strchr("rmMtToxd", *c))
			return mt_error_new(MT_ERROR_USAGE, "unrecognized flag '%c'", *c);
		if (*c == 'o' && is_whole)
			flags->offsets = flags->no_methods = flags->no_typedefs = true;
		else if (*c == 'm' || *c == 'M')
			flags->no_methods = *c == 'm';
		else if (*c == 't' || *c == 'T')
			flags->no_typedefs = *c == 't';
		else if (*c == 'x' || *c == 'd')
			flags->hex = *c == 'x';
	}
	if (!*c)
		return mt_error_new(MT_ERROR_USAGE, c == *text + 1 ? "flag expected"
								   : "expected space after format");
	while (isspace((unsigned char)*c))
		c++;
	*text = c;
	return NULL;
}

/* Of a typedef, what it stands for: one step. */
struct mt_error *mt_expr_whatis(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out)
{
	struct mt_type_flags flags;
	struct mt_type *type = NULL;
	bool is_type = false;

	mt_try(take_flags(&text, false, &flags));
	mt_try(type_of_text(program, frame, text, &type, &is_type));
	if (is_type && type->kind == MT_TYPE_TYPEDEF)
		type = mt_type_target(type);
	mt_str_append(out, "type = ");
	mt_type_name(type, NULL, out);
	mt_str_append(out, "\n");
	return out->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_expr_ptype(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_str *out)
{
	struct mt_type_flags flags;
	struct mt_type *type = NULL;
	bool is_type = false;

	mt_try(take_flags(&text, true, &flags));
	mt_try(type_of_text(program, frame, text, &type, &is_type));
	if (flags.offsets && type->language == MT_LANGUAGE_RUST)
		return mt_error_new(MT_ERROR_UNSUPPORTED,
				    "ptype/o shows types of C and C++, not of Rust.");
	if (type->language == MT_LANGUAGE_GO)
		flags.offsets = false;
	if (flags.offsets && mt_type_is_aggregate(mt_type_unqualified(type)))
		mt_str_append(out, "/* offset      |    size */  ");
	mt_str_append(out, "type = ");
	mt_type_describe(type, flags, out);
	mt_str_append(out, "\n");
	return out->failed ? mt_error_no_memory() : NULL;
}
