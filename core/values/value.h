/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values: a type, the location it was found at, and its bytes, which are read when they are needed
 * (so `s->len` does not read all of *s).
 *
 * Values are passed by value while an expression is evaluated; bytes that do not fit in one are in
 * the evaluation's arena. */
#ifndef MT_VALUES_VALUE_H
#define MT_VALUES_VALUE_H

#include "dwarf/machine.h"
#include "types/type.h"
#include "values/frame.h"

enum mt_lval_kind {
	MT_LVAL_NONE,     /* it was computed */
	MT_LVAL_MEMORY,   /* at address */
	MT_LVAL_REGISTER, /* at byte `address` of a register */
	MT_LVAL_CONVENIENCE,
	MT_LVAL_PIECES, /* here and there: cannot be written */
};

#define MT_VALUE_INLINE 16
#define MT_VALUE_MOST   (64u << 20) /* bytes of one value */

/* The target of a pointer that is nowhere itself (DW_OP_implicit_pointer). */
struct mt_implicit {
	struct mt_module *module;
	Dwarf_Die die; /* of the variable */
	int64_t offset;
};

struct mt_value {
	struct mt_type *type;
	uint64_t address;
	const char *convenience; /* its name */
	uint8_t lval;            /* enum mt_lval_kind */
	uint8_t bit_offset;
	uint8_t bit_size; /* 0: no bit field */
	uint8_t register_number;
	bool is_lazy;          /* bytes are not read yet */
	bool is_optimized_out; /* all of it */
	bool is_implicit_pointer;
	bool is_unavailable; /* an entry value that nobody knows … */
	uint8_t small[MT_VALUE_INLINE] __attribute__((aligned(8)));
	uint8_t *big;                 /* NULL: in small */
	uint8_t *holes;               /* bits that were optimized out; NULL: whole */
	struct mt_implicit *implicit; /* is_implicit_pointer: what it points to */
	struct mt_arena *owned;       /* of a value that was handed out */
};

/* Where the frame's CFA is, at the place that an expression is bound to: looked up once. */
struct mt_cfa_rule {
	bool is_sought, is_found;
	unsigned number; /* of a register */
	int64_t offset;
};

/* The sources of a value: memory that was read for it, and registers.
 */
struct mt_expr_read {
	uint64_t address;
	uint64_t size;
};
struct mt_expr_reads {
	MT_ARRAY(struct mt_expr_read) memory;
	bool registers; /* some of it lies in registers */
};
void mt_expr_reads_deinit(struct mt_expr_reads *reads);

/* An evaluation: where it runs, and how. */
struct mt_eval {
	struct mt_expr_program *program;
	const struct mt_expr_frame *frame;
	struct mt_arena *arena;
	enum mt_language language;
	struct mt_cfa_rule *cfa_rule; /* NULL: the frame knows its CFA */
	unsigned depth;
	bool no_side_effects;        /* sizeof, whatis, ptype: types alone matter */
	struct mt_expr_reads *reads; /* NULL: nobody wants to know */
	/* NULL: found in memory.  *ADDRESS: where VALUE has the virtual base MEMBER, whose offset
	 * stands AT bytes in front of where the first word of VALUE leads. */
	struct mt_error *(*virtual_base)(struct mt_eval *eval, const struct mt_value *value,
					 const struct mt_member *member, int64_t at,
					 uint64_t *address);
	void *virtual_context; /* for who finds it */
};

/* Notes in eval->reads that a value's bytes lie there, or in registers. */
struct mt_error *mt_note_memory(struct mt_eval *eval, uint64_t address, uint64_t size);
void mt_note_register(struct mt_eval *eval);

static inline uint8_t *mt_value_bytes(struct mt_value *value)
{
	return value->big ? value->big : value->small;
}

struct mt_value mt_value_zero(struct mt_type *type);
struct mt_value mt_value_integer(struct mt_type *type, uint64_t bits);
struct mt_value mt_value_at(struct mt_type *type, uint64_t address);
/* Room for SIZE bytes, zeroed.  Errors: NO_MEMORY; UNSUPPORTED (too large). */
struct mt_error *mt_value_room(struct mt_eval *eval, struct mt_value *value, uint64_t size);
/* Have the bytes.  Errors: memory that cannot be read; NO_MEMORY.  Of a value that was optimized
 * out there are zeroes. */
