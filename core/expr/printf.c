/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `printf "FORMAT", ARGUMENTS`: C's conversions, each with a value of the program. */
#include "expr/node.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct formatting {
	struct mt_parser *parser;
	struct mt_eval eval;
	struct mt_str *out;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* SPEC is "%", flags and width, which were looked at. */
static struct mt_error *append_number(struct formatting *this, const char *spec, char letter,
				      struct mt_value *value)
{
	char format[32];
	uint64_t bits;
	long double number;

	if (strchr("eEfFgGaA", letter)) {
		mt_try(mt_value_get_float(&this->eval, value, &number));
		snprintf(format, sizeof(format), "%sL%c", spec, letter);
		mt_str_appendf(this->out, format, number);
		return NULL;
	}
	mt_try(mt_value_decay(&this->eval, value));
	mt_try(mt_value_get(&this->eval, value, &bits));
	if (letter == 'c') {
		snprintf(format, sizeof(format), "%sc", spec);
		mt_str_appendf(this->out, format, (int)bits);
		return NULL;
	}
	if (letter == 'p') {
		mt_str_appendf(this->out, bits ? "0x%llx" : "(nil)", (unsigned long long)bits);
		return NULL;
	}
	snprintf(format, sizeof(format), "%sll%c", spec, letter);
	mt_str_appendf(this->out, format, (unsigned long long)bits);
	return NULL;
}
#pragma GCC diagnostic pop

/* AT is behind a '%'. */
static struct mt_error *conversion(struct formatting *this, const char **at)
{
	char spec[16] = "%";
	size_t length = 1;
	unsigned longs = 0;
	struct mt_value value;

	/* A width of seven characters is all that is believed. */
	while (**at && strchr("-+ #0123456789.", **at) && length < 8)
		spec[length++] = *(*at)++;
	spec[length] = '\0';
	while (**at == 'l' || **at == 'h' || **at == 'z') {
		longs += **at != 'h';
		++*at;
	}
	if (**at == '%') {
		++*at;
		mt_str_append(this->out, "%");
		return NULL;
	}
	if (!**at || !strchr("diouxXcspeEfFgGaA", **at))
		return mt_error_new(MT_ERROR_USAGE, "Unrecognized format specifier '%c' in printf",
				    **at);
	struct mt_node *node;

	if (!mt_token_is(this->parser, ','))
		return mt_error_new(MT_ERROR_USAGE,
				    "Wrong number of arguments for specified format-string");
	mt_try(mt_lex(this->parser));
	mt_try(mt_parse_one(this->parser, &node));
	this->eval.language = this->parser->lookup.language;
	mt_try(mt_eval(&this->eval, node, &value));
	if (**at == 's') {
		++*at;
		/* A string of the program's, to its NUL. */
		const struct mt_expr_frame *frame = this->eval.frame;
		uint64_t address;
		char c;

		mt_try(mt_value_decay(&this->eval, &value));
		mt_try(mt_value_get(&this->eval, &value, &address));
		for (unsigned i = 0; i < 1u << 16; i++) {
			if (!frame->ops ||
			    frame->ops->read(frame->context, address + i, &c, 1) != 1)
				return mt_error_new(MT_ERROR_NOT_FOUND,
						    "Cannot access memory at address 0x%" PRIx64,
						    address + i);
			if (!c)
				break;
			mt_str_append_bytes(this->out, &c, 1);
		}
		return NULL;
	}
	/* As C passes them: an int where no `l` stands. */
	if (!longs && strchr("dixXuo", **at)) {
		struct mt_value narrow;

		mt_try(mt_value_decay(&this->eval, &value));
		mt_try(mt_value_cast(&this->eval, &value,
				     mt_type_builtin(this->eval.program, strchr("di", **at)
									     ? MT_BUILTIN_INT
									     : MT_BUILTIN_UINT),
				     &narrow));
		value = narrow;
	}
	return append_number(this, spec, *(*at)++, &value);
}

static struct mt_error *run(struct formatting *this)
{
	struct mt_value text;
	const char *at;

	mt_try(mt_lookup_init(&this->parser->lookup, this->eval.program, this->eval.frame));
	mt_try(mt_lex(this->parser));
	if (this->parser->token.kind != MT_TOKEN_STRING)
		return mt_error_new(MT_ERROR_USAGE, "Bad format string");
	text = this->parser->token.value;
	mt_try(mt_lex(this->parser));
	for (at = (const char *)mt_value_bytes(&text); *at;) {
		if (*at != '%') {
			mt_str_append_bytes(this->out, at++, 1);
			continue;
		}
		at++;
		mt_try(conversion(this, &at));
	}
	if (this->parser->token.kind != MT_TOKEN_END)
		return mt_error_new(MT_ERROR_USAGE,
				    "Wrong number of arguments for specified format-string");
	return NULL;
}

struct mt_error *mt_expr_printf(struct mt_expr_program *program, const struct mt_expr_frame *frame,
				const char *text, struct mt_str *out)
{
	struct mt_arena arena = {0};
	struct mt_expr expr = {.program = program};
	struct mt_parser *parser = calloc(1, sizeof(*parser));
	struct formatting this = {
	    .parser = parser,
	    .eval = {.program = program, .frame = frame, .arena = &arena},
	    .out = out,
	};
	struct mt_error *error;

	if (!parser)
		return mt_error_no_memory();
	parser->program = program;
	parser->expr = &expr;
	parser->start = parser->next = text;
	parser->lookup.frame = frame;
	error = run(&this);
	mt_arena_deinit(&expr.arena);
	mt_arena_deinit(&arena);
	free(parser);
	return error ? error : out->failed ? mt_error_no_memory() : NULL;
}
