/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The meaning of a name in a source file: 'file.c'::name. */
#include "values/lookup.h"

#include <string.h>

static bool is_of_file(const char *path, const char *file)
{
	size_t length = path ? strlen(path) : 0, end = strlen(file);

	return length >= end && strcmp(path + length - end, file) == 0 &&
	       (length == end || path[length - end - 1] == '/');
}

/* Declared in it, or in a header that it includes. */
static bool is_name_of_file(struct mt_module *module, const struct mt_name *name, const char *file)
{
	struct mt_dwarf *dwarf = mt_dwarf(module->objfile);
	Dwarf_Die die = name->die, unit;

	return (dwarf && is_of_file(mt_dwarf_decl_file(dwarf, &die), file)) ||
	       (dwarf_diecu(&die, &unit, NULL, NULL) && is_of_file(mt_die_name(&unit), file));
}

bool mt_lookup_in_file(struct mt_lookup *lookup, const char *file, const char *name,
		       struct mt_found *out)
{
	char *scope = NULL;
	const char *last = mt_lookup_split(name, &scope);
	bool is_known = false;

	*out = (struct mt_found){0};
	mt_array_each (module, &lookup->program->modules) {
		struct mt_index *index = (*module)->is_mapped ? mt_module_index(*module) : NULL;

		for (size_t i = 0; scope && index && i < index->names.count && !out->kind; i++) {
			struct mt_name *one = index->names.items[i];
			bool is_it = strcmp(one->name, last) == 0 &&
				     strcmp(one->scope ? one->scope : "", scope) == 0;

			if ((is_known && !is_it) || !is_name_of_file(*module, one, file))
				continue;
			is_known = true;
			if (is_it && !one->is_declaration)
				mt_found_name(lookup, *module, one, out);
		}
	}
	free(scope);
	return is_known;
}
