/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What decides: comparisons and logic, as jumps. */
#include "engine/calls/condition/code.h"

static bool is_comparison(int op)
{
	return op == '<' || op == '>' || op == MT_OP_LESS_EQUAL || op == MT_OP_GREATER_EQUAL ||
	       op == MT_OP_EQUAL || op == MT_OP_NOT_EQUAL;
}

bool mt_is_logic(const struct mt_node *node)
{
	const enum mt_named_function function = mt_named_function_of(node);

	if (node->kind == MT_NODE_UNARY)
		return node->op == '!';
	if (function)
		return function != MT_NAMED_STRLEN && function != MT_NAMED_PYTHON_HASH;
	return node->kind == MT_NODE_BINARY &&
	       (node->op == MT_OP_AND || node->op == MT_OP_OR || is_comparison(node->op));
}

/* The jump that is taken if OP holds; the opposite one is its neighbour. */
static enum mt_asm_jump jump_of(int op, bool is_signed)
{
	switch (op) {
	case '<':
		return is_signed ? MT_ASM_LESS : MT_ASM_BELOW;
	case '>':
		return is_signed ? MT_ASM_GREATER : MT_ASM_ABOVE;
	case MT_OP_LESS_EQUAL:
		return is_signed ? MT_ASM_LESS_EQUAL : MT_ASM_BELOW_EQUAL;
	case MT_OP_GREATER_EQUAL:
		return is_signed ? MT_ASM_GREATER_EQUAL : MT_ASM_ABOVE_EQUAL;
	case MT_OP_EQUAL:
		return MT_ASM_EQUAL;
	default:
		return MT_ASM_NOT_EQUAL;
	}
}

static bool is_pointer(const struct mt_operand *operand)
{
	return mt_type_strip(operand->value.type)->kind == MT_TYPE_POINTER;
}

static struct mt_error *compare(struct mt_compiler *compiler, const struct mt_node *node,
				bool wanted, struct mt_asm_label *label)
{
	struct mt_operand left, right;
	bool is_signed = false;

	if (mt_is_float(compiler, node->left) || mt_is_float(compiler, node->right))
		return mt_compile_floats(compiler, node, jump_of(node->op, true) ^ !wanted, wanted,
					 label);
	mt_try(mt_compile_two(compiler, node, &left, &right));
	if (!is_pointer(&left) && !is_pointer(&right)) {
		struct mt_type *a = mt_type_strip(left.value.type);
		struct mt_type *b = mt_type_strip(right.value.type);
		struct mt_type *type = mt_eval_common_type(compiler->eval.program, a, b);

		is_signed = type->is_signed;
		mt_asm_extend(&compiler->code, MT_ASM_RAX, mt_type_size(type), is_signed);
		mt_asm_extend(&compiler->code, MT_ASM_RCX, mt_type_size(type), is_signed);
	}
	mt_asm(&compiler->code, 0x48, 0x39, 0xc8); /* cmp rax, rcx */
	mt_asm_jump(&compiler->code, jump_of(node->op, is_signed) ^ !wanted, label);
	return NULL;
}

/* The right side of && where the left is false, and of || where it is true, is not computed. */
static struct mt_error *both_or_any(struct mt_compiler *compiler, const struct mt_node *node,
				    bool wanted, struct mt_asm_label *label)
{
	const bool decides = node->op == MT_OP_OR;
	struct mt_asm_label out = {0};

	if (wanted == decides) {
		mt_try(mt_compile_truth(compiler, node->left, wanted, label));
		return mt_compile_truth(compiler, node->right, wanted, label);
	}
	struct mt_error *error = mt_compile_truth(compiler, node->left, decides, &out);
	if (!error)
		error = mt_compile_truth(compiler, node->right, wanted, label);
	mt_asm_bind(&compiler->code, &out);
	return error;
}

static struct mt_error *value(struct mt_compiler *compiler, const struct mt_node *node, bool wanted,
			      struct mt_asm_label *label)
{
	struct mt_operand operand;
	struct mt_type *type;

	if (mt_is_float(compiler, node))
		return mt_compile_float_truth(compiler, node, wanted, label);
	mt_try(mt_compile_node(compiler, node, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	type = mt_type_strip(operand.value.type);
	if (type->kind == MT_TYPE_VOID) {
		if (!wanted)
			mt_asm_jump(&compiler->code, MT_ASM_ALWAYS, label);
		return NULL;
	}
	if (type->kind == MT_TYPE_ARRAY || type->kind == MT_TYPE_FUNCTION)
		mt_try(mt_operand_decay(compiler, &operand));
	mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
	mt_asm(&compiler->code, 0x48, 0x85, 0xc0); /* test rax, rax */
	mt_asm_jump(&compiler->code, wanted ? MT_ASM_NOT_EQUAL : MT_ASM_EQUAL, label);
	return NULL;
}

struct mt_error *mt_compile_truth(struct mt_compiler *compiler, const struct mt_node *node,
				  bool wanted, struct mt_asm_label *label)
{
	if (!mt_is_logic(node))
		return value(compiler, node, wanted, label);
	if (node->kind == MT_NODE_CALL)
		return mt_compile_function(compiler, node, wanted, label);
	if (node->kind == MT_NODE_UNARY)
		return mt_compile_truth(compiler, node->left, !wanted, label);
	return is_comparison(node->op) ? compare(compiler, node, wanted, label)
				       : both_or_any(compiler, node, wanted, label);
}
