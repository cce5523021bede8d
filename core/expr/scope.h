/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What names mean at a place: the blocks around it, variables and where they are. */
#ifndef MT_EXPR_SCOPE_H
#define MT_EXPR_SCOPE_H

#include "expr/program.h"

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

/* False: no DWARF tells of the frame's address. */
bool mt_scope_find(struct mt_expr_program *program, const struct mt_expr_frame *frame,
		   struct mt_scope *scope);
/* The function that holds an address; inlined ones do not count.  False: none. */
bool mt_scope_function(struct mt_module *module, uint64_t file_pc, Dwarf_Die *function);
/* function_name.c: "_ZN2ns1fIiEEvi"; NULL: it has no such name. */
const char *mt_die_linkage_name(Dwarf_Die *die);
/* "ns::f<int>(int)", or LINKED "_ZN2ns1fIiEEvi" where it has such a name. */
bool mt_function_name(struct mt_module *module, Dwarf_Die *function, bool linked,
		      struct mt_str *out);
/* A block's variables and parameters, with those that its abstract origin alone has. */
int mt_block_variables(Dwarf_Die *block, mt_dies *out);
/* The function's scopes: "ns::Class"; NULL: none. */
const char *mt_scope_namespace(const struct mt_scope *scope);
/* A DIE's name; NULL: none. */
const char *mt_die_name(Dwarf_Die *die);
/* print_rust.c: its first child of that kind.  False: none. */
bool mt_die_child(Dwarf_Die *parent, int tag, Dwarf_Die *out);
bool mt_die_flag(Dwarf_Die *die, unsigned which);
/* An attribute that is a location, as libdw takes it. */
bool mt_die_location(Dwarf_Die *die, unsigned which, Dwarf_Attribute *out);
/* Where a block begins, in the file: its first range, which need not be the lowest. */
bool mt_block_entry(Dwarf_Die *block, uint64_t *entry);
/* The DIE that DW_AT_abstract_origin or DW_AT_specification leads to, at last. */
Dwarf_Die mt_die_origin(const Dwarf_Die *die);

enum mt_variable_kind {
	MT_VARIABLE_LOCATION,      /* operations tell */
	MT_VARIABLE_BYTES,         /* its value is in DWARF */
	MT_VARIABLE_OPTIMIZED_OUT, /* nowhere, here */
	MT_VARIABLE_ADDRESS,       /* of the file: a symbol of the linker's */
	MT_VARIABLE_TLS,           /* the same, thread-local */
	MT_VARIABLE_ABI,           /* at entry: see mt_entry_place() */
};

/* The place of a parameter at its function's entry (System V ABI for AMD64, 3.2.3). */
struct mt_entry_place {
	uint8_t piece_count; /* 0: in memory */
	uint8_t registers[2];
	uint64_t stack;    /* bytes above the stack pointer */
	bool by_reference; /* the register holds its address */
};

/* A variable, bound to a place in the code. */
struct mt_variable {
	const char *name;
	struct mt_type *type;
	struct mt_module *module;
	Dwarf_Die die;
	uint8_t kind; /* enum mt_variable_kind */
	bool is_parameter;
	Dwarf_Attribute attribute;  /* of the location */
	const Dwarf_Op *operations; /* libdw's own */
	size_t count;
	const Dwarf_Op *frame_base; /* of its function; NULL: none */
	size_t frame_base_count;
	Dwarf_Attribute frame_base_attribute;
	const uint8_t *bytes;
	size_t byte_count;
	uint64_t address;
	struct mt_entry_place entry;
};

/* SCOPE NULL: it is static. */
void mt_variable_bind(struct mt_module *module, const struct mt_scope *scope,
		      const struct mt_expr_frame *frame, Dwarf_Die *die, struct mt_variable *out);
struct mt_error *mt_variable_value(struct mt_eval *eval, const struct mt_variable *variable,
				   struct mt_value *out);
/* An array whose size is told by an expression gets it now. */
struct mt_type *mt_variable_resolve(struct mt_eval *eval, const struct mt_variable *variable,
				    struct mt_type *type);

/* entry.c: where a function's parameters are at its entry.  False: not known. */
bool mt_entry_place(struct mt_module *module, Dwarf_Die *function, Dwarf_Die *parameter,
		    struct mt_entry_place *out);
struct mt_error *mt_entry_value(struct mt_eval *eval, const struct mt_variable *variable,
				struct mt_value *out);
