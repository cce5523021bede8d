/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types with what they consist of, as `ptype` shows them. */
#include "types/scope.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 32

static void body(struct mt_type *type, unsigned level, struct mt_str *out);

static void indent(unsigned level, struct mt_str *out)
{
	for (unsigned i = 0; i < level; i++)
		mt_str_append(out, "    ");
}

static const char *keyword(const struct mt_type *type)
{
	return type->kind == MT_TYPE_UNION ? "union" : type->is_class ? "class" : "struct";
}

/* A member whose type has no name is shown with its body. */
static void member_type(struct mt_type *type, const char *name, unsigned level, struct mt_str *out)
{
	struct mt_type *innermost = mt_type_innermost(type);
	struct mt_type *bare = mt_type_unqualified(innermost);

	if ((!mt_type_is_aggregate(bare) && bare->kind != MT_TYPE_ENUM) || bare->name) {
		mt_type_name(type, name, out);
		return;
	}
	mt_type_qualifiers(innermost, false, true, out);
	body(bare, level, out);
	mt_type_declarator(type, name, out);
}

static void field(const struct mt_member *member, unsigned level, struct mt_str *out)
{
	indent(level, out);
	if (member->kind == MT_MEMBER_STATIC)
		mt_str_append(out, "static ");
	member_type(member->type, member->name, level, out);
	if (member->bit_size)
		mt_str_appendf(out, " : %u", member->bit_size);
	mt_str_append(out, ";\n");
}

struct access_state {
	uint8_t now; /* 0: no label was shown yet */
	bool labels; /* members need them */
};

static void label(struct access_state *state, uint8_t access, unsigned level, struct mt_str *out)
{
	if (access == state->now)
		return;
	indent(level, out);
	mt_str_append(out, access == DW_ACCESS_public      ? "  public:\n"
			   : access == DW_ACCESS_protected ? "  protected:\n"
							   : "  private:\n");
	state->now = access;
}

static uint8_t access_of(const struct mt_type *type, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word access;

	if (dwarf_attr_integrate(die, DW_AT_accessibility, &attribute) &&
	    dwarf_formudata(&attribute, &access) == 0)
		return (uint8_t)access;
	return type->is_class ? DW_ACCESS_private : DW_ACCESS_public;
}

static bool is_method(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_subprogram && !mt_die_flag(die, DW_AT_artificial) &&
	       mt_die_name(die);
}

/* Named as its class, without namespaces and template arguments. */
static bool is_constructor(const struct mt_type *class, const char *name)
{
	const char *last = class->name ? class->name : "", *end = last + strcspn(last, "<");

	for (const char *c = last; c < end; c++)
		if (c[0] == ':' && c[1] == ':')
			last = c + 2;
	return (size_t)(end - last) == strlen(name) && strncmp(last, name, strlen(name)) == 0;
}

static void method(struct mt_type *class, Dwarf_Die *die, unsigned level, struct mt_str *out)
{
	struct mt_type *type = mt_type_of_die(class->module, die);
	const char *name = mt_die_name(die);
	Dwarf_Attribute attribute;
	Dwarf_Word virtuality = 0;
	struct mt_type *this;

	if (!type)
		return;
	mt_type_expand(type);
	indent(level, out);
	if (dwarf_attr(die, DW_AT_virtuality, &attribute) &&
	    dwarf_formudata(&attribute, &virtuality) == 0 && virtuality &&
	    dwarf_hasattr(die, DW_AT_vtable_elem_location))
		mt_str_append(out, "virtual ");
	else if (!type->is_method)
		mt_str_append(out, "static ");
	if (dwarf_hasattr(die, DW_AT_type))
		mt_type_name(mt_type_target(type), "", out);
	else if (name[0] != '~' && !is_constructor(class, name))
		mt_str_append(out, "void ");
	mt_str_append(out, name);
	mt_type_parameters(type, true, out);
	this = type->member_count ? mt_type_strip(type->members[0].type) : NULL;
	if (type->is_method && this && this->kind == MT_TYPE_POINTER &&
	    mt_type_target(this)->kind == MT_TYPE_QUALIFIED && mt_type_target(this)->is_const)
		mt_str_append(out, " const");
	mt_str_append(out, ";\n");
}

