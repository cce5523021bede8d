/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The registers of a thread: their numbers in DWARF, their names, and where ptrace(2) has them. */
#ifndef MT_X86_REGISTERS_H
#define MT_X86_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

/* As DWARF numbers them (System V ABI for AMD64, figure 3.36); from 64 on some numbers of our own.
 * Frames have the first ones, to the program counter. */
enum {
	MT_REGISTER_RAX,
	MT_REGISTER_RDX,
	MT_REGISTER_RCX,
	MT_REGISTER_RBX,
	MT_REGISTER_RSI,
	MT_REGISTER_RDI,
	MT_REGISTER_RBP,
	MT_REGISTER_RSP,
	MT_REGISTER_R8,
	MT_REGISTER_R9,
	MT_REGISTER_R10,
	MT_REGISTER_R11,
	MT_REGISTER_R12,
	MT_REGISTER_R13,
	MT_REGISTER_R14,
	MT_REGISTER_R15,
	MT_REGISTER_RIP,
	MT_REGISTER_COUNT,
	MT_REGISTER_XMM0 = 17, /* 16 bytes each, to 32 */
	MT_REGISTER_ST0 = 33,  /* 10 bytes each, to 40 */
	MT_REGISTER_EFLAGS = 49,
	MT_REGISTER_ES,
	MT_REGISTER_CS,
	MT_REGISTER_SS,
	MT_REGISTER_DS,
	MT_REGISTER_FS,
	MT_REGISTER_GS,
	MT_REGISTER_FS_BASE = 58,
	MT_REGISTER_GS_BASE,
	MT_REGISTER_ORIG_RAX = 64,
	MT_REGISTER_MXCSR,
};

/* The type that GDB gives its bits. */
enum mt_register_shape {
	MT_SHAPE_INTEGER,
	MT_SHAPE_DATA_POINTER,
	MT_SHAPE_CODE_POINTER,
	MT_SHAPE_FLAGS,
	MT_SHAPE_VECTOR,
	MT_SHAPE_X87,
	MT_SHAPE_MXCSR,
};

/* A register, or a part of one: $rax, $eax, $ah. */
struct mt_register_name {
	char name[12];
	uint8_t number;
	uint8_t size, offset; /* bytes, and where they begin in the register */
	uint8_t shape;        /* enum mt_register_shape */
};

/* NAME without its '$' or '%'.  NULL: no register. */
const struct mt_register_name *mt_register_named(const char *name);
/* Where its 8 bytes begin in struct user_regs_struct.  -1: it is none of these. */
int mt_register_offset(unsigned number);
/* Where an SSE or x87 register, or mxcsr, lies in USER, and how many bytes it has there.  NULL: it
 * is none of these. */
void *mt_register_in_float(struct user_fpregs_struct *user, unsigned number, size_t *size);

#endif
