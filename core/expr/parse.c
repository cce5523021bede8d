/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grammar of C's expressions, by precedence; GDB's '@' stands between shifts and sums. */
#include "expr/node.h"

#include <ctype.h>
#include <string.h>

struct mt_node *mt_node_new(struct mt_parser *parser, enum mt_node_kind kind)
{
	struct mt_node *node = mt_arena_zalloc(&parser->expr->arena, sizeof(*node));

	if (node)
		node->kind = (uint8_t)kind;
	return node;
}

struct mt_error *mt_expect(struct mt_parser *parser, int op)
{
	if (!mt_token_is(parser, op))
		return mt_syntax_error(parser);
	return mt_lex(parser);
}

static struct mt_error *parse_unary(struct mt_parser *parser, struct mt_node **out);

/* 0: no binary operator. */
static int precedence(const struct mt_token *token)
{
	if (token->kind != MT_TOKEN_PUNCTUATOR)
		return 0;
	switch (token->op) {
	case MT_OP_OR:
		return 1;
	case MT_OP_AND:
		return 2;
	case '|':
		return 3;
	case '^':
		return 4;
	case '&':
		return 5;
	case MT_OP_EQUAL:
	case MT_OP_NOT_EQUAL:
		return 6;
	case '<':
	case '>':
	case MT_OP_LESS_EQUAL:
	case MT_OP_GREATER_EQUAL:
		return 7;
	case MT_OP_SHIFT_LEFT:
	case MT_OP_SHIFT_RIGHT:
		return 8;
	case '@':
		return 9;
	case '+':
	case '-':
		return 10;
	case '*':
	case '/':
	case '%':
		return 11;
	default:
		return 0;
	}
}

static struct mt_error *parse_binary(struct mt_parser *parser, int least, struct mt_node **out)
{
	mt_try(parse_unary(parser, out));
	/* Rust's casts: "x as u8". */
	while (parser->lookup.language == MT_LANGUAGE_RUST && parser->token.kind == MT_TOKEN_NAME &&
	       strcmp(parser->token.text, "as") == 0) {
		struct mt_node *cast = mt_node_new(parser, MT_NODE_CAST);

		if (!cast)
			return mt_error_no_memory();
		cast->left = *out;
		mt_try(mt_lex(parser));
		mt_try(mt_parse_type(parser, &cast->type));
		*out = cast;
	}
	for (;;) {
		int level = precedence(&parser->token);
		struct mt_node *node;

		if (level < least || !level || (parser->in_template && parser->token.op == '>'))
			return NULL;
		node = mt_node_new(parser, MT_NODE_BINARY);
		if (!node)
			return mt_error_no_memory();
		node->op = parser->token.op;
		node->left = *out;
		mt_try(mt_lex(parser));
		mt_try(parse_binary(parser, level + 1, &node->right));
		*out = node;
	}
}

static struct mt_error *parse_conditional(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_node *node;

	mt_try(parse_binary(parser, 1, out));
	if (!mt_token_is(parser, '?'))
		return NULL;
	node = mt_node_new(parser, MT_NODE_CONDITIONAL);
	if (!node)
		return mt_error_no_memory();
	node->left = *out;
	*out = node;
	mt_try(mt_lex(parser));
	mt_try(mt_parse_comma(parser, &node->right));
	mt_try(mt_expect(parser, ':'));
	return mt_parse_one(parser, &node->third);
}

static struct mt_error *parse_assignment(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_node *node;

	mt_try(parse_conditional(parser, out));
	if (!mt_token_is(parser, MT_OP_ASSIGN))
		return NULL;
	node = mt_node_new(parser, MT_NODE_ASSIGN);
	if (!node)
		return mt_error_no_memory();
	node->op = parser->token.other == '<'   ? MT_OP_SHIFT_LEFT
		   : parser->token.other == '>' ? MT_OP_SHIFT_RIGHT
						: parser->token.other;
	node->left = *out;
	*out = node;
	mt_try(mt_lex(parser));
	return mt_parse_one(parser, &node->right);
}

