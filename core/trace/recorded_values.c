/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/recorded_values.h"

#include "base/hash.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 4096, KEPT_PYTHON = 1024 };

struct mt_recorded_python {
	struct mt_recorded_python_code code;
	struct mt_python_call call; /* `function` NULL: it is not known */
	bool is_kept;
};

void mt_recorded_values_deinit(struct mt_recorded_values *values)
{
	mt_array_deinit(&values->items);
	mt_array_deinit(&values->open_calls);
	mt_array_deinit(&values->python_texts);
	free(values->python);
	values->python = NULL;
	mt_arena_deinit(&values->arena);
	free(values->kept);
	values->kept = NULL;
}

struct mt_error *mt_recorded_values_add(struct mt_recorded_values *values,
					const struct mt_recorded_value *value)
{
	if (value->number >= MT_RECORDED_VALUES_LIMIT)
		return NULL;
	while (values->items.count <= value->number)
		if (mt_array_push(&values->items, (struct mt_recorded_value){0}))
			return mt_error_no_memory();
	values->items.items[value->number] = *value;
	values->has_results |= value->is_result;
	return NULL;
}

const struct mt_recorded_value *mt_recorded_values_find(const struct mt_recorded_values *values,
							uint32_t number)
{
	if (!values || number >= values->items.count || !values->items.items[number].name)
		return NULL;
	return &values->items.items[number];
}

static void append_enumerator(const struct mt_recorded_value *value, uint64_t bits,
			      struct mt_str *out)
{
	const char *at = value->names, *end = at ? at + value->names_bytes : NULL;

	while (at && at < end) {
		const char *name = at;
		const char *number = memchr(name, '\0', (size_t)(end - name));

		if (!number || ++number >= end || !memchr(number, '\0', (size_t)(end - number)))
			break;
		if ((uint64_t)strtoll(number, NULL, 10) == bits) {
			mt_str_append(out, name);
			return;
		}
		at = number + strlen(number) + 1;
	}
	mt_str_appendf(out, "%lld", (long long)bits);
}

static void append_char(uint64_t bits, struct mt_str *out)
{
	mt_str_appendf(out, "%lld", (long long)bits);
	if (bits >= ' ' && bits < 0x7f)
		mt_str_appendf(out, bits == '\'' || bits == '\\' ? " '\\%c'" : " '%c'", (char)bits);
}

size_t
mt_recorded_values_open_calls(const struct mt_recorded_values *values, pid_t tid, uint32_t snapshot,
			      const struct mt_recorded_open_call *out[MT_RECORDED_OPEN_CALLS])
{
	size_t count = 0;

	if (!values)
		return 0;
	mt_array_each (call, &values->open_calls)
		if (call->tid == tid && call->snapshot == snapshot &&
		    count < MT_RECORDED_OPEN_CALLS)
			out[count++] = call;
	return count;
}

void mt_recorded_value_append(const struct mt_recorded_value *value, uint64_t bits,
			      struct mt_str *out)
{
	uint32_t low = (uint32_t)bits;
	double number;
	float narrow;

	switch (value->form) {
	case MT_VALUE_UNSIGNED:
		mt_str_appendf(out, "%llu", (unsigned long long)bits);
		break;
	case MT_VALUE_POINTER:
	case MT_VALUE_STRING:
	case MT_VALUE_TEXT:
		mt_str_appendf(out, "0x%llx", (unsigned long long)bits);
		break;
	case MT_VALUE_BOOL:
		if (bits > 1)
			mt_str_appendf(out, "%llu", (unsigned long long)bits);
		else
			mt_str_append(out, bits ? "true" : "false");
		break;
	case MT_VALUE_CHAR:
		append_char(bits, out);
		break;
	case MT_VALUE_ENUM:
		append_enumerator(value, bits, out);
		break;
	case MT_VALUE_FLOAT:
		memcpy(&narrow, &low, sizeof(narrow));
		mt_str_appendf(out, "%.9g", (double)narrow);
		break;
	case MT_VALUE_DOUBLE:
		memcpy(&number, &bits, sizeof(number));
		mt_str_appendf(out, "%.17g", number);
		break;
	default:
		mt_str_appendf(out, "%lld", (long long)bits);
	}
}

