/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ptype` in Rust's words. */
#include "types/scope.h"

#include <dwarf.h>
#include <string.h>

static bool is_tuple(const struct mt_type *type)
{
	return type->member_count && type->members[0].name &&
	       strcmp(type->members[0].name, "__0") == 0;
}

static const char *last_part(const char *name)
{
	const char *part = name;
	int depth = 0;

	for (const char *c = name; *c; c++) {
		depth += (*c == '<') - (*c == '>');
		if (depth <= 0 && c[0] == ':' && c[1] == ':')
			part = c + 2;
	}
	return part;
}

/* "a: i32, b: u8" with what stands before and behind each. */
static void fields(struct mt_type *type, const char *before, const char *between,
		   struct mt_str *out)
{
	bool tuple = is_tuple(type);

	for (size_t i = 0; i < type->member_count; i++) {
		mt_str_appendf(out, "%s%s", i ? between : "", before);
		if (!tuple)
			mt_str_appendf(out,
				       "%s: ", type->members[i].name ? type->members[i].name : "");
		mt_type_name(type->members[i].type, NULL, out);
	}
}

static void structure(struct mt_type *type, struct mt_str *out)
{
	bool tuple = is_tuple(type);

	mt_str_appendf(out, "%s %s", type->kind == MT_TYPE_UNION ? "union" : "struct",
		       type->name ? type->name : "");
	if (!type->member_count)
		return;
	mt_str_append(out, tuple ? " (\n" : " {\n");
	fields(type, "  ", ",\n", out);
	mt_str_append(out, tuple ? ",\n)" : ",\n}");
}

static void variant(struct mt_module *module, Dwarf_Die *die, struct mt_str *out)
{
	Dwarf_Die member;
	struct mt_type *shape;

	if (dwarf_tag(die) != DW_TAG_variant || !mt_die_child(die, DW_TAG_member, &member))
		return;
	shape = mt_type_of(module, &member);
	if (!shape)
		return;
	shape = mt_type_strip(shape);
	mt_type_expand(shape);
	mt_str_appendf(out, "  %s", shape->name ? last_part(shape->name) : "");
	if (shape->member_count) {
		mt_str_append(out, is_tuple(shape) ? "(" : "{");
		fields(shape, "", ", ", out);
		mt_str_append(out, is_tuple(shape) ? ")" : "}");
	}
	mt_str_append(out, ",\n");
}

/* One whose variants carry data is a structure to DWARF. */
static bool variants(struct mt_type *type, struct mt_str *out)
{
	Dwarf_Die part, child;

	if (!type->die.addr || !mt_die_child(&type->die, DW_TAG_variant_part, &part))
		return false;
	mt_str_appendf(out, "enum %s {\n", type->name ? type->name : "");
	if (dwarf_child(&part, &child) == 0)
		do
			variant(type->module, &child, out);
		while (dwarf_siblingof(&child, &child) == 0);
	mt_str_append(out, "}");
	return true;
}

static void enumeration(const struct mt_type *type, struct mt_str *out)
{
	mt_str_appendf(out, "enum %s {\n", type->name ? type->name : "");
	for (size_t i = 0; i < type->enumerator_count; i++)
		mt_str_appendf(out, "  %s,\n", last_part(type->enumerators[i].name));
	mt_str_append(out, "}");
}

void mt_type_describe_rust(struct mt_type *type, struct mt_str *out)
{
	mt_type_expand(type);
	if (type->kind == MT_TYPE_ENUM)
		enumeration(type, out);
	else if (!mt_type_is_aggregate(type) || (type->name && type->name[0] == '('))
		mt_type_name(type, NULL, out);
	else if (!variants(type, out))
		structure(type, out);
}
