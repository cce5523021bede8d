/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions as people read them: in the layout of GNU's tools, as far as Zydis words them alike.
 */
#ifndef MT_X86_DISASSEMBLE_H
#define MT_X86_DISASSEMBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_insn_text {
	char text[160]; /* "mov    -0x18(%rbp),%rax" */
	uint8_t length;
	uint64_t target;  /* of a direct branch: stands at the text's end; else 0 */
	uint64_t address; /* that its operand has relative to rip; else 0 */
};

/* Of the instruction at PC, of which SIZE bytes are at hand.  INTEL: its syntax, else AT&T's.
 * Returns 0, or -1 when the bytes are none or too few. */
int mt_insn_disassemble(const void *bytes, size_t size, uint64_t pc, bool intel,
			struct mt_insn_text *out);

#endif