struct mt_error *mt_parse_one(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_error *error;

	if (parser->depth >= MT_PARSE_DEPTH)
		return mt_error_new(MT_ERROR_USAGE, "The expression is nested too deeply.");
	parser->depth++;
	error = parse_assignment(parser, out);
	parser->depth--;
	return error;
}

struct mt_error *mt_parse_comma(struct mt_parser *parser, struct mt_node **out)
{
	mt_try(mt_parse_one(parser, out));
	while (mt_token_is(parser, ',')) {
		struct mt_node *node = mt_node_new(parser, MT_NODE_BINARY);

		if (!node)
			return mt_error_no_memory();
		node->op = ',';
		node->left = *out;
		*out = node;
		mt_try(mt_lex(parser));
		mt_try(mt_parse_one(parser, &node->right));
	}
	return NULL;
}

static struct mt_error *make_unary(struct mt_parser *parser, enum mt_node_kind kind, int op,
				   struct mt_node *left, struct mt_node **out)
{
	*out = mt_node_new(parser, kind);
	if (!*out)
		return mt_error_no_memory();
	(*out)->op = op;
	(*out)->left = left;
	return NULL;
}

static struct mt_error *parse_type_node(struct mt_parser *parser, struct mt_node **out)
{
	*out = mt_node_new(parser, MT_NODE_TYPE);
	if (!*out)
		return mt_error_no_memory();
	return mt_parse_type(parser, &(*out)->type);
}

/* `sizeof x`, `sizeof (x)`, `sizeof (int)`. */
static struct mt_error *parse_sizeof(struct mt_parser *parser, enum mt_node_kind kind,
				     struct mt_node **out)
{
	struct mt_parser before;

	mt_try(make_unary(parser, kind, 0, NULL, out));
	mt_try(mt_lex(parser));
	if (mt_token_is(parser, '(')) {
		before = *parser;
		mt_try(mt_lex(parser));
		if (mt_type_begins(parser)) {
			mt_try(parse_type_node(parser, &(*out)->left));
			return mt_expect(parser, ')');
		}
		*parser = before;
	}
	return parse_unary(parser, &(*out)->left);
}

/* `object.Class::member`: the class, which may be a base of the object's. */
static struct mt_error *split_scope(struct mt_parser *parser, struct mt_node *node)
{
	struct mt_found found;
	size_t scope_length;
	const char *member = mt_name_last_part(node->name, &scope_length);
	char *scope;

	if (!scope_length)
		return NULL;
	scope = mt_arena_text(&parser->expr->arena, node->name, scope_length);
	if (!scope)
		return mt_error_no_memory();
	mt_lookup_name(&parser->lookup, scope, &found);
	if (found.kind != MT_FOUND_TYPE)
		return mt_no_symbol(scope);
	node->type = found.type;
	node->name = member;
	return NULL;
}

static struct mt_error *parse_member(struct mt_parser *parser, bool through_pointer,
				     struct mt_node **out)
{
	struct mt_node *node;

	mt_try(make_unary(parser, MT_NODE_MEMBER, 0, *out, &node));
	node->through_pointer = through_pointer;
	mt_try(mt_lex(parser));
	if (parser->lookup.language == MT_LANGUAGE_GO && !through_pointer &&
	    mt_token_is(parser, '('))
		return mt_parse_go_assertion(parser, out);
	/* Rust's tuples: x.0 */
	if (parser->token.kind == MT_TOKEN_NUMBER) {
		node->name =
		    mt_arena_format(&parser->expr->arena, "__%.*s",
				    (int)(parser->next - parser->token.start), parser->token.start);
		if (!node->name)
			return mt_error_no_memory();
		*out = node;
		return mt_lex(parser);
	}
	if (parser->token.kind != MT_TOKEN_NAME)
		return mt_syntax_error(parser);
	mt_try(mt_read_qualified(parser, (char **)&node->name));
	*out = node;
	return split_scope(parser, node);
}

/* From the ( on. */
static struct mt_error *parse_arguments(struct mt_parser *parser, struct mt_node *call)
{
	struct mt_node **argument = &call->right;

