/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types with what they consist of, as `ptype` shows them. */
#include "types/layout.h"
#include "types/scope.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 32
/* Garbled DWARF has structures that are members of themselves. */
#define MOST_BODIES 10000

struct description {
	struct mt_type_flags flags;
	unsigned bodies; /* shown so far */
	struct mt_str *out;
};

/* How much of a type is shown: with SHOWN_WHOLE its body even if it has a name, with SHOWN_NAME the
 * name if it has one, below that never a body. */
enum { SHOWN_NAME, SHOWN_WHOLE };

static void body(struct description *description, struct mt_type *type, unsigned level, int shown,
		 struct mt_layout *layout);

static void indent(const struct description *description, unsigned level)
{
	mt_str_appendf(description->out, "%*s",
		       (int)(4 * level + (description->flags.offsets ? MT_LAYOUT_WIDTH : 0)), "");
}

static const char *keyword(const struct mt_type *type)
{
	return type->kind == MT_TYPE_UNION ? "union" : type->is_class ? "class" : "struct";
}

static void member_type(struct description *description, const struct mt_member *member,
			unsigned level, int shown, struct mt_layout *layout)
{
	struct mt_type *innermost = mt_type_innermost(member->type);
	struct mt_type *bare = mt_type_unqualified(innermost);

	if ((!mt_type_is_aggregate(bare) && bare->kind != MT_TYPE_ENUM) || shown < SHOWN_NAME ||
	    (bare->name && shown < SHOWN_WHOLE)) {
		mt_type_name(member->type, member->name, description->out);
		return;
	}
	mt_type_qualifiers(innermost, false, true, description->out);
	body(description, bare, level, shown, layout);
	mt_type_declarator(member->type, member->name, description->out);
}

/* Structures within are shown whole where offsets are.  INNER is theirs. */
static void field(struct description *description, struct mt_type *type,
		  const struct mt_member *member, unsigned level, int shown,
		  struct mt_layout *layout, struct mt_layout *inner)
{
	bool is_static = member->kind == MT_MEMBER_STATIC;
	struct mt_type *bare = mt_type_unqualified(member->type);

	if (!description->flags.offsets || is_static)
		indent(description, level);
	else {
		mt_layout_field(layout, type, member, description->flags.hex, description->out);
		mt_str_appendf(description->out, "%*s", (int)(4 * level), "");
	}
	if (is_static)
		mt_str_append(description->out, "static ");
	shown--;
	if (description->flags.offsets && !is_static && mt_type_is_aggregate(bare) &&
	    !mt_type_inner_name(type, bare)) {
		shown++;
		mt_layout_enter(inner, layout, member);
	}
	member_type(description, member, level, shown, inner);
	if (member->bit_size)
		mt_str_appendf(description->out, " : %u", member->bit_size);
	mt_str_append(description->out, ";\n");
}

struct access_state {
	uint8_t now; /* 0: no label was shown yet */
	bool labels; /* members need them */
};

static void label(const struct description *description, struct access_state *state, uint8_t access,
		  unsigned level)
{
	if (access == state->now)
		return;
	indent(description, level);
	mt_str_append(description->out, access == DW_ACCESS_public      ? "  public:\n"
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

static void method(const struct description *description, struct mt_type *class, Dwarf_Die *die,
		   unsigned level)
{
	struct mt_str *out = description->out;
	struct mt_type *type = mt_type_of_die(class->module, die);
	const char *name = mt_die_name(die);
	Dwarf_Attribute attribute;
	Dwarf_Word virtuality = 0;
	struct mt_type *this;

	if (!type)
		return;
	mt_type_expand(type);
	indent(description, level);
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

static void methods(const struct description *description, struct mt_type *type,
		    struct access_state *state, unsigned level)
{
	Dwarf_Die child;
	bool any = false;

	if (!type->die.addr || type->language != MT_LANGUAGE_CPP || dwarf_child(&type->die, &child))
		return;
	do {
		if (!is_method(&child))
			continue;
		if (!any && state->now)
			mt_str_append(description->out, "\n");
		any = true;
		label(description, state, access_of(type, &child), level);
		method(description, type, &child, level + 1);
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

static void inner_types(const struct description *description, struct mt_type *type,
			struct access_state *state, bool any_before, unsigned level)
{
	struct mt_str *out = description->out;
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
			label(description, state, access_of(type, &child), level);
		indent(description, level + 1);
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

static void fields(struct description *description, struct mt_type *type,
		   struct access_state *state, unsigned level, int shown, struct mt_layout *layout)
{
	struct mt_layout inner = {0};

	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->kind == MT_MEMBER_BASE || member->is_artificial)
			continue;
		if (state->labels)
			label(description, state, member->access, level);
		field(description, type, member, level + 1, shown, layout, &inner);
	}
}

static bool has_children(struct mt_type *type)
{
	Dwarf_Die child;

	return type->die.addr && dwarf_child(&type->die, &child) == 0;
}

static void bases(const struct mt_type *type, struct mt_str *out)
{
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
}

static void structure(struct description *description, struct mt_type *type, unsigned level,
		      int shown, struct mt_layout *layout)
{
	struct access_state state = {.labels = needs_labels(type)};
	struct mt_type *outer = type->program->described;
	struct mt_str *out = description->out;
	size_t before;

	mt_str_appendf(out, "%s ", keyword(type));
	if (type->name)
		mt_str_appendf(out, "%s ", type->name);
	template_arguments(type, out);
	bases(type, out);
	mt_str_append(out, "{\n");
	before = out->length;
	type->program->described = type;
	if (type->is_declaration) {
		indent(description, level + 1);
		mt_str_append(out, "<incomplete type>\n");
	}
	fields(description, type, &state, level, shown, layout);
	if (!description->flags.no_methods)
		methods(description, type, &state, level);
	if (!description->flags.no_typedefs)
		inner_types(description, type, &state, out->length > before, level);
	if (out->length == before && !has_children(type)) {
		indent(description, level + 1);
		mt_str_append(out, "<no data fields>\n");
	}
	type->program->described = outer;
	if (description->flags.offsets && shown >= SHOWN_WHOLE) {
		mt_layout_end(layout, type, out);
		indent(description, level + 1);
		mt_str_appendf(out, "/* total size (bytes): %4llu */\n",
			       (unsigned long long)mt_type_size(type));
	}
	indent(description, level);
	mt_str_append(out, description->flags.offsets && !level ? "  }" : "}");
}

static void body(struct description *description, struct mt_type *type, unsigned level, int shown,
		 struct mt_layout *layout)
{
	mt_type_expand(type);
	if (type->kind == MT_TYPE_ENUM)
		mt_type_describe_enum(type, description->out);
	else if (level > MOST_DEPTH || description->bodies++ > MOST_BODIES)
		mt_str_appendf(description->out, "%s {...}", keyword(type));
	else
		structure(description, type, level, shown, layout);
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

void mt_type_describe(struct mt_type *type, struct mt_type_flags flags, struct mt_str *out)
{
	struct description description = {.flags = flags, .out = out};
	struct mt_layout layout = {0};
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
	body(&description, target, 0, SHOWN_WHOLE, &layout);
	mt_type_declarator(type, NULL, out);
}
