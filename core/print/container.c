/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What printers of containers share: members by path, and elements one after the other. */
#include "print/container.h"

#include "dwarf/die.h"
#include "values/text.h"

#include <dwarf.h>
#include <string.h>

bool mt_container_field(struct mt_print *print, struct mt_value *value, const char *path,
			struct mt_value *out)
{
	return mt_value_at_path(print->eval, value, path, out);
}

bool mt_container_number(struct mt_print *print, struct mt_value *value, const char *path,
			 uint64_t *out)
{
	struct mt_value found;

	if (!mt_container_field(print, value, path, &found))
		return false;
	struct mt_error *error = mt_value_get(print->eval, &found, out);
	bool is_known = !error;
	mt_error_destroy(error);
	return is_known;
}

bool mt_container_word(struct mt_print *print, uint64_t address, uint64_t *out)
{
	struct mt_error *error = mt_value_read(print->eval, address, out, sizeof(*out));
	bool is_read = !error;

	mt_error_destroy(error);
	return is_read;
}

static void newline(struct mt_print *print)
{
	mt_str_append(print->out, "\n");
	for (uint32_t i = 0; i < print->depth; i++)
		mt_str_append(print->out, "  ");
}

static bool is_broken(const struct mt_children *children)
{
	const struct mt_expr_settings *settings = children->print->settings;

	return children->hint == MT_CHILDREN_ARRAY ? settings->array : settings->pretty;
}

bool mt_children_next(struct mt_children *children)
{
	struct mt_print *print = children->print;
	uint32_t limit = print->settings->elements;

	if (children->is_over || (limit && children->count >= limit) ||
	    children->count >= MT_CONTAINER_MOST)
		return false;
	if (children->count) {
		mt_str_append(print->out, is_broken(children) ? "," : ", ");
	} else if (print->is_summary || print->depth >= print->settings->max_depth) {
		mt_str_append(print->out, children->is_bare ? "{...}" : " = {...}");
		children->is_over = true;
		return false;
	} else {
		mt_str_append(print->out, children->is_bare ? "{" : " = {");
		print->depth++;
		children->is_open = true;
	}
	if (is_broken(children))
		newline(print);
	children->count += children->hint == MT_CHILDREN_MAP ? 2 : 1;
	return true;
}

void mt_children_value(struct mt_children *children, struct mt_value *value)
{
	struct mt_print *print = children->print;
	struct mt_error *error =
	    value->is_optimized_out ? NULL : mt_value_fetch(print->eval, value);

	if (error) {
		mt_str_appendf(print->out, "<error: %s>", mt_error_message(error));
		children->is_over = true;
	} else {
		mt_print_value(print, value);
	}
	mt_error_destroy(error);
}

void mt_children_end(struct mt_children *children)
{
	struct mt_print *print = children->print;
	uint32_t limit = print->settings->elements;

	if (!children->is_open)
		return;
	if (!children->is_over &&
	    ((limit && children->count >= limit) || children->count >= MT_CONTAINER_MOST))
		mt_str_append(print->out, "...");
	print->depth--;
	if (is_broken(children))
		newline(print);
	mt_str_append(print->out, "}");
}

void mt_container_array(struct mt_print *print, struct mt_type *element, uint64_t address,
			uint64_t count)
{
	struct mt_children children = {.print = print, .hint = MT_CHILDREN_ARRAY};
	uint64_t size = mt_type_size(element);

	for (uint64_t i = 0; i < count && mt_children_next(&children); i++) {
		struct mt_value value = mt_value_at(element, address + i * size);

		mt_children_value(&children, &value);
	}
	mt_children_end(&children);
}

bool mt_container_text(struct mt_print *print, struct mt_type *element, uint64_t address,
		       uint64_t length)
{
	uint64_t width = mt_type_size(element), limit = print->settings->elements;
	uint8_t *bytes;

	if (!limit || limit > 1 << 20)
		limit = 1 << 20;
	bool is_cut = length > limit;
	if (is_cut)
		length = limit;
	bytes =
	    width && width <= 8 ? mt_arena_alloc(print->eval->arena, (length + 1) * width) : NULL;
	if (!bytes)
		return false;
	struct mt_error *error = mt_value_read(print->eval, address, bytes, length * width);
	bool is_read = !error;
	mt_error_destroy(error);
	if (is_read)
		mt_print_string(print, element, bytes, length, is_cut);
	return is_read;
}

static struct mt_type *argument_in(struct mt_type *type, Dwarf_Die *parent, unsigned *index)
{
	Dwarf_Die child;

	if (dwarf_child(parent, &child))
		return NULL;
	do {
		struct mt_type *found = NULL;

		if (dwarf_tag(&child) == DW_TAG_GNU_template_parameter_pack)
			found = argument_in(type, &child, index);
		else if (dwarf_tag(&child) == DW_TAG_template_type_parameter && !(*index)--)
			found = mt_type_of(type->module, &child);
		if (found)
			return found;
	} while (dwarf_siblingof(&child, &child) == 0);
	return NULL;
}

struct mt_type *mt_template_argument(struct mt_type *type, unsigned index)
{
	type = mt_type_strip(type);
	return type->die.addr && type->module ? argument_in(type, &type->die, &index) : NULL;
}
