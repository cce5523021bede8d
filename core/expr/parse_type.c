/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of types: `unsigned long`, `struct node *`, `int (*)[3]`, `void (*)(int)`. */
#include "expr/node.h"

#include <stdlib.h>
#include <string.h>

enum word {
	WORD_NONE,
	WORD_UNSIGNED,
	WORD_SIGNED,
	WORD_LONG,
	WORD_SHORT,
	WORD_INT,
	WORD_CHAR,
	WORD_FLOAT,
	WORD_DOUBLE,
	WORD_VOID,
	WORD_BOOL,
	WORD_INT128,
	WORD_STRUCT,
	WORD_UNION,
	WORD_CLASS,
	WORD_ENUM,
	WORD_CONST,
	WORD_VOLATILE,
	WORD_RESTRICT,
	WORD_TYPENAME,
	WORD_COUNT,
};

static const char *const words[WORD_COUNT] = {
    "",      "unsigned", "signed", "long",     "short",    "int",      "char",
    "float", "double",   "void",   "_Bool",    "__int128", "struct",   "union",
    "class", "enum",     "const",  "volatile", "restrict", "typename",
};

static enum word word_of(const struct mt_parser *parser)
{
	if (parser->token.kind != MT_TOKEN_NAME)
		return WORD_NONE;
	for (unsigned i = 1; i < WORD_COUNT; i++)
		if (strcmp(words[i], parser->token.text) == 0)
			/* In C these are names like others. */
			return parser->lookup.language == MT_LANGUAGE_C &&
				       (i == WORD_CLASS || i == WORD_TYPENAME)
				   ? WORD_NONE
				   : (enum word)i;
	return strcmp(parser->token.text, "__restrict") == 0 ? WORD_RESTRICT : WORD_NONE;
}

/* The type that the name here (with its scopes) stands for; NULL: none.  Tokens stay. */
static struct mt_type *named_type(struct mt_parser *parser, struct mt_parser *behind)
{
	struct mt_parser probe = *parser;
	struct mt_found found;
	char *name = NULL;
	struct mt_error *error = mt_read_qualified(&probe, &name);

	if (error) {
		mt_error_destroy(error);
		return NULL;
	}
	mt_lookup_name(&parser->lookup, name, &found);
	if (behind)
		*behind = probe;
	if (found.kind == MT_FOUND_TYPE)
		return found.type;
	if (found.kind)
		return NULL;
	if (strcmp(name, "bool") == 0 && parser->lookup.language != MT_LANGUAGE_C)
		return mt_type_builtin(parser->program, MT_BUILTIN_BOOL);
	return NULL;
}

bool mt_type_begins(struct mt_parser *parser)
{
	enum word word = word_of(parser);

	if (word != WORD_NONE)
		return true;
	return parser->token.kind == MT_TOKEN_NAME && named_type(parser, NULL);
}

struct specifiers {
	unsigned counts[WORD_COUNT];
	unsigned arithmetic; /* words that make a basic type */
	struct mt_type *type;
	bool is_const, is_volatile;
};

static enum mt_builtin basic_of(const struct specifiers *specifiers)
{
	if (specifiers->counts[WORD_VOID])
		return MT_BUILTIN_VOID;
	if (specifiers->counts[WORD_FLOAT])
		return MT_BUILTIN_FLOAT;
	if (specifiers->counts[WORD_DOUBLE])
		return specifiers->counts[WORD_LONG] ? MT_BUILTIN_LDOUBLE : MT_BUILTIN_DOUBLE;
	if (specifiers->counts[WORD_BOOL])
		return MT_BUILTIN_BOOL;
	if (specifiers->counts[WORD_CHAR])
		return specifiers->counts[WORD_UNSIGNED] ? MT_BUILTIN_UCHAR
		       : specifiers->counts[WORD_SIGNED] ? MT_BUILTIN_SCHAR
							 : MT_BUILTIN_CHAR;
	bool is_unsigned = specifiers->counts[WORD_UNSIGNED];

