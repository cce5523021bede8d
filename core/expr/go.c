/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What expressions of Go have beyond those of C: len(x), cap(x), subscripts of maps, slices and
 * strings, and x.(T).  Source: the Go Programming Language Specification, "Length and capacity",
 * "Index expressions", "Type assertions". */
#include "values/go.h"
#include "expr/node.h"
#include "values/text.h"

#include <ctype.h>
#include <string.h>

/* ---- len(x), cap(x) ---- */

bool mt_go_length_begins(struct mt_parser *parser)
{
	const char *name = parser->token.text, *next = parser->next;
	struct mt_found found;

	if (parser->lookup.language != MT_LANGUAGE_GO ||
	    (strcmp(name, "len") != 0 && strcmp(name, "cap") != 0))
		return false;
	while (isspace((unsigned char)*next))
		next++;
	if (*next != '(')
		return false;
	mt_lookup_name(&parser->lookup, name, &found);
	return !found.kind;
}

static struct mt_node *member_of(struct mt_parser *parser, struct mt_node *whole, const char *name,
				 bool through_pointer)
{
	struct mt_node *node = mt_node_new(parser, MT_NODE_MEMBER);

	if (node) {
		node->left = whole;
		node->name = name;
		node->through_pointer = through_pointer;
	}
	return node;
}

static struct mt_error *constant(struct mt_parser *parser, struct mt_type *type, uint64_t number,
				 struct mt_node **out)
{
	*out = mt_node_new(parser, MT_NODE_VALUE);
	if (!*out)
		return mt_error_no_memory();
	(*out)->value = mt_value_integer(type, number);
	return NULL;
}

/* NULL: none is known.  What an interface holds is known where it can be read. */
static struct mt_type *type_of(const struct mt_eval *from, const struct mt_node *node)
{
	struct mt_type *type = mt_eval_type_of(from, node);
	struct mt_eval eval = *from;
	struct mt_value value;

	if (type || !from->frame || !from->frame->ops)
		return type;
	eval.no_side_effects = true;
	struct mt_error *error = mt_eval(&eval, node, &value);
	type = error ? NULL : value.type;
	mt_error_destroy(error);
	return type;
}

/* Of a map or a channel, where nil has none. */
static struct mt_error *counted(struct mt_parser *parser, struct mt_eval *eval,
				struct mt_node *whole, const char *name, struct mt_node **out)
{
	struct mt_node *node = mt_node_new(parser, MT_NODE_CONDITIONAL);
	struct mt_node *count = member_of(parser, whole, name, true);

	if (!node || !count)
		return mt_error_no_memory();
	struct mt_type *type = type_of(eval, count);
	if (!type)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "The layout of the value is not known.");
	node->left = whole;
	node->right = count;
	*out = node;
	return constant(parser, type, 0, &node->third);
}

static bool has_member(struct mt_type *type, const char *name)
{
	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++)
		if (type->members[i].name && strcmp(type->members[i].name, name) == 0)
			return true;
	return false;
}

static struct mt_type *array_of(struct mt_type *type)
{
	type = mt_type_strip(type);
	if (type->kind == MT_TYPE_POINTER)
		type = mt_type_strip(mt_type_target(type));
	return type->kind == MT_TYPE_ARRAY && type->count >= 0 ? type : NULL;
}

static struct mt_error *length_of(struct mt_parser *parser, struct mt_eval *eval,
				  struct mt_node *whole, struct mt_type *type, const char *function,
				  struct mt_node **out)
{
	const bool is_cap = function[0] == 'c';

	if (type && mt_type_is_go_map(type) && !is_cap)
		return counted(parser, eval, whole, "count", out);
	if (type && mt_type_is_go_channel(type))
		return counted(parser, eval, whole, is_cap ? "dataqsiz" : "qcount", out);
	if (type && array_of(type))
		return constant(parser, mt_type_builtin(parser->program, MT_BUILTIN_LONG),
				(uint64_t)array_of(type)->count, out);
	if (type && mt_type_is_go_slice(type) && has_member(mt_type_strip(type), function)) {
		*out = member_of(parser, whole, function, false);
		return *out ? NULL : mt_error_no_memory();
	}
	return mt_error_new(MT_ERROR_USAGE, "%s() is not defined for %s.", function,
			    type ? mt_go_type_name(mt_type_unqualified(type)) : "this");
}

