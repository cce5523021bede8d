/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members by name: of the structure, of what is anonymous in it, of what it inherits. */
#include "expr/node.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 32
#define MOST_HITS  16

/* The classes from the outermost one to the one that is searched. */
struct path {
	const struct path *outer;
	struct mt_type *type;
};

struct hit {
	struct mt_value value;
	uint64_t place;           /* of the object that has it */
	const struct mt_type *of; /* that object's class */
	const char *type, *path;  /* for errors: "int A::y", "B -> L -> A" */
};

/* A search for the member NAME, or for the base class BASE. */
struct search {
	struct mt_eval *eval;
	const char *name;
	struct mt_type *base;
	size_t count;
	struct hit hits[MOST_HITS];
};

static void append_path(const struct path *path, struct mt_str *out)
{
	if (path->outer) {
		append_path(path->outer, out);
		mt_str_append(out, " -> ");
	}
	mt_str_append(out, path->type->name ? path->type->name : "{...}");
}

static const char *kept(struct mt_eval *eval, const struct mt_str *text)
{
	const char *copy =
	    text->failed ? NULL : mt_arena_text(eval->arena, text->text, text->length);

	return copy ? copy : "?";
}

/* What is found twice in one place, a virtual base or a static member, is the same. */
static struct mt_error *add_hit(struct search *search, struct mt_value *value,
				const struct mt_member *member, const struct path *path)
{
	mt_auto(mt_str) struct mt_str type = {0}, classes = {0}, name = {0};
	struct hit hit = {.of = path->type};

	mt_try(mt_value_member(search->eval, value, member, &hit.value));
	if (member->kind != MT_MEMBER_STATIC)
		hit.place = member->kind == MT_MEMBER_BASE ? hit.value.address : value->address;
	for (size_t i = 0; i < search->count; i++)
		if (search->hits[i].place == hit.place &&
		    (member->kind == MT_MEMBER_BASE || search->hits[i].of == hit.of))
			return NULL;
	if (search->count == MOST_HITS)
		return NULL;
	mt_str_appendf(&name, "%s::%s", path->type->name ? path->type->name : "", member->name);
	mt_type_name(member->type, name.failed ? "" : name.text, &type);
	append_path(path, &classes);
	hit.type = kept(search->eval, &type);
	hit.path = kept(search->eval, &classes);
	search->hits[search->count++] = hit;
	return NULL;
}

static bool is_same_class(struct mt_type *a, struct mt_type *b)
{
	a = mt_type_strip(a);
	b = mt_type_strip(b);
	return a == b || (a->name && b->name && strcmp(a->name, b->name) == 0);
}

static struct mt_error *search_bases(struct search *search, struct mt_value *value,
				     const struct path *path, unsigned depth);

/* A member hides those of its name in what is inherited. */
static struct mt_error *search_own(struct search *search, struct mt_value *value,
				   const struct path *path, unsigned depth)
{
	struct mt_type *type = mt_type_strip(value->type);
	size_t before = search->count;

	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];
		struct mt_value inner;

		if (member->kind == MT_MEMBER_BASE)
			continue;
		if (member->name && strcmp(member->name, search->name) == 0)
			return add_hit(search, value, member, path);
		if (member->name || depth >= MOST_DEPTH ||
		    !mt_type_is_aggregate(mt_type_strip(member->type)))
			continue;
		mt_try(mt_value_member(search->eval, value, member, &inner));
		mt_try(search_own(search, &inner, path, depth + 1));
		if (search->count > before)
			return NULL;
	}
	return search_bases(search, value, path, depth);
}

static struct mt_error *search_bases(struct search *search, struct mt_value *value,
				     const struct path *path, unsigned depth)
{
	struct mt_type *type = mt_type_strip(value->type);

	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count && depth < MOST_DEPTH; i++) {
		const struct mt_member *member = &type->members[i];
		struct path inner_path = {path, mt_type_strip(member->type)};
		struct mt_value inner;

		if (member->kind != MT_MEMBER_BASE)
			continue;
		if (search->base ? is_same_class(member->type, search->base)
				 : member->name && strcmp(member->name, search->name) == 0) {
			mt_try(add_hit(search, value, member, path));
			continue;
		}
		mt_try(mt_value_member(search->eval, value, member, &inner));
		mt_try(search->base ? search_bases(search, &inner, &inner_path, depth + 1)
				    : search_own(search, &inner, &inner_path, depth + 1));
	}
	return NULL;
}

/* *IS_FOUND: there is such a member, and *OUT is its value. */
static struct mt_error *find_named(struct mt_eval *eval, struct mt_value *value, const char *name,
				   bool *is_found, struct mt_value *out)
{
	struct search search = {.eval = eval, .name = name};
	const struct path path = {NULL, mt_type_strip(value->type)};
	mt_auto(mt_str) struct mt_str candidates = {0};

	mt_try(search_own(&search, value, &path, 0));
	*is_found = search.count > 0;
	*out = search.hits[0].value;
	if (search.count < 2)
		return NULL;
	for (size_t i = 0; i < search.count; i++)
		mt_str_appendf(&candidates, "\n  '%s' (%s)", search.hits[i].type,
			       search.hits[i].path);
	return mt_error_new(
	    MT_ERROR_USAGE, "Request for member '%s' is ambiguous in type '%s'. Candidates are:%s",
	    name, path.type->name ? path.type->name : "", candidates.failed ? "" : candidates.text);
}

/* The part of *VALUE that is of the class BASE. */
static struct mt_error *find_base(struct mt_eval *eval, struct mt_value *value,
				  struct mt_type *base, struct mt_value *out)
{
	struct search search = {.eval = eval, .base = base};
	const struct path path = {NULL, mt_type_strip(value->type)};
	const char *name = path.type->name ? path.type->name : "", *base_name = base->name;

	if (is_same_class(value->type, base))
		return NULL;
	mt_try(search_bases(&search, value, &path, 0));
	if (search.count > 1)
		return mt_error_new(MT_ERROR_USAGE, "base class '%s' is ambiguous in type '%s'",
				    base_name ? base_name : "", name);
	if (!search.count)
		return mt_error_new(MT_ERROR_USAGE, "Type %s has no component named %s.", name,
				    base_name ? base_name : "");
	*out = search.hits[0].value;
	return NULL;
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
	if (node->type) {
		mt_try(find_base(eval, value, node->type, value));
		type = mt_type_strip(value->type);
	}
	mt_try(find_named(eval, value, node->name, &is_found, out));
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