static void methods(struct mt_type *type, struct access_state *state, unsigned level,
		    struct mt_str *out)
{
	Dwarf_Die child;
	bool any = false;

	if (!type->die.addr || type->language != MT_LANGUAGE_CPP || dwarf_child(&type->die, &child))
		return;
	do {
		if (!is_method(&child))
			continue;
		if (!any && state->now)
			mt_str_append(out, "\n");
		any = true;
		label(state, access_of(type, &child), level, out);
		method(type, &child, level + 1, out);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static bool is_inner_type(Dwarf_Die *die)
{
	return dwarf_tag(die) == DW_TAG_typedef && mt_die_name(die);
}

/* All is public in a structure without labels, and all is private in a class without. */
static bool needs_labels(struct mt_type *type)
{
	Dwarf_Die child;

	if (type->language != MT_LANGUAGE_CPP)
		return false;
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];
		bool is_private = member->access == DW_ACCESS_private || member->is_artificial;

		if (member->kind != MT_MEMBER_BASE &&
		    (type->is_class ? !is_private
				    : is_private || member->access == DW_ACCESS_protected))
			return true;
	}
	if (!type->die.addr || dwarf_child(&type->die, &child))
		return false;
	do
		if ((dwarf_tag(&child) == DW_TAG_subprogram || is_inner_type(&child)) &&
		    (type->is_class ? access_of(type, &child) != DW_ACCESS_private
				    : access_of(type, &child) != DW_ACCESS_public))
			return true;
	while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

static void inner_types(struct mt_type *type, struct access_state *state, bool any_before,
			unsigned level, struct mt_str *out)
{
	Dwarf_Die child;
	bool any = false;

	if (!type->die.addr || type->language != MT_LANGUAGE_CPP || dwarf_child(&type->die, &child))
		return;
	do {
		struct mt_type *inner =
		    is_inner_type(&child) ? mt_type_of(type->module, &child) : NULL;

		if (!inner)
			continue;
		if (!any && any_before)
			mt_str_append(out, "\n");
		any = true;
		if (state->labels)
			label(state, access_of(type, &child), level, out);
		indent(level + 1, out);
		mt_str_append(out, "typedef ");
		mt_type_name(inner, mt_die_name(&child), out);
		mt_str_append(out, ";\n");
	} while (dwarf_siblingof(&child, &child) == 0);
}

/* " [with T = int]": within it, `T` is what `int` is called. */
static void template_arguments(struct mt_type *type, struct mt_str *out)
{
	Dwarf_Die child;
	bool any = false;

	if (!type->die.addr || type->language != MT_LANGUAGE_CPP || dwarf_child(&type->die, &child))
		return;
	do {
		struct mt_type *argument;

		if (dwarf_tag(&child) != DW_TAG_template_type_parameter || !mt_die_name(&child))
			continue;
		argument = mt_type_of(type->module, &child);
		mt_str_appendf(out, "%s%s = ", any ? ", " : "[with ", mt_die_name(&child));
		if (argument)
			mt_type_name(argument, NULL, out);
		any = true;
	} while (dwarf_siblingof(&child, &child) == 0);
	if (any)
		mt_str_append(out, "] ");
}

static void fields(struct mt_type *type, struct access_state *state, unsigned level,
		   struct mt_str *out)
{
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->kind == MT_MEMBER_BASE || member->is_artificial)
			continue;
		if (state->labels)
			label(state, member->access, level, out);
		field(member, level + 1, out);
	}
}

static bool has_children(struct mt_type *type)
{
	Dwarf_Die child;

	return type->die.addr && dwarf_child(&type->die, &child) == 0;
}

