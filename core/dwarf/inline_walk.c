/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk through the DIEs of a unit that finds its inlined calls (DWARF 5, section 3.3.8).
 * What a garbled file can make it do is bounded: how deep it goes, and how many DIEs and ranges it
 * looks at. */
#include "dwarf/inlines.h"

#include <dwarf.h>
#include <string.h>
#include <uthash.h>

enum { DEEPEST = 256 };

/* The namespace or class around a function's DIE. */
struct scope {
	const void *die;
	const char *name;
	UT_hash_handle hh;
};

/* Inlined calls get their functions at the end, when the scopes are known. */
struct pending {
	struct mt_inline_node *node;
	Dwarf_Die origin;
};

struct walk {
	struct mt_objfile *objfile;
	struct mt_inline_intervals *out;
	struct mt_arena arena; /* of scopes */
	struct scope *scopes;
	MT_ARRAY(struct pending) pending;
	Dwarf_Die unit; /* that knows the directory of the compilation */
	Dwarf_Files *files;
	size_t file_count;
	size_t *budget;
	size_t split_budget;
	bool no_memory;
};

/* Where the walk is. */
struct place {
	struct mt_inline_node *node; /* the inlined call around it; NULL: none */
	const char *scope;           /* "ns::Class", or "" */
	unsigned depth;
};

static uint32_t read_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) ||
	    value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static void add_intervals(struct walk *walk, Dwarf_Die *die, struct mt_inline_node *node)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t offset = 0;

	while (*walk->budget && (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		struct mt_inline_interval interval = {start, end, node};
		--*walk->budget;
		if (start < end && !node->entry)
			node->entry = start;
		if (start < end && mt_array_push(walk->out, interval))
			walk->no_memory = true;
	}
}

static struct mt_inline_node *add_node(struct walk *walk, Dwarf_Die *die,
				       struct mt_inline_node *parent)
{
	Dwarf_Attribute attribute;
	struct pending pending;

	if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
	    !dwarf_formref_die(&attribute, &pending.origin))
		return parent;
	struct mt_inline_node *node = mt_arena_zalloc(&walk->objfile->arena, sizeof(*node));
	pending.node = node;
	if (!node || mt_array_push(&walk->pending, pending)) {
		walk->no_memory = true;
		return parent;
	}
	uint32_t file = read_number(die, DW_AT_call_file);
	const char *path =
	    file < walk->file_count ? dwarf_filesrc(walk->files, file, NULL, NULL) : NULL;
	node->call.call = (struct mt_source){
	    .file = mt_dwarf_path(walk->objfile, &walk->unit, path),
	    .line = read_number(die, DW_AT_call_line),
	    .column = read_number(die, DW_AT_call_column),
	};
	node->parent = parent;
	node->depth = parent ? parent->depth + 1 : 1;
	add_intervals(walk, die, node);
	return node;
}

static const char *scope_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	if (name)
		return name;
	return dwarf_tag(die) == DW_TAG_namespace ? "(anonymous namespace)" : NULL;
}

static const char *inner_scope(struct walk *walk, Dwarf_Die *die, const char *outer)
{
	const char *name = scope_name(die);

	if (!name || strlen(outer) > 4096)
		return outer;
	const char *joined =
	    mt_arena_format(&walk->arena, "%s%s%s", outer, *outer ? "::" : "", name);
	walk->no_memory |= !joined;
	return joined ? joined : outer;
}

static void remember_scope(struct walk *walk, Dwarf_Die *die, const char *name)
{
	struct scope *scope;

	if (!*name)
		return;
	HASH_FIND_PTR(walk->scopes, &die->addr, scope);
	if (scope)
		return;
	scope = mt_arena_zalloc(&walk->arena, sizeof(*scope));
	if (!scope) {
		walk->no_memory = true;
		return;
	}
	scope->die = die->addr;
	scope->name = name;
	HASH_ADD_PTR(walk->scopes, die, scope);
}

static bool has_code(Dwarf_Die *die)
{
	return !dwarf_hasattr(die, DW_AT_declaration) && !dwarf_hasattr(die, DW_AT_inline);
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, struct place place);

static void walk_die(struct walk *walk, Dwarf_Die *die, struct place place)
{
	place.depth++;
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		remember_scope(walk, die, place.scope);
		place.node = NULL;
		place.scope = "";
		if (has_code(die))
			walk_children(walk, die, place);
		return;
	case DW_TAG_inlined_subroutine:
		place.node = add_node(walk, die, place.node);
		walk_children(walk, die, place);
		return;
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		if (!dwarf_haschildren(die))
			return;
		place.scope = inner_scope(walk, die, place.scope);
		walk_children(walk, die, place);
		return;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_with_stmt:
		walk_children(walk, die, place);
		return;
	default:
		return;
	}
}

static void walk_children(struct walk *walk, Dwarf_Die *parent, struct place place)
{
	Dwarf_Die die;
	const void *last;

	if (place.depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		if (!*walk->budget || walk->no_memory)
			return;
		--*walk->budget;
		walk_die(walk, &die, place);
		last = die.addr;
	} while (dwarf_siblingof(&die, &die) == 0 && (const char *)die.addr > (const char *)last);
}

static const char *find_scope(const struct walk *walk, Dwarf_Die *origin)
{
	struct scope *scope;
	Dwarf_Attribute attribute;
	Dwarf_Die declaration;

	HASH_FIND_PTR(walk->scopes, &origin->addr, scope);
	if (!scope && dwarf_attr(origin, DW_AT_specification, &attribute) &&
	    dwarf_formref_die(&attribute, &declaration))
		HASH_FIND_PTR(walk->scopes, &declaration.addr, scope);
	return scope ? scope->name : NULL;
}

static void name_all(struct walk *walk)
{
	mt_array_each (pending, &walk->pending) {
		const char *scope = find_scope(walk, &pending->origin);

		pending->node->call.function =
		    mt_inline_function(walk->objfile, &pending->origin, scope);
		walk->no_memory |= !pending->node->call.function;
	}
}

int mt_inline_walk(struct mt_objfile *objfile, struct mt_unit *unit,
		   struct mt_inline_intervals *out)
{
	struct walk walk = {
	    .objfile = objfile,
	    .out = out,
	    .unit = unit->lines,
	    .split_budget = 1 << 24,
	};
	Dwarf_Die die = mt_unit_tree(unit);

	/* A split file's bytes are not counted in the main one's. */
	walk.budget =
	    unit->die.addr == unit->lines.addr ? &unit->dwarf->budget : &walk.split_budget;

	if (mt_dwarf_files(unit->dwarf, &die, &walk.files, &walk.file_count))
		walk.file_count = 0;
	walk_children(&walk, &die, (struct place){.scope = ""});
	name_all(&walk);
	HASH_CLEAR(hh, walk.scopes);
	mt_array_deinit(&walk.pending);
	mt_arena_deinit(&walk.arena);
	return walk.no_memory ? -1 : 0;
}
