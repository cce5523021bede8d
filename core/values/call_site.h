/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls as DWARF describes them: which functions one may call (DWARF 5, section 3.4). */
#ifndef MT_VALUES_CALL_SITE_H
#define MT_VALUES_CALL_SITE_H

#include "values/variable.h"

#define MT_CALL_TARGETS_MOST 8

/* Where functions begin, in the process. */
struct mt_call_targets {
	uint64_t items[MT_CALL_TARGETS_MOST];
	size_t count;
};

/* call_site.c: the call of FUNCTION that returns to PC (of the file), and where one returns to.
 * False: DWARF has none. */
bool mt_call_site_find(Dwarf_Die *function, uint64_t pc, Dwarf_Die *out);
bool mt_call_site_pc(Dwarf_Die *site, uint64_t *pc);

/* tail_calls.c: the functions that it calls; more than one where copies of a function were made.
 * False: nobody knows, or its registers do. */
bool mt_call_site_targets(struct mt_module *module, Dwarf_Die *site, struct mt_call_targets *out);
/* By a tail call, or several; or that is not known.  What its caller's call site says of registers
 * is then not true of it. */
bool mt_tail_calls_itself(struct mt_expr_program *program, uint64_t function);

/* call_site.c: a register at the frame's entry, as the caller's call site gives it. */
struct mt_error *mt_call_site_register(struct mt_eval *eval, const struct mt_variable *variable,
				       unsigned number, uint64_t *value);
/* The parameter's value at its function's entry, by DW_OP_entry_value's way.  */
struct mt_error *mt_call_site_parameter(struct mt_eval *eval, const struct mt_variable *variable,
					struct mt_value *out);
/* A call that returns to RETURN_PC led to FUNCTION (where it begins) by tail calls: where each of
 * them jumped from (behind the jump), the last one first.  Returns how many are known, at the most
 * MOST. */
size_t mt_expr_tail_calls(struct mt_expr_program *program, uint64_t return_pc, uint64_t function,
			  uint64_t *pcs, size_t most);

#endif
