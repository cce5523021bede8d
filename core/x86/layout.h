/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where an instruction holds what has to change when it runs at another address.
 * Source: Intel SDM vol. 2A, ch. 2, "Instruction format". */
#ifndef MT_X86_LAYOUT_H
#define MT_X86_LAYOUT_H

#include "x86/insn.h"

struct mt_insn_layout {
	uint8_t opcode;              /* the last byte of it */
	uint8_t modrm_offset;        /* 0: the instruction has no ModRM byte */
	uint8_t displacement_offset; /* of a rip-relative operand's 4 bytes; 0: there is none */
	uint8_t address_bytes;       /* 8; 4: with an address-size prefix */
	bool uses_stack_pointer;     /* in the address of its memory operand, or as that register */
};

/* As mt_insn_decode(), which has the rest.  Returns 0, or -1. */
int mt_insn_layout(const void *bytes, size_t size, struct mt_insn_layout *out);

#endif
