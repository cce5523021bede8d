/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DWARF's stack machine (DWARF 5, sections 2.5 and 2.6): runs the operations that describe where
 * something is, or compute its value.  The rules of call frame information (6.4.2) are such
 * operations too; what they cannot ask for is NULL in their table. */
#ifndef MT_DWARF_MACHINE_H
#define MT_DWARF_MACHINE_H

#include "base/error.h"

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

/* A process and a frame, as the machine sees them.  Errors are those of who fills this in. */
struct mt_machine_ops {
	struct mt_error *(*read)(void *context, uint64_t address, void *buffer, size_t size);
	struct mt_error *(*get_register)(void *context, uint64_t number, uint64_t *value);
	struct mt_error *(*get_cfa)(void *context, uint64_t *cfa);
	/* NULL from here on: operations that need it are garbled. */
	struct mt_error *(*get_frame_base)(void *context, uint64_t *base);
	struct mt_error *(*get_tls)(void *context, uint64_t offset, uint64_t *address);
	/* NUMBER: of a register, as it was at the function's entry. */
	struct mt_error *(*get_entry_value)(void *context, unsigned number, uint64_t *value);
};

struct mt_machine_program {
	const struct mt_machine_ops *ops;
	void *context;
	const Dwarf_Op *operations;
	size_t count;
	/* Of which they are, for operands that stand elsewhere.  NULL: there are none. */
	const Dwarf_Attribute *attribute;
	uint64_t bias; /* of the file, whose addresses DWARF has */
};

enum mt_piece_kind {
	MT_PIECE_MEMORY,
	MT_PIECE_REGISTER,
	MT_PIECE_VALUE,
	MT_PIECE_BYTES,
	MT_PIECE_POINTER, /* to a variable that is nowhere: DW_OP_implicit_pointer */
	MT_PIECE_NOWHERE,
};

struct mt_piece {
	uint8_t kind; /* enum mt_piece_kind */
	uint8_t register_number;
	uint64_t bit_size; /* 0: all that is asked for */
	uint64_t bit_offset;
	uint64_t value; /* or the address; POINTER: the offset into what it points to */
	const uint8_t *bytes;
	size_t byte_count;
	Dwarf_Die die; /* POINTER: of the variable that it points to */
};

#define MT_PIECES_MOST 64

struct mt_pieces {
	struct mt_piece items[MT_PIECES_MOST];
	size_t count;
};

/* At least one piece comes out.  Errors: FORMAT (garbled); UNSUPPORTED (an operation that is not
 * known); NO_MEMORY; those of the table. */
struct mt_error *mt_machine_run(const struct mt_machine_program *program, struct mt_pieces *out);
/* The same for what comes out as one number: the value of a register, else the value or address of
 * the only piece. */
struct mt_error *mt_machine_number(const struct mt_machine_program *program, uint64_t *number);
struct mt_error *mt_machine_garbled(void);
/* The number of the register that a DW_OP_reg… names.  False: it is another operation. */
bool mt_machine_is_register(const Dwarf_Op *operation, unsigned *number);

/* The lowest BIT_SIZE bits, with their sign if they have one. */
static inline uint64_t mt_extend(uint64_t bits, unsigned bit_size, bool is_signed)
{
	if (!bit_size || bit_size >= 64)
		return bits;
	bits &= (1ull << bit_size) - 1;
	return is_signed && bits >> (bit_size - 1) ? bits | ~0ull << bit_size : bits;
}

#endif
