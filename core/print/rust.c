/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rust's own shapes: structures, tuples, enums with data, strings and slices. */
#include "dwarf/die.h"
#include "print/print.h"

#include <dwarf.h>
#include <string.h>

static void print_error(struct mt_print *print, struct mt_error *error)
{
	if (error)
		mt_str_appendf(print->out, "<error: %s>", mt_error_message(error));
	mt_error_destroy(error);
}

/* Fields are called __0, __1 … */
static bool is_tuple(const struct mt_type *type)
{
	return type->member_count && type->members[0].name &&
	       strcmp(type->members[0].name, "__0") == 0;
}

static void print_fields(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	bool tuple = is_tuple(type);

	mt_str_append(print->out, tuple ? "(" : "{");
	print->depth++;
	for (size_t i = 0; i < type->member_count; i++) {
		struct mt_value part;
		struct mt_error *error =
		    mt_value_member(print->eval, value, &type->members[i], &part);

		if (i)
			mt_str_append(print->out, ", ");
		if (!tuple)
			mt_str_appendf(print->out,
				       "%s: ", type->members[i].name ? type->members[i].name : "");
		if (error)
			print_error(print, error);
		else
			mt_print_value(print, &part);
	}
	print->depth--;
	mt_str_append(print->out, tuple ? ")" : "}");
}

static bool is_pair(const struct mt_type *type)
{
	return type->member_count == 2 && type->members[0].name &&
	       strcmp(type->members[0].name, "data_ptr") == 0 && type->members[1].name &&
	       strcmp(type->members[1].name, "length") == 0;
}

/* &str and &[T]: a pointer and a count. */
static void print_slice(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	struct mt_type *element = mt_type_target(mt_type_strip(type->members[0].type)), *array;
	struct mt_value elements;
	struct mt_error *error;
	uint64_t words[2];

	memcpy(words, mt_value_bytes(value), sizeof(words));
	if (type->name && strcmp(type->name, "&str") == 0) {
		mt_print_string_at(print, mt_type_builtin(print->eval->program, MT_BUILTIN_CHAR),
				   words[0], words[1] < INT32_MAX ? (int64_t)words[1] : INT32_MAX);
		return;
	}
	mt_str_appendf(print->out, "%s ", type->name ? type->name : "");
	array = mt_type_array_of(element, 0, words[1] < INT32_MAX ? (int64_t)words[1] : INT32_MAX);
	if (!array)
		return;
	elements = mt_value_at(array, words[0]);
	error = mt_value_fetch(print->eval, &elements);
	if (error)
		print_error(print, error);
	else
		mt_print_array(print, &elements);
}

/* A member that is within the enum itself, wherever its DIE stands. */
static struct mt_error *member_of(struct mt_print *print, struct mt_value *value, Dwarf_Die *die,
				  struct mt_value *out)
{
	Dwarf_Attribute attribute;
	Dwarf_Word offset = 0;
	struct mt_type *type = mt_type_of(mt_type_strip(value->type)->module, die);

	if (!type)
		return mt_error_no_memory();
	if (dwarf_attr(die, DW_AT_data_member_location, &attribute))
		dwarf_formudata(&attribute, &offset);
	return mt_value_part(print->eval, value, type, offset, out);
}

/* False: there is none, as where the compiler needs no discriminant. */
static bool discriminant_of(struct mt_print *print, struct mt_value *value, Dwarf_Die *part,
			    uint64_t *out, unsigned *size)
{
	Dwarf_Attribute attribute;
	Dwarf_Die member;
	struct mt_value found;
	struct mt_error *error;

	if (!dwarf_attr(part, DW_AT_discr, &attribute) || !dwarf_formref_die(&attribute, &member))
		return false;
	error = member_of(print, value, &member, &found);
	if (!error)
		error = mt_value_get(print->eval, &found, out);
	*size = error ? 8 : (unsigned)mt_type_size(found.type);
	mt_error_destroy(error);
	return !error;
}

static bool is_variant(Dwarf_Die *variant, uint64_t discriminant, unsigned size)
{
	Dwarf_Attribute attribute;
	Dwarf_Word wanted;

	if (!dwarf_attr(variant, DW_AT_discr_value, &attribute))
		return true;
	if (dwarf_formudata(&attribute, &wanted))
		return false;
	return mt_extend(wanted, size * 8, false) == mt_extend(discriminant, size * 8, false);
}

/* The variant that is there; the one without a value stands for all that have none. */
static bool find_variant(struct mt_print *print, struct mt_value *value, Dwarf_Die *part,
			 Dwarf_Die *out)
{
	uint64_t discriminant = 0;
	unsigned size = 8;
	bool known = discriminant_of(print, value, part, &discriminant, &size), any = false;
	Dwarf_Die child;

	if (dwarf_child(part, &child))
		return false;
	do {
		if (dwarf_tag(&child) != DW_TAG_variant ||
		    (known && !is_variant(&child, discriminant, size)))
			continue;
		*out = child;
		any = true;
		if (dwarf_hasattr(&child, DW_AT_discr_value))
			return true;
	} while (dwarf_siblingof(&child, &child) == 0);
	return any;
}

static bool print_enum(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	Dwarf_Die part, variant, member;
	struct mt_value data = {0};
	struct mt_type *shape;
	struct mt_error *error;

	if (!type->die.addr || !mt_die_child(&type->die, DW_TAG_variant_part, &part) ||
	    !find_variant(print, value, &part, &variant) ||
	    !mt_die_child(&variant, DW_TAG_member, &member))
		return false;
	error = member_of(print, value, &member, &data);
	if (error) {
		print_error(print, error);
		return true;
	}
	shape = mt_type_strip(data.type);
	mt_type_expand(shape);
	mt_str_append(print->out, shape->name ? shape->name : "");
	if (shape->member_count)
		print_fields(print, &data, shape);
	return true;
}

bool mt_print_rust(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);

	if (type->language != MT_LANGUAGE_RUST || !mt_type_is_aggregate(type) || !type->module)
		return false;
	if (print_enum(print, value, type))
		return true;
	if (is_pair(type)) {
		print_slice(print, value, type);
		return true;
	}
	if (type->name && type->name[0] != '(')
		mt_str_appendf(print->out, "%s%s", type->name, type->member_count ? " " : "");
	if (type->member_count)
		print_fields(print, value, type);
	else if (!type->name || type->name[0] == '(')
		mt_str_append(print->out, "()");
	return true;
}
