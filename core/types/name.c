/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types in words: what stands before a variable's name, and what stands behind it, spaced as GDB
 * spaces it. */
#include "types/program.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 64

void mt_type_qualifiers(const struct mt_type *type, bool space_before, bool space_behind,
			struct mt_str *out)
{
	bool is_const = false, is_volatile = false, is_restrict = false, is_atomic = false;
	bool any = false;

	for (unsigned i = 0; i < MOST_DEPTH && type->kind == MT_TYPE_QUALIFIED; i++) {
		is_const |= type->is_const;
		is_volatile |= type->is_volatile;
		is_restrict |= type->is_restrict;
		is_atomic |= type->is_atomic;
		type = mt_type_target((struct mt_type *)type);
	}
	const struct {
		bool is_set;
		const char *word;
	} words[] = {{is_const, "const"},
		     {is_volatile, "volatile"},
		     {is_restrict, type->language == MT_LANGUAGE_CPP ? "__restrict__" : "restrict"},
		     {is_atomic, type->language == MT_LANGUAGE_CPP ? "std::atomic" : "_Atomic"}};

	for (size_t i = 0; i < 4; i++) {
		if (!words[i].is_set)
			continue;
		mt_str_appendf(out, "%s%s", any || space_before ? " " : "", words[i].word);
		any = true;
	}
	if (any && space_behind)
		mt_str_append(out, " ");
}

static bool is_derived(const struct mt_type *type)
{
	/* The linker alone knows them. */
	if (type->kind == MT_TYPE_FUNCTION && type->name)
		return false;
	return type->kind == MT_TYPE_POINTER || type->kind == MT_TYPE_ARRAY ||
	       type->kind == MT_TYPE_FUNCTION || type->kind == MT_TYPE_MEMBER_POINTER ||
	       mt_type_is_reference(type);
}

/* The qualifiers of what is derived stand behind its star. */
static struct mt_type *bare(struct mt_type *type)
{
	return mt_type_unqualified(type);
}

struct mt_type *mt_type_innermost(struct mt_type *type)
{
	for (unsigned i = 0; i < MOST_DEPTH; i++) {
		struct mt_type *inner = bare(type);

		if (!is_derived(inner) || (inner->is_vector && inner->name))
			return type;
		type = mt_type_target(inner);
	}
	return type;
}

/* SPACE_BEHIND: of qualifiers, if there are any. */
static void prefix(struct mt_type *type, bool through_pointer, bool space_behind, unsigned depth,
		   struct mt_str *out)
{
	struct mt_type *inner = bare(type);

	if (!is_derived(inner) || depth > MOST_DEPTH || (inner->is_vector && inner->name))
		return;
	switch (inner->kind) {
	case MT_TYPE_POINTER:
		prefix(mt_type_target(inner), true, true, depth + 1, out);
		mt_str_append(out, "*");
		mt_type_qualifiers(type, true, space_behind, out);
		break;
	case MT_TYPE_REFERENCE:
	case MT_TYPE_RVALUE_REFERENCE:
		prefix(mt_type_target(inner), true, false, depth + 1, out);
		mt_str_append(out, inner->kind == MT_TYPE_REFERENCE ? "&" : "&&");
		mt_type_qualifiers(type, true, space_behind, out);
		break;
	case MT_TYPE_MEMBER_POINTER: {
		struct mt_type *class = mt_type_containing(inner);

		prefix(mt_type_target(inner), true, false, depth + 1, out);
		mt_str_appendf(out, "%s::*", class->name ? class->name : "");
		break;
	}
	default:
		prefix(mt_type_target(inner), false, space_behind && inner->kind == MT_TYPE_ARRAY,
		       depth + 1, out);
		if (through_pointer)
			mt_str_append(out, "(");
	}
}

void mt_type_parameters(struct mt_type *type, bool skip_this, struct mt_str *out)
{
	bool any = false;

	mt_type_expand(type);
	mt_str_append(out, "(");
	for (size_t i = 0; i < type->member_count; i++) {
		if (type->members[i].is_artificial && skip_this)
			continue;
		if (any)
			mt_str_append(out, ", ");
		mt_type_name(type->members[i].type, NULL, out);
		any = true;
	}
	if (type->is_varargs)
		mt_str_append(out, any ? ", ..." : "...");
	else if (!any && (type->is_prototyped || type->language == MT_LANGUAGE_CPP))
		mt_str_append(out, "void");
	mt_str_append(out, ")");
}

