/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators with two operands. */
#include "engine/calls/condition/code.h"

/* Registers and constants, which need no work. */
static bool is_leaf(const struct mt_node *node)
{
	return node->kind == MT_NODE_VALUE || node->kind == MT_NODE_REGISTER ||
	       node->kind == MT_NODE_SIZEOF || node->kind == MT_NODE_ALIGNOF ||
	       (node->kind == MT_NODE_VARIABLE && node->variable->kind == MT_VARIABLE_ABI &&
		node->variable->entry.piece_count && !node->variable->entry.by_reference &&
		!mt_type_is_reference(mt_type_strip(node->variable->type)));
}

struct mt_error *mt_compile_two(struct mt_compiler *compiler, const struct mt_node *node,
				struct mt_operand *left, struct mt_operand *right)
{
	struct mt_asm *code = &compiler->code;
	unsigned slot;

	mt_try(mt_compile_value(compiler, node->left, left));
	mt_try(mt_operand_load(compiler, left, MT_ASM_RAX));
	if (is_leaf(node->right)) {
		mt_try(mt_compile_value(compiler, node->right, right));
		if (mt_operand_is_at_hand(right))
			return mt_operand_load(compiler, right, MT_ASM_RCX);
	}
	mt_try(mt_asm_save(code, &slot));
	mt_try(mt_compile_value(compiler, node->right, right));
	mt_try(mt_operand_load(compiler, right, MT_ASM_RAX));
	mt_asm(code, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	mt_asm_restore(code, MT_ASM_RAX, slot);
	return NULL;
}

static struct mt_error *divide(struct mt_asm *code, int op, bool is_signed)
{
	struct mt_asm_label ordinary = {0}, done = {0};

	mt_asm(code, 0x48, 0x85, 0xc9); /* test rcx, rcx */
	mt_asm_jump(code, MT_ASM_EQUAL, &code->division);
	if (is_signed) {
		/* The lowest number by -1 would trap. */
		mt_asm(code, 0x48, 0x83, 0xf9, 0xff); /* cmp rcx, -1 */
		mt_asm_jump(code, MT_ASM_NOT_EQUAL, &ordinary);
		mt_asm(code, 0x48, 0xf7, 0xd8); /* neg rax */
		mt_asm(code, 0x31, 0xd2);       /* xor edx, edx */
		mt_asm_jump(code, MT_ASM_ALWAYS, &done);
		mt_asm_bind(code, &ordinary);
		mt_asm(code, 0x48, 0x99);       /* cqo */
		mt_asm(code, 0x48, 0xf7, 0xf9); /* idiv rcx */
		mt_asm_bind(code, &done);
	} else {
		mt_asm(code, 0x31, 0xd2);       /* xor edx, edx */
		mt_asm(code, 0x48, 0xf7, 0xf1); /* div rcx */
	}
	if (op == '%')
		mt_asm(code, 0x48, 0x89, 0xd0); /* mov rax, rdx */
	return NULL;
}

static struct mt_error *shift(struct mt_asm *code, int op, const struct mt_type *type,
			      unsigned bits)
{
	const bool keeps_sign = op == MT_OP_SHIFT_RIGHT && type->is_signed;
	struct mt_asm_label within = {0}, done = {0};

	mt_asm(code, 0x48, 0x83, 0xf9, (uint8_t)bits); /* cmp rcx, bits */
	mt_asm_jump(code, MT_ASM_BELOW, &within);
	if (keeps_sign)
		mt_asm(code, 0x48, 0xc1, 0xf8, 63); /* sar rax, 63 */
	else
		mt_asm(code, 0x31, 0xc0); /* xor eax, eax */
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &within);
	/* shl, sar or shr rax, cl */
	mt_asm(code, 0x48, 0xd3, op == MT_OP_SHIFT_LEFT ? 0xe0 : keeps_sign ? 0xf8 : 0xe8);
	mt_asm_bind(code, &done);
	return NULL;
}

