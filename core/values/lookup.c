/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of a name, in the order of the languages: the blocks from the inside out, what *this
 * has, the namespaces around the function, the file, everything else, and the linker's symbols. */
#include "values/lookup.h"

#include <dwarf.h>
#include <limits.h>
#include <string.h>

#define ANY                                                                                        \
	(1u << MT_NAME_VARIABLE | 1u << MT_NAME_FUNCTION | 1u << MT_NAME_TYPE |                    \
	 1u << MT_NAME_ENUMERATOR)
#define TAGS (1u << MT_NAME_STRUCT | 1u << MT_NAME_ENUM)

struct mt_error *mt_lookup_init(struct mt_lookup *lookup, struct mt_expr_program *program,
				const struct mt_expr_frame *frame)
{
	*lookup = (struct mt_lookup){.program = program, .frame = frame};
	mt_try(mt_program_update(program));
	/* An inlined call may begin at a function's first instruction, too. */
	const unsigned inner = frame && frame->at_entry ? UINT_MAX : frame ? frame->inner : 0;
	lookup->has_scope = frame && mt_scope_find(program, frame->pc, inner, &lookup->scope);
	lookup->language = mt_program_language(program, frame ? frame->pc : 0);
	return NULL;
}

static unsigned accepted(const struct mt_lookup *lookup)
{
	return lookup->language == MT_LANGUAGE_C ? ANY : ANY | TAGS | 1u << MT_NAME_NAMESPACE;
}

static void found_type(struct mt_module *module, Dwarf_Die *die, struct mt_found *out)
{
	out->type = mt_type_of_die(module, die);
	out->kind = out->type ? MT_FOUND_TYPE : MT_FOUND_NOTHING;
}

static void found_enumerator(struct mt_module *module, Dwarf_Die *type_die, const char *name,
			     struct mt_found *out)
{
	struct mt_type *type = mt_type_of_die(module, type_die);
	size_t length = strlen(name);

	if (!type)
		return;
	mt_type_expand(type);
	for (size_t i = 0; i < type->enumerator_count; i++) {
		const char *full = type->enumerators[i].name;
		size_t full_length = strlen(full);

		if (full_length < length || strcmp(full + full_length - length, name) != 0 ||
		    (full_length > length && full[full_length - length - 1] != ':'))
			continue;
		out->kind = MT_FOUND_ENUMERATOR;
		out->type = type;
		out->value = type->enumerators[i].value;
		return;
	}
}

static void found_function(struct mt_module *module, Dwarf_Die *die, struct mt_found *out)
{
	Dwarf_Addr entry;

	if (dwarf_entrypc(die, &entry))
		return;
	out->type = mt_type_of_die(module, die);
	out->address = entry + module->bias;
	out->kind = out->type ? MT_FOUND_FUNCTION : MT_FOUND_NOTHING;
}

static void found_variable(struct mt_lookup *lookup, struct mt_module *module,
			   const struct mt_scope *scope, Dwarf_Die *die, struct mt_found *out)
{
	mt_variable_bind(module, scope, lookup->frame, die, &out->variable);
	out->type = out->variable.type;
	out->kind = MT_FOUND_VARIABLE;
}

/* Better ones first: of this file, then what others may see, then the rest. */
static int rank(const struct mt_lookup *lookup, const struct mt_module *module,
		const struct mt_name *name)
{
	if (name->is_declaration)
		return name->kind != MT_NAME_VARIABLE || name->has_value ? 4 : 5;
	if (lookup->has_scope && module == lookup->scope.module &&
	    name->unit == lookup->scope.unit.addr)
		return 0;
	if (name->is_external || name->kind >= MT_NAME_STRUCT)
		return lookup->has_scope && module == lookup->scope.module ? 1 : 2;
	return 3;
}

static struct mt_name *best_in(const struct mt_lookup *lookup, struct mt_module *module,
			       const char *scope, const char *name, size_t length, unsigned accept,
			       int *best_rank)
{
	struct mt_name *found = mt_index_find(module, scope, name, length, accept), *best = NULL;

	for (; found; found = mt_index_next(found, accept)) {
		int found_rank = rank(lookup, module, found);

		if (found_rank >= *best_rank)
			continue;
		*best_rank = found_rank;
		best = found;
	}
	return best;
}

