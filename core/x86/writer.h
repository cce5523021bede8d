/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an indirect jump's register has its value from. */
#ifndef MT_X86_WRITER_H
#define MT_X86_WRITER_H

#include "x86/insn.h"

enum mt_write {
	MT_WRITE_NONE,  /* leaves the register alone */
	MT_WRITE_COPY,  /* of a whole word of memory or of another register: mov, pop, cmov */
	MT_WRITE_ADD,   /* what was in it, and something more */
	MT_WRITE_OTHER, /* computed in some other way */
};

/* The number (0 rax … 15 r15) of the register that `jmp` takes its target from; -1: it is no such
 * jump (memory holds the target, or BYTES are something else). */
int mt_insn_jump_register(const void *bytes, size_t size);
/* Whether and how an instruction writes the register of that number. */
enum mt_write mt_insn_write(const void *bytes, size_t size, int number);

#endif
