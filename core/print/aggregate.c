/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Structures, unions, classes: members by name, what is inherited first. */
#include "print/print.h"

#include <string.h>

static void newline(struct mt_print *print)
{
	mt_str_append(print->out, "\n");
	for (uint32_t i = 0; i < print->depth; i++)
		mt_str_append(print->out, "  ");
}

static void print_error(struct mt_print *print, struct mt_error *error)
{
	mt_str_appendf(print->out, "<error: %s>", mt_error_message(error));
	mt_error_destroy(error);
}

/* The table pointer is shown as the table's name alone. */
static void print_vtable(struct mt_print *print, struct mt_value *value)
{
	uint64_t bits = 0;
	struct mt_error *error = mt_value_get(print->eval, value, &bits);

	if (error) {
		print_error(print, error);
		return;
	}
	mt_expr_format_address(print->eval->program, bits, print->out);
}

static void print_member_value(struct mt_print *print, const struct mt_member *member,
			       struct mt_value *value)
{
	if (member->is_artificial && member->name && strncmp(member->name, "_vptr", 5) == 0)
		print_vtable(print, value);
	else
		mt_print_value(print, value);
}

/* Statics that hold themselves would be shown forever. */
static bool is_static_seen(const struct mt_print *print, uint64_t address)
{
	for (size_t i = 0; i < print->static_count; i++)
		if (print->statics[i] == address)
			return true;
	return false;
}

static void print_static(struct mt_print *print, const struct mt_member *member,
			 struct mt_value *value)
{
	bool is_structure = mt_type_is_aggregate(mt_type_strip(value->type));

	if (value->is_optimized_out) {
		mt_str_append(print->out, "<optimized out>");
		return;
	}
	if (is_structure && is_static_seen(print, value->address)) {
		mt_str_append(print->out, "<same as static member of an already seen type>");
		return;
	}
	if (is_structure && print->static_count < MT_PRINT_STATICS)
		print->statics[print->static_count++] = value->address;
	print_member_value(print, member, value);
}

/* A virtual base is there once, however often it is inherited. */
static bool is_base_seen(struct mt_print *print, const struct mt_member *member)
{
	struct mt_type *type = mt_type_strip(member->type);

	if (!member->is_virtual)
		return false;
	for (size_t i = 0; i < print->virtual_count; i++)
		if (print->virtuals[i] == type)
			return true;
	if (print->virtual_count < MT_PRINT_STATICS)
		print->virtuals[print->virtual_count++] = type;
	return false;
}

static void print_base(struct mt_print *print, struct mt_value *value,
		       const struct mt_member *member)
{
	struct mt_value part;
	struct mt_error *error;

	if (is_base_seen(print, member))
		return;
	if (print->settings->pretty)
		newline(print);
	mt_str_appendf(print->out, "<%s> = ", member->name ? member->name : "");
	error = mt_value_member(print->eval, value, member, &part);
	print->is_base = true;
	if (error)
		mt_str_append(print->out, "<invalid address>");
	else
		mt_print_value(print, &part);
	mt_error_destroy(error);
	mt_str_append(print->out, ", ");
}

static bool is_shown(const struct mt_print *print, const struct mt_member *member)
{
	return member->kind != MT_MEMBER_BASE &&
	       (member->kind != MT_MEMBER_STATIC || print->settings->static_members);
}

static bool has_own(const struct mt_type *type)
{
	for (size_t i = 0; i < type->member_count; i++)
		if (type->members[i].kind != MT_MEMBER_BASE)
			return true;
	return false;
}

static void print_own(struct mt_print *print, struct mt_value *value, const struct mt_type *type,
		      bool has_bases)
{
	bool pretty = print->settings->pretty, any = false;

	for (size_t i = 0; i < type->member_count; i++) {
		if (!is_shown(print, &type->members[i]))
			continue;
		if (any) {
			mt_str_append(print->out, pretty ? "," : ", ");
		} else if (has_bases && pretty) {
			newline(print);
			mt_str_appendf(print->out, "members of %s:", type->name ? type->name : "");
		}
		struct mt_value part;
		struct mt_error *error;

		if (print->settings->pretty)
			newline(print);
		if (type->members[i].kind == MT_MEMBER_STATIC)
			mt_str_append(print->out, "static ");
		if (type->members[i].name && *type->members[i].name)
			mt_str_appendf(print->out, "%s = ", type->members[i].name);
		error = mt_value_member(print->eval, value, &type->members[i], &part);
		if (error)
			print_error(print, error);
		else if (type->members[i].kind == MT_MEMBER_STATIC)
			print_static(print, &type->members[i], &part);
		else
			print_member_value(print, &type->members[i], &part);
		any = true;
	}
}

/* Go's strings have a length and no NUL. */
static bool print_go_string(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	uint64_t words[2];

	if (type->language != MT_LANGUAGE_GO || type->member_count != 2 ||
	    mt_type_size(type) != sizeof(words) || !type->members[0].name ||
	    strcmp(type->members[0].name, "str") != 0 || !type->members[1].name ||
	    strcmp(type->members[1].name, "len") != 0)
		return false;
	memcpy(words, mt_value_bytes(value), sizeof(words));
	mt_str_appendf(print->out, "0x%llx ", (unsigned long long)words[0]);
	mt_print_string_at(print, mt_type_builtin(print->eval->program, MT_BUILTIN_CHAR), words[0],
			   words[1] < INT32_MAX ? (int64_t)words[1] : INT32_MAX);
	return true;
}

void mt_print_aggregate(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	size_t virtual_count;
	bool is_base;

	mt_type_expand(type);
	if (print_go_string(print, value, type) || mt_print_rust(print, value))
		return;
	if (type->is_declaration) {
		mt_str_append(print->out, "<incomplete type>");
		return;
	}
	if (print->depth >= print->settings->max_depth ||
	    (type->kind == MT_TYPE_UNION && print->depth && !print->settings->unions)) {
		mt_str_append(print->out, "{...}");
		return;
	}
	virtual_count = print->virtual_count;
	if (!print->is_base)
		print->virtual_count = 0;
	is_base = print->is_base;
	print->is_base = false;
	mt_str_append(print->out, "{");
	bool has_bases = false;

	print->depth++;
	for (size_t i = 0; i < type->member_count; i++) {
		if (type->members[i].kind != MT_MEMBER_BASE)
			continue;
		print_base(print, value, &type->members[i]);
		has_bases = true;
	}
	if (has_own(type))
		print_own(print, value, type, has_bases);
	else
		mt_str_append(print->out, "<No data fields>");
	print->depth--;
	if (print->settings->pretty && has_own(type))
		newline(print);
	mt_str_append(print->out, "}");
	if (!is_base)
		print->virtual_count = virtual_count;
}
