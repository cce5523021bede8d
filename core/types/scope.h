/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The blocks around an address in the code, and the function that it is in. */
#ifndef MT_TYPES_SCOPE_H
#define MT_TYPES_SCOPE_H

#include "dwarf/die.h"
#include "types/program.h"

#define MT_SCOPE_MOST 64

/* The blocks that hold an address, innermost first; the last is the function, which is not
 * inlined. */
struct mt_scope {
	struct mt_module *module;
	uint64_t pc; /* of the file */
	Dwarf_Die unit;
	Dwarf_Die blocks[MT_SCOPE_MOST];
	size_t count;
	size_t function; /* the index of the selected function: inlined, or the last one */
};

typedef MT_ARRAY(Dwarf_Die) mt_dies;

/* INNER: so many inlined calls at PC are left out, from the inside.  False: no DWARF covers PC. */
bool mt_scope_find(struct mt_expr_program *program, uint64_t pc, unsigned inner,
		   struct mt_scope *scope);
/* The function that holds an address; inlined ones do not count.  False: none. */
bool mt_scope_function(struct mt_module *module, uint64_t file_pc, Dwarf_Die *function);
/* function_name.c: "ns::f<int>(int)", or LINKED "_ZN2ns1fIiEEvi" where it has such a name. */
bool mt_function_name(struct mt_module *module, Dwarf_Die *function, bool linked,
		      struct mt_str *out);
/* A block's variables and parameters, with those that its abstract origin alone has. */
int mt_block_variables(Dwarf_Die *block, mt_dies *out);
/* The function's scopes: "ns::Class"; NULL: none. */
const char *mt_scope_namespace(const struct mt_scope *scope);

#endif
