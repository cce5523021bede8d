/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings and arrays: quotes, repeats, limits.  A run of more than settings->repeats elements is
 * shown once, and counts as that many against settings->elements. */
#include "print/print.h"

#include <inttypes.h>
#include <string.h>

static uint64_t char_at(const uint8_t *bytes, uint64_t index, uint64_t width)
{
	uint64_t code = 0;

	memcpy(&code, bytes + index * width, width > 8 ? 8 : width);
	return code;
}

static uint64_t run_length(const uint8_t *bytes, uint64_t from, uint64_t count, uint64_t width)
{
	uint64_t length = 1;

	while (from + length < count &&
	       char_at(bytes, from + length, width) == char_at(bytes, from, width))
		length++;
	return length;
}

struct quoting {
	struct mt_str *out;
	const char *prefix;
	bool in_quotes, any;
};

static void begin(struct quoting *quoting, bool in_quotes)
{
	if (quoting->in_quotes && !in_quotes)
		mt_str_append(quoting->out, "\"");
	if (quoting->any && !(quoting->in_quotes && in_quotes))
		mt_str_append(quoting->out, ", ");
	if (in_quotes && !quoting->in_quotes)
		mt_str_appendf(quoting->out, "%s\"", quoting->prefix);
	quoting->in_quotes = in_quotes;
	quoting->any = true;
}

void mt_print_string(struct mt_print *print, struct mt_type *element, const uint8_t *bytes,
		     uint64_t count, bool cut)
{
	const struct mt_expr_settings *settings = print->settings;
	uint64_t width = mt_type_size(element), shown = 0, i = 0;
	uint64_t limit = settings->elements ? settings->elements : UINT64_MAX;
	struct quoting quoting = {.out = print->out, .prefix = mt_type_text_prefix(element)};

	/* A last NUL is what strings end with. */
	if (!cut && count && !char_at(bytes, count - 1, width))
		count--;
	if (!count) {
		mt_str_appendf(print->out, "%s\"\"%s", quoting.prefix, cut ? "..." : "");
		return;
	}
	while (i < count && shown < limit) {
		uint64_t run = run_length(bytes, i, count, width);

		if (settings->repeats && run > settings->repeats) {
			begin(&quoting, false);
			mt_str_appendf(quoting.out, "%s'", quoting.prefix);
			mt_print_char(char_at(bytes, i, width), NULL, '\'', quoting.out);
			mt_str_appendf(quoting.out, "' <repeats %llu times>",
				       (unsigned long long)run);
			i += run;
			shown += run;
			continue;
		}
		begin(&quoting, true);
		mt_print_char(char_at(bytes, i, width), NULL, '"', quoting.out);
		i++;
		shown++;
	}
	if (quoting.in_quotes)
		mt_str_append(print->out, "\"");
	if (cut || i < count)
		mt_str_append(print->out, "...");
}

/* Up to a NUL, or LIMIT characters.  *COUNT: how many were read; false: then memory ended. */
static bool read_string(struct mt_print *print, uint64_t address, uint64_t width, uint64_t limit,
			uint8_t *bytes, uint64_t *count, bool *ended)
{
	const struct mt_expr_frame *frame = print->eval->frame;

	*ended = false;
	for (*count = 0; *count < limit;) {
		uint64_t at = address + *count * width;
		/* Not beyond the page: what lies there may not be there. */
		uint64_t most = (4096 - at % 4096) / width, got;

		if (most > limit - *count)
			most = limit - *count;
		if (!most)
			most = 1;
		got = frame->ops ? frame->ops->read(frame->context, at, bytes + *count * width,
						    most * width) /
				       width
				 : 0;
		if (!got)
			return false;
		for (uint64_t end = *count + got; *count < end; ++*count) {
			if (char_at(bytes, *count, width))
				continue;
			++*count;
			*ended = true;
			return true;
		}
	}
	return true;
}

