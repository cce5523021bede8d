/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions as GDB names them in full, "ns::f<int>(int)", and as the linker does. */
#include "elf/demangle.h"
#include "types/scope.h"

#include <dwarf.h>
#include <string.h>

/* "char const*", where types are written "const char *". */
static void append_parameter(struct mt_type *type, struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str name = {0};
	const char *text;
	size_t word;

	mt_type_name(type, NULL, &name);
	if (name.failed || !name.text)
		return;
	text = name.text;
	if (strncmp(text, "const ", 6) == 0) {
		text += 6;
		word = strcspn(text, "*&");
		while (word && text[word - 1] == ' ')
			word--;
		mt_str_append_bytes(out, text, word);
		mt_str_append(out, " const");
		text += word;
	}
	for (; *text; text++)
		if (*text != ' ' || (text[1] != '*' && text[1] != '&'))
			mt_str_append_bytes(out, text, 1);
}

static bool is_const_method(const struct mt_type *type)
{
	struct mt_type *this = type->member_count && type->members[0].is_artificial
				   ? mt_type_unqualified(type->members[0].type)
				   : NULL;

	this = this && this->kind == MT_TYPE_POINTER ? mt_type_target(this) : NULL;
	return this && this->kind == MT_TYPE_QUALIFIED && this->is_const;
}

/* "ns::f" */
static bool append_plain(struct mt_module *module, Dwarf_Die *function, enum mt_language language,
			 struct mt_str *out)
{
	Dwarf_Die origin = mt_die_origin(function);
	const char *around = language == MT_LANGUAGE_C ? NULL : mt_index_scope_of(module, &origin);
	const char *name = mt_die_name(function);

	if (name)
		mt_str_appendf(out, "%s%s%s", around ? around : "", around ? "::" : "", name);
	return name;
}

bool mt_function_name(struct mt_module *module, Dwarf_Die *function, bool linked,
		      struct mt_str *out)
{
	const char *linkage = mt_die_linkage_name(function);
	enum mt_language language;
	struct mt_type *type;
	Dwarf_Die unit;

	if (!dwarf_diecu(function, &unit, NULL, NULL))
		return false;
	language = mt_unit_language(&unit);
	/* In C the linker's name counts, where one is given: "__GI___libc_malloc". */
	if (linkage && (linked || language == MT_LANGUAGE_C)) {
		mt_str_append(out, linkage);
		return true;
	}
	if (language != MT_LANGUAGE_CPP)
		return append_plain(module, function, language, out);
	if (linkage && mt_demangle(linkage, MT_DEMANGLE_NO_RETURN, out))
		return true;
	type = mt_type_of_die(module, function);
	if (!type || !append_plain(module, function, language, out))
		return false;
	bool any = false;

	mt_type_expand(type);
	mt_str_append(out, "(");
	for (size_t i = 0; i < type->member_count; i++) {
		if (type->members[i].is_artificial)
			continue;
		mt_str_append(out, any ? ", " : "");
		append_parameter(type->members[i].type, out);
		any = true;
	}
	if (type->is_varargs)
		mt_str_append(out, any ? ", ..." : "...");
	mt_str_append(out, is_const_method(type) ? ") const" : ")");
	return true;
}

bool mt_expr_function_at(struct mt_expr_program *program, uint64_t address, struct mt_str *out)
{
	struct mt_module *module = mt_program_module_at(program, address);
	Dwarf_Die function;

	return module && mt_scope_function(module, address - module->bias, &function) &&
	       mt_function_name(module, &function, false, out) && !out->failed;
}
