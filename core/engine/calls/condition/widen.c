/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole numbers and floats become doubles, as their bits: see floats.c. */
#include "engine/calls/condition/code.h"

#define INFINITE    0x7ff0000000000000u
#define DOUBLE_BITS 52
#define FLOAT_BITS  23
#define DOUBLE_BIAS 1023
#define FLOAT_BIAS  127

/* rax, not 0, moves up until its highest bit is set: by ecx. */
static void normalize(struct mt_asm *code)
{
	mt_asm(code, 0x48, 0x0f, 0xbd, 0xc8); /* bsr rcx, rax */
	mt_asm(code, 0x83, 0xf1, 63);         /* xor ecx, 63 */
	mt_asm(code, 0x48, 0xd3, 0xe0);       /* shl rax, cl */
}

/* rax, normalized, keeps its highest DIGITS bits, rounded to the nearest, and of two to the even
 * one. */
static void round_to(struct mt_asm *code, unsigned digits)
{
	const uint8_t dropped = (uint8_t)(64 - digits);

	mt_asm(code, 0x48, 0x0f, 0xba, 0xe0, dropped); /* bt rax, dropped */
	mt_asm_set(code, MT_ASM_RDX, (1ull << (dropped - 1)) - 1);
	mt_asm(code, 0x48, 0x11, 0xd0);          /* adc rax, rdx */
	mt_asm(code, 0x73, 0x05);                /* jnc over the next two */
	mt_asm(code, 0x48, 0xd1, 0xd8);          /* rcr rax, 1 */
	mt_asm(code, 0xff, 0xc9);                /* dec ecx */
	mt_asm(code, 0x48, 0xc1, 0xe8, dropped); /* shr rax, dropped */
	mt_asm(code, 0x48, 0xc1, 0xe0, dropped); /* shl rax, dropped */
}

/* rax, normalized, was times 2^(BIAS - 1023 - 63) the number whose bits it becomes. */
static void compose(struct mt_asm *code, uint32_t bias)
{
	mt_asm(code, 0x48, 0x01, 0xc0);     /* add rax, rax: the highest bit is implied */
	mt_asm(code, 0x48, 0xc1, 0xe8, 12); /* shr rax, 12 */
	mt_asm(code, 0xf7, 0xd9);           /* neg ecx */
	mt_asm(code, 0x81, 0xc1);           /* add ecx, bias */
	mt_asm_imm32(code, bias);
	mt_asm(code, 0x48, 0xc1, 0xe1, DOUBLE_BITS); /* shl rcx, 52 */
	mt_asm(code, 0x48, 0x09, 0xc8);              /* or rax, rcx */
}

struct mt_error *mt_asm_widen_whole(struct mt_asm *code, struct mt_type *type, unsigned digits)
{
	struct mt_asm_label zero = {0};
	unsigned whole;

	mt_try(mt_asm_save(code, &whole));
	mt_asm(code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(code, MT_ASM_EQUAL, &zero);
	mt_type_expand(type);
	if (type->is_signed) {
		mt_asm(code, 0x48, 0x89, 0xc2);     /* mov rdx, rax */
		mt_asm(code, 0x48, 0xc1, 0xfa, 63); /* sar rdx, 63 */
		mt_asm(code, 0x48, 0x31, 0xd0);     /* xor rax, rdx */
		mt_asm(code, 0x48, 0x29, 0xd0);     /* sub rax, rdx: without its sign */
	}
	normalize(code);
	if (mt_type_size(type) * 8 > digits)
		round_to(code, digits);
	compose(code, DOUBLE_BIAS + 63);
	if (type->is_signed) {
		mt_asm_peek(code, MT_ASM_RDX, whole);
		mt_asm(code, 0x48, 0xc1, 0xea, 63); /* shr rdx, 63 */
		mt_asm(code, 0x48, 0xc1, 0xe2, 63); /* shl rdx, 63 */
		mt_asm(code, 0x48, 0x09, 0xd0);     /* or rax, rdx */
	}
	mt_asm_bind(code, &zero);
	code->slots = whole;
	return NULL;
}

void mt_asm_widen_float(struct mt_asm *code)
{
	struct mt_asm_label small = {0}, special = {0}, done = {0};

	mt_asm(code, 0x89, 0xc2);           /* mov edx, eax */
	mt_asm(code, 0xc1, 0xea, 31);       /* shr edx, 31 */
	mt_asm(code, 0x48, 0xc1, 0xe2, 63); /* shl rdx, 63 */
	mt_asm(code, 0x25);                 /* and eax, 0x7fffffff */
	mt_asm_imm32(code, 0x7fffffff);
	mt_asm_jump(code, MT_ASM_EQUAL, &done);
	mt_asm(code, 0x3d); /* cmp eax, the least that is not subnormal */
	mt_asm_imm32(code, 1u << FLOAT_BITS);
	mt_asm_jump(code, MT_ASM_BELOW, &small);
	mt_asm(code, 0x3d); /* cmp eax, infinity */
	mt_asm_imm32(code, 0xffu << FLOAT_BITS);
	mt_asm_jump(code, MT_ASM_ABOVE_EQUAL, &special);
	mt_asm(code, 0x48, 0xc1, 0xe0, DOUBLE_BITS - FLOAT_BITS); /* shl rax, 29 */
	mt_asm_set(code, MT_ASM_RCX, (uint64_t)(DOUBLE_BIAS - FLOAT_BIAS) << DOUBLE_BITS);
	mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &special);
	mt_asm(code, 0x48, 0xc1, 0xe0, DOUBLE_BITS - FLOAT_BITS); /* shl rax, 29 */
	mt_asm_set(code, MT_ASM_RCX, INFINITE);
	mt_asm(code, 0x48, 0x09, 0xc8); /* or rax, rcx */
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &small);
	normalize(code);
	compose(code, DOUBLE_BIAS + 63 - (FLOAT_BIAS - 1) - FLOAT_BITS);
	mt_asm_bind(code, &done);
	mt_asm(code, 0x48, 0x09, 0xd0); /* or rax, rdx */
}
