/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of the languages' libraries: strings, Vec of Rust, slices of Go. */
#include "print/container.h"
#include "values/go.h"
#include "values/text.h"

#include <string.h>

/* Where a Vec's elements are: the pointer has been within more and more structures. */
static bool elements_of(struct mt_print *print, struct mt_value *vec, uint64_t *out)
{
	static const char *const paths[] = {"buf.inner.ptr.pointer.pointer",
					    "buf.ptr.pointer.pointer", "buf.ptr.pointer"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (mt_container_number(print, vec, paths[i], out))
			return true;
	return false;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* False: it is none. */
static bool print_text(struct mt_print *print, struct mt_value *value)
{
	struct mt_value start, length;
	uint64_t address = 0, count = 0;

	if (!mt_text_parts(print->eval, value, &start, &length))
		return false;
	struct mt_error *error = mt_value_get(print->eval, &start, &address);
	if (!error)
		error = mt_value_get(print->eval, &length, &count);
	bool is_known = !error;
	mt_error_destroy(error);
	return is_known &&
	       mt_container_text(print, mt_text_element(print->eval, &start), address, count);
}

static bool print_rust(struct mt_print *print, struct mt_value *value, const char *name)
{
	struct mt_type *element = mt_template_argument(value->type, 0);
	uint64_t start, count;

	if (!begins(name, "alloc::vec::Vec<") || !element || !elements_of(print, value, &start) ||
	    !mt_container_number(print, value, "len", &count))
		return false;
	mt_str_appendf(print->out, "Vec(size=%llu)", (unsigned long long)count);
	mt_container_array(print, element, start, count);
	return true;
}

static bool print_go(struct mt_print *print, struct mt_value *value, const char *name)
{
	struct mt_value array;
	uint64_t start, count;

	if (!begins(name, "[]") || !mt_container_field(print, value, "array", &array) ||
	    mt_type_strip(array.type)->kind != MT_TYPE_POINTER ||
	    !mt_container_number(print, value, "array", &start) ||
	    !mt_container_number(print, value, "len", &count))
		return false;
	mt_str_append(print->out, name);
	mt_container_array(print, mt_type_target(mt_type_strip(array.type)), start, count);
	return true;
}

bool mt_print_library_type(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_value copy = *value;
	size_t before = print->out->length;
	bool is_printed = false;

	bool is_map = mt_type_is_go_map(value->type);

	if ((!is_map && (!type->name || type->kind != MT_TYPE_STRUCT)) || mt_print_is_raw(print) ||
	    mt_value_hole(value, 0, value->holes ? mt_type_size(type) : 0))
		return false;
	if (is_map)
		is_printed = mt_print_go_map(print, &copy);
	else if (print_text(print, &copy))
		is_printed = true;
	else if (type->language == MT_LANGUAGE_CPP)
		is_printed = mt_print_stdcxx(print, &copy);
	else if (type->language == MT_LANGUAGE_RUST)
		is_printed = print_rust(print, &copy, type->name);
	else if (type->language == MT_LANGUAGE_GO)
		is_printed = mt_type_is_go_interface(value->type)
				 ? mt_print_go_interface(print, &copy)
				 : print_go(print, &copy, type->name);
	if (!is_printed && print->out->text) {
		print->out->length = before;
		print->out->text[before] = '\0';
	}
	return is_printed;
}
