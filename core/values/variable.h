/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variables, and where they are: bound to an address in the code, read as often as wanted. */
#ifndef MT_VALUES_VARIABLE_H
#define MT_VALUES_VARIABLE_H

#include "dwarf/machine.h"
#include "types/scope.h"
#include "values/value.h"

enum mt_variable_kind {
	MT_VARIABLE_LOCATION,      /* by operations */
	MT_VARIABLE_BYTES,         /* its value is in DWARF */
	MT_VARIABLE_OPTIMIZED_OUT, /* nowhere, here */
	MT_VARIABLE_ADDRESS,       /* of the file: a symbol of the linker's */
	MT_VARIABLE_TLS,           /* the same, thread-local */
	MT_VARIABLE_ABI,           /* at entry: see mt_entry_location() */
};

/* The location of a parameter at its function's entry (System V ABI for AMD64, 3.2.3). */
struct mt_entry_location {
	uint8_t piece_count; /* 0: in memory */
	uint8_t registers[4];
	uint64_t stack;    /* bytes above the stack pointer */
	bool by_reference; /* the register holds its address */
};

/* A variable, bound to an address in the code. */
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
	struct mt_entry_location entry;
};

/* SCOPE NULL: it is static. */
void mt_variable_bind(struct mt_module *module, const struct mt_scope *scope,
		      const struct mt_expr_frame *frame, Dwarf_Die *die, struct mt_variable *out);
struct mt_error *mt_variable_value(struct mt_eval *eval, const struct mt_variable *variable,
				   struct mt_value *out);
/* An array whose size is an expression gets it now. */
struct mt_type *mt_variable_resolve(struct mt_eval *eval, const struct mt_variable *variable,
				    struct mt_type *type);

/* entry.c: where a function's parameters are at its entry.  False: not known. */
bool mt_entry_location(struct mt_module *module, Dwarf_Die *function, Dwarf_Die *parameter,
		       struct mt_entry_location *out);
struct mt_error *mt_entry_value(struct mt_eval *eval, const struct mt_variable *variable,
				struct mt_value *out);
/* The value that the function which begins at ADDRESS returns, as it returns.  NUMBER: of several
 * (Go), from 0; -1: there is one alone.  Errors: NOT_FOUND (it returns nothing, not so many, or
 * several); UNSUPPORTED (it cannot be read there). */
struct mt_error *mt_returned_variable(struct mt_expr_program *program, uint64_t address, int number,
				      struct mt_variable *out);
/* entry_rust.c: Rust passes an object of TYPE in the registers in which C would, or, of more than
 * 16 bytes, by reference. */
bool mt_entry_is_as_in_c(struct mt_type *type);
/* The classes of a type's (at most two) eightbytes.  False: in memory. */
bool mt_entry_classes(struct mt_type *type, bool is_sse[2], size_t *count);

/* The frame's canonical frame address.  False: not known. */
bool mt_frame_cfa(struct mt_eval *eval, uint64_t *cfa);

/* location.c: where it is. */
struct mt_error *mt_variable_location(struct mt_eval *eval, const struct mt_variable *variable,
				      struct mt_pieces *out);
/* The number that an attribute of VARIABLE's file is, or computes. */
struct mt_error *mt_variable_attribute(struct mt_eval *eval, const struct mt_variable *variable,
				       Dwarf_Attribute *attribute, uint64_t *number);
/* pieces.c: MODULE is the one whose DWARF says so. */
struct mt_error *mt_pieces_value(struct mt_eval *eval, const struct mt_pieces *pieces,
				 struct mt_module *module, struct mt_type *type,
				 struct mt_value *out);
/* "n,err": the names of FUNCTION's results if these are several, to OUT.  Errors: NO_MEMORY; the
 * program's, of an update. */
struct mt_error *mt_expr_results(struct mt_expr_program *program, uint64_t function,
				 struct mt_str *out);
/* The value that a function returned, right after it did (FRAME is the caller's, its registers are
 * now): FUNCTION is an address within it.  *OUT NULL: it returns nothing, or its value is not
 * known. */
struct mt_error *mt_expr_returned(struct mt_expr_program *program, uint64_t function,
				  const struct mt_expr_frame *frame, struct mt_value **out);

#endif
