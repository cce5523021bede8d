/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Floating-point numbers, as their bits: no vector register is written, and neither the program's
 * rounding nor its exception flags count, or change.
 *
 * All are made doubles, whose bits are ordered as integers are, but that negative ones go the other
 * way.  What is computed of floats is rounded to one, which is what computing in floats would give:
 * a double has more than twice their digits.  Source: IEEE 754; C11, 6.3.1.8; S. Figueroa, When is
 * Double Rounding Innocuous?, 1995. */
#include "engine/calls/condition/code.h"

#include <string.h>

#define SIGN     0x8000000000000000u
#define INFINITE 0x7ff0000000000000u

extern const uint8_t mt_float_code[], mt_float_add[], mt_float_subtract[], mt_float_multiply[],
    mt_float_divide[], mt_float_narrow[], mt_float_to_single[], mt_float_to_whole[],
    mt_float_code_end[];

bool mt_is_float(const struct mt_compiler *compiler, const struct mt_node *node)
{
	struct mt_type *type = mt_eval_type_of(&compiler->eval, node);

	return type && mt_is_float_type(type);
}

/* ---- Arithmetic ---- */

/* Of rax, and of rdx, to rax; rcx and rdx go. */
static void call_routine(struct mt_asm *code, enum mt_float_routine routine)
{
	code->computes = true;
	mt_asm_save_registers(code);
	mt_asm(code, 0x48, 0x8d, 0x0d, 10, 0, 0, 0);              /* lea rcx, [rip+…]: back */
	mt_asm(code, 0x48, 0x89, 0x4c, 0x24, MT_ASM_BACK_AT);     /* mov [rsp+…], rcx */
	mt_asm_jump(code, MT_ASM_ALWAYS, &code->floats[routine]); /* to what comes back here */
}

void mt_asm_floats_out_of_line(struct mt_asm *to)
{
	static const uint8_t *const routines[] = {
	    [MT_FLOAT_ADD] = mt_float_add,           [MT_FLOAT_SUBTRACT] = mt_float_subtract,
	    [MT_FLOAT_MULTIPLY] = mt_float_multiply, [MT_FLOAT_DIVIDE] = mt_float_divide,
	    [MT_FLOAT_NARROW] = mt_float_narrow,     [MT_FLOAT_TO_SINGLE] = mt_float_to_single,
	    [MT_FLOAT_TO_WHOLE] = mt_float_to_whole,
	};
	const uint32_t begin = mt_asm_here(to);

	if (!to->computes)
		return;
	if (!to->out->probe_begin)
		to->out->probe_begin = begin;
	for (size_t i = 0; i < MT_FLOAT_ROUTINES; i++) {
		mt_array_each (jump, &to->floats[i].jumps)
			mt_asm_link(to, *jump, begin + (uint32_t)(routines[i] - mt_float_code));
		mt_array_deinit(&to->floats[i].jumps);
	}
	mt_asm_bytes(to, mt_float_code, (size_t)(mt_float_code_end - mt_float_code));
	to->out->probe_end = mt_asm_here(to);
}

/* rax becomes what TYPE can be. */
static void narrow(struct mt_asm *code, struct mt_type *type)
{
	if (mt_type_size(type) == sizeof(float))
		call_routine(code, MT_FLOAT_NARROW);
}

/* ---- Values ---- */

/* rax becomes the bits of a constant.  TYPE: what it is computed with: C makes a whole number one
 * of that type. */
static struct mt_error *load_constant(struct mt_compiler *compiler,
				      const struct mt_operand *operand, struct mt_type *type)
{
	struct mt_value value = operand->value;
	long double number;
	double wide;
	uint64_t bits;

	mt_try(mt_value_get_float(&compiler->eval, &value, &number));
	wide = (double)number;
	if (!mt_is_float_type(value.type) && mt_type_size(type) == sizeof(float))
		wide = (float)number;
	memcpy(&bits, &wide, sizeof(bits));
	mt_asm_set(&compiler->code, MT_ASM_RAX, bits);
	return NULL;
}

/* The bits of a number as they are, into rax. */
static struct mt_error *load_bits(struct mt_compiler *compiler, const struct mt_operand *operand,
				  uint64_t size)
{
	struct mt_asm *code = &compiler->code;
	const uint64_t at = operand->value.address;

	if (operand->kind == MT_OPERAND_MEMORY) {
		mt_operand_address(compiler, operand);
		mt_asm_read(code, (uint8_t)size, operand->base == MT_BASE_STACK);
		return NULL;
	}
	if (at / 8 >= operand->register_count || at % 8 + size > 8)
		return mt_cannot_compile("a value lies in parts of two registers");
	mt_asm_get_register(code, MT_ASM_RAX, operand->registers[at / 8]);
	if (at % 8)
		mt_asm(code, 0x48, 0xc1, 0xe8, (uint8_t)(at % 8 * 8)); /* shr rax, … */
	return NULL;
}

