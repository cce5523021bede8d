/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees to code.  Types and rules are those of core/expr; what it refuses is refused here with the
 * same words. */
#include "engine/calls/condition/code.h"
#include "values/go.h"

#include <string.h>

#define MOST_DEPTH 200

struct mt_error *mt_too_complex(void)
{
	return mt_cannot_compile("it is too complex");
}

struct mt_error *mt_compile_value(struct mt_compiler *compiler, const struct mt_node *node,
				  struct mt_operand *out)
{
	mt_try(mt_compile_node(compiler, node, out));
	return mt_operand_decay(compiler, out);
}

/* ---- One operand ---- */

static struct mt_error *dereference(struct mt_compiler *compiler, struct mt_operand *operand,
				    struct mt_operand *out)
{
	struct mt_type *type;

	mt_try(mt_operand_decay(compiler, operand));
	type = mt_type_strip(operand->value.type);
	if (type->kind == MT_TYPE_POINTER &&
	    mt_type_strip(mt_type_target(type))->kind == MT_TYPE_VOID)
		return mt_error_new(MT_ERROR_USAGE, "Attempt to dereference a generic pointer.");
	mt_try(mt_eval_no_operator(type, "*"));
	if (type->kind != MT_TYPE_POINTER && type->kind != MT_TYPE_INT)
		return mt_error_new(MT_ERROR_USAGE,
				    "Attempt to take contents of a non-pointer value.");
	mt_try(mt_operand_load(compiler, operand, MT_ASM_RAX));
	*out = mt_operand_at_rax(type->kind == MT_TYPE_POINTER
				     ? mt_type_target(type)
				     : mt_type_builtin(compiler->eval.program, MT_BUILTIN_LONG));
	return NULL;
}

static struct mt_error *address_of(struct mt_compiler *compiler, const struct mt_node *node,
				   struct mt_operand *out)
{
	struct mt_operand operand;
	struct mt_type *type;

