/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An index of the names outside of functions in a module's DWARF, built in one walk when the first
 * such name is asked for; and the scopes (namespaces, classes, functions) around DIEs, unit by
 * unit, for languages that have them. */
#include "types/program.h"

#include <dwarf.h>
#include <string.h>

#define MOST_DEPTH 64

/* The scope around a DIE.  A unit's own DIE is there once the unit was read. */
struct mt_scope_name {
	const void *die;
	const char *scope;
	UT_hash_handle hh;
};

struct walk {
	struct mt_module *module;
	struct mt_index *index;
	const void *unit;
	bool scoped; /* a language with namespaces */
	size_t budget;
	unsigned depth;
	bool failed;
};

static const char *text_of(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, which, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

static bool has_flag(Dwarf_Die *die, unsigned which)
{
	Dwarf_Attribute attribute;
	bool is_set = false;

	return dwarf_attr_integrate(die, which, &attribute) &&
	       dwarf_formflag(&attribute, &is_set) == 0 && is_set;
}

static bool is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_interface_type || tag == DW_TAG_enumeration_type;
}

static const char *join(struct walk *walk, const char *scope, const char *name)
{
	struct mt_arena *arena = &walk->module->program->arena;
	const char *joined = scope ? mt_arena_format(arena, "%s::%s", scope, name) : name;

	walk->failed |= !joined;
	return joined;
}

static void note_scope(struct walk *walk, Dwarf_Die *die, const char *scope)
{
	struct mt_scope_name *known;

	HASH_FIND_PTR(walk->index->scopes, &die->addr, known);
	if (known)
		return;
	known = mt_arena_zalloc(&walk->module->program->arena, sizeof(*known));
	if (!known) {
		walk->failed = true;
		return;
	}
	known->die = die->addr;
	known->scope = scope;
	HASH_ADD_PTR(walk->index->scopes, die, known);
}

/* The name of a DIE as a scope; NULL: it is none. */
static const char *scope_name(struct walk *walk, Dwarf_Die *die, const char *scope, int tag)
{
	const char *name = text_of(die, DW_AT_name);

	if (tag == DW_TAG_namespace)
		return join(walk, scope, name ? name : "(anonymous namespace)");
	if (is_scope(tag))
		return name ? join(walk, scope, name) : scope;
	return NULL;
}

static void read_scopes(struct walk *walk, Dwarf_Die *parent, const char *scope);

/* Functions have scopes of their own, "f()", but what is declared in one has none in its name. */
static void read_scope(struct walk *walk, Dwarf_Die *die, const char *scope)
{
	int tag = dwarf_tag(die);

	if (scope)
		note_scope(walk, die, scope);
	if (is_scope(tag))
		read_scopes(walk, die, scope_name(walk, die, scope, tag));
}

static void read_scopes(struct walk *walk, Dwarf_Die *parent, const char *scope)
{
	Dwarf_Die child;

	if (walk->depth >= MOST_DEPTH || dwarf_child(parent, &child))
		return;
	walk->depth++;
	do
		read_scope(walk, &child, scope);
	while (walk->budget && walk->budget-- && !walk->failed &&
	       dwarf_siblingof(&child, &child) == 0);
	walk->depth--;
}

static void ensure_scopes(struct walk *walk, Dwarf_Die *unit)
{
	struct mt_scope_name *known;

	HASH_FIND_PTR(walk->index->scopes, &unit->addr, known);
	if (known)
		return;
	note_scope(walk, unit, NULL);
	if (mt_unit_language(unit) != MT_LANGUAGE_C)
		read_scopes(walk, unit, NULL);
}

static size_t budget_of(struct mt_module *module)
{
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);

	return dwarf ? dwarf->budget + (1 << 20) : 0;
}

static struct mt_index *bare_index(struct mt_module *module)
{
	if (!module->index)
		module->index = calloc(1, sizeof(*module->index));
	return module->index;
}

const char *mt_index_scope_of(struct mt_module *module, Dwarf_Die *die)
{
	struct walk walk = {.module = module, .index = bare_index(module)};
	struct mt_scope_name *known;
	Dwarf_Die unit;

	if (!walk.index || !dwarf_diecu(die, &unit, NULL, NULL))
		return NULL;
	walk.budget = budget_of(module);
	ensure_scopes(&walk, &unit);
	HASH_FIND_PTR(walk.index->scopes, &die->addr, known);
	return known ? known->scope : NULL;
}

static bool kind_of(Dwarf_Die *die, uint8_t *kind)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_variable:
	case DW_TAG_constant:
		*kind = MT_NAME_VARIABLE;
		return true;
	case DW_TAG_member: /* DWARF 4's way of a static one */
		*kind = MT_NAME_VARIABLE;
		return dwarf_hasattr(die, DW_AT_external);
	case DW_TAG_subprogram:
		*kind = MT_NAME_FUNCTION;
		return dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges);
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
		*kind = MT_NAME_STRUCT;
		return true;
	case DW_TAG_enumeration_type:
		*kind = MT_NAME_ENUM;
		return true;
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		*kind = MT_NAME_TYPE;
		return true;
	case DW_TAG_enumerator:
		*kind = MT_NAME_ENUMERATOR;
		return true;
	case DW_TAG_namespace:
		*kind = MT_NAME_NAMESPACE;
		return true;
	default:
		return false;
	}
}

