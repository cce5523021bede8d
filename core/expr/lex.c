/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens of C's expressions, and GDB's: $names, '@', quoted names. */
#include "expr/node.h"

#include <ctype.h>
#include <string.h>

static const struct punctuator {
	char text[4];
	short op;
	short other;
} punctuators[] = {
    {"<<=", MT_OP_ASSIGN, '<'},     {">>=", MT_OP_ASSIGN, '>'},   {"...", MT_OP_ELLIPSIS, 0},
    {"->", MT_OP_ARROW, 0},         {"++", MT_OP_INCREMENT, 0},   {"--", MT_OP_DECREMENT, 0},
    {"<<", MT_OP_SHIFT_LEFT, 0},    {">>", MT_OP_SHIFT_RIGHT, 0}, {"<=", MT_OP_LESS_EQUAL, 0},
    {">=", MT_OP_GREATER_EQUAL, 0}, {"==", MT_OP_EQUAL, 0},       {"!=", MT_OP_NOT_EQUAL, 0},
    {"&&", MT_OP_AND, 0},           {"||", MT_OP_OR, 0},          {"::", MT_OP_SCOPE, 0},
    {"+=", MT_OP_ASSIGN, '+'},      {"-=", MT_OP_ASSIGN, '-'},    {"*=", MT_OP_ASSIGN, '*'},
    {"/=", MT_OP_ASSIGN, '/'},      {"%=", MT_OP_ASSIGN, '%'},    {"&=", MT_OP_ASSIGN, '&'},
    {"|=", MT_OP_ASSIGN, '|'},      {"^=", MT_OP_ASSIGN, '^'},    {"=", MT_OP_ASSIGN, 0},
};

struct mt_error *mt_syntax_error(const struct mt_parser *parser)
{
	return mt_error_new(MT_ERROR_USAGE, "A syntax error in expression, near `%s'.",
			    parser->token.start ? parser->token.start : "");
}

static bool begins_name(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool in_name(char c)
{
	return begins_name(c) || isdigit((unsigned char)c) || c == '$';
}

static struct mt_error *take_text(struct mt_parser *parser, uint8_t kind, const char *text,
				  size_t length)
{
	parser->token.kind = kind;
	parser->token.text = mt_arena_text(&parser->expr->arena, text, length);
	return parser->token.text ? NULL : mt_error_no_memory();
}

static struct mt_error *take_name(struct mt_parser *parser, uint8_t kind)
{
	const char *start = parser->next, *end = start + (kind == MT_TOKEN_DOLLAR);

	while (in_name(*end))
		end++;
	parser->next = end;
	return take_text(parser, kind, start, (size_t)(end - start));
}

/* 'c' is a character; 'some name' is a symbol with characters that names do not have. */
static struct mt_error *take_quoted(struct mt_parser *parser)
{
	const char *start = parser->next + 1, *end = strchr(start, '\'');

	if (end && *start != '\\' && end - start > 1 && !(*start & 0x80)) {
		parser->next = end + 1;
		return take_text(parser, MT_TOKEN_NAME, start, (size_t)(end - start));
	}
	parser->token.kind = MT_TOKEN_NUMBER;
	return mt_lex_char(parser, &parser->next, &parser->token.value);
}

/* Rust's b'c' is a number. */
static struct mt_error *take_byte(struct mt_parser *parser)
{
	uint64_t code;

	parser->next++;
	parser->token.kind = MT_TOKEN_NUMBER;
	mt_try(mt_lex_char(parser, &parser->next, &parser->token.value));
	code = mt_value_bytes(&parser->token.value)[0];
	parser->token.value =
	    mt_value_integer(mt_type_builtin(parser->program, MT_BUILTIN_UINT), code);
	return NULL;
}

static bool is_prefixed(const char *at, char quote)
{
	return ((*at == 'L' || *at == 'u' || *at == 'U') && at[1] == quote);
}

struct mt_error *mt_lex(struct mt_parser *parser)
{
	/* Of Rust's tuples: x.0 */
	uint8_t before = parser->token.kind;

	while (isspace((unsigned char)*parser->next))
		parser->next++;
	parser->token = (struct mt_token){.start = parser->next};
	if (!*parser->next)
		return NULL;
	if (isdigit((unsigned char)*parser->next) ||
	    (*parser->next == '.' && isdigit((unsigned char)parser->next[1]) &&
	     (parser->lookup.language != MT_LANGUAGE_RUST || before != MT_TOKEN_NAME))) {
		/* Digits, and what belongs to a number: 1e-5, 0x1f, 10ul. */
		const char *start = parser->next, *end = start;
		bool is_hex = end[0] == '0' && (end[1] == 'x' || end[1] == 'X');

		while (
		    isalnum((unsigned char)*end) || *end == '.' || *end == '_' ||
		    ((*end == '+' || *end == '-') && (is_hex ? end[-1] == 'p' || end[-1] == 'P'
							     : end[-1] == 'e' || end[-1] == 'E')))
			end++;
		parser->next = end;
		parser->token.kind = MT_TOKEN_NUMBER;
		return mt_lex_number(parser, start, (size_t)(end - start), &parser->token.value);
	}
	if (*parser->next == '\'')
		return take_quoted(parser);
	if (parser->lookup.language == MT_LANGUAGE_RUST && strncmp(parser->next, "b'", 2) == 0)
		return take_byte(parser);
	if (is_prefixed(parser->next, '\'')) {
		parser->token.kind = MT_TOKEN_NUMBER;
		return mt_lex_char(parser, &parser->next, &parser->token.value);
	}
	if (*parser->next == '"' || is_prefixed(parser->next, '"')) {
		parser->token.kind = MT_TOKEN_STRING;
		return mt_lex_string(parser, &parser->next, &parser->token.value);
	}
	if (*parser->next == '$')
		return take_name(parser, MT_TOKEN_DOLLAR);
	if (begins_name(*parser->next))
		return take_name(parser, MT_TOKEN_NAME);
	const char *at = parser->next;

	parser->token.kind = MT_TOKEN_PUNCTUATOR;
	for (size_t i = 0; i < sizeof(punctuators) / sizeof(*punctuators); i++) {
		size_t length = strlen(punctuators[i].text);

		if (strncmp(at, punctuators[i].text, length) != 0)
			continue;
		parser->token.op = punctuators[i].op;
		parser->token.other = punctuators[i].other;
		parser->next += length;
		return NULL;
	}
	if (!strchr("+-*/%&|^~!<>()[]{}.,?:@", (unsigned char)*at))
		return mt_error_new(MT_ERROR_USAGE, "Invalid character '%c' in expression.", *at);
	parser->token.op = (unsigned char)*at;
	parser->next++;
	return NULL;
}
