/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program: its modules (an object file each, with an index of the names in its DWARF and the
 * linker's symbols), and the types that were asked for. */
#ifndef MT_TYPES_PROGRAM_H
#define MT_TYPES_PROGRAM_H

#include "base/arena.h"
#include "base/array.h"
#include "dwarf/units.h"
#include "space/space.h"
#include "types/type.h"

#include <uthash.h>

enum mt_name_kind {
	MT_NAME_VARIABLE,
	MT_NAME_FUNCTION,
	MT_NAME_STRUCT, /* a tag: struct, class, union */
	MT_NAME_ENUM,
	MT_NAME_TYPE, /* typedefs and base types; tags of C++ are MT_NAME_STRUCT and found as both
		       */
	MT_NAME_ENUMERATOR,
	MT_NAME_NAMESPACE,
};

/* A name outside of functions. */
struct mt_name {
	const char *name;  /* libdw's own */
	const char *scope; /* "ns::Class", NULL: none */
	Dwarf_Die die;
	Dwarf_Die parent;     /* of an enumerator: its type */
	struct mt_name *next; /* in its bucket */
	const void *unit;     /* its DIE */
	uint8_t kind;
	bool is_declaration;
	bool is_external;
	bool has_value;
};

struct mt_index {
	struct mt_name **buckets;
	size_t bucket_count; /* a power of two */
	MT_ARRAY(struct mt_name *) names;
	struct mt_scope_name *scopes; /* DIEs within namespaces, classes and functions */
};

/* A symbol of .symtab or .dynsym, of any type. */
struct mt_msymbol {
	uint64_t address;
	uint64_t size;
	const char *name;
	uint8_t type;    /* STT_… */
	uint8_t binding; /* STB_… */
	bool is_code;
	uint32_t order;
};

struct mt_msymbols {
	struct mt_msymbol *items; /* sorted by address */
	size_t count;
	size_t capacity;
	bool read;
};

struct mt_go_type {
	uint64_t at; /* as the DIE has it: an address in the file, or an offset */
	uint8_t kind;
	Dwarf_Die die;
};

struct mt_module {
	struct mt_expr_program *program;
	struct mt_objfile *objfile;
	uint64_t bias;
	bool is_mapped;
	struct mt_index *index; /* NULL: not built */
	struct mt_msymbols symbols;
	MT_ARRAY(struct mt_go_type) go_types; /* go_types.c: sorted by their places */
	bool has_go_types;                    /* they were read */
};

struct mt_known_type {
	const void *die;
	struct mt_type *type;
	UT_hash_handle hh;
};

/* A program's types and names, with convenience variables ($x) and the history of
 * values ($1, $$). */
struct mt_expr_program {
	struct mt_space *space;
	struct mt_arena arena; /* of types, names and values that stay */
	MT_ARRAY(struct mt_module *) modules;
	struct mt_known_type *types;
	struct mt_type *builtins[MT_BUILTIN_COUNT];
	unsigned naming;           /* depth of mt_type_name() */
	struct mt_type *described; /* whose own names need no scope now; NULL: none */
	struct mt_expr_user *user; /* values/user.h, which owns it; types know nothing of it */
};

/* program.c: without a user.  Errors: NO_MEMORY. */
struct mt_error *mt_program_init(struct mt_expr_program *program, struct mt_space *space);
void mt_program_deinit(struct mt_expr_program *program);
/* Modules for all mappings there are now.  Errors: NO_MEMORY. */
struct mt_error *mt_program_update(struct mt_expr_program *program);
/* NULL: none. */
struct mt_module *mt_program_module_at(struct mt_expr_program *program, uint64_t address);
/* The language of the code at PC (0, or not known: of the program's main). */
enum mt_language mt_program_language(struct mt_expr_program *program, uint64_t pc);
/* The same in a word: "c", "c++", "rust", "go", "asm". */
const char *mt_program_language_name(struct mt_expr_program *program, uint64_t pc);
enum mt_language mt_unit_language(Dwarf_Die *unit);

/* index.c */
/* NULL: no memory. */
struct mt_index *mt_module_index(struct mt_module *module);
void mt_index_destroy(struct mt_index *index);
/* The first with that name (scope NULL or "": of none) for which ACCEPT (a bit a kind). */
struct mt_name *mt_index_find(struct mt_module *module, const char *scope, const char *name,
			      size_t length, unsigned accept);
/* The next one that says the same. */
struct mt_name *mt_index_next(const struct mt_name *name, unsigned accept);
/* The namespaces, classes and functions around a DIE: "ns::Class"; NULL: none. */
const char *mt_index_scope_of(struct mt_module *module, Dwarf_Die *die);

/* msymbol.c */
const struct mt_msymbols *mt_module_msymbols(struct mt_module *module);
const struct mt_msymbol *mt_msymbol_at(struct mt_module *module, uint64_t file_address);
const struct mt_msymbol *mt_msymbol_named(struct mt_module *module, const char *name,
					  size_t length);
void mt_msymbols_deinit(struct mt_msymbols *symbols);
/* The section of a file address: ".text"; NULL: none. */
const char *mt_module_section(struct mt_module *module, uint64_t file_address);
/* Append " <main+4>" for what lies in a symbol.  False: in none. */
bool mt_format_symbol(struct mt_expr_program *program, uint64_t address, bool linked,
		      struct mt_str *out);
/* "0x401136 <main+4>" or "0x7ffe…", as addresses are shown everywhere. */
void mt_expr_format_address(struct mt_expr_program *program, uint64_t address, struct mt_str *out);
/* The same with the linker's names, "<_ZN2ns1fEi+4>", as GDB has it around code. */
void mt_expr_format_code(struct mt_expr_program *program, uint64_t address, struct mt_str *out);
/* function_name.c: the function at an address (inlined ones do not count), in full:
 * "ns::f<int>(int)".  False: no DWARF knows it. */
bool mt_expr_function_at(struct mt_expr_program *program, uint64_t address, struct mt_str *out);

#endif
