/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions as trees, with names looked up already; and what makes and walks them:
 *
 *	lex.c          text to tokens
 *	parse.c        tokens to trees, by precedence
 *	parse_type.c   names of types
 *	parse_name.c   what is looked up: variables, registers, $1
 *	eval.c         trees to values
 *	eval_binary.c  arithmetic, comparisons, pointers
 *	functions.c    $_streq and the like
 *	go.c           len(x), m["key"], x.(T)
 *	regex.c        the patterns of $_regex
 *	parts.c        types of values, and the parts of structures */
#ifndef MT_EXPR_NODE_H
#define MT_EXPR_NODE_H

#include "expr/expr.h"
#include "values/call_site.h"
#include "values/lookup.h"
#include "values/registers.h"

enum mt_token_kind {
	MT_TOKEN_END,
	MT_TOKEN_NUMBER, /* value */
	MT_TOKEN_STRING, /* value */
	MT_TOKEN_NAME,   /* text */
	MT_TOKEN_DOLLAR, /* $name */
	MT_TOKEN_PUNCTUATOR,
};

/* Punctuators of more than one character; others are themselves. */
enum {
	MT_OP_ARROW = 256,
	MT_OP_INCREMENT,
	MT_OP_DECREMENT,
	MT_OP_SHIFT_LEFT,
	MT_OP_SHIFT_RIGHT,
	MT_OP_LESS_EQUAL,
	MT_OP_GREATER_EQUAL,
	MT_OP_EQUAL,
	MT_OP_NOT_EQUAL,
	MT_OP_AND,
	MT_OP_OR,
	MT_OP_ASSIGN, /* op= : the operation is in the token's other */
	MT_OP_SCOPE,
	MT_OP_ELLIPSIS,
};

struct mt_token {
	uint8_t kind; /* enum mt_token_kind */
	int op;
	int other; /* of ASSIGN; '=' alone has 0 */
	const char *start;
	size_t length;
	char *text;            /* NAME, DOLLAR: with a NUL behind */
	struct mt_value value; /* NUMBER, STRING */
};

enum mt_node_kind {
	MT_NODE_VALUE, /* a literal, an enumerator */
	MT_NODE_VARIABLE,
	MT_NODE_FUNCTION, /* address */
	MT_NODE_REGISTER,
	MT_NODE_CONVENIENCE,
	MT_NODE_HISTORY,
	MT_NODE_TYPE,
	MT_NODE_ENTRY, /* name@entry */
	MT_NODE_UNARY, /* op: * & - + ! ~ ++ -- and, behind, the same with `postfix` */
	MT_NODE_SIZEOF,
	MT_NODE_ALIGNOF,
	MT_NODE_BINARY,
	MT_NODE_ASSIGN,
	MT_NODE_CONDITIONAL,
	MT_NODE_CAST,
	MT_NODE_AT_ADDRESS, /* {type} address */
	MT_NODE_MEMBER,
	MT_NODE_INDEX,
	MT_NODE_CALL,
	MT_NODE_ASSERTION, /* of Go: left.(name) */
};

struct mt_node {
	uint8_t kind; /* enum mt_node_kind */
	int op;
	bool postfix;
	bool absolute;                        /* HISTORY: $N and not $$N */
	bool through_pointer;                 /* MEMBER: -> */
	struct mt_node *left, *right, *third; /* CALL: the function, its first argument */
	struct mt_node *next;                 /* argument; NULL: this is the last one, or none */
	struct mt_type *type;
	const char *name;
	int64_t number;
	struct mt_value value;
	struct mt_variable *variable;
	const struct mt_register_name *reg;
};

struct mt_expr {
	struct mt_expr_program *program;
	char *text;
	struct mt_arena arena;
	struct mt_node *root; /* NULL: nothing was typed */
	enum mt_language language;
	struct mt_cfa_rule cfa_rule;
};

#define MT_PARSE_DEPTH 200

struct mt_parser {
	struct mt_expr_program *program;
	struct mt_lookup lookup;
	struct mt_expr *expr;
	const char *start; /* of all that was typed */
	const char *next;  /* behind the token */
	struct mt_token token;
	unsigned depth;
	unsigned in_template; /* '>' ends */
};

/* lex.c: the next token into parser->token. */
struct mt_error *mt_lex(struct mt_parser *parser);
struct mt_error *mt_syntax_error(const struct mt_parser *parser);
/* lex_number.c */
struct mt_error *mt_lex_number(struct mt_parser *parser, const char *text, size_t length,
			       struct mt_value *out);
struct mt_error *mt_lex_char(struct mt_parser *parser, const char **at, struct mt_value *out);
struct mt_error *mt_lex_string(struct mt_parser *parser, const char **at, struct mt_value *out);
/* "a" "b" is "ab": append the token, a string, and go on to the next. */
struct mt_error *mt_lex_join(struct mt_parser *parser, struct mt_value *first);

