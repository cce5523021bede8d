/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what people type to addresses. */
#include "space/location.h"
#include "dwarf/source.h"
#include "space/implementations.h"

#include "base/array.h"
#include "base/str.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A text taken apart. */
struct words {
	uint8_t kind;   /* enum mt_location_kind */
	char *file;     /* NULL: any, or the current one */
	char *function; /* NULL: none */
	uint32_t line;
	uint64_t address; /* or what is added to the function's */
};

struct search {
	struct mt_space *space;
	const struct mt_location_options *options;
	const struct words *words;
	struct mt_locations *out;
	const struct mt_mapping *mapping;
	uint32_t line; /* that was found for a LINE; 0: it is no LINE */
	bool failed;
};

static struct mt_error *no_location(const char *text)
{
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "invalid location \"%s\": must be FUNCTION, FILE:LINE, FILE:FUNCTION, LINE, *ADDRESS "
	    "or *FUNCTION+OFFSET",
	    text);
}

static bool parse_address(const char *text, uint64_t *address)
{
	char *end = NULL;

	errno = 0;
	*address = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

static bool parse_line(const char *text, uint32_t *line)
{
	char *end = NULL;
	unsigned long number = strtoul(text, &end, 10);

	*line = (uint32_t)number;
	return text[0] >= '0' && text[0] <= '9' && !*end && number <= UINT32_MAX;
}

/* A name or a file as it was meant: quotes around it part it from what stands around, and belong to
 * it no more than in GDB.  NULL: no memory. */
static char *without_quotes(const char *text, size_t length)
{
	const bool quoted =
	    length > 1 && (*text == '\'' || *text == '"') && text[length - 1] == *text;

	return quoted ? strndup(text + 1, length - 2) : strndup(text, length);
}

/* "*0x401136" and "*main+4". */
static struct mt_error *split_address(const char *text, struct words *words)
{
	const char *plus = strrchr(text, '+');

	words->kind = MT_LOCATION_ADDRESS;
	if (*text >= '0' && *text <= '9')
		return parse_address(text, &words->address) ? NULL : no_location(text);
	if (!plus || !parse_address(plus + 1, &words->address)) {
		words->address = 0;
		plus = text + strlen(text);
	}
	if (plus == text)
		return no_location(text);
	words->function = without_quotes(text, (size_t)(plus - text));
	return words->function ? NULL : mt_error_no_memory();
}

/* The colon of FILE:LINE and FILE:FUNCTION: no part of a "::", nor behind a parenthesis. */
static const char *file_colon(const char *text)
{
	const char *quote = *text == '\'' || *text == '"' ? strchr(text + 1, *text) : NULL;
	const char *begin = quote ? quote : text, *open = strchr(begin, '(');

	for (const char *c = strchr(begin, ':'); c; c = strchr(c + 1, ':')) {
		if (open && c > open)
			return NULL;
		if (c[1] == ':')
			c++;
		else if (c > text)
			return c;
	}
	return NULL;
}

/* "-function f", "-line 3", "-source f.c -line 3". */
static struct mt_error *split_explicit(const char *text, struct words *words)
{
	static const char *const options[] = {"-function ", "-source ", "-line "};
	char **places[] = {&words->function, &words->file, NULL};

	words->kind = MT_LOCATION_FUNCTION;
	for (const char *at = text; *at; at += strspn(at, " ")) {
		size_t which = 0, length;

		while (which < 3 && strncmp(at, options[which], strlen(options[which])) != 0)
			which++;
		if (which == 3)
			return no_location(text);
		at += strlen(options[which]);
		length = which ? strcspn(at, " ") : strlen(at);
		if (places[which]) {
			free(*places[which]);
			*places[which] = without_quotes(at, length);
			if (!*places[which])
				return mt_error_no_memory();
		} else {
			words->kind = MT_LOCATION_LINE;
			words->line = (uint32_t)strtoul(at, NULL, 10);
		}
		at += length;
	}
	return words->function || words->line ? NULL : no_location(text);
}

static struct mt_error *split(const char *text, const struct mt_location_options *options,
			      struct words *words)
{
	const char *colon = file_colon(text);

	if (!*text)
		return no_location(text);
	if (*text == '*')
		return split_address(text + 1 + strspn(text + 1, " "), words);
	if (*text == '-' && text[1] >= 'a')
		return split_explicit(text, words);
	if (*text == '+' || *text == '-') {
		uint32_t by;

		if (!parse_line(text + 1, &by))
			return no_location(text);
		words->kind = MT_LOCATION_LINE;
		words->line = text[0] == '+'       ? options->line + by
			      : by < options->line ? options->line - by
						   : 1;
		return NULL;
	}
	words->kind = MT_LOCATION_LINE;
	if (parse_line(text, &words->line))
		return NULL;
	if (colon) {
		words->file = without_quotes(text, (size_t)(colon - text));
		if (!words->file)
			return mt_error_no_memory();
		if (parse_line(colon + 1, &words->line))
			return NULL;
		text = colon + 1;
	}
	words->kind = MT_LOCATION_FUNCTION;
	words->function = without_quotes(text, strlen(text));
	return words->function ? NULL : mt_error_no_memory();
}

static bool is_known(const struct mt_locations *known, uint64_t address)
{
	mt_array_each (location, known)
		if (location->address == address)
			return true;
	return false;
}

static bool is_of_file(const char *path, const char *wanted)
{
	size_t length = path ? strlen(path) : 0, end = strlen(wanted);

	return length >= end && strcmp(path + length - end, wanted) == 0 &&
	       (length == end || wanted[0] == '/' || path[length - end - 1] == '/');
}

/* A line of a prologue stands for what comes behind it, too. */
static uint64_t behind_prologue(const struct mt_mapping *mapping, uint64_t entry, uint64_t address)
{
	uint64_t behind =
	    mt_objfile_skip_prologue(mapping->objfile, entry - mapping->bias) + mapping->bias;

	return address < behind ? behind : address;
}

/* Where a prologue ends in an inlined call, people see the line of that. */
static void tell_source(struct search *search, uint64_t from, struct mt_location *found)
{
	const struct mt_mapping *mapping = search->mapping;
	struct mt_inline_span span;
	struct mt_line_range range;

	if (mapping && mapping->objfile &&
	    mt_objfile_line_at(mapping->objfile, found->address - mapping->bias, &range))
		found->source = range.source;
	if (from == found->address) {
		if (search->line && found->source.file)
			found->source.line = search->line;
		return;
	}
	mt_space_inlines_at(search->space, found->address, &span);
	if (span.depth && span.chain[0]->call.line)
		found->source = span.chain[0]->call;
}

/* The function is of that file, or of a header that it includes. */
static bool is_in_file(const struct search *search, const struct mt_location *found)
{
	const struct mt_mapping *mapping = search->mapping;
	const char *wanted = search->words->file;

	return is_of_file(found->source.file, wanted) ||
	       (mapping && mapping->objfile &&
		is_of_file(mt_objfile_unit_at(mapping->objfile, found->address - mapping->bias),
			   wanted));
}

/* ADDRESS is the process's; INSTANCE: the inlined call that it is of; NULL: of the function. */
static void add(struct search *search, uint64_t address, const struct mt_inline *instance,
		bool skips)
{
	struct mt_location found = {
	    .address = address, .mapping = search->mapping, .instance = instance};
	const struct mt_function *function = mt_space_function_at(search->space, address);
	const struct mt_mapping *mapping = search->mapping;

	if (function && function->start) {
		found.entry = function->start;
		found.function = function->name;
	}
	if (instance)
		found.function = instance->function->name;
	if (skips && search->options->skip_prologue && mapping && mapping->objfile && found.entry)
		found.address = behind_prologue(mapping, found.entry, address);
	tell_source(search, address, &found);
	if (search->words->file && search->words->function && !is_in_file(search, &found))
		return;
	if (!is_known(search->out, found.address) && mt_array_push(search->out, found))
		search->failed = true;
}

static const struct mt_inline *innermost(struct search *search, uint64_t address)
{
	struct mt_inline_span span;

	mt_space_inlines_at(search->space, address, &span);
	return span.depth ? span.chain[span.depth - 1] : NULL;
}

static bool is_in(const struct mt_mapping *mapping, uint64_t address)
{
	return address >= mapping->start && address < mapping->end;
}

static void found_implementation(void *context, uint64_t address)
{
	struct search *search = context;
	uint64_t at = address + search->mapping->bias;

	if (is_in(search->mapping, at))
		add(search, at, NULL, true);
}

static void found_name(void *context, uint64_t address, const char *name)
{
	struct search *search = context;
	uint64_t at = address + search->mapping->bias, by = search->words->address;
	struct mt_objfile *objfile = search->mapping->objfile;
	const size_t count = search->out->count;

	if (!is_in(search->mapping, at))
		return;
	if (search->words->kind == MT_LOCATION_ADDRESS) {
		add(search, at + by, innermost(search, at + by), false);
		return;
	}
	if (!mt_objfile_is_ifunc(objfile, address, name)) {
		add(search, at, NULL, true);
		return;
	}
	if (mt_objfile_each_implementation(objfile, address, found_implementation, search))
		search->failed = true;
	if (search->out->count > count || search->failed)
		return;
	add(search, at, NULL, true);
	if (search->out->count > count)
		mt_array_last(search->out)->is_resolver = true;
}

/* The function is of the types that the name ends with. */
static void found_generic(void *context, uint64_t address, const char *name)
{
	struct search *search = context;
	const char *own = mt_objfile_own_name_at(search->mapping->objfile, address);
	const char *wanted = search->words->function;
	const size_t length = own ? strlen(own) : 0, end = strlen(wanted);

	if (length && length <= end && strcmp(wanted + end - length, own) == 0 &&
	    (length == end || wanted[end - length - 1] == ':'))
		found_name(context, address, name);
}

/* rustc's symbols leave out what a generic function was made for. */
static void search_generic(struct search *search)
{
	const char *name = search->words->function;
	const size_t length = strlen(name), bare_length = mt_name_without_arguments(name, length);
	mt_auto(mt_str) struct mt_str bare = {0};

	if (bare_length == length || !mt_objfile_is_rust(search->mapping->objfile))
		return;
	mt_str_append_bytes(&bare, name, bare_length);
	if (bare.failed)
		search->failed = true;
	else
		mt_objfile_find_name(search->mapping->objfile, bare.text, found_generic, search);
}

static void found_inlined(void *context, uint64_t address, const struct mt_inline *instance)
{
	struct search *search = context;
	uint64_t at = address + search->mapping->bias;

	if (is_in(search->mapping, at))
		add(search, at, instance, true);
}

static void found_line(void *context, uint64_t address, uint32_t line)
{
	struct search *search = context;
	uint64_t at = address + search->mapping->bias;

	search->line = line;
	if (is_in(search->mapping, at))
		add(search, at, innermost(search, at), true);
}

static void search_mapping(struct search *search)
{
	const struct words *words = search->words;
	struct mt_objfile *objfile = search->mapping->objfile;
	const char *file = words->file ? words->file : search->options->file;
	const size_t count = search->out->count;

	if (words->kind == MT_LOCATION_LINE) {
		if (file && words->line)
			mt_objfile_find_line(objfile, file, words->line, found_line, search);
		return;
	}
	mt_objfile_find_name(objfile, words->function, found_name, search);
	if (search->out->count == count)
		search_generic(search);
	if (words->kind != MT_LOCATION_FUNCTION || search->options->no_inlined)
		return;
	mt_objfile_find_inlined(objfile, words->function, found_inlined, search);
}

/* Several mappings may be of one file: each has its own addresses. */
static void search_all(struct search *search)
{
	for (size_t i = 0; i < mt_space_mapping_count(search->space); i++) {
		search->mapping = mt_space_mapping(search->space, i);
		if (search->mapping->objfile)
			search_mapping(search);
	}
}

/* Any line of it has code. */
static bool has_file(const struct search *search, const char *file)
{
	struct mt_locations found = {0};
	const struct words words = {.kind = MT_LOCATION_LINE, .file = (char *)file, .line = 1};
	struct search other = *search;
	bool has;

	other.words = &words;
	other.out = &found;
	search_all(&other);
	has = found.count > 0;
	mt_locations_deinit(&found);
	return has;
}

static struct mt_error *nothing(const struct search *search)
{
	const struct words *words = search->words;

	if (words->kind == MT_LOCATION_ADDRESS)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol \"%s\" in current context.",
				    words->function);
	if (words->kind == MT_LOCATION_FUNCTION && words->file && !has_file(search, words->file)) {
		search->out->no_file = true;
		return mt_error_new(MT_ERROR_NOT_FOUND, "No source file named %s.", words->file);
	}
	if (words->kind == MT_LOCATION_FUNCTION)
		return mt_error_new(MT_ERROR_NOT_FOUND, "Function \"%s\" not defined%s%s%s.",
				    words->function, words->file ? " in \"" : "",
				    words->file ? words->file : "", words->file ? "\"" : "");
	if (!words->file && !search->options->file)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No symbol table is loaded.  Use the "
							"\"file\" command.");
	if (!words->file)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No line %u in the current file.",
				    words->line);
	search->out->no_file = !has_file(search, words->file);
	if (search->out->no_file)
		return mt_error_new(MT_ERROR_NOT_FOUND, "No source file named %s.", words->file);
	return mt_error_new(MT_ERROR_NOT_FOUND, "No line %u in file \"%s\".", words->line,
			    words->file);
}

