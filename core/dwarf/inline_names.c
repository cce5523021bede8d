/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions behind inlined calls.  Each unit that includes a header has its own description of
 * an inline function; here they become one. */
#include "dwarf/inlines.h"

#include "elf/demangle.h"

#include <dwarf.h>
#include <string.h>
#include <uthash.h>

/* A description that was met. */
struct origin {
	const void *die;
	const struct mt_function *function;
	UT_hash_handle hh;
};

/* A function, by its name and definition. */
struct known {
	const char *key;
	struct mt_function function;
	UT_hash_handle hh;
};

struct mt_inline_names {
	struct origin *origins;
	struct known *functions;
};

void mt_inline_names_destroy(struct mt_inline_names *names)
{
	if (!names)
		return;
	HASH_CLEAR(hh, names->origins);
	HASH_CLEAR(hh, names->functions);
	free(names);
}

static const char *linkage_name(Dwarf_Die *origin)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(origin, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(origin, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

static const char *plain_name(Dwarf_Die *origin)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(origin, DW_AT_name, &attribute))
		name = dwarf_formstring(&attribute);
	return name && *name ? name : "[inlined]";
}

static void append_name(Dwarf_Die *origin, const char *scope, struct mt_str *out)
{
	const char *linkage = linkage_name(origin);

	if (linkage && mt_demangle(linkage, MT_DEMANGLE_FULL, out))
		return;
	if (scope)
		mt_str_appendf(out, "%s::", scope);
	mt_str_append(out, plain_name(origin));
}

static struct mt_source definition(struct mt_objfile *objfile, Dwarf_Die *origin)
{
	Dwarf_Die unit;
	struct mt_source source = {.file = mt_dwarf_decl_file(objfile->dwarf.data, origin)};
	int line = 0, column = 0;

	if (dwarf_diecu(origin, &unit, NULL, NULL))
		source.file = mt_dwarf_path(objfile, &unit, source.file);
	if (dwarf_decl_line(origin, &line) == 0 && line > 0)
		source.line = (uint32_t)line;
	if (dwarf_decl_column(origin, &column) == 0 && column > 0)
		source.column = (uint32_t)column;
	return source;
}

static const struct mt_function *describe(struct mt_objfile *objfile, struct mt_inline_names *names,
					  Dwarf_Die *origin, const char *scope)
{
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_source source = definition(objfile, origin);

	append_name(origin, scope, &name);
	if (name.failed)
		return NULL;
	mt_auto(mt_str) struct mt_str key = {0};
	struct known *known;

	mt_str_append_bytes(&key, name.text, name.length);
	mt_str_appendf(&key, "\n%s:%u", source.file ? source.file : "", source.line);
	if (key.failed)
		return NULL;
	HASH_FIND(hh, names->functions, key.text, key.length, known);
	if (known)
		return &known->function;
	known = mt_arena_zalloc(&objfile->arena, sizeof(*known));
	if (!known || !(known->key = mt_arena_text(&objfile->arena, key.text, key.length)) ||
	    !(known->function.name = mt_arena_text(&objfile->arena, name.text, name.length)))
		return NULL;
	known->function.id = (*objfile->function_count)++;
	known->function.kind = MT_FUNCTION_INLINED;
	known->function.module = mt_objfile_path(objfile);
	known->function.source = source;
	HASH_ADD_KEYPTR(hh, names->functions, known->key, key.length, known);
	return &known->function;
}

const struct mt_function *mt_inline_function(struct mt_objfile *objfile, Dwarf_Die *die,
					     const char *scope)
{
	struct mt_dwarf *dwarf = objfile->dwarf.data;
	struct origin *origin;

	if (!dwarf->inline_names)
		dwarf->inline_names = calloc(1, sizeof(*dwarf->inline_names));
	if (!dwarf->inline_names)
		return NULL;
	HASH_FIND_PTR(dwarf->inline_names->origins, &die->addr, origin);
	if (origin)
		return origin->function;
	const struct mt_function *function = describe(objfile, dwarf->inline_names, die, scope);
	origin = function ? mt_arena_zalloc(&objfile->arena, sizeof(*origin)) : NULL;
	if (!origin)
		return NULL;
	origin->die = die->addr;
	origin->function = function;
	HASH_ADD_PTR(dwarf->inline_names->origins, die, origin);
	return function;
}
