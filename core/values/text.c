/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "values/text.h"

#include <string.h>

#define MOST_DEPTH 16

/* The member of that name, or what holds it somewhere, as *OUT. */
static bool find(struct mt_eval *eval, struct mt_value *value, const char *name, size_t length,
		 unsigned depth, struct mt_value *out)
{
	struct mt_type *type = mt_type_strip(value->type);

	if (!mt_type_is_aggregate(type) || depth > MOST_DEPTH)
		return false;
	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];
		struct mt_value inner;
		bool is_inner = member->kind == MT_MEMBER_BASE || !member->name;
		bool is_it = !is_inner && member->kind == MT_MEMBER_FIELD &&
			     strlen(member->name) == length &&
			     strncmp(member->name, name, length) == 0;

		if (!is_inner && !is_it)
			continue;
		struct mt_error *error = mt_value_member(eval, value, member, is_it ? out : &inner);
		bool is_there = !error;
		mt_error_destroy(error);
		if (is_it)
			return is_there;
		if (is_there && find(eval, &inner, name, length, depth + 1, out))
			return true;
	}
	return false;
}

bool mt_value_at_path(struct mt_eval *eval, struct mt_value *value, const char *path,
		      struct mt_value *out)
{
	struct mt_value at = *value;

	for (; *path; path += strcspn(path, "."), path += *path == '.') {
		struct mt_value next;

		if (!find(eval, &at, path, strcspn(path, "."), 0, &next))
			return false;
		at = next;
	}
	*out = at;
	return true;
}

struct shape {
	enum mt_language language;
	const char *type; /* its name, up to a '<' */
	const char *start, *count;
};

/* Where a String's characters are: the pointer has been within more and more structures. */
static const struct shape shapes[] = {
    {MT_LANGUAGE_CPP, "std::__cxx11::basic_string<", "_M_dataplus._M_p", "_M_string_length"},
    {MT_LANGUAGE_CPP, "std::basic_string_view<", "_M_str", "_M_len"},
    {MT_LANGUAGE_RUST, "&str", "data_ptr", "length"},
    {MT_LANGUAGE_RUST, "alloc::string::String", "vec.buf.inner.ptr.pointer.pointer", "vec.len"},
    {MT_LANGUAGE_RUST, "alloc::string::String", "vec.buf.ptr.pointer.pointer", "vec.len"},
    {MT_LANGUAGE_RUST, "alloc::string::String", "vec.buf.ptr.pointer", "vec.len"},
    {MT_LANGUAGE_GO, "string", "str", "len"},
};

static bool is_of(const struct shape *shape, const struct mt_type *type)
{
	const size_t length = strlen(shape->type);

	return shape->language == type->language && strncmp(type->name, shape->type, length) == 0 &&
	       (shape->type[length - 1] == '<' || !type->name[length]);
}

bool mt_text_parts(struct mt_eval *eval, struct mt_value *value, struct mt_value *start,
		   struct mt_value *count)
{
	const struct mt_type *type = mt_type_strip(value->type);

	if (!type->name || type->kind != MT_TYPE_STRUCT)
		return false;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (is_of(&shapes[i], type) &&
		    mt_value_at_path(eval, value, shapes[i].start, start) &&
		    mt_value_at_path(eval, value, shapes[i].count, count) &&
		    mt_type_strip(start->type)->kind == MT_TYPE_POINTER &&
		    mt_type_is_integer_kind(mt_type_strip(count->type)))
			return true;
	return false;
}

struct mt_type *mt_text_element(struct mt_eval *eval, const struct mt_value *start)
{
	struct mt_type *element = mt_type_target(mt_type_strip(start->type));

	/* Rust's and Go's are bytes. */
	return mt_type_strip(element)->kind == MT_TYPE_CHAR
		   ? element
		   : mt_type_builtin(eval->program, MT_BUILTIN_CHAR);
}