void mt_found_name(struct mt_lookup *lookup, struct mt_module *module, struct mt_name *name,
		   struct mt_found *out)
{
	switch (name->kind) {
	case MT_NAME_VARIABLE:
		found_variable(lookup, module, NULL, &name->die, out);
		break;
	case MT_NAME_FUNCTION:
		found_function(module, &name->die, out);
		break;
	case MT_NAME_ENUMERATOR:
		found_enumerator(module, &name->parent, name->name, out);
		break;
	case MT_NAME_NAMESPACE:
		out->kind = MT_FOUND_NAMESPACE;
		break;
	default:
		found_type(module, &name->die, out);
	}
}

/* A name that a scope has. */
static bool find_in_scope(struct mt_lookup *lookup, const char *scope, const char *name,
			  unsigned accept, struct mt_found *out)
{
	struct mt_expr_program *program = lookup->program;
	struct mt_module *module = NULL;
	struct mt_name *best = NULL;
	int best_rank = 5;

	for (size_t i = 0; i < program->modules.count; i++) {
		struct mt_module *candidate = program->modules.items[i];
		struct mt_name *found =
		    candidate->is_mapped
			? best_in(lookup, candidate, scope, name, strlen(name), accept, &best_rank)
			: NULL;

		if (!found)
			continue;
		best = found;
		module = candidate;
	}
	if (best)
		mt_found_name(lookup, module, best, out);
	return out->kind != MT_FOUND_NOTHING;
}

/* Within SCOPE: what it has, or an unnamed namespace in it. */
static bool find_within(struct mt_lookup *lookup, const char *scope, const char *name,
			unsigned accept, struct mt_found *out)
{
	mt_auto(mt_str) struct mt_str unnamed = {0};

	if (find_in_scope(lookup, scope, name, accept, out))
		return true;
	if (lookup->language == MT_LANGUAGE_C)
		return false;
	mt_str_appendf(&unnamed, "%s%s(anonymous namespace)", scope, *scope ? "::" : "");
	return !unnamed.failed && find_in_scope(lookup, unnamed.text, name, accept, out);
}

/* From the function's own namespace to the outermost one. */
static void find_global(struct mt_lookup *lookup, const char *prefix, const char *name,
			unsigned accept, struct mt_found *out)
{
	const char *around = lookup->has_scope && lookup->language != MT_LANGUAGE_C
				 ? mt_scope_namespace(&lookup->scope)
				 : NULL;
	char *scope = strdup(around ? around : "");

	while (scope) {
		mt_auto(mt_str) struct mt_str full = {0};
		char *parent;

		mt_str_append(&full, scope);
		if (*scope && *prefix)
			mt_str_append(&full, "::");
		mt_str_append(&full, prefix);
		if (full.failed ||
		    find_within(lookup, full.text ? full.text : "", name, accept, out) || !*scope)
			break;
		const char *last = NULL;
		int depth = 0;

		for (const char *c = scope; *c; c++) {
			depth += (*c == '<') - (*c == '>');
			if (depth == 0 && c[0] == ':' && c[1] == ':')
				last = c;
		}
		parent = last ? strndup(scope, (size_t)(last - scope)) : strdup("");
		free(scope);
		scope = parent;
	}
	free(scope);
}

/* Namespaces that a `using namespace` in a block or file opens. */
static void find_imported(struct mt_lookup *lookup, Dwarf_Die *block, const char *name,
			  struct mt_found *out)
{
	Dwarf_Die child, imported;
	Dwarf_Attribute attribute;
	size_t budget = 1 << 20;

	if (lookup->language != MT_LANGUAGE_CPP || dwarf_child(block, &child))
		return;
	do {
		mt_auto(mt_str) struct mt_str scope = {0};
		const char *around;

		if (dwarf_tag(&child) != DW_TAG_imported_module ||
		    !dwarf_attr(&child, DW_AT_import, &attribute) ||
		    !dwarf_formref_die(&attribute, &imported))
			continue;
		around = mt_index_scope_of(lookup->scope.module, &imported);
		mt_str_appendf(&scope, "%s%s%s", around ? around : "", around ? "::" : "",
			       mt_die_name(&imported) ? mt_die_name(&imported)
						      : "(anonymous namespace)");
		if (!scope.failed && find_in_scope(lookup, scope.text, name, accepted(lookup), out))
			return;
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
}

static bool is_type_tag(int tag, bool with_tags)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_base_type:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return with_tags;
	default:
		return false;
	}
}

/* Types and enumerators that are declared in a block. */
static void find_declared(struct mt_lookup *lookup, Dwarf_Die *block, const char *name,
			  struct mt_found *out)
{
	struct mt_module *module = lookup->scope.module;
	Dwarf_Die origin = mt_die_origin(block), child;