/* The classes of a type's (at most two) eightbytes.  False: in memory. */
bool mt_entry_classes(struct mt_type *type, bool is_sse[2], size_t *count);

/* The frame's canonical frame address.  False: not known. */
bool mt_frame_cfa(struct mt_eval *eval, uint64_t *cfa);

/* machine.c */
enum mt_piece_kind {
	MT_PIECE_MEMORY,
	MT_PIECE_REGISTER,
	MT_PIECE_VALUE,
	MT_PIECE_BYTES,
	MT_PIECE_POINTER, /* to a variable that is nowhere: DW_OP_implicit_pointer */
	MT_PIECE_NOWHERE,
};

struct mt_implicit {
	Dwarf_Die die; /* of the variable that it points to */
	int64_t offset;
	struct mt_variable variable;
};

struct mt_piece {
	uint8_t kind; /* enum mt_piece_kind */
	uint8_t register_number;
	uint64_t bit_size; /* 0: all that is asked for */
	uint64_t bit_offset;
	uint64_t value; /* or the address */
	const uint8_t *bytes;
	size_t byte_count;
	struct mt_implicit *implicit;
};

#define MT_PIECES_MOST 64

struct mt_pieces {
	struct mt_piece items[MT_PIECES_MOST];
	size_t count;
};

/* Where operations lead.  OBJECT: the address that DW_OP_push_object_address asks for; 0: none. */
struct mt_error *mt_machine_run(struct mt_eval *eval, const struct mt_variable *variable,
				const Dwarf_Op *operations, size_t count, uint64_t object,
				struct mt_pieces *out);
/* The same for what comes out as a number.  Errors: it does not. */
struct mt_error *mt_machine_number(struct mt_eval *eval, const struct mt_variable *variable,
				   Dwarf_Attribute *attribute, uint64_t object, uint64_t *number);
/* pieces.c */
struct mt_error *mt_pieces_value(struct mt_eval *eval, const struct mt_pieces *pieces,
				 struct mt_type *type, struct mt_value *out);
/* call_site.c: a register at the frame's entry, as the caller's call site tells.  */
struct mt_error *mt_call_site_register(struct mt_eval *eval, const struct mt_variable *variable,
				       unsigned number, uint64_t *value);
/* The parameter's value at its function's entry, by DW_OP_entry_value's way.  */
struct mt_error *mt_call_site_parameter(struct mt_eval *eval, const struct mt_variable *variable,
					struct mt_value *out);
/* tls.c */
#define MT_MOST_LIBRARIES 10000
/* Where the dynamic loader's list of what is loaded begins: struct link_map.  False: not known. */
bool mt_loader_list(struct mt_eval *eval, uint64_t *list);
struct mt_error *mt_tls_address(struct mt_eval *eval, struct mt_module *module, uint64_t offset,
				uint64_t *address);

/* lookup.c */
enum mt_found_kind {
	MT_FOUND_NOTHING,
	MT_FOUND_VARIABLE,
	MT_FOUND_TYPE,
	MT_FOUND_FUNCTION, /* address */
	MT_FOUND_ENUMERATOR,
	MT_FOUND_NAMESPACE,
	MT_FOUND_MEMBER, /* of *this */
};

struct mt_found {
	uint8_t kind;
	struct mt_type *type;
	uint64_t address; /* of the process */
	int64_t value;
	struct mt_variable variable; /* of MEMBER: `this` */
};

struct mt_lookup {
	struct mt_expr_program *program;
	const struct mt_expr_frame *frame;
	bool has_scope;
	struct mt_scope scope;
	enum mt_language language;
};

struct mt_error *mt_lookup_init(struct mt_lookup *lookup, struct mt_expr_program *program,
				const struct mt_expr_frame *frame);
/* NAME may be qualified: "ns::x".  Variables, functions, enumerators, types. */
void mt_lookup_name(struct mt_lookup *lookup, const char *name, struct mt_found *out);
/* "struct NAME": WHICH is MT_NAME_STRUCT or MT_NAME_ENUM.  NULL: none. */
struct mt_type *mt_lookup_tag(struct mt_lookup *lookup, const char *name, enum mt_name_kind which);
/* A static member of a class, by its name. */
bool mt_lookup_static_member(struct mt_expr_program *program, struct mt_type *type,
			     const struct mt_member *member, struct mt_found *out);

#endif