static void append_byte(uint8_t byte, struct mt_str *out)
{
	const char text[] = {(char)byte, '\0'};

	if (byte == '"' || byte == '\\')
		mt_str_appendf(out, "\\%s", text);
	else if (byte == '\n')
		mt_str_append(out, "\\n");
	else if (byte == '\t')
		mt_str_append(out, "\\t");
	else if (byte < ' ' || byte == 0x7f)
		mt_str_appendf(out, "\\%03o", byte);
	else
		mt_str_append(out, text);
}

void mt_recorded_string_append(const struct mt_recorded_value *value, uint64_t address,
			       const uint64_t *words, size_t count, struct mt_str *out)
{
	const size_t first = address % sizeof(*words), end = count * sizeof(*words);
	const uint8_t *bytes = (const uint8_t *)words;
	size_t at = first;

	if (!count) {
		mt_recorded_value_append(value, address, out);
		return;
	}
	mt_str_append(out, "\"");
	for (; at < end && at - first < MT_RECORDED_STRING_BYTES && bytes[at]; at++)
		append_byte(bytes[at], out);
	mt_str_append(out, at < end && !bytes[at] ? "\"" : "\"...");
}

void mt_recorded_text_append(uint64_t length, const uint64_t *words, size_t count,
			     struct mt_str *out)
{
	const size_t first = length % sizeof(*words);
	const uint8_t *bytes = (const uint8_t *)words + first;
	size_t there = count ? count * sizeof(*words) - first : 0;

	length /= sizeof(*words);
	if (there > length)
		there = length;
	if (there > MT_RECORDED_STRING_BYTES)
		there = MT_RECORDED_STRING_BYTES;
	mt_str_append(out, "\"");
	for (size_t i = 0; i < there; i++)
		append_byte(bytes[i], out);
	mt_str_append(out, there == length ? "\"" : "\"...");
}

const char *mt_recorded_values_keep(struct mt_recorded_values *values, const struct mt_str *text)
{
	if (!values->kept)
		values->kept = calloc(KEPT, sizeof(*values->kept));
	if (!values->kept || text->failed)
		return NULL;
	const char **slot = &values->kept[mt_hash(0, text->text, text->length) % KEPT];
	if (!*slot || strcmp(*slot, text->text) != 0)
		*slot = mt_arena_text(&values->arena, text->text, text->length);
	return *slot;
}

static const char *python_text(const struct mt_recorded_values *values, uint64_t hash)
{
	const size_t low = mt_partition_point(i, 0, values->python_texts.count,
					      values->python_texts.items[i].hash < hash);
	return low < values->python_texts.count && values->python_texts.items[low].hash == hash
		   ? values->python_texts.items[low].text
		   : NULL;
}

static void name_python(struct mt_recorded_values *values, struct mt_recorded_python *kept)
{
	const char *name = python_text(values, kept->code.function);
	const char *file = python_text(values, kept->code.file);
	const uint32_t line =
	    kept->code.first_line <= INT32_MAX ? (uint32_t)kept->code.first_line : 0;

	if (!name || !file || !values->python_function)
		return;
	kept->call.function = values->python_function(values->python_context, name, file, line);
	kept->call.where = mt_arena_format(&values->arena, "%s:%u", file, line);
}

const struct mt_python_call *mt_recorded_values_python(struct mt_recorded_values *values,
						       const struct mt_recorded_python_code *code)
{
	if (!values->python)
		values->python = calloc(KEPT_PYTHON, sizeof(*values->python));
	if (!values->python)
		return NULL;
	struct mt_recorded_python *kept =
	    &values->python[mt_hash(0, code, sizeof(*code)) % KEPT_PYTHON];
	if (!kept->is_kept || memcmp(&kept->code, code, sizeof(*code)) != 0) {
		*kept = (struct mt_recorded_python){.code = *code, .is_kept = true};
		name_python(values, kept);
	}
	return kept->call.function ? &kept->call : NULL;
}
