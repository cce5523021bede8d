/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of symbols for people, and the way back from what people type. */
#include "base/search.h"
#include "elf/symbols.h"

#include "elf/demangle.h"

#include <ctype.h>
#include <string.h>

static char *make_name(struct mt_objfile *objfile, const struct mt_symbol *symbol)
{
	if (!symbol->raw_name)
		return mt_arena_format(&objfile->arena, "func@0x%llx in %s",
				       (unsigned long long)symbol->start,
				       mt_path_name(objfile->path));
	size_t length = strlen(symbol->raw_name);
	const char *suffix = symbol->kind == MT_FUNCTION_PLT ? "@plt" : "";
	mt_auto(mt_str) struct mt_str mangled = {0}, text = {0};

	mt_str_append_bytes(&mangled, symbol->raw_name, length - strlen(suffix));
	if (mangled.failed)
		return NULL;
	if (!mt_demangle(mangled.text, MT_DEMANGLE_FULL, &text) &&
	    !mt_demangle_ocaml(mangled.text, &text))
		mt_str_append(&text, mangled.text);
	mt_str_append(&text, suffix);
	return text.failed ? NULL : mt_arena_text(&objfile->arena, text.text, text.length);
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

/* A name that is not mangled may be typed with its parameters: "main(int, char**)". */
static bool is_raw(const char *raw, const char *name)
{
	size_t length = mt_name_without_parameters(name);

	return strncmp(raw, name, length) == 0 && !raw[length];
}

static bool matches(const char *raw, const char *name, const char *word, size_t word_length)
{
	if (is_raw(raw, name))
		return true;
	if (word_length && !memmem(raw, strlen(raw), word, word_length))
		return false;
	mt_auto(mt_str) struct mt_str bare = {0}, full = {0}, ocaml = {0};

	if (mt_demangle_ocaml(raw, &ocaml))
		return strcmp(ocaml.text, name) == 0;
	return (mt_demangle(raw, MT_DEMANGLE_BARE, &bare) && mt_name_matches(bare.text, name)) ||
	       (mt_demangle(raw, MT_DEMANGLE_FULL, &full) && mt_name_matches(full.text, name));
}

/* Of the Rust function `main` people say `crate::main`, since C's is there, too. */
static bool has_raw(const struct mt_symbol_index *index, const char *name)
{
	mt_array_each (candidate, &index->all)
		if (is_raw(candidate->name, name))
			return true;
	return false;
}

void mt_objfile_find_name(struct mt_objfile *objfile, const char *name,
			  void (*found)(void *context, uint64_t address, const char *name),
			  void *context)
{
	struct mt_symbol_index *index = mt_symbol_index(objfile);
	const char *word = NULL;
	/* Demangling every symbol of a large file takes seconds, searching in them does not. */
	size_t word_length = mt_name_last_word(name, &word);
	uint64_t last = 0;
	bool any = false, raw_alone;

	if (!index)
		return;
	raw_alone = has_raw(index, name);
	mt_array_each (candidate, &index->all) {
		if ((any && candidate->start == last) ||
		    (raw_alone && mt_is_rust_name(candidate->name)) ||
		    !matches(candidate->name, name, word, word_length))
			continue;
		any = true;
		last = candidate->start;
		found(context, candidate->start, candidate->name);
	}
}

bool mt_objfile_is_ifunc(struct mt_objfile *objfile, uint64_t address, const char *name)
{
	const struct mt_symbol_index *index = mt_symbol_index(objfile);
	const size_t count = index ? index->all.count : 0;
	size_t at = mt_partition_point(i, 0, count, index->all.items[i].start < address);

	for (; at < count && index->all.items[at].start == address; at++)
		if (index->all.items[at].is_ifunc && strcmp(index->all.items[at].name, name) == 0)
			return true;
	return false;
}
