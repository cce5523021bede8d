/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "session/spec/watch.h"

#include "elf/data_symbol.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 8

static struct mt_error *no_watch(const char *text)
{
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "cannot watch \"%s\": must be ADDRESS, SYMBOL or SYMBOL+OFFSET, optionally with :1, "
	    ":2, :4 or :8 for the length, and :w for writes, :rw for reads too, or :x for the "
	    "execution of a function",
	    text);
}

static bool parse_number(const char *text, uint64_t *number)
{
	char *end = NULL;

	errno = 0;
	*number = strtoull(text, &end, 0);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

/* Cuts the last part off, "::" being none: NULL where there is none. */
static char *cut_part(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text || colon[-1] == ':')
		return NULL;
	*colon = 0;
	return colon + 1;
}

static bool parse_mode(const char *word, struct mt_watch_spec *watch)
{
	watch->reads_wanted = strcmp(word, "r") == 0;
	if (strcmp(word, "w") == 0)
		watch->access = MT_ACCESS_WRITE;
	else if (strcmp(word, "rw") == 0 || watch->reads_wanted)
		watch->access = MT_ACCESS_READ_WRITE;
	else if (strcmp(word, "x") == 0)
		watch->access = MT_ACCESS_EXECUTE;
	else
		return false;
	return true;
}

static bool parse_length(const char *word, struct mt_watch_spec *watch)
{
	uint64_t length;

	if (!parse_number(word, &length) ||
	    (length != 1 && length != 2 && length != 4 && length != LONGEST))
		return false;
	watch->length = (uint8_t)length;
	return true;
}

/* Parses what follows the place: a length, a mode, or both in this order. */
static bool parse_parts(char *text, struct mt_watch_spec *watch)
{
	char *last = cut_part(text);

	if (!last)
		return true;
	if (!parse_mode(last, watch))
		return parse_length(last, watch);
	last = cut_part(text);
	return !last || parse_length(last, watch);
}

static bool parse_place(char *text, struct mt_watch_spec *watch)
{
	char *plus = strrchr(text, '+');

	if (parse_number(text, &watch->offset))
		return true;
	if (text[0] == ':')
		return false;
	if (plus && parse_number(plus + 1, &watch->offset))
		*plus = 0;
	watch->symbol = strdup(text);
	return watch->symbol && *watch->symbol;
}

struct mt_error *mt_watch_spec_parse(const char *text, struct mt_watch_spec *watch)
{
	char *copy = strdup(text);
	bool good;

	*watch = (struct mt_watch_spec){.text = text};
	if (!copy)
		return mt_error_no_memory();
	good = parse_parts(copy, watch) && parse_place(copy, watch);
	free(copy);
	if (!good)
		mt_watch_spec_deinit(watch);
	return good ? NULL : no_watch(text);
}

void mt_watch_spec_deinit(struct mt_watch_spec *watch)
{
	free(watch->symbol);
	watch->symbol = NULL;
}

/* As much of SIZE bytes as one debug register can hold from ADDRESS on. */
static uint8_t fitting_length(uint64_t address, uint64_t size)
{
	uint8_t length = LONGEST;

	while (length > 1 && (length > size || address % length))
		length /= 2;
	return length;
}

static struct mt_error *finish(const struct mt_watch_spec *watch, uint64_t size,
			       struct mt_breakpoint *out)
{
	out->access = watch->access;
	out->length = watch->access == MT_ACCESS_EXECUTE ? LONGEST
		      : watch->length                    ? watch->length
				      : fitting_length(out->address, size ? size : LONGEST);
	if (out->access == MT_ACCESS_EXECUTE || out->address % out->length == 0)
		return NULL;
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "cannot watch %u bytes at %s: the address must be a multiple of the length, and "
	    "0x%llx is not; watch less (:%u)",
	    out->length, watch->text, (unsigned long long)out->address,
	    fitting_length(out->address, out->length));
}

static void found_function(void *context, uint64_t address, const char *name)
{
	uint64_t *first = context;

	(void)name;
	if (!*first)
		*first = address;
}

static struct mt_error *place_variable(const struct mt_watch_spec *watch,
				       struct mt_objfile *objfile, uint64_t bias,
				       struct mt_breakpoint *out, bool *found)
{
	struct mt_data_symbol variable;
	uint64_t size;

	*found = mt_objfile_find_data_symbol(objfile, watch->symbol, &variable);
	if (!*found)
		return NULL;
	if (variable.thread_local)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "cannot watch %s: it is thread-local; give the address of one thread's "
		    "instance",
		    watch->text);
	out->address = variable.address + bias + watch->offset;
	size = variable.size > watch->offset ? variable.size - watch->offset : 0;
	return finish(watch, size, out);
}

struct mt_error *mt_watch_spec_place(const struct mt_watch_spec *watch, struct mt_objfile *objfile,
				     uint64_t bias, struct mt_breakpoint *out, bool *found)
{
	uint64_t address = 0;

	*found = !watch->symbol;
	out->address = watch->offset;
	if (!watch->symbol)
		return finish(watch, 0, out);
	if (!objfile)
		return NULL;
	if (watch->access != MT_ACCESS_EXECUTE)
		return place_variable(watch, objfile, bias, out, found);
	mt_objfile_find_name(objfile, watch->symbol, found_function, &address);
	*found = address != 0;
	out->address = address + bias + watch->offset;
	return finish(watch, 0, out);
}
