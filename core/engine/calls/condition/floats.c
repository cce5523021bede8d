/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparisons of floating-point numbers, as their bits: no vector register is written, and neither
 * the program's rounding nor its exception flags count, or change.
 *
 * All are made doubles, whose bits are ordered as integers are, but that negative ones go the other
 * way.  Source: IEEE 754; C11, 6.3.1.8. */
#include "engine/calls/condition/code.h"

#include <string.h>

#define SIGN        0x8000000000000000u
#define INFINITE    0x7ff0000000000000u
#define DOUBLE_BITS 52
#define FLOAT_BITS  23
#define DOUBLE_BIAS 1023
#define FLOAT_BIAS  127

static bool is_float(struct mt_type *type)
{
	return mt_type_strip(type)->kind == MT_TYPE_FLOAT;
}

static size_t read_zeros(void *context, uint64_t address, void *buffer, size_t size)
{
	(void)context;
	(void)address;
	memset(buffer, 0, size);
	return size;
}

static bool get_zero(void *context, unsigned number, void *bytes, size_t size)
{
	(void)context;
	(void)number;
	memset(bytes, 0, size);
	return true;
}

static bool get_zero_cfa(void *context, uint64_t *cfa)
{
	(void)context;
	*cfa = 0;
	return true;
}

/* NULL: it has none, or means nothing, which is said where it is compiled. */
static struct mt_type *type_of(const struct mt_compiler *compiler, const struct mt_node *node)
{
	static const struct mt_expr_ops zeros = {
	    .read = read_zeros, .get_register = get_zero, .get_cfa = get_zero_cfa};
	struct mt_expr_frame frame = *compiler->eval.frame;
	struct mt_eval eval = compiler->eval;
	struct mt_value value;

	frame.ops = &zeros;
	eval.frame = &frame;
	eval.no_side_effects = true;
	struct mt_error *error = mt_eval(&eval, node, &value);
	if (!error)
		error = mt_value_unreference(&eval, &value);
	mt_error_destroy(error);
	return error ? NULL : value.type;
}

bool mt_is_float(const struct mt_compiler *compiler, const struct mt_node *node)
{
	struct mt_type *type = type_of(compiler, node);

	return type && is_float(type);
}

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

/* rax, a whole number of TYPE, becomes a double; it is rounded to DIGITS bits where it has more. */
static struct mt_error *widen_whole(struct mt_asm *code, struct mt_type *type, unsigned digits)
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

/* eax, a float, becomes a double. */
static void widen_float(struct mt_asm *code)
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

/* rax becomes the bits of a constant.  OTHER: what it is compared with: C makes a whole number one
 * of that type. */
static struct mt_error *load_constant(struct mt_compiler *compiler,
				      const struct mt_operand *operand, struct mt_type *other)
{
	struct mt_value value = operand->value;
	long double number;
	double wide;
	uint64_t bits;

	mt_try(mt_value_get_float(&compiler->eval, &value, &number));
	wide = (double)number;
	if (!is_float(value.type) && mt_type_size(mt_type_strip(other)) == sizeof(float))
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

	switch (operand->kind) {
	case MT_OPERAND_MEMORY:
		mt_operand_address(compiler, operand);
		mt_asm_read(code, (uint8_t)size, operand->base == MT_BASE_STACK);
		return NULL;
	case MT_OPERAND_REGISTERS:
		if (at / 8 >= operand->register_count || at % 8 + size > 8)
			return mt_cannot_compile("a value lies in parts of two registers");
		mt_asm_get_register(code, MT_ASM_RAX, operand->registers[at / 8]);
		if (at % 8)
			mt_asm(code, 0x48, 0xc1, 0xe8, (uint8_t)(at % 8 * 8)); /* shr rax, … */
		return NULL;
	default:
		return NULL;
	}
}

/* NODE as the bits of a double, in rax. */
static struct mt_error *load_double(struct mt_compiler *compiler, const struct mt_node *node,
				    struct mt_type *other)
{
	struct mt_asm *code = &compiler->code;
	struct mt_operand operand;
	struct mt_type *type;

	if (node->kind == MT_NODE_UNARY && node->op == '-' && mt_is_float(compiler, node->left)) {
		mt_try(load_double(compiler, node->left, other));
		mt_asm(code, 0x48, 0x0f, 0xba, 0xf8, 63); /* btc rax, 63 */
		return NULL;
	}
	if (node->kind == MT_NODE_UNARY && node->op == '-' && node->left->kind == MT_NODE_VALUE) {
		operand = (struct mt_operand){.kind = MT_OPERAND_CONSTANT};
		mt_try(mt_eval(&compiler->eval, node, &operand.value));
	} else {
		mt_try(mt_compile_value(compiler, node, &operand));
	}
	if (operand.kind == MT_OPERAND_CONSTANT)
		return load_constant(compiler, &operand, other);
	type = mt_type_strip(operand.value.type);
	if (type->kind != MT_TYPE_FLOAT) {
		const uint64_t size = mt_type_size(mt_type_strip(other));

		mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
		if (!mt_type_is_integer_kind(type) || size > sizeof(double))
			return mt_cannot_compile(
			    size > sizeof(double)
				? "it compares with a long double"
				: "it compares a floating-point number with what is no number");
		return widen_whole(code, type,
				   (size == sizeof(float) ? FLOAT_BITS : DOUBLE_BITS) + 1);
	}
	if (mt_type_size(type) != sizeof(float) && mt_type_size(type) != sizeof(double))
		return mt_cannot_compile("it computes with floating-point numbers of %llu bytes",
					 (unsigned long long)mt_type_size(type));
	mt_try(load_bits(compiler, &operand, mt_type_size(type)));
	if (mt_type_size(type) == sizeof(float))
		widen_float(code);
	return NULL;
}

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
	struct mt_type *left = type_of(compiler, node->left);
	struct mt_type *right = type_of(compiler, node->right);
	struct mt_asm_label none = {0};
	unsigned slot;

	mt_try(load_double(compiler, node->left, right ? right : left));
	mt_try(mt_asm_save(code, &slot));
	mt_try(load_double(compiler, node->right, left ? left : right));
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

	mt_try(load_double(compiler, node, type_of(compiler, node)));
	mt_asm(code, 0x48, 0x01, 0xc0); /* add rax, rax: without its sign */
	mt_asm_jump(code, wanted ? MT_ASM_NOT_EQUAL : MT_ASM_EQUAL, label);
	return NULL;
}