struct mt_error *mt_parse_go_length(struct mt_parser *parser, struct mt_node **out)
{
	const char *function = parser->token.text;
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = parser->program,
			       .frame = parser->lookup.frame,
			       .arena = &arena,
			       .language = parser->lookup.language};
	struct mt_node *whole;

	mt_try(mt_lex(parser));
	mt_try(mt_lex(parser));
	mt_try(mt_parse_one(parser, &whole));
	mt_try(mt_expect(parser, ')'));
	struct mt_type *type = type_of(&eval, whole);
	struct mt_error *error = length_of(parser, &eval, whole, type, function, out);
	mt_arena_deinit(&arena);
	return error;
}

/* ---- Subscripts ---- */

static struct mt_error *element_of(struct mt_eval *eval, struct mt_value *start,
				   struct mt_value *count, uint64_t index, struct mt_value *out)
{
	uint64_t address, length;
	struct mt_type *element = mt_type_target(mt_type_strip(start->type));

	mt_try(mt_value_get(eval, start, &address));
	mt_try(mt_value_get(eval, count, &length));
	if (index >= length && !eval->no_side_effects)
		return mt_error_new(MT_ERROR_USAGE, "index out of range [%lld] with length %lld",
				    (long long)index, (long long)length);
	*out = mt_value_at(element, address + index * mt_type_size(element));
	return NULL;
}

struct mt_error *mt_eval_go_index(struct mt_eval *eval, struct mt_value *whole,
				  struct mt_value *index, struct mt_value *out, bool *is_done)
{
	struct mt_value start, count;
	uint64_t number;

	*is_done = mt_type_is_go_map(whole->type);
	if (*is_done)
		return mt_go_map_at(eval, whole, index, out);
	if (!mt_type_is_go_slice(whole->type) ||
	    (!mt_value_at_path(eval, whole, "array", &start) &&
	     !mt_value_at_path(eval, whole, "str", &start)) ||
	    mt_type_strip(start.type)->kind != MT_TYPE_POINTER ||
	    !mt_value_at_path(eval, whole, "len", &count))
		return NULL;
	*is_done = true;
	mt_try(mt_value_get(eval, index, &number));
	return element_of(eval, &start, &count, number, out);
}

/* ---- x.(T) ---- */

struct mt_error *mt_parse_go_assertion(struct mt_parser *parser, struct mt_node **out)
{
	struct mt_node *node = mt_node_new(parser, MT_NODE_ASSERTION);
	mt_auto(mt_str) struct mt_str name = {0};
	unsigned depth = 1;

	if (!node)
		return mt_error_no_memory();
	for (; *parser->next && depth; parser->next++) {
		depth += *parser->next == '(';
		depth -= *parser->next == ')';
		if (depth)
			mt_str_append_bytes(&name, parser->next, 1);
	}
	if (depth || !name.length)
		return mt_error_new(MT_ERROR_USAGE,
				    "A type assertion is x.(T), where T is a type or `data'.");
	node->left = *out;
	node->name = mt_arena_text(&parser->expr->arena, name.text, name.length);
	*out = node;
	return node->name ? mt_lex(parser) : mt_error_no_memory();
}

struct mt_error *mt_eval_go_assertion(struct mt_eval *eval, const struct mt_node *node,
				      struct mt_value *out)
{
	struct mt_value interface;
	bool is_nil;

	mt_try(mt_eval(eval, node->left, &interface));
	mt_try(mt_value_unreference(eval, &interface));
	if (!mt_type_is_go_interface(interface.type))
		return mt_error_new(MT_ERROR_USAGE, "%s is not an interface.",
				    mt_go_type_name(mt_type_unqualified(interface.type)));
	mt_try(mt_go_dynamic_value(eval, &interface, out, &is_nil));
	const char *static_name = mt_type_unqualified(interface.type)->name;
	const char *dynamic = is_nil ? "nil" : mt_go_type_name(out->type);
	if (!is_nil && (strcmp(node->name, "data") == 0 || strcmp(node->name, dynamic) == 0))
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "interface conversion: %s is %s, not %s", static_name,
			    dynamic, node->name);
}
