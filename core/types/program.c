/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "types/program.h"

#include <dwarf.h>
#include <string.h>

struct mt_error *mt_program_init(struct mt_expr_program *program, struct mt_space *space)
{
	*program = (struct mt_expr_program){.space = space};
	return mt_type_init_builtins(program);
}

void mt_program_deinit(struct mt_expr_program *program)
{
	mt_array_each (module, &program->modules) {
		mt_index_destroy((*module)->index);
		mt_msymbols_deinit(&(*module)->symbols);
		mt_array_deinit(&(*module)->go_types);
		mt_objfile_unref((*module)->objfile);
		free(*module);
	}
	mt_array_deinit(&program->modules);
	HASH_CLEAR(hh, program->types);
	mt_arena_deinit(&program->arena);
}

static struct mt_module *find_module(struct mt_expr_program *program,
				     const struct mt_objfile *objfile)
{
	mt_array_each (module, &program->modules)
		if ((*module)->objfile == objfile)
			return *module;
	return NULL;
}

static struct mt_module *add_module(struct mt_expr_program *program, struct mt_objfile *objfile)
{
	struct mt_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->program = program;
	module->objfile = objfile;
	if (mt_array_push(&program->modules, module)) {
		free(module);
		return NULL;
	}
	mt_objfile_ref(objfile);
	return module;
}

struct mt_error *mt_program_update(struct mt_expr_program *program)
{
	mt_array_each (module, &program->modules)
		(*module)->is_mapped = false;
	for (size_t i = 0; i < mt_space_mapping_count(program->space); i++) {
		const struct mt_mapping *mapping = mt_space_mapping(program->space, i);
		struct mt_module *module;

		if (!mapping->objfile)
			continue;
		module = find_module(program, mapping->objfile);
		if (!module)
			module = add_module(program, mapping->objfile);
		if (!module)
			return mt_error_no_memory();
		module->is_mapped = true;
		module->bias = mapping->bias;
	}
	return NULL;
}

/* Data that the file has no bytes for is in no mapping of the file: the module whose segments
 * hold it. */
static struct mt_module *module_by_segments(struct mt_expr_program *program, uint64_t address)
{
	mt_array_each (module, &program->modules)
		if ((*module)->is_mapped &&
		    mt_objfile_segment_at((*module)->objfile, address - (*module)->bias))
			return *module;
	return NULL;
}

struct mt_module *mt_program_module_at(struct mt_expr_program *program, uint64_t address)
{
	const struct mt_mapping *mapping = mt_space_find(program->space, address);
	struct mt_module *module;

	if (!mapping || !mapping->objfile)
		return module_by_segments(program, address);
	module = find_module(program, mapping->objfile);
	if (module && module->is_mapped && module->bias == mapping->bias)
		return module;
	/* A library that came since, or the program where it runs. */
	mt_error_destroy(mt_program_update(program));
	return find_module(program, mapping->objfile);
}

enum mt_language mt_unit_language(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case 0x2b: /* of C++17, C++20 and C++23, which DWARF 6 has */
	case 0x2c:
	case 0x3a:
		return MT_LANGUAGE_CPP;
	case DW_LANG_Rust:
		return MT_LANGUAGE_RUST;
	case DW_LANG_Go:
		return MT_LANGUAGE_GO;
	case DW_LANG_Mips_Assembler:
		return MT_LANGUAGE_ASM;
	default:
		return MT_LANGUAGE_C;
	}
}

static enum mt_language language_at(struct mt_module *module, uint64_t file_address)
{
	const struct mt_dwarf *dwarf = mt_dwarf(module->objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, file_address) : NULL;

	/* Code that a compiler made up belongs to no unit: Rust's `main`. */
	if (!unit && dwarf && dwarf->unit_count &&
	    mt_unit_language(&dwarf->units[0].die) == MT_LANGUAGE_RUST)
		return MT_LANGUAGE_RUST;
	return unit ? mt_unit_language(&unit->die) : MT_LANGUAGE_C;
}

static const struct mt_msymbol *main_of(struct mt_module *module)
{
	const struct mt_msymbol *go = mt_msymbol_named(module, "main.main", 9);

	return go ? go : mt_msymbol_named(module, "main", 4);
}

static enum mt_language main_language(struct mt_expr_program *program)
{
	mt_array_each (module, &program->modules) {
		const struct mt_msymbol *symbol = (*module)->is_mapped ? main_of(*module) : NULL;

		if (symbol)
			return language_at(*module, symbol->address);
	}
	return MT_LANGUAGE_C;
}

enum mt_language mt_program_language(struct mt_expr_program *program, uint64_t pc)
{
	struct mt_module *module = pc ? mt_program_module_at(program, pc) : NULL;

	return module ? language_at(module, pc - module->bias) : main_language(program);
}

const char *mt_program_language_name(struct mt_expr_program *program, uint64_t pc)
{
	static const char *const names[] = {
	    [MT_LANGUAGE_C] = "c",   [MT_LANGUAGE_CPP] = "c++", [MT_LANGUAGE_RUST] = "rust",
	    [MT_LANGUAGE_GO] = "go", [MT_LANGUAGE_ASM] = "asm",
	};

	return names[mt_program_language(program, pc)];
}