	mt_try(mt_lex(parser));
	while (!mt_token_is(parser, ')')) {
		mt_try(mt_parse_one(parser, argument));
		argument = &(*argument)->next;
		if (!mt_token_is(parser, ','))
			break;
		mt_try(mt_lex(parser));
	}
	return mt_expect(parser, ')');
}

static struct mt_error *parse_postfix(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_node *node;

	for (;;) {
		if (parser->token.kind != MT_TOKEN_PUNCTUATOR)
			return NULL;
		switch (parser->token.op) {
		case '.':
		case MT_OP_ARROW:
			mt_try(parse_member(parser, parser->token.op == MT_OP_ARROW, out));
			break;
		case '[':
			mt_try(make_unary(parser, MT_NODE_INDEX, 0, *out, &node));
			mt_try(mt_lex(parser));
			mt_try(mt_parse_comma(parser, &node->right));
			mt_try(mt_expect(parser, ']'));
			*out = node;
			break;
		case '(':
			mt_try(make_unary(parser, MT_NODE_CALL, 0, *out, &node));
			mt_try(parse_arguments(parser, node));
			*out = node;
			break;
		case MT_OP_INCREMENT:
		case MT_OP_DECREMENT:
			mt_try(make_unary(parser, MT_NODE_UNARY, parser->token.op, *out, &node));
			node->postfix = true;
			mt_try(mt_lex(parser));
			*out = node;
			break;
		default:
			return NULL;
		}
	}
}

static bool is_cxx_cast(const char *name)
{
	return strcmp(name, "static_cast") == 0 || strcmp(name, "reinterpret_cast") == 0 ||
	       strcmp(name, "const_cast") == 0 || strcmp(name, "dynamic_cast") == 0;
}

static struct mt_error *parse_word(struct mt_parser *parser, struct mt_node **out)
{
	const char *name = parser->token.text;

	if (strcmp(name, "sizeof") == 0)
		return parse_sizeof(parser, MT_NODE_SIZEOF, out);
	if (strcmp(name, "alignof") == 0 || strcmp(name, "_Alignof") == 0)
		return parse_sizeof(parser, MT_NODE_ALIGNOF, out);
	if (mt_go_length_begins(parser))
		return mt_parse_go_length(parser, out);
	if (is_cxx_cast(name)) {
		mt_try(make_unary(parser, MT_NODE_CAST, 0, NULL, out));
		mt_try(mt_lex(parser));
		mt_try(mt_expect(parser, '<'));
		mt_try(mt_parse_type(parser, &(*out)->type));
		mt_try(mt_expect(parser, '>'));
		mt_try(mt_expect(parser, '('));
		mt_try(mt_parse_comma(parser, &(*out)->left));
		mt_try(mt_expect(parser, ')'));
		return parse_postfix(parser, out);
	}
	if (mt_type_begins(parser)) {
		mt_try(parse_type_node(parser, out));
		/* C++: int(x) */
		if (mt_token_is(parser, '(')) {
			struct mt_node *cast;

			mt_try(make_unary(parser, MT_NODE_CAST, 0, NULL, &cast));
			cast->type = (*out)->type;
			mt_try(mt_lex(parser));
			mt_try(mt_parse_comma(parser, &cast->left));
			*out = cast;
			return mt_expect(parser, ')');
		}
		return NULL;
	}
	mt_try(mt_parse_name(parser, out));
	return parse_postfix(parser, out);
}

static struct mt_error *parse_literal(struct mt_parser *parser, struct mt_node **out)
{
	mt_try(make_unary(parser, MT_NODE_VALUE, 0, NULL, out));
	(*out)->value = parser->token.value;
	bool is_string = parser->token.kind == MT_TOKEN_STRING;
	mt_try(mt_lex(parser));
	while (is_string && parser->token.kind == MT_TOKEN_STRING)
		mt_try(mt_lex_join(parser, &(*out)->value));
	return parse_postfix(parser, out);
}

static struct mt_error *parse_prefix(struct mt_parser *parser, struct mt_node **out)
{
	int op = parser->token.op;

	mt_try(make_unary(parser, MT_NODE_UNARY, op, NULL, out));
	mt_try(mt_lex(parser));
	return parse_unary(parser, &(*out)->left);
}

