/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of symbols for people, and the way back from what people type. */
#include "elf/symbols.h"

#include "elf/demangle.h"

#include <ctype.h>
#include <string.h>

static char *demangled(struct mt_arena *arena, const char *raw, size_t length, const char *suffix)
{
	mt_auto(mt_str) struct mt_str mangled = {0}, text = {0};

	mt_str_append_bytes(&mangled, raw, length);
	if (mangled.failed)
		return NULL;
	if (!mt_demangle(mangled.text, MT_DEMANGLE_FULL, &text))
		mt_str_append(&text, mangled.text);
	mt_str_append(&text, suffix);
	return text.failed ? NULL : mt_arena_text(arena, text.text, text.length);
}

static char *make_name(struct mt_objfile *objfile, const struct mt_symbol *symbol)
{
	if (!symbol->raw_name)
		return mt_arena_format(&objfile->arena, "func@0x%llx in %s",
				       (unsigned long long)symbol->start,
				       mt_path_name(objfile->path));
	size_t length = strlen(symbol->raw_name);
	const char *suffix = symbol->kind == MT_FUNCTION_PLT ? "@plt" : "";
	return demangled(&objfile->arena, symbol->raw_name, length - strlen(suffix), suffix);
}

const char *mt_objfile_symbol_name(struct mt_objfile *objfile, const struct mt_symbol *symbol)
{
	const struct mt_symbol_index *index = mt_symbol_index(objfile);
	const char **name = &index->names[symbol - index->symbols];

	if (!*name)
		*name = make_name(objfile, symbol);
	/* Without memory the raw name is better than none. */
	return *name ? *name : symbol->raw_name ? symbol->raw_name : "?";
}

/* The last word of what was typed, if it must stand in the mangled name as well: demangling every
 * symbol of a large file takes seconds, searching in them does not.  NULL: no such word. */
static const char *last_word(const char *name)
{
	const char *end = name + strlen(name), *word = end;

	if (strstr(name, "operator") || strpbrk(name, "( "))
		return NULL;
	while (word > name && (isalnum((unsigned char)word[-1]) || word[-1] == '_'))
		word--;
	return word < end ? word : NULL;
}

/* Up to the parameters, which are no part of a lambda's or an operator's name. */
static size_t length_without_parameters(const char *name)
{
	size_t length = strlen(name), depth = 0;

	if (length >= 6 && strcmp(name + length - 6, " const") == 0)
		length -= 6;
	if (!length || name[length - 1] != ')')
		return length;
	for (size_t i = length; i-- > 0;) {
		depth += name[i] == ')';
		depth -= name[i] == '(';
		if (!depth)
			return i;
	}
	return length;
}

/* Up to the last component's template arguments. */
static size_t length_without_arguments(const char *name, size_t length)
{
	size_t depth = 0;

	if (!length || name[length - 1] != '>' || (length > 1 && strchr("-=>", name[length - 2])))
		return length;
	for (size_t i = length; i-- > 0;) {
		depth += name[i] == '>';
		depth -= name[i] == '<';
		if (!depth)
			return i;
	}
	return length;
}

/* WANTED is all of it, or what follows a "::". */
static bool ends_with(const char *name, size_t length, const char *wanted)
{
	size_t wanted_length = strlen(wanted);
	const char *tail = name + length - wanted_length;

	if (wanted_length > length || strncmp(tail, wanted, wanted_length) != 0)
		return false;
	return tail == name || (tail - name >= 2 && tail[-1] == ':' && tail[-2] == ':');
}

bool mt_name_matches(const char *name, const char *wanted)
{
	size_t length = length_without_parameters(name);

	if (wanted[0] == ':' && wanted[1] == ':') {
		wanted += 2;
		return strcmp(name, wanted) == 0 ||
		       (strlen(wanted) == length && strncmp(name, wanted, length) == 0);
	}
	return ends_with(name, strlen(name), wanted) || ends_with(name, length, wanted) ||
	       ends_with(name, length_without_arguments(name, length), wanted);
}

static bool demangles_to(const char *raw, const char *name)
{
	mt_auto(mt_str) struct mt_str bare = {0}, full = {0};

	return (mt_demangle(raw, MT_DEMANGLE_BARE, &bare) && mt_name_matches(bare.text, name)) ||
	       (mt_demangle(raw, MT_DEMANGLE_FULL, &full) && mt_name_matches(full.text, name));
}

static bool matches(const char *raw, const char *name, const char *word, size_t word_length)
{
	if (strcmp(raw, name) == 0)
		return true;
	if (word && !memmem(raw, strlen(raw), word, word_length))
		return false;
	return demangles_to(raw, name);
}

void mt_objfile_find_name(struct mt_objfile *objfile, const char *name,
			  void (*found)(void *context, uint64_t address, const char *name),
			  void *context)
{
	struct mt_symbol_index *index = mt_symbol_index(objfile);
	const char *word = last_word(name);
	size_t word_length = word ? strlen(word) : 0; /* there are many candidates */
	uint64_t last = 0;
	bool any = false;

	if (!index)
		return;
	mt_array_each (candidate, &index->all) {
		if ((any && candidate->start == last) ||
		    !matches(candidate->name, name, word, word_length))
			continue;
		any = true;
		last = candidate->start;
		found(context, candidate->start, candidate->name);
	}
}