/* parse.c */
struct mt_error *mt_parse_comma(struct mt_parser *parser, struct mt_node **out);
struct mt_error *mt_parse_one(struct mt_parser *parser, struct mt_node **out);
struct mt_node *mt_node_new(struct mt_parser *parser, enum mt_node_kind kind);
static inline bool mt_token_is(const struct mt_parser *parser, int op)
{
	return parser->token.kind == MT_TOKEN_PUNCTUATOR && parser->token.op == op;
}
struct mt_error *mt_expect(struct mt_parser *parser, int op);

/* parse_type.c: whether a type begins here, and its reading, with stars and brackets behind. */
bool mt_type_begins(struct mt_parser *parser);
struct mt_error *mt_parse_type(struct mt_parser *parser, struct mt_type **out);

/* parse_name.c: a NAME or DOLLAR token to its node. */
struct mt_error *mt_parse_name(struct mt_parser *parser, struct mt_node **out);
/* A name with its "::" and template arguments: takes the tokens. */
struct mt_error *mt_read_qualified(struct mt_parser *parser, char **out);

/* eval.c */
struct mt_error *mt_eval(struct mt_eval *eval, const struct mt_node *node, struct mt_value *out);
struct mt_error *mt_eval_binary(struct mt_eval *eval, int op, struct mt_value *left,
				struct mt_value *right, struct mt_value *out);
struct mt_error *mt_eval_truth(struct mt_eval *eval, struct mt_value *value, bool *is_true);
struct mt_error *mt_eval_promote(struct mt_eval *eval, struct mt_value *value);
struct mt_error *mt_eval_member(struct mt_eval *eval, const struct mt_node *node,
				struct mt_value *out);
/* The member of VALUE, a structure, that NODE names. */
struct mt_error *mt_eval_member_of(struct mt_eval *eval, const struct mt_node *node,
				   struct mt_value *value, struct mt_value *out);
/* Of two whole numbers' types: C11, 6.3.1.8, as GDB has it: by size alone. */
struct mt_type *mt_eval_common_type(struct mt_expr_program *program, struct mt_type *a,
				    struct mt_type *b);
/* The bytes by which a pointer moves for each 1 that is added. */
uint64_t mt_eval_target_size(struct mt_type *pointer);
/* A structure has no operators: an error that says so. */
struct mt_error *mt_eval_no_operator(const struct mt_type *type, const char *name);
struct mt_value mt_eval_bool(struct mt_eval *eval, bool is_true);

/* parts.c */
/* The type of NODE's value, references left out; nothing is read or changed.  NULL: it has none, or
 * means nothing. */
struct mt_type *mt_eval_type_of(const struct mt_eval *eval, const struct mt_node *node);

/* go.c */
/* The token, a NAME, is that of len(x) or cap(x). */
bool mt_go_length_begins(struct mt_parser *parser);
/* From there on.  Errors: USAGE (there is no such thing of x). */
struct mt_error *mt_parse_go_length(struct mt_parser *parser, struct mt_node **out);
/* *OUT, which is read, with ".(" behind it, becomes the assertion. */
struct mt_error *mt_parse_go_assertion(struct mt_parser *parser, struct mt_node **out);
/* Errors: USAGE (it is another type's, or nil); those of mt_go_dynamic_value(). */
struct mt_error *mt_eval_go_assertion(struct mt_eval *eval, const struct mt_node *node,
				      struct mt_value *out);
/* WHOLE[INDEX] of a map, a slice or a string; *IS_DONE false: WHOLE is none of them.  Errors: USAGE
 * (out of range); those of mt_go_map_at(). */
struct mt_error *mt_eval_go_index(struct mt_eval *eval, struct mt_value *whole,
				  struct mt_value *index, struct mt_value *out, bool *is_done);

/* functions.c */
#define MT_MOST_STRING_BYTES (1u << 20) /* of a string that are read */

enum mt_named_function {
	MT_NAMED_NONE,
	MT_NAMED_STREQ,
	MT_NAMED_STRLEN,
	MT_NAMED_MEMEQ,
	MT_NAMED_REGEX,
	MT_NAMED_PYTHON_HASH, /* none of GDB's: mt_text_hash() of a str's characters */
};

/* NAME: without the $. */
enum mt_named_function mt_named_function_of_name(const char *name);
/* The one that NODE calls. */
enum mt_named_function mt_named_function_of(const struct mt_node *node);
/* It is given as many arguments as it has.  Errors: USAGE. */
struct mt_error *mt_check_arguments(const struct mt_node *node);
/* TYPE is that of a string; *MOST: so many bytes it can have.  Errors: USAGE. */
struct mt_error *mt_check_string(struct mt_type *type, uint64_t *most);
/* The pattern of $_regex that NODE, a literal, is.  Errors: as mt_regex_compile(); USAGE. */
struct mt_regex;
struct mt_error *mt_literal_pattern(const struct mt_node *node, struct mt_regex *out);
struct mt_error *mt_eval_named_function(struct mt_eval *eval, const struct mt_node *node,
					struct mt_value *out);

#endif
