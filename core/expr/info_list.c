/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info functions`, `info variables` and `info types`: what DWARF defines outside of functions, by
 * file, and then what the linker alone knows. */
#include "elf/demangle.h"
#include "expr/expr.h"
#include "types/scope.h"

#include <ctype.h>
#include <dwarf.h>
#include <regex.h>
#include <string.h>

#define MOST_TYPEDEFS 64 /* of typedefs; garbled DWARF has rings of them */

struct entry {
	const char *file; /* as the compiler was given it; NULL: DWARF knows nothing of it */
	int line;
	bool is_static;
	char *name; /* with its scopes */
	char *text; /* how it is declared */
	uint64_t address;
};

struct list {
	enum mt_expr_list what;
	bool filters;
	regex_t pattern;
	MT_ARRAY(struct entry) entries;
	bool failed;
};

static bool is_wanted(const struct list *list, const char *name)
{
	return !list->filters || regexec(&list->pattern, name, 0, NULL, 0) == 0;
}

static void add(struct list *list, struct entry entry)
{
	list->failed |= !entry.name || !entry.text || mt_array_push(&list->entries, entry);
	if (!list->failed)
		return;
	free(entry.name);
	free(entry.text);
}

/* ---- What DWARF defines ---- */

/* "d.c": as it was given to the compiler, where that was with its directory. */
static const char *file_of(struct mt_module *module, Dwarf_Die *die)
{
	struct mt_dwarf *dwarf = mt_dwarf(module->objfile);
	const char *path = dwarf ? mt_dwarf_decl_file(dwarf, die) : NULL, *directory = NULL;
	Dwarf_Attribute attribute;
	Dwarf_Die unit;

	if (!dwarf_diecu(die, &unit, NULL, NULL))
		return "?";
	const char *name = mt_die_name(&unit);
	if (name && *name != '/')
		directory = dwarf_formstring(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
	size_t length = directory && *directory == '/' ? strlen(directory) : 0;
	if (!path) /* an assembler's */
		path = name;
	else if (length && strncmp(path, directory, length) == 0 && path[length] == '/')
		path += length + 1;
	return path ? path : "?";
}

/* "int ns::f(int)": C++'s names have the parameters. */
static void append_function(struct mt_module *module, Dwarf_Die *die, const char *name,
			    struct mt_str *out)
{
	struct mt_type *type = mt_type_of_die(module, die);
	Dwarf_Die unit;

	if (type && dwarf_diecu(die, &unit, NULL, NULL) &&
	    mt_unit_language(&unit) == MT_LANGUAGE_CPP)
		type = mt_type_target(type);
	if (type)
		mt_type_name(type, name, out);
}

static void append_variable(struct mt_module *module, Dwarf_Die *die, const char *name,
			    struct mt_str *out)
{
	struct mt_type *type = mt_type_of(module, die);

	if (type)
		mt_type_name(type, name, out);
}

/* What a typedef stands for in the end. */
static struct mt_type *behind_typedefs(struct mt_type *type)
{
	bool is_const = false, is_volatile = false;

	for (unsigned i = 0; i < MOST_TYPEDEFS; i++) {
		struct mt_type *bare = mt_type_unqualified(type);

		if (bare->kind != MT_TYPE_TYPEDEF)
			break;
		for (; type != bare; type = mt_type_target(type)) {
			is_const |= type->is_const;
			is_volatile |= type->is_volatile;
		}
		type = mt_type_target(bare);
	}
	return is_const || is_volatile ? mt_type_qualify(type, is_const, is_volatile) : type;
}

/* "struct node;", "typedef struct node * list;", and bare "int" and "ns". */
static void append_type(struct mt_module *module, Dwarf_Die *die, const char *name,
			struct mt_str *out)
{
	const bool is_typedef = dwarf_tag(die) == DW_TAG_typedef;
	struct mt_type *type = NULL;

	if (dwarf_tag(die) == DW_TAG_namespace) {
		mt_str_append(out, name);
		return;
	}
	type = is_typedef ? mt_type_of(module, die) : mt_type_of_die(module, die);
	if (is_typedef && type) {
		mt_str_append(out, "typedef ");
		type = behind_typedefs(type);
	}
	if (type)
		mt_type_name(type, NULL, out);
	if (is_typedef)
		mt_str_appendf(out, " %s", name);
	if (dwarf_tag(die) != DW_TAG_base_type)
		mt_str_append(out, ";");
}

static void append_declaration(const struct list *list, struct mt_module *module,
			       const struct mt_name *name, const char *full, struct mt_str *out)
{
	Dwarf_Die die = name->die;

	if (list->what == MT_EXPR_TYPES) {
		append_type(module, &die, full, out);
		return;
	}
	mt_str_append(out, name->is_external ? "" : "static ");
	(list->what == MT_EXPR_FUNCTIONS ? append_function : append_variable)(module, &die, full,
									      out);
	mt_str_append(out, ";");
}

static void append_name(struct list *list, struct mt_module *module, const struct mt_name *name,
			struct mt_str *out)
{
	Dwarf_Die die = name->die;

	if (list->what == MT_EXPR_FUNCTIONS) {
		mt_function_name(module, &die, false, out);
		return;
	}
	/* "unsigned long", which gcc calls "long unsigned int" */
	struct mt_type *type =
	    dwarf_tag(&die) == DW_TAG_base_type ? mt_type_of_die(module, &die) : NULL;
	if (type)
		mt_type_name(type, NULL, out);
	else
		mt_str_appendf(out, "%s%s%s", name->scope ? name->scope : "",
			       name->scope ? "::" : "", name->name);
}

static bool has_place(const struct mt_name *name)
{
	Dwarf_Die die = name->die;

	return dwarf_hasattr(&die, DW_AT_location) || name->has_value;
}

static bool is_listed(const struct list *list, const struct mt_name *name)
{
	switch (list->what) {
	case MT_EXPR_FUNCTIONS:
		return name->kind == MT_NAME_FUNCTION;
	case MT_EXPR_VARIABLES:
		return name->kind == MT_NAME_VARIABLE && has_place(name);
	default:
		return !name->is_declaration &&
		       (name->kind == MT_NAME_STRUCT || name->kind == MT_NAME_ENUM ||
			name->kind == MT_NAME_TYPE || name->kind == MT_NAME_NAMESPACE);
	}
}

/* In which part of its file's list it stands: tags of C++ are of the whole program, others of the
 * file. */
static bool is_static(const struct list *list, const struct mt_name *name)
{
	Dwarf_Die die = name->die, unit;

	if (list->what != MT_EXPR_TYPES)
		return !name->is_external;
	return name->kind == MT_NAME_TYPE || !dwarf_diecu(&die, &unit, NULL, NULL) ||
	       mt_unit_language(&unit) == MT_LANGUAGE_C;
}

static void add_definitions(struct list *list, struct mt_module *module)
{
	struct mt_index *index = mt_module_index(module);

	list->failed |= !index;
	for (size_t i = 0; index && i < index->names.count; i++) {
		const struct mt_name *name = index->names.items[i];

		if (is_listed(list, name)) {
			struct mt_str full = {0}, text = {0};
			Dwarf_Die die = name->die;
			struct entry entry = {.file = file_of(module, &die),
					      .is_static = is_static(list, name)};

			append_name(list, module, name, &full);
			if (full.text && !full.failed && is_wanted(list, full.text)) {
				append_declaration(list, module, name, full.text, &text);
				dwarf_decl_line(&die, &entry.line);
				entry.name = strdup(full.text);
				entry.text = text.failed ? NULL : strdup(text.text);
				add(list, entry);
			}
			list->failed |= full.failed;
			mt_str_deinit(&full);
			mt_str_deinit(&text);
		}
	}
}

/* ---- What the linker knows ---- */

static void add_symbol(struct list *list, const char *name, uint64_t address)
{
	if (!is_wanted(list, name))
		return;
	add(list, (struct entry){.name = strdup(name), .text = strdup(""), .address = address});
}

static bool is_in_dwarf(struct mt_module *module, const struct mt_msymbol *symbol)
{
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);

	if (symbol->is_code)
		return dwarf && mt_dwarf_unit_at(dwarf, symbol->address);
	return mt_index_find(module, NULL, symbol->name, strlen(symbol->name),
			     1u << MT_NAME_VARIABLE) != NULL;
}

static void add_stubs(struct list *list, struct mt_module *module)
{
	size_t count;
	const struct mt_symbol *symbols = mt_objfile_symbols(module->objfile, &count);

	for (size_t i = 0; i < count; i++)
		if (symbols[i].raw_name && strstr(symbols[i].raw_name, "@plt") &&
		    !(symbols[i].flags & MT_FUNCTION_RESOLVER))
			add_symbol(list, symbols[i].raw_name, symbols[i].start + module->bias);
}

/* Without "@VERSION", and without the number of a static variable of a function. */
static size_t bare_length(const struct mt_msymbol *symbol)
{
	size_t length = strcspn(symbol->name, "@"), end = length;

	while (end && isdigit((unsigned char)symbol->name[end - 1]))
		end--;
	bool is_numbered = end > 1 && end < length && symbol->name[end - 1] == '.';
	return is_numbered && !symbol->is_code ? end - 1 : length;
}

/* ---- In order ---- */

static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	if (!a->file || !b->file)
		return a->file || b->file         ? (a->file ? -1 : 1)
		       : a->address != b->address ? (a->address < b->address ? -1 : 1)
						  : strcmp(a->name, b->name);
	int order = strcmp(a->file, b->file);
	if (!order)
		order = a->is_static - b->is_static;
	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : a->line - b->line;
}

static void sort(struct list *list)
{
	if (list->entries.count)
		qsort(list->entries.items, list->entries.count, sizeof(*list->entries.items),
		      compare);
}

static bool are_same(const struct entry *before, const struct entry *entry)
{
	return before && compare(before, entry) == 0 && strcmp(before->text, entry->text) == 0;
}

static void print(struct list *list, const char *pattern, struct mt_str *out)
{
	static const char *const words[] = {[MT_EXPR_FUNCTIONS] = "functions",
					    [MT_EXPR_VARIABLES] = "variables",
					    [MT_EXPR_TYPES] = "types"};
	const char *what = words[list->what];
	const struct entry *before = NULL;

	if (list->filters)
		mt_str_appendf(out, "All %s matching regular expression \"%s\":\n", what, pattern);
	else
		mt_str_appendf(out, "All defined %s:\n", what);
	mt_array_each (entry, &list->entries) {
		if (are_same(before, entry))
			continue;
		if (entry->file && (!before || strcmp(before->file, entry->file) != 0))
			mt_str_appendf(out, "\nFile %s:\n", entry->file);
		if (!entry->file && (!before || before->file))
			mt_str_append(out, "\nNon-debugging symbols:\n");
		if (entry->file && entry->line)
			mt_str_appendf(out, "%d:", entry->line);
		if (entry->file)
			mt_str_appendf(out, "\t%s\n", entry->text);
		else
			mt_str_appendf(out, "0x%016llx  %s\n", (unsigned long long)entry->address,
				       entry->name);
		before = entry;
	}
}

static void destroy(struct list *list)
{
	mt_array_each (entry, &list->entries) {
		free(entry->name);
		free(entry->text);
	}
	mt_array_deinit(&list->entries);
}

/* Fills the list in, without stubs of the PLT where those are not WITH_STUBS. */
static struct mt_error *fill(struct list *list, struct mt_expr_program *program,
			     const char *pattern, bool with_stubs)
{
	mt_try(mt_program_update(program));
	list->filters = *pattern;
	int refused = *pattern ? regcomp(&list->pattern, pattern, REG_NOSUB) : 0;
	if (refused) {
		char why[128];

		regerror(refused, &list->pattern, why, sizeof(why));
		return mt_error_new(MT_ERROR_USAGE, "Invalid regexp: %s", why);
	}
	for (size_t i = 0; i < program->modules.count && !list->failed; i++) {
		if (!program->modules.items[i]->is_mapped)
			continue;
		add_definitions(list, program->modules.items[i]);
		if (list->what == MT_EXPR_TYPES)
			continue;
		const struct mt_msymbols *symbols = mt_module_msymbols(program->modules.items[i]);
		const bool functions = list->what == MT_EXPR_FUNCTIONS;

		mt_array_each (symbol, symbols) {
			mt_auto(mt_str) struct mt_str name = {0};

			if (symbol->is_code != functions || symbol->type == STT_TLS ||
			    is_in_dwarf(program->modules.items[i], symbol))
				continue;
			if (!mt_demangle(symbol->name, MT_DEMANGLE_FULL, &name))
				mt_str_append_bytes(&name, symbol->name, bare_length(symbol));
			if (name.text && !name.failed)
				add_symbol(list, name.text,
					   symbol->address + program->modules.items[i]->bias);
		}
		if (functions && with_stubs)
			add_stubs(list, program->modules.items[i]);
	}
	if (*pattern)
		regfree(&list->pattern);
	sort(list);
	return list->failed ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_expr_info_list(struct mt_expr_program *program, enum mt_expr_list what,
				   const char *pattern, struct mt_str *out)
{
	struct list list = {.what = what};
	struct mt_error *error = fill(&list, program, pattern, true);

	if (!error)
		print(&list, pattern, out);
	destroy(&list);
	return error;
}

/* WANTED: a path, or its end. */
static bool is_of_file(const struct entry *entry, const char *wanted)
{
	size_t length = entry->file ? strlen(entry->file) : 0, size = strlen(wanted);

	return length >= size && strcmp(entry->file + length - size, wanted) == 0 &&
	       (length == size || entry->file[length - size - 1] == '/');
}

struct mt_error *
mt_expr_each_function(struct mt_expr_program *program, const char *file, const char *pattern,
		      struct mt_error *(*found)(void *context, const struct mt_expr_function *),
		      void *context)
{
	struct list list = {.what = MT_EXPR_FUNCTIONS};
	struct mt_error *error = fill(&list, program, pattern, false);
	const struct entry *before = NULL;

	mt_array_each (entry, &list.entries) {
		const struct mt_expr_function function = {entry->file, entry->name, entry->text};

		if (!error && !are_same(before, entry) && (!file || is_of_file(entry, file)))
			error = found(context, &function);
		before = entry;
	}
	destroy(&list);
	return error;
}