/* rax OP rcx, to rax. */
static struct mt_error *compute(struct mt_asm *code, int op, struct mt_type *type)
{
	switch (op) {
	case '+':
		mt_asm(code, 0x48, 0x01, 0xc8); /* add rax, rcx */
		return NULL;
	case '-':
		mt_asm(code, 0x48, 0x29, 0xc8); /* sub rax, rcx */
		return NULL;
	case '*':
		mt_asm(code, 0x48, 0x0f, 0xaf, 0xc1); /* imul rax, rcx */
		return NULL;
	case '&':
		mt_asm(code, 0x48, 0x21, 0xc8); /* and rax, rcx */
		return NULL;
	case '|':
		mt_asm(code, 0x48, 0x09, 0xc8); /* or rax, rcx */
		return NULL;
	case '^':
		mt_asm(code, 0x48, 0x31, 0xc8); /* xor rax, rcx */
		return NULL;
	case '/':
	case '%':
		return divide(code, op, type->is_signed);
	case MT_OP_SHIFT_LEFT:
	case MT_OP_SHIFT_RIGHT:
		return shift(code, op, type, (unsigned)mt_type_size(type) * 8);
	default:
		return mt_cannot_compile("it has an operator that is not compiled");
	}
}

static struct mt_error *integers(struct mt_compiler *compiler, int op, struct mt_type *a,
				 struct mt_type *b, struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	const bool is_shift = op == MT_OP_SHIFT_LEFT || op == MT_OP_SHIFT_RIGHT;
	struct mt_type *type = mt_eval_common_type(compiler->eval.program, a, is_shift ? a : b);

	mt_asm_extend(code, MT_ASM_RAX, mt_type_size(type), type->is_signed);
	if (!is_shift)
		mt_asm_extend(code, MT_ASM_RCX, mt_type_size(type), type->is_signed);
	mt_try(compute(code, op, type));
	mt_asm_extend(code, MT_ASM_RAX, mt_type_size(type), type->is_signed);
	*out = mt_operand_in_rax(type);
	return NULL;
}

/* Times the size of what POINTER points to. */
static struct mt_error *scale(struct mt_asm *code, enum mt_asm_register reg,
			      struct mt_type *pointer)
{
	uint64_t size = mt_eval_target_size(pointer);

	if (size > INT32_MAX)
		return mt_too_complex();
	if (size == 1)
		return NULL;
	mt_asm(code, 0x48, 0x69, (uint8_t)(0xc0 | reg << 3 | reg)); /* imul reg, reg, size */
	mt_asm_imm32(code, (uint32_t)size);
	return NULL;
}

struct mt_error *mt_compile_pointers(struct mt_compiler *compiler, int op, struct mt_operand *left,
				     struct mt_operand *right, struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_type *a = mt_type_strip(left->value.type), *b = mt_type_strip(right->value.type);
	struct mt_type *number = mt_type_builtin(compiler->eval.program, MT_BUILTIN_LONG);
	const bool first = a->kind == MT_TYPE_POINTER, second = b->kind == MT_TYPE_POINTER;

	if (first && second && op == '-') {
		if (mt_eval_target_size(a) != mt_eval_target_size(b))
			return mt_error_new(
			    MT_ERROR_USAGE,
			    "First argument of `-' is a pointer and second argument is neither\n"
			    "an integer nor a pointer of the same type.");
		mt_try(compute(code, '-', number));
		mt_asm_set(code, MT_ASM_RCX, mt_eval_target_size(a));
		mt_try(divide(code, '/', true));
		*out = mt_operand_in_rax(number);
		return NULL;
	}
	if ((op == '+' && first != second) || (op == '-' && first)) {
		mt_try(first ? scale(code, MT_ASM_RCX, a) : scale(code, MT_ASM_RAX, b));
		mt_try(compute(code, op, number));
		*out = mt_operand_in_rax(first ? left->value.type : right->value.type);
		return NULL;
	}
	return integers(compiler, op, first ? number : a, second ? number : b, out);
}

struct mt_error *mt_compile_binary(struct mt_compiler *compiler, const struct mt_node *node,
				   struct mt_operand *out)
{
	struct mt_operand left = {0}, right = {0};

	if (node->op == ',') {
		mt_try(mt_compile_node(compiler, node->left, &left));
		return mt_compile_node(compiler, node->right, out);
	}
	if (node->op == '@')
		return mt_cannot_compile("it makes an array with @");
	if (mt_is_float(compiler, node->left) || mt_is_float(compiler, node->right))
		return mt_compile_float_binary(compiler, node, out);
	mt_try(mt_compile_two(compiler, node, &left, &right));
	struct mt_type *a = mt_type_strip(left.value.type), *b = mt_type_strip(right.value.type);
	if (a->kind == MT_TYPE_POINTER || b->kind == MT_TYPE_POINTER)
		return mt_compile_pointers(compiler, node->op, &left, &right, out);
	mt_type_expand(a);
	mt_type_expand(b);
	return integers(compiler, node->op, a, b, out);
}
