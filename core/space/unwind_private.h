/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The insides of space/unwind.h:
 *
 *	unwind.c      the walk from frame to frame, and code without tables
 *	unwind_cfi.c  one step by call frame information
 *	unwind_go.c   one step by the table of a Go program's runtime */
#ifndef MT_SPACE_UNWIND_PRIVATE_H
#define MT_SPACE_UNWIND_PRIVATE_H

#include "space/unwind.h"

#include <elfutils/libdw.h>

/* False: it cannot be read. */
bool mt_unwind_read(struct mt_unwinder *unwinder, uint64_t address, void *buffer, size_t size);

static inline bool mt_register_is_known(const struct mt_registers *registers, unsigned number)
{
	return number < MT_REGISTER_COUNT && registers->known >> number & 1;
}

static inline void mt_register_set(struct mt_registers *registers, unsigned number, uint64_t value)
{
	registers->values[number] = value;
	registers->known |= 1u << number;
}

static inline void mt_register_forget(struct mt_registers *registers, unsigned number)
{
	registers->known &= ~(1u << number);
}

enum mt_unwind_step {
	MT_STEP_DONE, /* caller and cfa are set */
	MT_STEP_NO_RULE,
	MT_STEP_OUTERMOST, /* cfa is set */
	MT_STEP_UNREADABLE,
};

/* From unwinder->next to its caller.  *SIGNAL: the frame is the kernel's. */
enum mt_unwind_step mt_unwind_by_cfi(struct mt_unwinder *unwinder, struct mt_registers *caller,
				     uint64_t *cfa, bool *signal);
enum mt_unwind_step mt_unwind_by_go(struct mt_unwinder *unwinder, struct mt_registers *caller,
				    uint64_t *cfa);
/* As mt_unwind_cfa_rule(). */
bool mt_unwind_go_rule(struct mt_space *space, uint64_t pc, unsigned *number, int64_t *offset);

#endif