struct mt_error *mt_value_fetch(struct mt_eval *eval, struct mt_value *value);
/* The same, and what was optimized out is an error. */
struct mt_error *mt_value_need(struct mt_eval *eval, struct mt_value *value);
struct mt_error *mt_value_optimized_out(void);
/* Of a bit field: how many bytes hold it, and its value, as its type has it, out of these. */
size_t mt_value_field_bytes(const struct mt_value *value);
void mt_value_unpack(struct mt_value *value, const uint8_t *bytes, size_t count);
struct mt_error *mt_value_read(struct mt_eval *eval, uint64_t address, void *bytes, uint64_t size);
/* Some of these bytes, or of a bit field of theirs, was optimized out. */
bool mt_value_hole(const struct mt_value *value, uint64_t offset, uint64_t size);
bool mt_value_bit_hole(const struct mt_value *value, uint64_t offset, unsigned bit_offset,
		       unsigned bit_size);

/* Whole numbers, with their sign extended; pointers and bit fields too. */
struct mt_error *mt_value_get(struct mt_eval *eval, struct mt_value *value, uint64_t *bits);
struct mt_error *mt_value_get_float(struct mt_eval *eval, struct mt_value *value,
				    long double *number);
struct mt_value mt_value_float(struct mt_type *type, long double number);

/* A part: member, element.  OFFSET bytes in. */
struct mt_error *mt_value_part(struct mt_eval *eval, struct mt_value *value, struct mt_type *type,
			       uint64_t offset, struct mt_value *out);
struct mt_error *mt_value_member(struct mt_eval *eval, struct mt_value *value,
				 const struct mt_member *member, struct mt_value *out);
struct mt_error *mt_value_element(struct mt_eval *eval, struct mt_value *value, int64_t index,
				  struct mt_value *out);
/* The target of a pointer or a reference. */
struct mt_error *mt_value_dereference(struct mt_eval *eval, struct mt_value *value,
				      struct mt_value *out);
/* A reference is what it refers to. */
struct mt_error *mt_value_unreference(struct mt_eval *eval, struct mt_value *value);
/* Arrays and functions become pointers. */
struct mt_error *mt_value_decay(struct mt_eval *eval, struct mt_value *value);
struct mt_error *mt_value_address(struct mt_eval *eval, struct mt_value *value,
				  struct mt_value *out);
/* cast.c */
struct mt_error *mt_value_cast(struct mt_eval *eval, struct mt_value *value, struct mt_type *type,
			       struct mt_value *out);
/* *ADDRESS of an object of the class FROM becomes that of one of the class TO: it moves if one is a
 * base of the other, but 0 does not.  Errors: UNSUPPORTED (FROM is a virtual base of TO); those of
 * reading where TO lies, if that is a virtual base. */
struct mt_error *mt_class_adjust(struct mt_eval *eval, struct mt_type *from, struct mt_type *to,
				 uint64_t *address);
struct mt_error *mt_value_assign(struct mt_eval *eval, struct mt_value *to, struct mt_value *from,
				 struct mt_value *out);
/* A copy that lives by itself. */
struct mt_error *mt_value_keep(struct mt_arena *arena, const struct mt_value *value,
			       struct mt_value *out);

/* A copy on the heap, for who asked. */
struct mt_error *mt_value_hand_out(const struct mt_value *value, struct mt_value **out);

void mt_value_destroy(struct mt_value *value); /* NULL is fine */
/* The value of a whole number, a pointer, a bool: with its sign extended.  Errors: USAGE. */
struct mt_error *mt_value_to_integer(const struct mt_value *value, int64_t *out);
/* It is a function: *ADDRESS is where that begins. */
bool mt_value_is_function(const struct mt_value *value, uint64_t *address);
/* Where it lies in memory, if it does: for watchpoints.  False: in registers, or nowhere. */
bool mt_value_location(const struct mt_value *value, uint64_t *address, size_t *size);
/* Both have the same type's size and the same bytes. */
bool mt_value_equal(const struct mt_value *a, const struct mt_value *b);

#endif
