/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparisons of long doubles, which are x87's: a mantissa of 64 bits, whose highest one is not
 * implied, and 16 bits with the sign and the exponent.  All other numbers become ones exactly, so
 * that nothing is rounded, and no register of x87 is touched.
 *
 * A number is loaded as these two parts, rax and dx, and then made a whole number of 128 bits with
 * a sign, ordered as they are: rdx, and rax, of which the highest bit is inverted so that both
 * compare as whole numbers with a sign do.  Source: Intel SDM vol. 1, table 8-3 (what is no
 * number). */
#include "engine/calls/condition/code.h"

#include <string.h>

#define LAST        0x7fff /* exponent: that of infinities */
#define BIAS        16383
#define DOUBLE_BIAS 1023
#define DOUBLE_LAST 0x7ff
#define DOUBLE_BITS 52
#define DROPPED     11      /* bits of 64 that a double has no room for */
#define NO_NUMBER   0x10000 /* beyond all exponents */

bool mt_is_extended(struct mt_type *type)
{
	return mt_type_is_x87(mt_type_strip(type));
}

/* ---- Values: rax and dx ---- */

static struct mt_error *load_constant(struct mt_compiler *compiler,
				      const struct mt_operand *operand)
{
	struct mt_value value = operand->value;
	long double number;
	uint64_t mantissa;
	uint16_t exponent;

	mt_try(mt_value_get_float(&compiler->eval, &value, &number));
	memcpy(&mantissa, &number, sizeof(mantissa));
	memcpy(&exponent, (const uint8_t *)&number + sizeof(mantissa), sizeof(exponent));
	mt_asm_set(&compiler->code, MT_ASM_RAX, mantissa);
	mt_asm_set(&compiler->code, MT_ASM_RDX, exponent);
	return NULL;
}

static struct mt_error *load_memory(struct mt_compiler *compiler, const struct mt_operand *operand)
{
	struct mt_asm *code = &compiler->code;
	const bool trusted = operand->base == MT_BASE_STACK;
	unsigned address, mantissa;

	mt_operand_address(compiler, operand);
	mt_try(mt_asm_save(code, &address));
	mt_asm_read(code, sizeof(uint64_t), trusted);
	mt_try(mt_asm_save(code, &mantissa));
	mt_asm_peek(code, MT_ASM_RAX, address);
	mt_asm(code, 0x48, 0x83, 0xc0, sizeof(uint64_t)); /* add rax, 8 */
	mt_asm_read(code, sizeof(uint16_t), trusted);
	mt_asm(code, 0x89, 0xc2); /* mov edx, eax */
	mt_asm_peek(code, MT_ASM_RAX, mantissa);
	code->slots = address;
	return NULL;
}

/* rax, not 0, moves up until its highest bit is set: by ecx. */
static void normalize(struct mt_asm *code)
{
	mt_asm(code, 0x48, 0x0f, 0xbd, 0xc8); /* bsr rcx, rax */
	mt_asm(code, 0x83, 0xf1, 63);         /* xor ecx, 63 */
	mt_asm(code, 0x48, 0xd3, 0xe0);       /* shl rax, cl */
}

/* edx, 0 or 0x8000, becomes EXPONENT less ecx as well. */
static void add_exponent(struct mt_asm *code, uint32_t exponent)
{
	mt_asm(code, 0x29, 0xca); /* sub edx, ecx */
	mt_asm(code, 0x81, 0xc2); /* add edx, exponent */
	mt_asm_imm32(code, exponent);
}

/* edx: 0x8000 if rax is below 0, else 0. */
static void get_sign(struct mt_asm *code)
{
	mt_asm(code, 0x48, 0x89, 0xc2);     /* mov rdx, rax */
	mt_asm(code, 0x48, 0xc1, 0xea, 63); /* shr rdx, 63 */
	mt_asm(code, 0xc1, 0xe2, 15);       /* shl edx, 15 */
}