	if (dwarf_child(&origin, &child))
		return;
	do {
		int tag = dwarf_tag(&child);
		const char *child_name = mt_die_name(&child);

		if (is_type_tag(tag, lookup->language != MT_LANGUAGE_C) && child_name &&
		    strcmp(child_name, name) == 0)
			found_type(module, &child, out);
		else if (tag == DW_TAG_enumeration_type)
			found_enumerator(module, &child, name, out);
	} while (!out->kind && dwarf_siblingof(&child, &child) == 0);
}

static void find_in_block(struct mt_lookup *lookup, Dwarf_Die *block, const char *name,
			  struct mt_found *out)
{
	mt_dies variables = {0};

	if (mt_block_variables(block, &variables) == 0)
		mt_array_each (die, &variables) {
			const char *die_name = mt_die_name(die);

			if (!die_name || strcmp(die_name, name) != 0)
				continue;
			/* `extern int x;` within a function. */
			if (mt_die_flag(die, DW_AT_declaration) &&
			    !dwarf_hasattr(die, DW_AT_location))
				find_global(lookup, "", name, 1u << MT_NAME_VARIABLE, out);
			if (!out->kind)
				found_variable(lookup, lookup->scope.module, &lookup->scope, die,
					       out);
			break;
		}
	mt_array_deinit(&variables);
	if (!out->kind)
		find_declared(lookup, block, name, out);
	if (!out->kind)
		find_imported(lookup, block, name, out);
}

static void find_local(struct mt_lookup *lookup, const char *name, struct mt_found *out)
{
	for (size_t i = 0; i <= lookup->scope.function && i < lookup->scope.count && !out->kind;
	     i++)
		find_in_block(lookup, &lookup->scope.blocks[i], name, out);
}

static bool has_member(struct mt_type *type, const char *name, unsigned depth)
{
	type = mt_type_strip(type);
	if (depth > 32 || !mt_type_is_aggregate(type))
		return false;
	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		const struct mt_member *member = &type->members[i];

		if (member->name && member->kind != MT_MEMBER_BASE &&
		    strcmp(member->name, name) == 0)
			return true;
		if ((member->kind == MT_MEMBER_BASE || !member->name) &&
		    has_member(member->type, name, depth + 1))
			return true;
	}
	return false;
}

static void find_in_this(struct mt_lookup *lookup, const char *name, struct mt_found *out)
{
	struct mt_found this = {0};
	struct mt_type *type;

	if (lookup->language != MT_LANGUAGE_CPP)
		return;
	find_local(lookup, "this", &this);
	if (this.kind != MT_FOUND_VARIABLE)
		return;
	type = mt_type_strip(this.type);
	if (type->kind != MT_TYPE_POINTER || !has_member(mt_type_target(type), name, 0))
		return;
	*out = this;
	out->kind = MT_FOUND_MEMBER;
}

static void take_msymbol(struct mt_lookup *lookup, struct mt_module *module,
			 const struct mt_msymbol *symbol, struct mt_found *out)
{
	struct mt_expr_program *program = lookup->program;
	Dwarf_Die function;
	Dwarf_Addr entry;

	out->address = symbol->address + module->bias;
	if (mt_scope_function(module, symbol->address, &function) &&
	    dwarf_entrypc(&function, &entry) == 0 && entry == symbol->address) {
		found_function(module, &function, out);
		return;
	}
	if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC || symbol->is_code) {
		out->kind = MT_FOUND_FUNCTION;
		out->type = program->builtins[MT_BUILTIN_NODEBUG_TEXT];
		return;
	}
	out->kind = MT_FOUND_VARIABLE;
	out->type = program->builtins[symbol->type == STT_TLS ? MT_BUILTIN_NODEBUG_TLS
							      : MT_BUILTIN_NODEBUG_DATA];
	out->variable = (struct mt_variable){
	    .name = symbol->name,
	    .type = out->type,
	    .module = module,
	    .kind = symbol->type == STT_TLS ? MT_VARIABLE_TLS : MT_VARIABLE_ADDRESS,
	    .address = symbol->address,
	};
}

static void find_msymbol(struct mt_lookup *lookup, const char *name, struct mt_found *out)
{
	struct mt_expr_program *program = lookup->program;

	for (size_t i = 0; i < program->modules.count && !out->kind; i++) {
		struct mt_module *module = program->modules.items[i];
		const struct mt_msymbol *symbol =
		    module->is_mapped ? mt_msymbol_named(module, name, strlen(name)) : NULL;

		if (symbol)
			take_msymbol(lookup, module, symbol, out);
	}
}