/* Out-of-line definitions are named, and stand, where they were declared. */
static const char *declared_scope(struct walk *walk, Dwarf_Die *die, const char *scope)
{
	Dwarf_Attribute attribute;
	Dwarf_Die declaration;
	struct mt_scope_name *known;

	if (!dwarf_attr(die, DW_AT_specification, &attribute) &&
	    !dwarf_attr(die, DW_AT_abstract_origin, &attribute))
		return scope;
	if (!dwarf_formref_die(&attribute, &declaration))
		return scope;
	if (dwarf_attr(&declaration, DW_AT_specification, &attribute))
		dwarf_formref_die(&attribute, &declaration);
	HASH_FIND_PTR(walk->index->scopes, &declaration.addr, known);
	return known ? known->scope : scope;
}

static void add_name(struct walk *walk, Dwarf_Die *die, Dwarf_Die *parent, const char *scope,
		     uint8_t kind)
{
	struct mt_name *name = mt_arena_zalloc(&walk->module->program->arena, sizeof(*name));
	const char *text = text_of(die, DW_AT_name);

	if (!name) {
		walk->failed = true;
		return;
	}
	if (!text && kind == MT_NAME_NAMESPACE)
		text = "(anonymous namespace)";
	if (!text)
		return;
	name->name = text;
	name->scope = walk->scoped ? declared_scope(walk, die, scope) : scope;
	name->die = *die;
	name->parent = *parent;
	name->kind = kind;
	name->unit = walk->unit;
	name->is_declaration = dwarf_hasattr(die, DW_AT_declaration);
	name->has_value = dwarf_hasattr(die, DW_AT_const_value);
	name->is_external = has_flag(die, DW_AT_external);
	if (mt_array_push(&walk->index->names, name))
		walk->failed = true;
}

static void read_names(struct walk *walk, Dwarf_Die *parent, const char *scope);

static void read_name(struct walk *walk, Dwarf_Die *parent, Dwarf_Die *die, const char *scope)
{
	int tag = dwarf_tag(die);
	const char *inner = scope;
	uint8_t kind;

	if (kind_of(die, &kind))
		add_name(walk, die, parent, scope, kind);
	if (!is_scope(tag))
		return;
	/* Enumerators of C are not in their enum; those of a class are. */
	if (walk->scoped && (tag != DW_TAG_enumeration_type || has_flag(die, DW_AT_enum_class)))
		inner = scope_name(walk, die, scope, tag);
	read_names(walk, die, inner);
}

static void read_names(struct walk *walk, Dwarf_Die *parent, const char *scope)
{
	Dwarf_Die child;

	if (walk->depth >= MOST_DEPTH || dwarf_child(parent, &child))
		return;
	walk->depth++;
	do
		read_name(walk, parent, &child, scope);
	while (walk->budget && walk->budget-- && !walk->failed &&
	       dwarf_siblingof(&child, &child) == 0);
	walk->depth--;
}

static size_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3;
	return hash ^ hash >> 32;
}

/* The names of a bucket are in the order of DWARF. */
static bool fill_buckets(struct mt_index *index)
{
	size_t count = 64;

	while (count < index->names.count)
		count *= 2;
	index->buckets = calloc(count, sizeof(*index->buckets));
	if (!index->buckets)
		return false;
	index->bucket_count = count;
	for (size_t i = index->names.count; i-- > 0;) {
		struct mt_name *name = index->names.items[i];
		struct mt_name **bucket =
		    &index->buckets[hash_of(name->name, strlen(name->name)) & (count - 1)];

		name->next = *bucket;
		*bucket = name;
	}
	return true;
}

struct mt_index *mt_module_index(struct mt_module *module)
{
	struct walk walk = {.module = module, .index = bare_index(module)};
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);

	if (!walk.index || !dwarf)
		return NULL;
	if (walk.index->buckets)
		return walk.index;
	walk.budget = 2 * budget_of(module);
	if (dwarf->dwarf) {
		Dwarf_CU *cu = NULL;
		Dwarf_Die die, split;
		uint8_t type;

		while (!walk.failed &&
		       dwarf_get_units(dwarf->dwarf, cu, &cu, NULL, &type, &die, &split) == 0) {
			Dwarf_Die *unit = split.addr ? &split : &die;

			walk.unit = unit->addr;
			walk.scoped = mt_unit_language(unit) != MT_LANGUAGE_C;
			walk.depth = 0;
			ensure_scopes(&walk, unit);
			read_names(&walk, unit, NULL);
		}
	}
	return !walk.failed && fill_buckets(walk.index) ? walk.index : NULL;
}

void mt_index_destroy(struct mt_index *index)
{
	if (!index)
		return;
	HASH_CLEAR(hh, index->scopes);
	mt_array_deinit(&index->names);
	free(index->buckets);
	free(index);
}

static bool names_it(const struct mt_name *name, const char *scope, const char *text, size_t length)
{
	return strncmp(name->name, text, length) == 0 && !name->name[length] &&
	       strcmp(name->scope ? name->scope : "", scope ? scope : "") == 0;
}

struct mt_name *mt_index_find(struct mt_module *module, const char *scope, const char *name,
			      size_t length, unsigned accept)
{
	struct mt_index *index = mt_module_index(module);
	struct mt_name *found;

	if (!index)
		return NULL;
	found = index->buckets[hash_of(name, length) & (index->bucket_count - 1)];
	for (; found; found = found->next)
		if (accept >> found->kind & 1 && names_it(found, scope, name, length))
			return found;
	return NULL;
}

struct mt_name *mt_index_next(const struct mt_name *name, unsigned accept)
{
	struct mt_name *found = name->next;

	for (; found; found = found->next)
		if (accept >> found->kind & 1 &&
		    names_it(found, name->scope, name->name, strlen(name->name)))
			return found;
	return NULL;
}