/* Of a function of a library that is not loaded yet the program's own stub is known. */
static struct mt_error *search_stubs(struct search *search)
{
	struct words words = *search->words;
	struct search stubs = *search;
	mt_auto(mt_str) struct mt_str name = {0};

	mt_str_appendf(&name, "%s@plt", words.function);
	if (name.failed)
		return mt_error_no_memory();
	words.function = name.text;
	stubs.words = &words;
	search_all(&stubs);
	return stubs.failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *resolve(struct search *search)
{
	const struct words *words = search->words;

	if (words->kind == MT_LOCATION_ADDRESS && !words->function) {
		search->mapping = mt_space_find(search->space, words->address);
		add(search, words->address, innermost(search, words->address), false);
	} else {
		search_all(search);
	}
	if (search->failed)
		return mt_error_no_memory();
	if (!search->out->count && words->kind == MT_LOCATION_FUNCTION && !words->file &&
	    !search->options->no_stubs)
		mt_try(search_stubs(search));
	search->words = words;
	if (!search->out->count && !search->options->quiet_missing)
		return nothing(search);
	return NULL;
}

struct mt_error *mt_location_resolve(struct mt_space *space, const char *text,
				     const struct mt_location_options *options,
				     struct mt_locations *out)
{
	struct words words = {0};
	struct search search = {.space = space, .options = options, .words = &words, .out = out};
	struct mt_error *error;

	*out = (struct mt_locations){0};
	error = split(text + strspn(text, " "), options, &words);
	if (!error)
		error = resolve(&search);
	out->kind = words.kind;
	out->line = words.line;
	free(words.file);
	free(words.function);
	if (error)
		mt_locations_deinit(out);
	return error;
}

void mt_locations_deinit(struct mt_locations *locations)
{
	mt_array_deinit(locations);
}