/* rax is one of TYPE. */
static void widen_whole(struct mt_asm *code, struct mt_type *type)
{
	struct mt_asm_label zero = {0}, positive = {0};

	mt_type_expand(type);
	mt_asm(code, 0x31, 0xd2); /* xor edx, edx */
	if (type->is_signed)
		get_sign(code);
	mt_asm(code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(code, MT_ASM_EQUAL, &zero);
	if (type->is_signed) {
		mt_asm_jump(code, MT_ASM_NOT_SIGN, &positive);
		mt_asm(code, 0x48, 0xf7, 0xd8); /* neg rax */
		mt_asm_bind(code, &positive);
	}
	normalize(code);
	add_exponent(code, BIAS + 63);
	mt_asm_bind(code, &zero);
}

/* rax is the bits of one. */
static void widen_double(struct mt_asm *code)
{
	struct mt_asm_label small = {0}, ordinary = {0}, done = {0};

	get_sign(code);
	mt_asm(code, 0x48, 0x89, 0xc1);              /* mov rcx, rax */
	mt_asm(code, 0x48, 0xc1, 0xe9, DOUBLE_BITS); /* shr rcx, 52 */
	mt_asm(code, 0x48, 0xc1, 0xe0, DROPPED);     /* shl rax, 11 */
	mt_asm(code, 0x81, 0xe1);                    /* and ecx, 0x7ff */
	mt_asm_imm32(code, DOUBLE_LAST);
	mt_asm_jump(code, MT_ASM_EQUAL, &small);
	mt_asm(code, 0x48, 0x0f, 0xba, 0xe8, 63); /* bts rax, 63 */
	mt_asm(code, 0x81, 0xf9);                 /* cmp ecx, 0x7ff */
	mt_asm_imm32(code, DOUBLE_LAST);
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, &ordinary);
	mt_asm_set(code, MT_ASM_RCX, LAST - (BIAS - DOUBLE_BIAS));
	mt_asm_bind(code, &ordinary);
	mt_asm(code, 0x8d, 0x94, 0x0a); /* lea edx, [rdx+rcx+…] */
	mt_asm_imm32(code, BIAS - DOUBLE_BIAS);
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &small);
	mt_asm(code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(code, MT_ASM_EQUAL, &done);
	normalize(code);
	add_exponent(code, BIAS - DOUBLE_BIAS + 1);
	mt_asm_bind(code, &done);
}

static bool is_cast(const struct mt_node *node)
{
	return node->kind == MT_NODE_CAST && mt_is_extended(node->type);
}

static struct mt_error *load(struct mt_compiler *compiler, const struct mt_node *node)
{
	struct mt_operand operand = {.kind = MT_OPERAND_CONSTANT};

	while (is_cast(node)) /* it changes no value */
		node = node->left;
	if (node->kind == MT_NODE_UNARY && node->op == '-' && node->left->kind == MT_NODE_VALUE)
		mt_try(mt_eval(&compiler->eval, node, &operand.value));
	else
		mt_try(mt_compile_value(compiler, node, &operand));
	struct mt_type *type = mt_type_strip(operand.value.type);
	const bool is_whole = mt_type_is_integer_kind(type);

	if (!is_whole && type->kind != MT_TYPE_FLOAT)
		return mt_cannot_compile(
		    "it computes with a floating-point number and what is no number");
	if (operand.kind == MT_OPERAND_CONSTANT)
		return load_constant(compiler, &operand);
	if (mt_is_extended(type))
		return operand.kind == MT_OPERAND_MEMORY
			   ? load_memory(compiler, &operand)
			   : mt_cannot_compile("a long double lies in a register of x87");
	if (is_whole) {
		mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
		widen_whole(&compiler->code, type);
		return NULL;
	}
	mt_try(mt_operand_to_double(compiler, &operand, type));
	widen_double(&compiler->code);
	return NULL;
}

/* ---- Comparisons ---- */

