/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members by name: of the structure, of what is anonymous in it, of what it inherits. */
#include "expr/node.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 32

static struct mt_error *find(struct mt_eval *eval, struct mt_value *value, const char *name,
			     unsigned depth, bool *is_found, struct mt_value *out);

/* The structure behind a member without a name, or a base. */
static struct mt_error *find_inside(struct mt_eval *eval, struct mt_value *value,
				    const struct mt_member *member, const char *name,
				    unsigned depth, bool *is_found, struct mt_value *out)
{
	struct mt_value inner;

	if (!mt_type_is_aggregate(mt_type_strip(member->type)) || depth >= MOST_DEPTH)
		return NULL;
	mt_try(mt_value_member(eval, value, member, &inner));
	return find(eval, &inner, name, depth + 1, is_found, out);
}

static struct mt_error *find(struct mt_eval *eval, struct mt_value *value, const char *name,
			     unsigned depth, bool *is_found, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(value->type);

	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->kind == MT_MEMBER_BASE || !member->name ||
		    strcmp(member->name, name) != 0)
			continue;
		*is_found = true;
		return mt_value_member(eval, value, member, out);
	}
	for (size_t i = 0; i < type->member_count && !*is_found; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->kind == MT_MEMBER_BASE && member->name &&
		    strcmp(member->name, name) == 0) {
			*is_found = true;
			return mt_value_member(eval, value, member, out);
		}
		if (member->kind == MT_MEMBER_BASE || !member->name)
			mt_try(find_inside(eval, value, member, name, depth, is_found, out));
	}
	return NULL;
}

static const char *last_part(const char *name)
{
	const char *last = name;

	for (const char *c = strstr(name, "::"); c; c = strstr(c + 2, "::"))
		last = c + 2;
	return last;
}

/* "Class::method" as a function, where it has code of its own. */
static bool find_method(struct mt_eval *eval, struct mt_type *type, const char *name,
			struct mt_value *out)
{
	struct mt_lookup lookup;
	struct mt_found found;
	mt_auto(mt_str) struct mt_str full = {0};
	struct mt_error *error = mt_lookup_init(&lookup, eval->program, eval->frame);

	if (error || !type->name) {
		mt_error_destroy(error);
		return false;
	}
	mt_str_appendf(&full, "%s::%s", type->name, name);
	if (full.failed)
		return false;
	mt_lookup_name(&lookup, full.text, &found);
	if (found.kind != MT_FOUND_FUNCTION)
		return false;
	*out = mt_value_at(found.type, found.address);
	out->is_lazy = false;
	return true;
}

static bool has_methods(struct mt_type *type)
{
	Dwarf_Die child;

	if (!type->die.addr || dwarf_child(&type->die, &child))
		return false;
	do
		if (dwarf_tag(&child) == DW_TAG_subprogram)
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

struct mt_error *mt_eval_member_of(struct mt_eval *eval, const struct mt_node *node,
				   struct mt_value *value, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(value->type);
	bool is_found = false;

	if (!mt_type_is_aggregate(type))
		return mt_error_new(MT_ERROR_USAGE,
				    "Attempt to extract a component of a value that is not a "
				    "structure%s.",
				    node->through_pointer ? " pointer" : "");
	mt_try(find(eval, value, node->name, 0, &is_found, out));
	if (!is_found && strstr(node->name, "::"))
		mt_try(find(eval, value, last_part(node->name), 0, &is_found, out));
	if (!is_found && find_method(eval, type, node->name, out))
		is_found = true;
	if (is_found)
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND, "There is no member %snamed %s.",
			    has_methods(type) && type->language != MT_LANGUAGE_RUST ? "or method "
										    : "",
			    node->name);
}

struct mt_error *mt_eval_member(struct mt_eval *eval, const struct mt_node *node,
				struct mt_value *out)
{
	struct mt_value value;

	mt_try(mt_eval(eval, node->left, &value));
	mt_try(mt_value_unreference(eval, &value));
	if (mt_type_strip(value.type)->kind == MT_TYPE_POINTER)
		mt_try(mt_value_dereference(eval, &value, &value));
	return mt_eval_member_of(eval, node, &value, out);
}