	if (specifiers->counts[WORD_INT128])
		return is_unsigned ? MT_BUILTIN_UINT128 : MT_BUILTIN_INT128;
	if (specifiers->counts[WORD_LONG] >= 2)
		return is_unsigned ? MT_BUILTIN_ULLONG : MT_BUILTIN_LLONG;
	if (specifiers->counts[WORD_LONG])
		return is_unsigned ? MT_BUILTIN_ULONG : MT_BUILTIN_LONG;
	if (specifiers->counts[WORD_SHORT])
		return is_unsigned ? MT_BUILTIN_USHORT : MT_BUILTIN_SHORT;
	return is_unsigned ? MT_BUILTIN_UINT : MT_BUILTIN_INT;
}

static struct mt_error *read_specifier(struct mt_parser *parser, struct specifiers *specifiers,
				       bool *is_done)
{
	enum word word = word_of(parser);
	struct mt_parser behind;

	switch (word) {
	case WORD_NONE:
		if (specifiers->type || specifiers->arithmetic ||
		    parser->token.kind != MT_TOKEN_NAME ||
		    !(specifiers->type = named_type(parser, &behind))) {
			*is_done = true;
			return NULL;
		}
		*parser = behind;
		return NULL;
	case WORD_STRUCT:
	case WORD_UNION:
	case WORD_CLASS:
	case WORD_ENUM: {
		struct mt_type **type = &specifiers->type;
		char *name;

		mt_try(mt_lex(parser));
		if (parser->token.kind != MT_TOKEN_NAME)
			return mt_syntax_error(parser);
		mt_try(mt_read_qualified(parser, &name));
		*type = mt_lookup_tag(&parser->lookup, name,
				      word == WORD_ENUM ? MT_NAME_ENUM : MT_NAME_STRUCT);
		if (*type)
			return NULL;
		return mt_error_new(MT_ERROR_NOT_FOUND, "No %s type named %s.",
				    word == WORD_CLASS ? "struct" : words[word], name);
	}
	case WORD_CONST:
		specifiers->is_const = true;
		break;
	case WORD_VOLATILE:
		specifiers->is_volatile = true;
		break;
	case WORD_RESTRICT:
	case WORD_TYPENAME:
		break;
	default:
		specifiers->counts[word]++;
		specifiers->arithmetic++;
	}
	return mt_lex(parser);
}

static struct mt_error *read_stars(struct mt_parser *parser, struct mt_type **type)
{
	for (;;) {
		bool is_const = false, is_volatile = false;

		if (mt_token_is(parser, '*'))
			*type = mt_type_pointer_to(*type);
		else if (mt_token_is(parser, '&') || mt_token_is(parser, MT_OP_AND))
			*type = mt_type_reference_to(*type, parser->token.op == MT_OP_AND);
		else
			return NULL;
		mt_try(mt_lex(parser));
		for (enum word word = word_of(parser);
		     word == WORD_CONST || word == WORD_VOLATILE || word == WORD_RESTRICT;
		     word = word_of(parser)) {
			is_const |= word == WORD_CONST;
			is_volatile |= word == WORD_VOLATILE;
			mt_try(mt_lex(parser));
		}
		*type = *type ? mt_type_qualify(*type, is_const, is_volatile) : NULL;
		if (!*type)
			return mt_error_no_memory();
	}
}

static struct mt_error *read_parameters(struct mt_parser *parser, struct mt_type **type)
{
	struct mt_type *function = mt_type_function_returning(*type), *parameter;
	MT_ARRAY(struct mt_member) list = {0};
	struct mt_error *error = function ? mt_lex(parser) : mt_error_no_memory();