/* rax and dx: become what is ordered as the number is; NO_NUMBER, whatever rax is, is none. */
static void order(struct mt_asm *code)
{
	struct mt_asm_label small = {0}, number = {0}, none = {0}, positive = {0}, done = {0};

	mt_asm(code, 0x89, 0xd1); /* mov ecx, edx */
	mt_asm(code, 0x81, 0xe1); /* and ecx, 0x7fff */
	mt_asm_imm32(code, LAST);
	mt_asm_jump(code, MT_ASM_EQUAL, &small);
	mt_asm(code, 0x48, 0x0f, 0xba, 0xe0, 63); /* bt rax, 63: without it, it is an unnormal */
	mt_asm_jump(code, MT_ASM_ABOVE_EQUAL, &none);
	mt_asm(code, 0x81, 0xf9); /* cmp ecx, 0x7fff */
	mt_asm_imm32(code, LAST);
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, &number);
	mt_asm(code, 0x48, 0x8d, 0x0c, 0x00); /* lea rcx, [rax+rax] */
	mt_asm(code, 0x48, 0x85, 0xc9);       /* test rcx, rcx */
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, &none);
	mt_asm_set(code, MT_ASM_RCX, LAST);
	mt_asm_jump(code, MT_ASM_ALWAYS, &number);
	mt_asm_bind(code, &none);
	mt_asm_set(code, MT_ASM_RDX, NO_NUMBER);
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &small);
	/* The highest bit makes it as large as if its exponent were 1. */
	mt_asm(code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(code, MT_ASM_NOT_SIGN, &number);
	mt_asm_set(code, MT_ASM_RCX, 1);
	mt_asm_bind(code, &number);
	mt_asm(code, 0xf6, 0xc6, 0x80); /* test dh, 0x80 */
	mt_asm(code, 0x89, 0xca);       /* mov edx, ecx */
	mt_asm_jump(code, MT_ASM_EQUAL, &positive);
	mt_asm(code, 0x48, 0xf7, 0xda);    /* neg rdx */
	mt_asm(code, 0x48, 0xf7, 0xd8);    /* neg rax */
	mt_asm(code, 0x48, 0x83, 0xda, 0); /* sbb rdx, 0 */
	mt_asm_bind(code, &positive);
	mt_asm(code, 0x48, 0x0f, 0xba, 0xf8, 63); /* btc rax, 63 */
	mt_asm_bind(code, &done);
}

struct mt_error *mt_compile_extended(struct mt_compiler *compiler, const struct mt_node *node,
				     enum mt_asm_jump jump, bool wanted, struct mt_asm_label *label)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label decided = {0}, none = {0};
	unsigned lower, upper;

	mt_try(load(compiler, node->left));
	order(code);
	mt_try(mt_asm_save(code, &lower));
	mt_asm(code, 0x48, 0x89, 0xd0); /* mov rax, rdx */
	mt_try(mt_asm_save(code, &upper));
	mt_try(load(compiler, node->right));
	order(code);
	mt_asm_restore(code, MT_ASM_RCX, upper);
	/* It differs from all, and itself. */
	struct mt_asm_label *const differs =
	    (node->op == MT_OP_NOT_EQUAL) == wanted ? label : &none;
	mt_asm(code, 0x81, 0xf9); /* cmp ecx, NO_NUMBER */
	mt_asm_imm32(code, NO_NUMBER);
	mt_asm_jump(code, MT_ASM_EQUAL, differs);
	mt_asm(code, 0x81, 0xfa); /* cmp edx, NO_NUMBER */
	mt_asm_imm32(code, NO_NUMBER);
	mt_asm_jump(code, MT_ASM_EQUAL, differs);
	mt_asm(code, 0x48, 0x39, 0xd1); /* cmp rcx, rdx */
	mt_asm_jump(code, MT_ASM_NOT_EQUAL, &decided);
	mt_asm_restore(code, MT_ASM_RCX, lower);
	mt_asm(code, 0x48, 0x39, 0xc1); /* cmp rcx, rax */
	mt_asm_bind(code, &decided);
	mt_asm_jump(code, jump, label);
	mt_asm_bind(code, &none);
	return NULL;
}

struct mt_error *mt_compile_extended_truth(struct mt_compiler *compiler, const struct mt_node *node,
					   bool wanted, struct mt_asm_label *label)
{
	struct mt_asm *code = &compiler->code;

	mt_try(load(compiler, node));
	mt_asm(code, 0x81, 0xe2); /* and edx, 0x7fff */
	mt_asm_imm32(code, LAST);
	mt_asm(code, 0x48, 0x09, 0xd0); /* or rax, rdx */
	mt_asm_jump(code, wanted ? MT_ASM_NOT_EQUAL : MT_ASM_EQUAL, label);
	return NULL;
}