static struct mt_error *whole_to_double(struct mt_compiler *compiler, struct mt_operand *operand,
					struct mt_type *type)
{
	const bool is_single = mt_type_size(mt_type_strip(type)) == sizeof(float);

	if (!mt_type_is_integer_kind(mt_type_strip(operand->value.type)))
		return mt_cannot_compile(
		    "it computes with a floating-point number and what is no number");
	mt_try(mt_operand_load(compiler, operand, MT_ASM_RAX));
	return mt_asm_widen_whole(&compiler->code, mt_type_strip(operand->value.type),
				  is_single ? MT_FLOAT_DIGITS : MT_DOUBLE_DIGITS);
}

struct mt_error *mt_operand_to_double(struct mt_compiler *compiler, struct mt_operand *operand,
				      struct mt_type *type)
{
	struct mt_type *own = mt_type_strip(operand->value.type);
	const uint64_t size = mt_type_size(own->kind == MT_TYPE_FLOAT ? own : mt_type_strip(type));

	if (size != sizeof(float) && size != sizeof(double))
		return mt_cannot_compile("it computes with floating-point numbers of %llu bytes",
					 (unsigned long long)size);
	if (operand->kind == MT_OPERAND_CONSTANT)
		return load_constant(compiler, operand, mt_type_strip(type));
	if (own->kind != MT_TYPE_FLOAT)
		return whole_to_double(compiler, operand, type);
	if (operand->kind == MT_OPERAND_RAX)
		return NULL;
	mt_try(load_bits(compiler, operand, size));
	if (size == sizeof(float))
		mt_asm_widen_float(&compiler->code);
	return NULL;
}

/* NODE as a double, in rax. */
static struct mt_error *load_double(struct mt_compiler *compiler, const struct mt_node *node,
				    struct mt_type *type)
{
	struct mt_operand operand = {.kind = MT_OPERAND_CONSTANT};

	if (node->kind == MT_NODE_UNARY && node->op == '-' && node->left->kind == MT_NODE_VALUE)
		mt_try(mt_eval(&compiler->eval, node, &operand.value));
	else
		mt_try(mt_compile_value(compiler, node, &operand));
	return mt_operand_to_double(compiler, &operand, type);
}

/* The operands of NODE as doubles: rax, and the slot that is to be restored. */
static struct mt_error *load_both(struct mt_compiler *compiler, const struct mt_node *node,
				  struct mt_type *type, unsigned *slot)
{
	mt_try(load_double(compiler, node->left, type));
	mt_try(mt_asm_save(&compiler->code, slot));
	return load_double(compiler, node->right, type);
}

/* What numbers of these types are computed in: the larger floating-point one. */
static struct mt_type *larger(struct mt_type *left, struct mt_type *right)
{
	struct mt_type *a = mt_type_strip(left), *b = mt_type_strip(right);

	return a->kind != MT_TYPE_FLOAT ||
		       (b->kind == MT_TYPE_FLOAT && mt_type_size(b) > mt_type_size(a))
		   ? right
		   : left;
}

struct mt_error *mt_compile_float_binary(struct mt_compiler *compiler, const struct mt_node *node,
					 struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *left = mt_eval_type_of(&compiler->eval, node->left);
	struct mt_type *right = mt_eval_type_of(&compiler->eval, node->right);
	struct mt_type *type = larger(left ? left : right, right ? right : left);
	unsigned slot;

	if (node->op != '+' && node->op != '-' && node->op != '*' && node->op != '/')
		return mt_error_new(MT_ERROR_USAGE,
				    "Integer-only operation on floating point number.");
	mt_try(load_both(compiler, node, type, &slot));
	mt_asm(code, 0x48, 0x89, 0xc2); /* mov rdx, rax */
	mt_asm_restore(code, MT_ASM_RAX, slot);
	call_routine(code, node->op == '+'   ? MT_FLOAT_ADD
			   : node->op == '-' ? MT_FLOAT_SUBTRACT
			   : node->op == '*' ? MT_FLOAT_MULTIPLY
					     : MT_FLOAT_DIVIDE);
	narrow(code, type);
	*out = mt_operand_in_rax(type);
	return NULL;
}

/* -x is 0 - x, which differs where x is 0. */
struct mt_error *mt_compile_float_sign(struct mt_compiler *compiler, const struct mt_node *node,
				       struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *type = mt_eval_type_of(&compiler->eval, node->left);

	if (node->op == '~')
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument to complement operation not an integer, boolean.");
	mt_try(load_double(compiler, node->left, type));
	*out = mt_operand_in_rax(type);
	if (node->op != '-')
		return NULL;
	mt_asm(code, 0x48, 0x89, 0xc2); /* mov rdx, rax */
	mt_asm_set(code, MT_ASM_RAX, 0);
	call_routine(code, MT_FLOAT_SUBTRACT);
	return NULL;
}

struct mt_error *mt_cast_to_float(struct mt_compiler *compiler, struct mt_operand *operand,
				  struct mt_type *to)
{
	struct mt_type *from = mt_type_strip(operand->value.type);

