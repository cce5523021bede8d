/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What people type for a place in the code, and what code is at an address. */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct search {
	struct mt_debugger *debugger;
	uint64_t bias;
	const char *file; /* FILE:FUNCTION: only functions of this file; NULL: of any */
	MT_ARRAY(uint64_t) addresses;
	bool failed;
};

static void add(struct search *search, uint64_t address)
{
	mt_array_each (known, &search->addresses)
		if (*known == address)
			return;
	search->failed |= mt_array_push(&search->addresses, address) != 0;
}

static bool ends_with_path(const char *path, const char *wanted)
{
	size_t size = path ? strlen(path) : 0, length = strlen(wanted);

	return path && size >= length && strcmp(path + size - length, wanted) == 0 &&
	       (size == length || wanted[0] == '/' || path[size - length - 1] == '/');
}

static void found_function(void *context, uint64_t address, const char *name)
{
	struct search *search = context;
	struct mt_line_range range;

	(void)name;
	address += search->bias;
	if (search->file && !(mt_debug_line_at(search->debugger, address, &range) &&
			      ends_with_path(range.source.file, search->file)))
		return;
	add(search, mt_debug_skip_prologue(search->debugger, address));
}

/* A line of a prologue stands for what comes behind it. */
static void found_line(void *context, uint64_t address, uint32_t line)
{
	struct search *search = context;

	(void)line;
	address += search->bias;
	const struct mt_function *function = mt_space_function_at(search->debugger->code, address);
	uint64_t behind = function && function->start
			      ? mt_debug_skip_prologue(search->debugger, function->start)
			      : 0;
	add(search, address < behind ? behind : address);
}

/* Each object file once. */
static const struct mt_mapping *next_file(const struct mt_debugger *debugger, size_t *index)
{
	struct mt_space *space = debugger->code;

	for (; space && *index < mt_space_mapping_count(space); ++*index) {
		const struct mt_mapping *mapping = mt_space_mapping(space, *index);
		bool known = !mapping->objfile;

		for (size_t i = 0; !known && i < *index; i++)
			known = mt_space_mapping(space, i)->objfile == mapping->objfile;
		if (!known) {
			++*index;
			return mapping;
		}
	}
	return NULL;
}

static void find_function(struct search *search, const char *name)
{
	const struct mt_mapping *mapping;
	mt_auto(mt_str) struct mt_str stub = {0};

	for (size_t i = 0; (mapping = next_file(search->debugger, &i));) {
		search->bias = mapping->bias;
		mt_objfile_find_name(mapping->objfile, name, found_function, search);
	}
	mt_str_appendf(&stub, "%s@plt", name);
	if (search->addresses.count || stub.failed)
		return;
	for (size_t i = 0; (mapping = next_file(search->debugger, &i));) {
		search->bias = mapping->bias;
		mt_objfile_find_name(mapping->objfile, stub.text, found_function, search);
	}
}

static void find_line(struct search *search, const char *file, uint32_t line)
{
	const struct mt_mapping *mapping;

	for (size_t i = 0; (mapping = next_file(search->debugger, &i));) {
		search->bias = mapping->bias;
		mt_objfile_find_line(mapping->objfile, file, line, found_line, search);
	}
}

/* A whole number in C's notations; its end must be the text's. */
static bool parse_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 0);
	return isdigit((unsigned char)*text) && !*end && !errno;
}

static struct mt_error *no_symbol(const char *name)
{
	return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol \"%s\" in current context.", name);
}

static void found_exactly(void *context, uint64_t address, const char *name)
{
	struct search *search = context;

	(void)name;
	if (!search->addresses.count)
		add(search, address + search->bias);
}

/* *0x1139, *main, *main+4 */
static struct mt_error *find_address(struct search *search, const char *text)
{
	const char *plus = strrchr(text, '+');
	const struct mt_mapping *mapping;
	mt_auto(mt_str) struct mt_str name = {0};
	uint64_t offset = 0;

	if (parse_number(text, &offset)) {
		add(search, offset);
		return NULL;
	}
	if (plus && !parse_number(plus + 1, &offset))
		return no_symbol(text);
	mt_str_append_bytes(&name, text, plus ? (size_t)(plus - text) : strlen(text));
	if (name.failed)
		return mt_error_no_memory();
	for (size_t i = 0; (mapping = next_file(search->debugger, &i));) {
		search->bias = mapping->bias;
		mt_objfile_find_name(mapping->objfile, name.text, found_exactly, search);
	}
	if (!search->addresses.count)
		return no_symbol(name.text);
	search->addresses.items[0] += offset;
	return NULL;
}

/* Where a line without a file is: where the selected frame is, or main. */
static const char *default_file(struct mt_debugger *debugger)
{
	const struct mt_debug_frame *frame = mt_debugger_selected_frame(debugger);
	struct search search = {.debugger = debugger};
	struct mt_line_range range = {0};

	if (frame && frame->source.file)
		return frame->source.file;
	find_function(&search, "main");
	if (search.addresses.count)
		mt_debug_line_at(debugger, search.addresses.items[0], &range);
	mt_array_deinit(&search.addresses);
	return range.source.file;
}

