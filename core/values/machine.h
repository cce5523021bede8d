/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The insides of the machine that runs DWARF's operations: machine.c knows what they ask of the
 * frame and of the file, machine_stack.c those that need the stack alone. */
#ifndef MT_VALUES_MACHINE_H
#define MT_VALUES_MACHINE_H

#include "values/variable.h"

#define MT_MACHINE_VALUES 128

struct mt_machine {
	struct mt_eval *eval;
	const struct mt_variable *variable;
	const Dwarf_Op *operations;
	size_t count, next;
	uint64_t values[MT_MACHINE_VALUES];
	size_t depth;
	uint64_t object;
	struct mt_pieces *pieces;
	struct mt_piece current; /* what the operations since the last piece say */
	bool has_current;
	struct mt_error *error;
};

/* The first error counts; ERROR is taken, NULL is fine. */
void mt_machine_fail(struct mt_machine *machine, struct mt_error *error);
struct mt_error *mt_machine_garbled(void);
void mt_machine_push(struct mt_machine *machine, uint64_t value);
uint64_t mt_machine_pop(struct mt_machine *machine);
/* Operations with two operands, and those that move values.  False: it is none of these. */
bool mt_machine_combine(struct mt_machine *machine, uint8_t atom);
bool mt_machine_rearrange(struct mt_machine *machine, const Dwarf_Op *operation);

#endif
