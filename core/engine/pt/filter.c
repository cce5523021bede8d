/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/pt/filter.h"

#include "elf/objfile.h"

#include <stdlib.h>
#include <string.h>

/* Parts of a word, between blanks. */
struct filter {
	const char *word;
	char action[8];
	char *first, *last, *file; /* last, file: NULL: not given */
};

static struct mt_error *bad_form(const char *word)
{
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "invalid filter \"%s\": must be FUNCTION, \"filter A / B @ FILE\" or \"stop A @ "
	    "FILE\", where A and B are functions or offsets",
	    word);
}

/* The text before one of ENDS, without surrounding blanks; NULL: empty, or no memory. */
static char *take_part(const char **at, const char *ends)
{
	size_t length;
	const char *begin;

	*at += strspn(*at, " ");
	begin = *at;
	length = strcspn(begin, ends);
	*at += length;
	while (length && begin[length - 1] == ' ')
		length--;
	return length ? strndup(begin, length) : NULL;
}

static struct mt_error *take_action(struct filter *filter, const char **at)
{
	static const char *const actions[] = {"filter", "stop", "start"};

	strcpy(filter->action, actions[0]);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		size_t length = strlen(actions[i]);

		if (strncmp(*at, actions[i], length) != 0 || (*at)[length] != ' ')
			continue;
		strcpy(filter->action, actions[i]);
		*at += length;
		break;
	}
	if (strcmp(filter->action, "start") != 0)
		return NULL;
	return mt_error_new(
	    MT_ERROR_USAGE,
	    "unsupported filter \"%s\": Intel PT cannot begin tracing at an address; use "
	    "\"filter A / B\" to trace a range, or --trigger to end the trace at an address",
	    filter->word);
}

static struct mt_error *parse(const char *word, struct filter *filter)
{
	const char *at = word + strspn(word, " ");

	filter->word = word;
	mt_try(take_action(filter, &at));
	filter->first = take_part(&at, "/@");
	if (*at == '/') {
		at++;
		filter->last = take_part(&at, "@");
		if (!filter->last)
			return bad_form(word);
	}
	if (*at == '@') {
		at++;
		filter->file = take_part(&at, "");
		if (!filter->file)
			return bad_form(word);
	}
	return filter->first ? NULL : bad_form(word);
}

struct found {
	size_t count;
	uint64_t address;
};

static void take_address(void *context, uint64_t address, const char *name)
{
	struct found *found = context;

	(void)name;
	found->address = address;
	found->count++;
}

/* The part of the file that a name stands for: [*begin, *end). */
static struct mt_error *find(struct mt_objfile *objfile, const char *name, uint64_t *begin,
			     uint64_t *end)
{
	const struct mt_symbol *symbol;
	struct found found = {0};
	char *rest = NULL;

	if (name[0] >= '0' && name[0] <= '9') {
		*begin = *end = strtoull(name, &rest, 0);
		if (!*rest)
			return NULL;
	}
	mt_objfile_find_name(objfile, name, take_address, &found);
	symbol = found.count ? mt_objfile_symbol_at(objfile, found.address) : NULL;
	if (!symbol || !mt_objfile_address_to_offset(objfile, found.address, begin))
		return mt_error_new(
		    MT_ERROR_NOT_FOUND,
		    "filter function \"%s\" is not in %s: give the file that contains it, as in "
		    "\"filter %s @ /path/to/lib.so\"",
		    name, mt_objfile_path(objfile), name);
	if (found.count > 1)
		return mt_error_new(MT_ERROR_USAGE,
				    "%s has %zu functions \"%s\": give offsets in the file "
				    "(0x…) instead",
				    mt_objfile_path(objfile), found.count, name);
	*end = *begin + (symbol->end - found.address);
	return NULL;
}

static bool is_program(const char *file, const char *program)
{
	const char *name = strrchr(program, '/');

	return strcmp(file, program) == 0 || strcmp(file, name ? name + 1 : program) == 0;
}

static struct mt_error *append(struct mt_objfile *objfile, const struct filter *filter,
			       const char *path, struct mt_str *text)
{
	uint64_t begin = 0, end = 0, other = 0;

	mt_try(find(objfile, filter->first, &begin, &end));
	if (filter->last)
		mt_try(find(objfile, filter->last, &other, &end));
	if (end <= begin)
		return mt_error_new(MT_ERROR_USAGE,
				    "empty filter \"%s\": its end is not after its start",
				    filter->word);
	mt_str_appendf(text, "%s%s 0x%llx/0x%llx@%s", text->length ? "," : "", filter->action,
		       (unsigned long long)begin, (unsigned long long)(end - begin), path);
	return text->failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *add(const char *word, const char *program, struct mt_str *text)
{
	struct filter filter = {0};
	struct mt_objfile *objfile = NULL;
	struct mt_error *error = parse(word, &filter);
	const char *path = filter.file && !is_program(filter.file, program) ? filter.file : program;
	/* By this name its mappings are recorded. */
	char *real = realpath(path, NULL);

	path = real ? real : path;
	if (!error && strpbrk(path, " ,\n"))
		error = mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "the kernel rejects filters in files whose path contains blanks or commas: %s",
		    path);
	if (!error)
		error = mt_objfile_open(path, NULL, NULL, &objfile);
	if (!error)
		error = append(objfile, &filter, path, text);
	mt_objfile_unref(objfile);
	free(real);
	free(filter.first);
	free(filter.last);
	free(filter.file);
	return error;
}

struct mt_error *mt_pt_filter_text(const char *const *words, const char *program, uint32_t most,
				   struct mt_str *text)
{
	uint32_t count = 0;

	for (; *words; words++) {
		if (!most)
			return mt_error_new(MT_ERROR_UNSUPPORTED,
					    "this processor has no address filters "
					    "(caps/ip_filtering is not 1)");
		if (++count > most)
			return mt_error_new(
			    MT_ERROR_USAGE,
			    "too many filters: this processor has %u address filters", most);
		mt_try(add(*words, program, text));
	}
	return NULL;
}