static struct mt_error *find_in_file(struct search *search, const char *file, const char *rest)
{
	uint64_t line;

	if (!parse_number(rest, &line)) {
		search->file = file;
		find_function(search, rest);
		if (!search->addresses.count)
			return mt_error_new(MT_ERROR_NOT_FOUND,
					    "Function \"%s\" not defined in \"%s\".", rest, file);
		return NULL;
	}
	find_line(search, file, line > UINT32_MAX ? UINT32_MAX : (uint32_t)line);
	if (search->addresses.count)
		return NULL;
	find_line(search, file, 0);
	if (search->addresses.count) {
		search->addresses.count = 0;
		return mt_error_new(MT_ERROR_NOT_FOUND, "No line %llu in file \"%s\".",
				    (unsigned long long)line,
				    strrchr(file, '/') ? strrchr(file, '/') + 1 : file);
	}
	return mt_error_new(MT_ERROR_NOT_FOUND, "No source file named %s.", file);
}

static struct mt_error *find_default_line(struct search *search, uint64_t line)
{
	const char *file = default_file(search->debugger);

	if (!file)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "No symbol table is loaded.  Use the \"file\" command.");
	find_line(search, file, line > UINT32_MAX ? UINT32_MAX : (uint32_t)line);
	if (search->addresses.count)
		return NULL;
	return mt_error_new(MT_ERROR_NOT_FOUND, "No line %llu in the current file.",
			    (unsigned long long)line);
}

/* 12, +3, -3 */
static bool parse_line(struct mt_debugger *debugger, const char *text, uint64_t *line)
{
	const struct mt_debug_frame *frame;
	uint64_t distance;

	if (parse_number(text, line))
		return true;
	if ((*text != '+' && *text != '-') || !parse_number(text + 1, &distance))
		return false;
	frame = mt_debugger_selected_frame(debugger);
	*line = frame ? frame->source.line : 0;
	*line = *text == '+' ? *line + distance : *line > distance ? *line - distance : 1;
	return true;
}

bool mt_debug_fix_line(struct mt_debugger *debugger, const char *location, struct mt_str *out)
{
	uint64_t line;
	const char *file = parse_line(debugger, location, &line) ? default_file(debugger) : NULL;

	if (file)
		mt_str_appendf(out, "%s:%llu", file, (unsigned long long)line);
	return file;
}

/* The colon that parts FILE from the rest: not one of "::". */
static const char *find_colon(const char *text)
{
	for (const char *at = text; (at = strchr(at, ':')); at++) {
		if (at[1] != ':')
			return at > text ? at : NULL;
		at++;
	}
	return NULL;
}

static struct mt_error *find_named(struct search *search, const char *text)
{
	find_function(search, text);
	if (search->addresses.count)
		return NULL;
	if (!search->debugger->code)
		return mt_error_new(MT_ERROR_NOT_FOUND,
				    "No symbol table is loaded.  Use the \"file\" command.");
	return mt_error_new(MT_ERROR_NOT_FOUND, "Function \"%s\" not defined.", text);
}

static struct mt_error *find(struct search *search, const char *text)
{
	const char *colon = find_colon(text);
	mt_auto(mt_str) struct mt_str file = {0};
	uint64_t line;

	if (*text == '*')
		return find_address(search, text + 1 + strspn(text + 1, " "));
	if (parse_line(search->debugger, text, &line))
		return find_default_line(search, line);
	if (!colon)
		return find_named(search, text);
	mt_str_append_bytes(&file, text, (size_t)(colon - text));
	return file.failed ? mt_error_no_memory()
			   : find_in_file(search, file.text, colon + 1 + strspn(colon + 1, " "));
}

static int compare(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

struct mt_error *mt_debugger_locate(struct mt_debugger *debugger, const char *location,
				    struct mt_error *(*found)(void *context, uint64_t address),
				    void *context)
{
	struct search search = {.debugger = debugger};
	struct mt_error *error = find(&search, location);

	if (!error && search.failed)
		error = mt_error_no_memory();
	if (search.addresses.count)
		qsort(search.addresses.items, search.addresses.count,
		      sizeof(*search.addresses.items), compare);
	mt_array_each (address, &search.addresses)
		if (!error)
			error = found(context, *address);
	mt_array_deinit(&search.addresses);
	return error;
}

void mt_debugger_place(struct mt_debugger *debugger, uint64_t address, struct mt_debug_place *out)
{
	struct mt_line_range range;

	*out = (struct mt_debug_place){.address = address};
	if (!debugger->code)
		return;
	out->function = mt_space_function_at(debugger->code, address);
	if (out->function && out->function->kind == MT_FUNCTION_UNKNOWN)
		out->function = NULL;
	if (!mt_debug_line_at(debugger, address, &range))
		return;
	out->source = range.source;
	out->file = mt_debug_file_name(debugger, address, range.source.file);
}