	while (!error && !mt_token_is(parser, ')')) {
		if (mt_token_is(parser, MT_OP_ELLIPSIS)) {
			function->is_varargs = true;
			error = mt_lex(parser);
			break;
		}
		error = mt_parse_type(parser, &parameter);
		if (!error && mt_array_push(&list, ((struct mt_member){.type = parameter})))
			error = mt_error_no_memory();
		if (error || !mt_token_is(parser, ','))
			break;
		error = mt_lex(parser);
	}
	if (!error)
		error = mt_expect(parser, ')');
	if (!error) {
		bool is_void = list.count == 1 && list.items[0].type->kind == MT_TYPE_VOID;

		function->is_prototyped = list.count > 0;
		function->members = mt_arena_copy(&parser->program->arena, list.items,
						  list.count * sizeof(*list.items));
		function->member_count = is_void || !function->members ? 0 : list.count;
		*type = function;
	}
	mt_array_deinit(&list);
	return error;
}

/* The suffixes: [3], (int).  Arrays of arrays are read from the left. */
static struct mt_error *read_suffix(struct mt_parser *parser, struct mt_type **type)
{
	uint64_t count = 0;

	if (parser->depth >= MT_PARSE_DEPTH)
		return mt_error_new(MT_ERROR_USAGE, "The expression is nested too deeply.");
	if (mt_token_is(parser, '(')) {
		mt_try(read_parameters(parser, type));
		return read_suffix(parser, type);
	}
	if (!mt_token_is(parser, '['))
		return NULL;
	mt_try(mt_lex(parser));
	if (parser->token.kind == MT_TOKEN_NUMBER) {
		memcpy(&count, parser->token.value.small, sizeof(count));
		mt_try(mt_lex(parser));
		if (count > INT32_MAX)
			return mt_error_new(MT_ERROR_USAGE, "The array is too large.");
	} else {
		count = UINT64_MAX;
	}
	mt_try(mt_expect(parser, ']'));
	parser->depth++;
	mt_try(read_suffix(parser, type));
	parser->depth--;
	*type = mt_type_array_of(*type, 0, (int64_t)count);
	return *type ? NULL : mt_error_no_memory();
}

struct mt_error *mt_parse_type(struct mt_parser *parser, struct mt_type **out)
{
	struct mt_parser inner, end;
	struct mt_type *unused = mt_type_builtin(parser->program, MT_BUILTIN_INT);

	*out = NULL;
	if (parser->depth >= MT_PARSE_DEPTH)
		return mt_error_new(MT_ERROR_USAGE, "The expression is nested too deeply.");
	struct specifiers specifiers = {0};
	bool is_done = false;

	while (!is_done)
		mt_try(read_specifier(parser, &specifiers, &is_done));
	if (!specifiers.type && !specifiers.arithmetic)
		return mt_syntax_error(parser);
	if (!specifiers.type)
		specifiers.type = mt_type_builtin(parser->program, basic_of(&specifiers));
	*out = mt_type_qualify(specifiers.type, specifiers.is_const, specifiers.is_volatile);
	mt_try(*out ? NULL : mt_error_no_memory());
	mt_try(read_stars(parser, out));
	/* "(*)" between the base and what stands behind it: the stars apply last. */
	struct mt_parser probe = *parser;
	struct mt_error *error;
	bool begins;

	if (!mt_token_is(parser, '('))
		return read_suffix(parser, out);
	error = mt_lex(&probe);
	begins = !error && (mt_token_is(&probe, '*') || mt_token_is(&probe, '&'));
	mt_error_destroy(error);
	if (!begins)
		return read_suffix(parser, out);
	/* First over the inner part, for what it applies to; then back for it. */
	inner = *parser;
	mt_try(mt_lex(parser));
	mt_try(read_stars(parser, &unused));
	mt_try(read_suffix(parser, &unused));
	mt_try(mt_expect(parser, ')'));
	mt_try(read_suffix(parser, out));
	end = *parser;
	*parser = inner;
	mt_try(mt_lex(parser));
	mt_try(read_stars(parser, out));
	mt_try(read_suffix(parser, out));
	*parser = end;
	return NULL;
}
