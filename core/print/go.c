/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Maps and interfaces of Go, as its debuggers show them: "map[string]int = {["a"] = 1}",
 * "error(*errors.errorString) *{s = "boom"}". */
#include "values/go.h"
#include "print/container.h"
#include "values/text.h"

/* What interfaces hold is followed that often, each within the one before. */
#define MOST_FOLLOWED 2

static bool print_cell(void *context, struct mt_value *key, struct mt_value *value)
{
	struct mt_children *children = context;

	if (!mt_children_next(children))
		return false;
	mt_str_append(children->print->out, "[");
	mt_children_value(children, key);
	if (children->is_over)
		return false;
	mt_str_append(children->print->out, "] = ");
	mt_children_value(children, value);
	return !children->is_over;
}

bool mt_print_go_map(struct mt_print *print, struct mt_value *value)
{
	struct mt_children children = {.print = print, .hint = MT_CHILDREN_MAP};
	struct mt_value header;
	uint64_t address, count;
	struct mt_error *error = mt_value_get(print->eval, value, &address);
	bool is_known = !error;

	mt_error_destroy(error);
	if (!is_known)
		return false;
	if (!address) {
		mt_str_appendf(print->out, "%s = nil", mt_type_unqualified(value->type)->name);
		return true;
	}
	header = mt_value_at(mt_type_target(mt_type_strip(value->type)), address);
	if (!mt_container_number(print, &header, "count", &count))
		return false;
	mt_str_append(print->out, mt_type_unqualified(value->type)->name);
	if (!count)
		mt_str_append(print->out, " = {}");
	is_known = mt_go_map_walk(print->eval, &header, print_cell, &children);
	mt_children_end(&children);
	return is_known && (!count || children.count || children.is_over);
}

static bool is_text(struct mt_print *print, struct mt_value *value)
{
	struct mt_value start, count;

	return mt_text_parts(print->eval, value, &start, &count);
}

/* What may hold interfaces, and so itself: all of it would be shown over and over. */
static bool is_too_deep(struct mt_print *print, struct mt_value *value)
{
	const struct mt_type *type = mt_type_strip(value->type);

	return print->in_interface > MOST_FOLLOWED &&
	       (mt_type_is_go_map(value->type) || type->kind == MT_TYPE_ARRAY ||
		(type->kind == MT_TYPE_STRUCT && !is_text(print, value)));
}

/* The structure that a pointer leads to; else the value. */
static void print_held(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_value target;

	if (is_too_deep(print, value)) {
		mt_str_append(print->out, "...");
		return;
	}
	if (type->kind != MT_TYPE_POINTER || mt_type_is_go_map(value->type) ||
	    mt_type_is_go_channel(value->type) || print->is_summary ||
	    print->in_interface > MOST_FOLLOWED ||
	    mt_type_strip(mt_type_target(type))->kind != MT_TYPE_STRUCT) {
		mt_print_value(print, value);
		return;
	}
	struct mt_error *error = mt_value_dereference(print->eval, value, &target);
	if (!error)
		error = mt_value_fetch(print->eval, &target);
	if (error) {
		mt_error_destroy(error);
		mt_print_value(print, value);
		return;
	}
	mt_str_append(print->out, "*");
	mt_print_value(print, &target);
}

bool mt_print_go_interface(struct mt_print *print, struct mt_value *value)
{
	struct mt_value held;
	bool is_nil;
	struct mt_error *error = mt_go_dynamic_value(print->eval, value, &held, &is_nil);
	const bool is_known = !error;

	mt_error_destroy(error);
	if (!is_known)
		return false;
	mt_str_append(print->out, mt_type_unqualified(value->type)->name);
	if (is_nil) {
		mt_str_append(print->out, " nil");
		return true;
	}
	mt_str_appendf(print->out, "(%s) ", mt_go_type_name(held.type));
	print->in_interface++;
	print_held(print, &held);
	print->in_interface--;
	return true;
}
