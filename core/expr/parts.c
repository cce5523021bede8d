/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an expression is without being evaluated: its type, and the parts of a structure. */
#include "expr/node.h"

#include "base/str.h"
#include "values/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MOST_DEPTH 8
/* No object begins there, and none is read. */
#define NOWHERE (1ull << 56)

static size_t read_zeros(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	(void)address;
	memset(buffer, 0, size);
	return size;
}

static bool get_zero(void *context, unsigned number, void *bytes, size_t size)
{
	(void)context;
	(void)number;
	memset(bytes, 0, size);
	return true;
}

static bool get_zero_cfa(void *context, uint64_t *cfa)
{
	(void)context;
	*cfa = 0;
	return true;
}

static const struct mt_expr_ops zeros = {
    .read = read_zeros, .get_register = get_zero, .get_cfa = get_zero_cfa};

struct mt_type *mt_eval_type_of(const struct mt_eval *from, const struct mt_node *node)
{
	struct mt_expr_frame frame = *from->frame;
	struct mt_eval eval = *from;
	struct mt_value value;

	frame.ops = &zeros;
	eval.frame = &frame;
	eval.no_side_effects = true;
	struct mt_error *error = mt_eval(&eval, node, &value);
	if (!error)
		error = mt_value_unreference(&eval, &value);
	mt_error_destroy(error);
	return error ? NULL : value.type;
}

struct walk {
	struct mt_eval *eval;
	struct mt_str *out;
	size_t count, most;
};

static void put_parts(struct walk *walk, struct mt_type *type, struct mt_str *path, unsigned depth);

/* Within PATH, which is what it was afterwards. */
static void put_inner(struct walk *walk, struct mt_type *type, struct mt_str *path, unsigned depth,
		      const char *dot, const char *name)
{
	const size_t length = path->length;

	mt_str_appendf(path, "%s%s", dot, name);
	put_parts(walk, type, path, depth + 1);
	if (path->failed)
		return;
	path->length = length;
	path->text[length] = '\0';
}

static void put_members(struct walk *walk, struct mt_type *type, struct mt_str *path,
			unsigned depth)
{
	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count && walk->count <= walk->most; i++) {
		const struct mt_member *member = &type->members[i];
		const bool is_inner = member->kind == MT_MEMBER_BASE || !member->name;

		if (member->kind == MT_MEMBER_STATIC || member->is_artificial)
			continue;
		put_inner(walk, member->type, path, depth, is_inner ? "" : ".",
			  is_inner ? "" : member->name);
	}
}

static void put_elements(struct walk *walk, struct mt_type *type, struct mt_str *path,
			 unsigned depth)
{
	for (int64_t i = 0; i < type->count && walk->count <= walk->most; i++) {
		const long long at = type->low + i;
		char index[32];

		snprintf(index, sizeof(index), "[%lld]", at);
		put_inner(walk, mt_type_target(type), path, depth, "", index);
	}
}

static bool is_text(struct mt_eval *eval, struct mt_type *type)
{
	struct mt_value whole = mt_value_at(type, NOWHERE), start, count;

	return mt_text_parts(eval, &whole, &start, &count);
}

static void put_parts(struct walk *walk, struct mt_type *type, struct mt_str *path, unsigned depth)
{
	type = mt_type_strip(type);
	if (depth > MOST_DEPTH) {
		walk->count = walk->most + 1;
	} else if (mt_type_is_aggregate(type) && !is_text(walk->eval, type)) {
		put_members(walk, type, path, depth);
	} else if (type->kind == MT_TYPE_ARRAY && !type->is_vector) {
		put_elements(walk, type, path, depth);
	} else {
		mt_str_appendf(walk->out, "%s%s", walk->count ? "," : "", path->text);
		walk->count++;
	}
}

/* It can stand in front of a dot. */
static bool is_simple(const char *text)
{
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("_$.:[]", *text) &&
		    !(text[0] == '-' && text[1] == '>') && !(text[0] == '>' && text[-1] == '-'))
			return false;
	return true;
}

struct mt_error *mt_expr_parts(const struct mt_expr *expr, const struct mt_expr_frame *frame,
			       size_t most, struct mt_str *out)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {
	    .program = expr->program, .frame = frame, .arena = &arena, .language = expr->language};
	struct walk walk = {.eval = &eval, .out = out, .most = most};
	mt_auto(mt_str) struct mt_str path = {0};
	struct mt_type *type = expr->root ? mt_eval_type_of(&eval, expr->root) : NULL;

	mt_str_appendf(&path, is_simple(expr->text) ? "%s" : "(%s)", expr->text);
	/* What a reference refers to is not part of what is passed. */
	if (type && mt_type_is_aggregate(mt_type_strip(type)) &&
	    !(expr->root->kind == MT_NODE_VARIABLE &&
	      mt_type_is_reference(mt_type_strip(expr->root->variable->type))) &&
	    !is_text(&eval, type))
		put_members(&walk, mt_type_strip(type), &path, 0);
	mt_arena_deinit(&arena);
	if (path.failed || out->failed)
		return mt_error_no_memory();
	if (walk.count > most)
		out->length = 0;
	return NULL;
}
