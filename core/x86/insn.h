/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classifies an instruction of x86-64 or IA-32: its length, its class as tracing sees it, and where
 * a direct branch goes.  Over Zydis. */
#ifndef MT_X86_INSN_H
#define MT_X86_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_INSN_MAX_BYTES 15

enum mt_insn_class {
	MT_INSN_OTHER, /* goes on at the next instruction, or faults */
	MT_INSN_CALL,  /* direct */
	MT_INSN_CALL_INDIRECT,
	MT_INSN_JUMP, /* direct, unconditional */
	MT_INSN_JUMP_INDIRECT,
	MT_INSN_BRANCH,  /* conditional: jcc, jrcxz, loop */
	MT_INSN_RETURN,  /* near */
	MT_INSN_SYSCALL, /* syscall, sysenter, int n, int3, int1 */
	MT_INSN_FAR,     /* far call, jump, return, iret, sysret, vmcall … */
};

#define MT_INSN_REPEATED 0x1 /* a string instruction with rep: may stop at itself */
#define MT_INSN_ENDBR    0x2
#define MT_INSN_GS       0x4 /* sets GS or its base, or accesses memory by it */

struct mt_insn {
	uint8_t length;
	uint8_t class;   /* enum mt_insn_class */
	uint8_t flags;   /* MT_INSN_… */
	uint64_t target; /* of CALL, JUMP, BRANCH; 0 otherwise */
};

/* Decode the instruction at PC, of which SIZE bytes are at hand.  Returns 0, or -1 when the bytes
 * are none or too few; then OUT is as it was. */
int mt_insn_decode(const void *bytes, size_t size, uint64_t pc, struct mt_insn *out);
/* The same in a segment of 32 bits, for control flow: the flags are 0. */
int mt_insn_decode_32(const void *bytes, size_t size, uint64_t pc, struct mt_insn *out);

#endif