	mt_try(mt_compile_node(compiler, node, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	if (operand.kind != MT_OPERAND_MEMORY || operand.value.bit_size)
		return mt_cannot_compile("it takes the address of what lies in a register");
	type = mt_type_pointer_to(operand.value.type);
	if (!type)
		return mt_error_no_memory();
	mt_operand_address(compiler, &operand);
	*out = mt_operand_in_rax(type);
	return NULL;
}

/* The type that a value of TYPE has in arithmetic. */
static struct mt_type *promoted(struct mt_compiler *compiler, struct mt_type *type)
{
	struct mt_type *stripped = mt_type_strip(type);

	return mt_type_is_integer_kind(stripped) && mt_type_size(stripped) < 4
		   ? mt_type_builtin(compiler->eval.program, MT_BUILTIN_INT)
		   : type;
}

static struct mt_error *sign_or_complement(struct mt_compiler *compiler, const struct mt_node *node,
					   struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_operand operand;
	struct mt_type *type;

	if (mt_is_float(compiler, node->left))
		return mt_compile_float_sign(compiler, node, out);
	mt_try(mt_compile_node(compiler, node->left, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	mt_try(mt_eval_no_operator(mt_type_strip(operand.value.type),
				   (const char[]){(char)node->op, '\0'}));
	mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
	if (!mt_type_is_integer_kind(mt_type_strip(operand.value.type)))
		return mt_error_new(MT_ERROR_USAGE,
				    "Argument to arithmetic operation not a number or boolean.");
	if (node->op == '-')
		mt_asm(code, 0x48, 0xf7, 0xd8); /* neg rax */
	else if (node->op == '~')
		mt_asm(code, 0x48, 0xf7, 0xd0); /* not rax */
	*out = mt_operand_in_rax(promoted(compiler, operand.value.type));
	type = mt_type_strip(out->value.type);
	mt_type_expand(type);
	mt_asm_extend(code, MT_ASM_RAX, mt_type_size(type), type->is_signed);
	return NULL;
}

static struct mt_error *unary(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_operand *out)
{
	struct mt_operand operand;

	switch (node->op) {
	case '&':
		return address_of(compiler, node->left, out);
	case '*':
		mt_try(mt_compile_node(compiler, node->left, &operand));
		return dereference(compiler, &operand, out);
	case MT_OP_INCREMENT:
	case MT_OP_DECREMENT:
		return mt_cannot_compile("it changes the program");
	default:
		return sign_or_complement(compiler, node, out);
	}
}

static struct mt_error *cast(struct mt_compiler *compiler, const struct mt_node *node,
			     struct mt_operand *out)
{
	struct mt_type *to = mt_type_strip(node->type), *from;
	struct mt_operand operand;

	if (node->left->kind == MT_NODE_TYPE)
		return mt_error_new(MT_ERROR_USAGE, "Attempt to use a type name as an expression");
	mt_try(mt_compile_node(compiler, node->left, &operand));
	mt_try(mt_operand_unreference(compiler, &operand));
	from = mt_type_strip(operand.value.type);
	if (from->kind == MT_TYPE_ERROR && operand.kind == MT_OPERAND_MEMORY) {
		*out = operand;
		out->value.type = node->type;
		return NULL;
	}
	*out = mt_operand_in_rax(node->type);
	if (to->kind == MT_TYPE_FLOAT)
		return mt_cast_to_float(compiler, &operand, to);
	if (!mt_type_is_integer_kind(to) && to->kind != MT_TYPE_POINTER)
		return mt_cannot_compile("it casts to something else than a number or a pointer");
	mt_try(mt_operand_decay(compiler, &operand));
	from = mt_type_strip(operand.value.type);
	if (from->kind == MT_TYPE_FLOAT)
		mt_try(mt_cast_from_float(compiler, &operand));
	mt_try(mt_operand_load(compiler, &operand, MT_ASM_RAX));
	if (to->kind == MT_TYPE_POINTER && from->kind == MT_TYPE_POINTER)
		mt_try(mt_compile_class_move(compiler, mt_type_target(from), mt_type_target(to)));
	mt_type_expand(to);
	if (to->kind == MT_TYPE_BOOL) {
		mt_asm(&compiler->code, 0x48, 0x85, 0xc0); /* test rax, rax */
		mt_asm(&compiler->code, 0x0f, 0x95, 0xc0); /* setne al */
	}
	mt_asm_extend(&compiler->code, MT_ASM_RAX, mt_type_size(to), to->is_signed);
	return NULL;
}

/* ---- Parts ---- */

static struct mt_error *member(struct mt_compiler *compiler, const struct mt_node *node,
			       struct mt_operand *out)
{
	struct mt_operand whole;

	mt_try(mt_compile_node(compiler, node->left, &whole));
	mt_try(mt_operand_unreference(compiler, &whole));
	if (mt_type_strip(whole.value.type)->kind == MT_TYPE_POINTER)
		mt_try(dereference(compiler, &whole, &whole));
	return mt_compile_member_of(compiler, node, &whole, out);
}

/* What NODE is of lies in registers, and is no reference, which leads to memory. */
static bool is_in_registers(const struct mt_node *node)
{
	while (node->kind == MT_NODE_MEMBER && !node->through_pointer)
		node = node->left;
	return node->kind == MT_NODE_REGISTER ||
	       (node->kind == MT_NODE_VARIABLE && node->variable->kind == MT_VARIABLE_ABI &&
		node->variable->entry.piece_count && !node->variable->entry.by_reference &&
		!mt_type_is_reference(mt_type_strip(node->variable->type)));
}

/* An array in registers has no address: its elements are known by constants. */
static struct mt_error *element_in_registers(struct mt_compiler *compiler,
					     const struct mt_node *node, struct mt_operand *out)
{
	struct mt_value index;
	uint64_t number;

	if (node->right->kind != MT_NODE_VALUE)
		return mt_cannot_compile("it needs the address of what lies in a register");
	mt_try(mt_compile_node(compiler, node->left, out));
	mt_try(mt_eval(&compiler->eval, node->right, &index));
	mt_try(mt_value_get(&compiler->eval, &index, &number));
	struct mt_type *type = mt_type_strip(out->value.type), *target = mt_type_target(type);
	if (type->count < 0 || number - (uint64_t)type->low >= (uint64_t)type->count)
		return mt_cannot_compile("it is behind the end of an array");
	out->value.type = target;
	out->value.address += (number - (uint64_t)type->low) * mt_type_size(target);
	return NULL;
}

static struct mt_error *element(struct mt_compiler *compiler, const struct mt_node *node,
				struct mt_operand *out)
{
	struct mt_operand array, index, address;
	struct mt_type *type =
	    is_in_registers(node->left) ? mt_eval_type_of(&compiler->eval, node->left) : NULL;

	if (type && mt_type_strip(type)->kind == MT_TYPE_ARRAY)
		return element_in_registers(compiler, node, out);
	type = mt_eval_type_of(&compiler->eval, node->left);
	if (type && mt_type_is_go_map(type))
		return mt_cannot_compile("it looks up a key in a map");
	if (type && mt_type_is_go_slice(type))
		return mt_cannot_compile("it subscripts a slice or a string, within its length");
	mt_try(mt_compile_two(compiler, node, &array, &index));
	if (mt_type_strip(array.value.type)->kind != MT_TYPE_POINTER ||
	    mt_type_strip(index.value.type)->kind == MT_TYPE_POINTER)
		return mt_cannot_compile("it subscripts something else than an array or a pointer");
	mt_try(mt_compile_pointers(compiler, '+', &array, &index, &address));
	return dereference(compiler, &address, out);
}

/* ---- All ---- */

/* 1 or 0. */
static struct mt_error *logic(struct mt_compiler *compiler, const struct mt_node *node,
			      struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label no = {0}, done = {0};

	struct mt_error *error = mt_compile_truth(compiler, node, false, &no);
	mt_asm_set(code, MT_ASM_RAX, 1);
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &no);
	mt_asm_set(code, MT_ASM_RAX, 0);
	mt_asm_bind(code, &done);
	*out = mt_operand_in_rax(mt_eval_bool(&compiler->eval, true).type);
	return error;
}

static struct mt_error *load_side(struct mt_compiler *compiler, const struct mt_node *node,
				  struct mt_operand *out)
{
	mt_try(mt_compile_value(compiler, node, out));
	return mt_is_float_type(out->value.type)
		   ? mt_operand_to_double(compiler, out, out->value.type)
		   : mt_operand_load(compiler, out, MT_ASM_RAX);
}

/* Each side as what it is; the one that is not chosen is not computed. */
static struct mt_error *conditional(struct mt_compiler *compiler, const struct mt_node *node,
				    struct mt_operand *out)
{
	struct mt_asm *code = &compiler->code;
	struct mt_asm_label no = {0}, done = {0};
	struct mt_operand second = {0};

	struct mt_error *error = mt_compile_truth(compiler, node->left, false, &no);
	if (!error)
		error = load_side(compiler, node->right, out);
	mt_asm_jump(code, MT_ASM_ALWAYS, &done);
	mt_asm_bind(code, &no);
	if (!error)
		error = load_side(compiler, node->third, &second);
	mt_asm_bind(code, &done);
	if (error)
		return error;
	*out = mt_operand_in_rax(out->value.type);
	return mt_type_same(mt_type_strip(out->value.type), mt_type_strip(second.value.type))
		   ? NULL
		   : mt_cannot_compile("the sides of ?: have different types");
}

static struct mt_error *constant(struct mt_compiler *compiler, const struct mt_node *node,
				 struct mt_operand *out)
{
	*out = (struct mt_operand){.kind = MT_OPERAND_CONSTANT};
	mt_try(mt_eval(&compiler->eval, node, &out->value));
	if (out->value.lval == MT_LVAL_NONE)
		return NULL;
	out->kind = MT_OPERAND_MEMORY; /* a function */
	return NULL;
}

static struct mt_error *compile_node(struct mt_compiler *compiler, const struct mt_node *node,
				     struct mt_operand *out)
{
	struct mt_value value;

	if (mt_is_logic(node))
		return logic(compiler, node, out);
	switch (node->kind) {
	case MT_NODE_VALUE:
	case MT_NODE_FUNCTION:
	case MT_NODE_SIZEOF:
	case MT_NODE_ALIGNOF:
		return constant(compiler, node, out);
	case MT_NODE_VARIABLE:
		return mt_operand_of_variable(compiler, node->variable, out);
	case MT_NODE_REGISTER:
		mt_try(mt_register_value(&compiler->eval, node->reg, &value));
		return mt_operand_of_register(node->reg, &value, out);
	case MT_NODE_UNARY:
		return unary(compiler, node, out);
	case MT_NODE_BINARY:
		return mt_compile_binary(compiler, node, out);
	case MT_NODE_CAST:
		return cast(compiler, node, out);
	case MT_NODE_MEMBER:
		return member(compiler, node, out);
	case MT_NODE_INDEX:
		return element(compiler, node, out);
	case MT_NODE_AT_ADDRESS:
		mt_try(mt_compile_value(compiler, node->left, out));
		mt_try(mt_operand_load(compiler, out, MT_ASM_RAX));
		*out = mt_operand_at_rax(node->type);
		return NULL;
	case MT_NODE_CONDITIONAL:
		return conditional(compiler, node, out);
	case MT_NODE_ASSIGN:
		return mt_cannot_compile("it changes the program");
	case MT_NODE_CALL:
		if (mt_named_function_of(node))
			return mt_compile_number_of(compiler, node, out);
		return mt_cannot_compile("it calls a function");
	case MT_NODE_TYPE:
		return mt_error_new(MT_ERROR_USAGE, "Attempt to use a type name as an expression");
	case MT_NODE_CONVENIENCE:
		if (strcmp(node->name, "_thread") == 0) {
			mt_asm_thread_number(&compiler->code);
			*out = mt_operand_in_rax(
			    mt_type_builtin(compiler->eval.program, MT_BUILTIN_INT));
			return NULL;
		}
		if (compiler->code.place.measure.looks_up && strcmp(node->name, "_duration") == 0) {
			mt_asm_duration(&compiler->code);
			*out = mt_operand_in_rax(
			    mt_type_builtin(compiler->eval.program, MT_BUILTIN_LONG));
			return NULL;
		}
		return mt_cannot_compile("$%s is a variable of the debugger", node->name);
	default:
		return mt_cannot_compile("it has an operator that is not compiled");
	}
}

struct mt_error *mt_compile_node(struct mt_compiler *compiler, const struct mt_node *node,
				 struct mt_operand *out)
{
	if (compiler->eval.depth >= MOST_DEPTH)
		return mt_too_complex();
	compiler->eval.depth++;
	struct mt_error *error = compile_node(compiler, node, out);
	compiler->eval.depth--;
	return error;
}