static void suffix(struct mt_type *type, bool through_pointer, unsigned depth, struct mt_str *out)
{
	struct mt_type *inner = bare(type);

	if (!is_derived(inner) || depth > MOST_DEPTH || (inner->is_vector && inner->name))
		return;
	switch (inner->kind) {
	case MT_TYPE_ARRAY:
		if (through_pointer)
			mt_str_append(out, ")");
		if (inner->is_vector)
			mt_str_append(out, " __attribute__ ((vector_size(");
		else
			mt_str_append(out, "[");
		if (inner->count >= 0)
			mt_str_appendf(out, "%lld", (long long)inner->count);
		else if (inner->count_die.addr)
			mt_str_append(out, "variable length");
		mt_str_append(out, inner->is_vector ? ")))" : "]");
		suffix(mt_type_target(inner), false, depth + 1, out);
		break;
	case MT_TYPE_FUNCTION:
		if (through_pointer)
			mt_str_append(out, ")");
		if (depth < MOST_DEPTH / 4)
			mt_type_parameters(inner, false, out);
		suffix(mt_type_target(inner), false, depth + 1, out);
		break;
	default:
		suffix(mt_type_target(inner), true, depth + 1, out);
	}
}

void mt_type_declarator(struct mt_type *type, const char *variable, struct mt_str *out)
{
	if (variable || is_derived(bare(type)))
		if (!(bare(type)->is_vector && bare(type)->name))
			mt_str_append(out, " ");
	prefix(type, false, variable && *variable, 0, out);
	if (variable)
		mt_str_append(out, variable);
	suffix(type, false, 0, out);
}

static const char *keyword(const struct mt_type *type)
{
	if (type->language != MT_LANGUAGE_C && type->name)
		return "";
	switch (type->kind) {
	case MT_TYPE_STRUCT:
		return type->is_class ? "class " : "struct ";
	case MT_TYPE_UNION:
		return "union ";
	case MT_TYPE_ENUM:
		return type->is_enum_class ? "enum class " : "enum ";
	default:
		return "";
	}
}

const char *mt_type_inner_name(struct mt_type *class, struct mt_type *type)
{
	Dwarf_Die child;

	if (!class || !class->die.addr || class->language != MT_LANGUAGE_CPP ||
	    dwarf_child(&class->die, &child))
		return NULL;
	do {
		int tag = dwarf_tag(&child);

		if ((tag == DW_TAG_typedef && child.addr == type->die.addr) ||
		    (tag == DW_TAG_template_type_parameter &&
		     mt_type_of(class->module, &child) == type))
			return dwarf_diename(&child);
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

static void base_name(struct mt_type *type, struct mt_str *out)
{
	struct mt_type *inner = bare(type);
	const char *name = mt_type_inner_name(type->program->described, inner);

	mt_type_qualifiers(type, false, true, out);
	if (name) {
		mt_str_append(out, name);
		return;
	}
	if (inner->name)
		mt_str_appendf(out, "%s%s", keyword(inner), inner->name);
	else if (mt_type_is_aggregate(inner) || inner->kind == MT_TYPE_ENUM)
		mt_str_appendf(out, "%s{...}", keyword(inner));
	else
		mt_str_append(out, inner->kind == MT_TYPE_VOID ? "void" : "<unnamed type>");
}

static void rust_function(struct mt_type *type, struct mt_str *out)
{
	struct mt_type *returned = mt_type_target(type);

	mt_type_expand(type);
	mt_str_append(out, "fn (");
	for (size_t i = 0; i < type->member_count; i++) {
		mt_str_append(out, i ? ", " : "");
		mt_type_name(type->members[i].type, NULL, out);
	}
	mt_str_append(out, ")");
	if (returned->kind == MT_TYPE_VOID || (returned->name && !strcmp(returned->name, "()")))
		return;
	mt_str_append(out, " -> ");
	mt_type_name(returned, NULL, out);
}

/* Rust writes what is derived the other way round: `*mut T`, `[T; 3]`. */
static bool rust_name(struct mt_type *type, struct mt_str *out)
{
	if (type->language == MT_LANGUAGE_RUST && type->kind == MT_TYPE_FUNCTION) {
		rust_function(type, out);
		return true;
	}
	if (type->language != MT_LANGUAGE_RUST ||
	    (type->kind != MT_TYPE_POINTER && type->kind != MT_TYPE_ARRAY))
		return false;
	mt_str_append(out, type->kind == MT_TYPE_POINTER ? "*mut " : "[");
	mt_type_name(mt_type_target(type), NULL, out);
	if (type->kind == MT_TYPE_ARRAY && type->count >= 0)
		mt_str_appendf(out, "; %lld", (long long)type->count);
	if (type->kind == MT_TYPE_ARRAY)
		mt_str_append(out, "]");
	return true;
}

void mt_type_name(struct mt_type *type, const char *variable, struct mt_str *out)
{
	/* Types may be nested without end when DWARF is garbled. */
	if (type->program->naming > 24) {
		mt_str_append(out, "...");
		return;
	}
	type->program->naming++;
	if (rust_name(type, out)) {
		type->program->naming--;
		return;
	}
	base_name(mt_type_innermost(type), out);
	mt_type_declarator(type, variable, out);
	type->program->naming--;
}