static void structure(struct mt_type *type, unsigned level, struct mt_str *out)
{
	struct access_state state = {.labels = needs_labels(type)};
	struct mt_type *outer = type->program->described;
	size_t before;

	mt_str_appendf(out, "%s ", keyword(type));
	if (type->name)
		mt_str_appendf(out, "%s ", type->name);
	template_arguments(type, out);
	bool any = false;

	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->kind != MT_MEMBER_BASE)
			continue;
		mt_str_appendf(out, "%s%s%s%s", any ? ", " : ": ",
			       member->access == DW_ACCESS_public      ? "public "
			       : member->access == DW_ACCESS_protected ? "protected "
								       : "private ",
			       member->is_virtual ? "virtual " : "",
			       member->name ? member->name : "");
		any = true;
	}
	if (any)
		mt_str_append(out, " ");
	mt_str_append(out, "{\n");
	before = out->length;
	type->program->described = type;
	if (type->is_declaration) {
		indent(level + 1, out);
		mt_str_append(out, "<incomplete type>\n");
	}
	fields(type, &state, level, out);
	methods(type, &state, level, out);
	inner_types(type, &state, out->length > before, level, out);
	if (out->length == before && !has_children(type)) {
		indent(level + 1, out);
		mt_str_append(out, "<no data fields>\n");
	}
	type->program->described = outer;
	indent(level, out);
	mt_str_append(out, "}");
}

static void enumeration(struct mt_type *type, struct mt_str *out)
{
	int64_t expected = 0;

	mt_str_appendf(out, "enum %s%s%s", type->is_enum_class ? "class " : "",
		       type->name ? type->name : "", type->name ? " " : "");
	if (type->is_enum_class || dwarf_hasattr(&type->die, DW_AT_type)) {
		struct mt_type *under = mt_type_target(type);

		if (type->language != MT_LANGUAGE_C && dwarf_hasattr(&type->die, DW_AT_type) &&
		    under->name)
			mt_str_appendf(out, ": %s ", under->name);
	}
	mt_str_append(out, "{");
	for (size_t i = 0; i < type->enumerator_count; i++) {
		const struct mt_enumerator *item = &type->enumerators[i];

		mt_str_appendf(out, "%s%s", i ? ", " : "", item->name);
		if (item->value != expected)
			mt_str_appendf(out, " = %lld", (long long)item->value);
		expected = item->value + 1;
	}
	mt_str_append(out, "}");
}

static void body(struct mt_type *type, unsigned level, struct mt_str *out)
{
	mt_type_expand(type);
	if (level > MOST_DEPTH)
		mt_str_appendf(out, "%s {...}", keyword(type));
	else if (type->kind == MT_TYPE_ENUM)
		enumeration(type, out);
	else
		structure(type, level, out);
}

/* Typedefs of the whole, and of what it is made of, are looked through. */
static struct mt_type *resolved(struct mt_type *type)
{
	for (unsigned i = 0; i < 64; i++) {
		if (type->kind != MT_TYPE_TYPEDEF)
			return type;
		type = mt_type_target(type);
	}
	return type;
}

void mt_type_describe(struct mt_type *type, struct mt_str *out)
{
	struct mt_type *innermost, *target;

	type = resolved(type);
	if (type->language == MT_LANGUAGE_RUST) {
		mt_type_describe_rust(type, out);
		return;
	}
	innermost = mt_type_innermost(type);
	target = mt_type_strip(innermost);
	if (!mt_type_is_aggregate(target) && target->kind != MT_TYPE_ENUM) {
		mt_type_qualifiers(innermost, false, true, out);
		if (innermost != target && target->name)
			mt_str_append(out, target->name);
		else if (innermost != target)
			mt_type_name(target, NULL, out);
		else
			mt_type_name(mt_type_unqualified(innermost), NULL, out);
		mt_type_declarator(type, NULL, out);
		return;
	}
	mt_type_qualifiers(innermost, false, true, out);
	body(target, 0, out);
	mt_type_declarator(type, NULL, out);
}