static struct mt_error *parse_operand(struct mt_parser *parser, struct mt_node **out)
{
	switch (parser->token.kind) {
	case MT_TOKEN_NUMBER:
	case MT_TOKEN_STRING:
		return parse_literal(parser, out);
	case MT_TOKEN_NAME:
		return parse_word(parser, out);
	case MT_TOKEN_DOLLAR:
		mt_try(mt_parse_name(parser, out));
		return parse_postfix(parser, out);
	case MT_TOKEN_PUNCTUATOR:
		break;
	default:
		return mt_syntax_error(parser);
	}
	switch (parser->token.op) {
	case '*':
	case '&':
	case '-':
	case '+':
	case '!':
	case '~':
	case MT_OP_INCREMENT:
	case MT_OP_DECREMENT:
		return parse_prefix(parser, out);
	case MT_OP_AND: /* &&label is no address: of the address of something */
		return mt_syntax_error(parser);
	case '(': {
		/* `(int) x` and `(x)`. */
		unsigned in_template = parser->in_template;

		mt_try(mt_lex(parser));
		parser->in_template = 0;
		if (mt_type_begins(parser)) {
			struct mt_type *type = NULL;

			mt_try(mt_parse_type(parser, &type));
			parser->in_template = in_template;
			mt_try(mt_expect(parser, ')'));
			mt_try(make_unary(parser, MT_NODE_CAST, 0, NULL, out));
			(*out)->type = type;
			return parse_unary(parser, &(*out)->left);
		}
		mt_try(mt_parse_comma(parser, out));
		parser->in_template = in_template;
		mt_try(mt_expect(parser, ')'));
		return parse_postfix(parser, out);
	}
	case '{':
		/* `{type} address` */
		mt_try(make_unary(parser, MT_NODE_AT_ADDRESS, 0, NULL, out));
		mt_try(mt_lex(parser));
		if (!mt_type_begins(parser))
			return mt_syntax_error(parser);
		mt_try(mt_parse_type(parser, &(*out)->type));
		mt_try(mt_expect(parser, '}'));
		return parse_unary(parser, &(*out)->left);
	case MT_OP_SCOPE:
		mt_try(mt_parse_name(parser, out));
		return parse_postfix(parser, out);
	default:
		return mt_syntax_error(parser);
	}
}

static struct mt_error *parse_unary(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_error *error;

	if (parser->depth >= MT_PARSE_DEPTH)
		return mt_error_new(MT_ERROR_USAGE, "The expression is nested too deeply.");
	parser->depth++;
	error = parse_operand(parser, out);
	parser->depth--;
	return error;
}

static struct mt_error *parse_all(struct mt_parser *parser)
{
	mt_try(mt_lookup_init(&parser->lookup, parser->program, parser->lookup.frame));
	parser->expr->language = parser->lookup.language;
	mt_try(mt_lex(parser));
	if (parser->token.kind == MT_TOKEN_END)
		return NULL;
	mt_try(mt_parse_comma(parser, &parser->expr->root));
	return parser->token.kind == MT_TOKEN_END ? NULL : mt_syntax_error(parser);
}

struct mt_error *mt_expr_parse(struct mt_expr_program *program, const struct mt_expr_frame *frame,
			       const char *text, struct mt_expr **out)
{
	struct mt_expr *expr = calloc(1, sizeof(*expr));
	struct mt_parser *parser = calloc(1, sizeof(*parser));
	struct mt_error *error = NULL;

	if (expr)
		expr->text = strdup(text);
	if (!expr || !parser || !expr->text) {
		error = mt_error_no_memory();
	} else {
		expr->program = program;
		parser->program = program;
		parser->expr = expr;
		parser->start = parser->next = expr->text;
		parser->lookup.frame = frame;
		error = parse_all(parser);
	}
	free(parser);
	if (error)
		mt_expr_destroy(expr);
	else
		*out = expr;
	return error;
}

void mt_expr_destroy(struct mt_expr *expr)
{
	if (!expr)
		return;
	mt_arena_deinit(&expr->arena);
	free(expr->text);
	free(expr);
}