void mt_print_string_at(struct mt_print *print, struct mt_type *element, uint64_t address,
			int64_t length)
{
	uint64_t width = mt_type_size(element), count = 0, limit = print->settings->elements;
	uint8_t *bytes;
	bool ended, readable;

	if (!limit || limit > 1 << 20)
		limit = 1 << 20;
	if (length >= 0 && (uint64_t)length < limit)
		limit = (uint64_t)length;
	bytes =
	    width && width <= 8 ? mt_arena_alloc(print->eval->arena, (limit + 1) * width) : NULL;
	if (!bytes)
		return;
	readable = read_string(print, address, width, limit, bytes, &count, &ended);
	/* Whether the text ends right behind the limit. */
	if (readable && !ended && length < 0) {
		uint64_t next = 0;
		bool unused;

		if (read_string(print, address + count * width, width, 1, bytes + count * width,
				&next, &unused))
			ended = unused;
		count += ended;
	}
	if (count)
		mt_print_string(print, element, bytes, count, readable && !ended && length < 0);
	else if (readable && length == 0)
		mt_str_append(print->out, "\"\"");
	if (!readable)
		mt_str_appendf(print->out, "<error: Cannot access memory at address 0x%" PRIx64 ">",
			       address + count * width);
}

static bool same_element(struct mt_value *array, uint64_t a, uint64_t b, uint64_t size)
{
	const uint8_t *bytes = mt_value_bytes(array);

	if (mt_value_hole(array, a * size, size) != mt_value_hole(array, b * size, size))
		return false;
	return memcmp(bytes + a * size, bytes + b * size, size) == 0;
}

/* `set print array on`: an element a line. */
static void break_line(struct mt_print *print)
{
	mt_str_append(print->out, "\n");
	for (uint32_t i = 0; i < print->depth; i++)
		mt_str_append(print->out, "  ");
}

static void print_elements(struct mt_print *print, struct mt_value *array, struct mt_type *element,
			   uint64_t count)
{
	const struct mt_expr_settings *settings = print->settings;
	uint64_t size = mt_type_size(element), shown = 0, i = 0;
	uint64_t limit = settings->elements ? settings->elements : UINT64_MAX;
	bool nested = mt_type_strip(element)->kind == MT_TYPE_ARRAY;

	for (; i < count && (nested ? print->printed : shown) < limit; shown++) {
		uint64_t run = 1;

		if (i)
			mt_str_append(print->out, settings->array ? "," : ", ");
		if (settings->array)
			break_line(print);
		if (settings->array_indexes)
			mt_str_appendf(print->out, "[%llu] = ", (unsigned long long)i);
		while (i + run < count && same_element(array, i, i + run, size))
			run++;
		struct mt_value value;
		struct mt_error *error =
		    mt_value_part(print->eval, array, element, i * mt_type_size(element), &value);

		if (error)
			mt_str_appendf(print->out, "<error: %s>", mt_error_message(error));
		else
			mt_print_value(print, &value);
		mt_error_destroy(error);
		if (settings->repeats && run > settings->repeats) {
			mt_str_appendf(print->out, " <repeats %llu times>",
				       (unsigned long long)run);
			i += run;
			shown += settings->repeats - 1;
			if (!nested)
				print->printed += settings->repeats;
		} else {
			i++;
			if (!nested)
				print->printed++;
		}
	}
	if (i < count)
		mt_str_append(print->out, "...");
}

void mt_print_array(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type), *element = mt_type_target(type);
	uint64_t size = mt_type_size(element);
	bool is_rust = type->language == MT_LANGUAGE_RUST;

	if (type->count < 0 || !size) {
		/* Of unknown length: like a pointer to the first. */
		struct mt_value pointer;

		if (value->lval == MT_LVAL_MEMORY && mt_type_pointer_to(element)) {
			pointer = mt_value_integer(mt_type_pointer_to(element), value->address);
			mt_print_scalar(print, &pointer);
		} else {
			mt_str_append(print->out, "{}");
		}
		return;
	}
	if (mt_type_is_text(element) && type->count && !type->is_vector && !is_rust &&
	    (!print->format || !print->format->letter || print->format->letter == 's') &&
	    !value->holes) {
		uint64_t count = (uint64_t)type->count;
		uint64_t width = mt_type_size(element), limit = print->settings->elements, end = 0;
		bool cut = false;

		if (print->settings->null_stop) {
			limit = limit && limit < count ? limit : count;
			while (end < limit && char_at(mt_value_bytes(value), end, width))
				end++;
			cut = end == limit && limit < count;
			count = end;
		}
		mt_print_string(print, element, mt_value_bytes(value), count, cut);
		return;
	}
	mt_str_append(print->out, is_rust ? "[" : "{");
	print->depth++;
	print_elements(print, value, element, (uint64_t)type->count);
	print->depth--;
	if (print->settings->array && type->count)
		break_line(print);
	mt_str_append(print->out, is_rust ? "]" : "}");
}