	mt_try(mt_operand_to_double(compiler, operand, to));
	if (mt_type_size(to) != sizeof(float) && mt_type_size(to) != sizeof(double))
		return mt_cannot_compile("it casts to floating-point numbers of %llu bytes",
					 (unsigned long long)mt_type_size(to));
	if (from->kind == MT_TYPE_FLOAT && mt_type_size(from) > mt_type_size(to))
		narrow(&compiler->code, to);
	return NULL;
}

struct mt_error *mt_cast_from_float(struct mt_compiler *compiler, struct mt_operand *operand)
{
	mt_try(mt_operand_to_double(compiler, operand, operand->value.type));
	call_routine(&compiler->code, MT_FLOAT_TO_WHOLE);
	*operand = mt_operand_in_rax(mt_type_builtin(compiler->eval.program, MT_BUILTIN_LONG));
	return NULL;
}

struct mt_error *mt_operand_to_bits(struct mt_compiler *compiler, struct mt_operand *operand)
{
	const uint64_t size = mt_type_size(operand->value.type);

	if (size != sizeof(float) && size != sizeof(double))
		return mt_cannot_compile("it is a floating-point number of %llu bytes",
					 (unsigned long long)size);
	if (operand->kind == MT_OPERAND_RAX && size == sizeof(float))
		call_routine(&compiler->code, MT_FLOAT_TO_SINGLE);
	operand->value.type = mt_type_builtin(
	    compiler->eval.program, size == sizeof(float) ? MT_BUILTIN_UINT32 : MT_BUILTIN_UINT64);
	return NULL;
}

/* ---- Comparisons ---- */

/* REG, the bits of a double, becomes a whole number that is ordered as they are; both zeros are
 * one.
 */
static void order(struct mt_asm *code, enum mt_asm_register reg)
{
	struct mt_asm_label positive = {0};

	mt_asm(code, 0x48, 0x85, (uint8_t)(0xc0 | reg << 3 | reg)); /* test reg, reg */
	mt_asm_jump(code, MT_ASM_NOT_SIGN, &positive);
	mt_asm_set(code, MT_ASM_RDX, SIGN);
	mt_asm(code, 0x48, 0x29, (uint8_t)(0xc2 | reg << 3)); /* sub rdx, reg */
	mt_asm(code, 0x48, 0x89, (uint8_t)(0xd0 | reg));      /* mov reg, rdx */
	mt_asm_bind(code, &positive);
}

/* Jumps if rax or rcx, ordered, is of what is no number: beyond the infinities. */
static void leave_if_none(struct mt_asm *code, struct mt_asm_label *none)
{
	mt_asm_set(code, MT_ASM_RDX, INFINITE);
	mt_asm(code, 0x48, 0x39, 0xd0); /* cmp rax, rdx */
	mt_asm_jump(code, MT_ASM_GREATER, none);
	mt_asm(code, 0x48, 0x39, 0xd1); /* cmp rcx, rdx */
	mt_asm_jump(code, MT_ASM_GREATER, none);
	mt_asm(code, 0x48, 0xf7, 0xda); /* neg rdx */
	mt_asm(code, 0x48, 0x39, 0xd0); /* cmp rax, rdx */
	mt_asm_jump(code, MT_ASM_LESS, none);
	mt_asm(code, 0x48, 0x39, 0xd1); /* cmp rcx, rdx */
	mt_asm_jump(code, MT_ASM_LESS, none);
}

struct mt_error *mt_compile_floats(struct mt_compiler *compiler, const struct mt_node *node,
				   enum mt_asm_jump jump, bool wanted, struct mt_asm_label *label)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *left = mt_eval_type_of(&compiler->eval, node->left);
	struct mt_type *right = mt_eval_type_of(&compiler->eval, node->right);
	struct mt_type *type = larger(left ? left : right, right ? right : left);
	struct mt_asm_label none = {0};
	unsigned slot;

	if (mt_is_extended(type))
		return mt_compile_extended(compiler, node, jump, wanted, label);
	mt_try(load_both(compiler, node, type, &slot));
	mt_asm(code, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	mt_asm_restore(code, MT_ASM_RAX, slot);
	order(code, MT_ASM_RAX);
	order(code, MT_ASM_RCX);
	/* It differs from all, and itself. */
	leave_if_none(code, (node->op == MT_OP_NOT_EQUAL) == wanted ? label : &none);
	mt_asm(code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(code, jump, label);
	mt_asm_bind(code, &none);
	return NULL;
}

struct mt_error *mt_compile_float_truth(struct mt_compiler *compiler, const struct mt_node *node,
					bool wanted, struct mt_asm_label *label)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *type = mt_eval_type_of(&compiler->eval, node);

	if (mt_is_extended(type))
		return mt_compile_extended_truth(compiler, node, wanted, label);
	mt_try(load_double(compiler, node, type));
	mt_asm(code, 0x48, 0x01, 0xc0); /* add rax, rax: without its sign */
	mt_asm_jump(code, wanted ? MT_ASM_NOT_EQUAL : MT_ASM_EQUAL, label);
	return NULL;
}