const char *mt_lookup_split(const char *name, char **scope)
{
	const char *last = NULL;
	int depth = 0;

	for (const char *c = name; *c; c++) {
		depth += (*c == '<') - (*c == '>');
		if (depth == 0 && c[0] == ':' && c[1] == ':')
			last = c++;
	}
	*scope = last ? strndup(name, (size_t)(last - name)) : strdup("");
	return last ? last + 2 : name;
}

/* A variable that DWARF declares but nobody defines there may still be the linker's. */
static void define_by_symbol(struct mt_lookup *lookup, struct mt_found *found)
{
	struct mt_found symbol = {0};
	const char *name = found->variable.name;

	if (found->kind != MT_FOUND_VARIABLE || found->variable.kind != MT_VARIABLE_OPTIMIZED_OUT ||
	    !found->variable.die.addr || !mt_die_flag(&found->variable.die, DW_AT_declaration))
		return;
	if (mt_die_linkage_name(&found->variable.die))
		name = mt_die_linkage_name(&found->variable.die);
	if (name)
		find_msymbol(lookup, name, &symbol);
	if (symbol.kind != MT_FOUND_VARIABLE)
		return;
	found->variable.kind = symbol.variable.kind;
	found->variable.address = symbol.variable.address;
	found->variable.module = symbol.variable.module;
}

static void lookup_as_is(struct mt_lookup *lookup, const char *name, struct mt_found *out)
{
	char *scope = NULL;
	const char *last = mt_lookup_split(name, &scope);

	*out = (struct mt_found){0};
	if (!scope)
		return;
	if (last == name && lookup->has_scope) {
		find_local(lookup, name, out);
		if (!out->kind)
			find_in_this(lookup, name, out);
	}
	if (!out->kind)
		find_global(lookup, scope, last, accepted(lookup), out);
	if (!out->kind && last == name && lookup->has_scope)
		find_imported(lookup, &lookup->scope.unit, name, out);
	define_by_symbol(lookup, out);
	if (!out->kind)
		find_msymbol(lookup, name, out);
	free(scope);
}

void mt_lookup_name(struct mt_lookup *lookup, const char *name, struct mt_found *out)
{
	mt_auto(mt_str) struct mt_str written = {0};

	lookup_as_is(lookup, name, out);
	if (out->kind || lookup->language != MT_LANGUAGE_CPP || !strchr(name, '<'))
		return;
	mt_type_name_written(name, &written);
	if (!written.failed && strcmp(written.text, name) != 0)
		lookup_as_is(lookup, written.text, out);
}

struct mt_type *mt_lookup_tag(struct mt_lookup *lookup, const char *name, enum mt_name_kind which)
{
	struct mt_found found = {0};
	char *scope = NULL;
	const char *last = mt_lookup_split(name, &scope);

	for (size_t i = 0; lookup->has_scope && i < lookup->scope.count && !found.kind; i++) {
		Dwarf_Die origin = mt_die_origin(&lookup->scope.blocks[i]), child;

		if (dwarf_child(&origin, &child))
			continue;
		do
			if (is_type_tag(dwarf_tag(&child), true) &&
			    (dwarf_tag(&child) == DW_TAG_enumeration_type) ==
				(which == MT_NAME_ENUM) &&
			    dwarf_tag(&child) != DW_TAG_typedef && mt_die_name(&child) &&
			    strcmp(mt_die_name(&child), name) == 0)
				found_type(lookup->scope.module, &child, &found);
		while (!found.kind && dwarf_siblingof(&child, &child) == 0);
	}
	if (!found.kind && scope)
		find_global(lookup, scope, last, 1u << which, &found);
	free(scope);
	return found.kind == MT_FOUND_TYPE ? found.type : NULL;
}

bool mt_lookup_static_member(struct mt_expr_program *program, struct mt_type *type,
			     const struct mt_member *member, struct mt_found *out)
{
	struct mt_expr_frame nowhere = {0};
	struct mt_lookup lookup = {
	    .program = program, .frame = &nowhere, .language = MT_LANGUAGE_CPP};
	Dwarf_Die die = member->die;

	*out = (struct mt_found){0};
	if (!type->name || !member->name)
		return false;
	find_in_scope(&lookup, type->name, member->name, 1u << MT_NAME_VARIABLE, out);
	if (!out->kind || out->variable.kind == MT_VARIABLE_OPTIMIZED_OUT)
		found_variable(&lookup, type->module, NULL, &die, out);
	define_by_symbol(&lookup, out);
	return out->kind == MT_FOUND_VARIABLE;
}
