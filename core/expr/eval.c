/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees to values. */
#include "expr/node.h"

#include <string.h>

#define MOST_DEPTH 2000

static struct mt_error *eval_lvalue(struct mt_eval *eval, const struct mt_node *node,
				    struct mt_value *out);

static struct mt_error *dereference(struct mt_eval *eval, struct mt_value *value,
				    struct mt_value *out)
{
	struct mt_type *type;
	uint64_t address;

	mt_try(mt_value_unreference(eval, value));
	type = mt_type_strip(value->type);
	if (type->kind == MT_TYPE_ARRAY)
		return mt_value_element(eval, value, type->low, out);
	if (type->kind == MT_TYPE_FUNCTION) {
		*out = *value;
		return NULL;
	}
	if (type->kind == MT_TYPE_POINTER &&
	    mt_type_strip(mt_type_target(type))->kind == MT_TYPE_VOID && !eval->no_side_effects)
		return mt_error_new(MT_ERROR_USAGE, "Attempt to dereference a generic pointer.");
	mt_try(mt_eval_no_operator(type, "*"));
	if (type->kind == MT_TYPE_POINTER) {
		mt_try(mt_value_dereference(eval, value, out));
		if (mt_type_strip(out->type)->kind == MT_TYPE_FUNCTION)
			out->is_lazy = false;
		return NULL;
	}
	if (type->kind != MT_TYPE_INT)
		return mt_error_new(MT_ERROR_USAGE,
				    "Attempt to take contents of a non-pointer value.");
	mt_try(mt_value_get(eval, value, &address));
	*out = mt_value_at(mt_type_builtin(eval->program, MT_BUILTIN_LONG), address);
	return NULL;
}

static struct mt_error *address_of(struct mt_eval *eval, const struct mt_node *node,
				   struct mt_value *out)
{
	struct mt_value value;
	const char *name = node->kind == MT_NODE_VARIABLE ? node->variable->name : NULL;

	mt_try(eval_lvalue(eval, node, &value));
	mt_try(mt_value_unreference(eval, &value));
	if (name && value.lval == MT_LVAL_REGISTER)
		return mt_error_new(
		    MT_ERROR_USAGE,
		    "Address requested for identifier \"%s\" which is in a register", name);
	if (name && value.lval != MT_LVAL_MEMORY)
		return mt_error_new(MT_ERROR_USAGE,
				    "Can't take address of \"%s\" which isn't an lvalue.", name);
	return mt_value_address(eval, &value, out);
}

struct mt_error *mt_eval_promote(struct mt_eval *eval, struct mt_value *value)
{
	struct mt_type *type;
	struct mt_value wider;

	mt_try(mt_value_unreference(eval, value));
	type = mt_type_strip(value->type);
	if (!mt_type_is_integer_kind(type) || mt_type_size(type) >= 4)
		return type->kind == MT_TYPE_ENUM || type->kind == MT_TYPE_BOOL
			   ? mt_value_fetch(eval, value)
			   : NULL;
	mt_try(mt_value_cast(eval, value, mt_type_builtin(eval->program, MT_BUILTIN_INT), &wider));
	*value = wider;
	return NULL;
}

/* Unary plus, minus and ~. */
static struct mt_error *sign_or_complement(struct mt_eval *eval, int op, struct mt_value *value,
					   struct mt_value *out)
{
	struct mt_type *type;
	long double number;
	uint64_t bits;

	mt_try(mt_eval_promote(eval, value));
	type = mt_type_strip(value->type);
	mt_try(mt_eval_no_operator(type, op == '-' ? "-" : op == '~' ? "~" : "+"));
	if (type->kind == MT_TYPE_FLOAT && op != '~') {
		mt_try(mt_value_get_float(eval, value, &number));
		*out = mt_value_float(value->type, op == '-' ? 0 - number : number);
		return NULL;
	}
	if (!mt_type_is_integer_kind(type))
		return mt_error_new(
		    MT_ERROR_USAGE,
		    op == '~'   ? "Argument to complement operation not an integer, boolean."
		    : op == '-' ? "Argument to arithmetic operation not a number or boolean."
				: "Argument to positive operation not a number.");
	mt_try(mt_value_get(eval, value, &bits));
	bits = op == '-' ? -bits : op == '~' ? ~bits : bits;
	*out = mt_value_integer(value->type,
				mt_extend(bits, (unsigned)mt_type_size(type) * 8, type->is_signed));
	return NULL;
}

static struct mt_error *eval_unary(struct mt_eval *eval, const struct mt_node *node,
				   struct mt_value *out)
{
	struct mt_value value;
	bool is_true;

	if (node->op == '&')
		return address_of(eval, node->left, out);
	if (node->op == MT_OP_INCREMENT || node->op == MT_OP_DECREMENT) {
		struct mt_value place, before,
		    one = mt_value_integer(mt_type_builtin(eval->program, MT_BUILTIN_INT), 1);

		mt_try(eval_lvalue(eval, node->left, &place));
		before = place;
		mt_try(mt_value_fetch(eval, &before));
		*out = before;
		mt_try(mt_eval_binary(eval, node->op == MT_OP_INCREMENT ? '+' : '-', &before, &one,
				      &before));
		mt_try(mt_value_assign(eval, &place, &before, &before));
		if (!node->postfix)
			*out = before;
		return NULL;
	}
	mt_try(mt_eval(eval, node->left, &value));
	switch (node->op) {
	case '*':
		return dereference(eval, &value, out);
	case '!':
		mt_try(mt_eval_no_operator(mt_type_strip(value.type), "!"));
		mt_try(mt_eval_truth(eval, &value, &is_true));
		*out = mt_eval_bool(eval, !is_true);
		return NULL;
	default:
		return sign_or_complement(eval, node->op, &value, out);
	}
}

static struct mt_error *eval_sizeof(struct mt_eval *eval, const struct mt_node *node,
				    struct mt_value *out)
{
	struct mt_eval quiet = *eval;
	struct mt_value value = {0};
	struct mt_type *type = node->left->type;

	quiet.no_side_effects = true;
	if (node->left->kind != MT_NODE_TYPE) {
		mt_try(eval_lvalue(&quiet, node->left, &value));
		type = value.type;
		if (value.bit_size)
			type = mt_type_unqualified(type);
	}
	if (mt_type_is_reference(mt_type_strip(type)))
		type = mt_type_target(mt_type_strip(type));
	/* An int, as GDB has it. */
	*out = mt_value_integer(mt_type_builtin(eval->program, MT_BUILTIN_INT),
				node->kind == MT_NODE_SIZEOF ? mt_type_size(type)
							     : mt_type_align(type));
	return NULL;
}

static struct mt_error *eval_cast(struct mt_eval *eval, const struct mt_node *node,
				  struct mt_value *out)
{
	struct mt_value value;

	if (node->left->kind == MT_NODE_TYPE)
		return mt_error_new(MT_ERROR_USAGE, "Attempt to use a type name as an expression");
	mt_try(eval_lvalue(eval, node->left, &value));
	return mt_value_cast(eval, &value, node->type, out);
}

static struct mt_error *eval_at_address(struct mt_eval *eval, const struct mt_node *node,
					struct mt_value *out)
{
	struct mt_value value;
	uint64_t address;

	mt_try(mt_eval(eval, node->left, &value));
	mt_try(mt_value_decay(eval, &value));
	mt_try(mt_value_get(eval, &value, &address));
	*out = mt_value_at(node->type, address);
	return NULL;
}

/* Of one of Rust's slices its pointer. */
static struct mt_error *slice_start(struct mt_eval *eval, struct mt_value *array)
{
	struct mt_type *type = mt_type_strip(array->type);
	struct mt_value whole = *array;

	if (type->language != MT_LANGUAGE_RUST || type->kind != MT_TYPE_STRUCT)
		return NULL;
	mt_type_expand(type);
	if (type->member_count != 2 || !type->members[0].name ||
	    strcmp(type->members[0].name, "data_ptr") != 0)
		return NULL;
	return mt_value_member(eval, &whole, &type->members[0], array);
}

static struct mt_error *eval_index(struct mt_eval *eval, const struct mt_node *node,
				   struct mt_value *out)
{
	struct mt_value array, index;
	struct mt_type *type;
	uint64_t bits;

	mt_try(mt_eval(eval, node->left, &array));
	mt_try(mt_eval(eval, node->right, &index));
	mt_try(mt_value_unreference(eval, &array));
	mt_try(mt_value_unreference(eval, &index));
	bool is_done;
	mt_try(mt_eval_go_index(eval, &array, &index, out, &is_done));
	if (is_done)
		return NULL;
	mt_try(slice_start(eval, &array));
	type = mt_type_strip(array.type);
	mt_try(mt_eval_no_operator(type, "[]"));
	if (type->kind != MT_TYPE_ARRAY && type->kind != MT_TYPE_POINTER) {
		mt_auto(mt_str) struct mt_str name = {0};

		mt_type_name(array.type, NULL, &name);
		return mt_error_new(MT_ERROR_USAGE, "cannot subscript something of type `%s'",
				    name.text ? name.text : "?");
	}
	mt_try(mt_value_get(eval, &index, &bits));
	if (type->kind == MT_TYPE_ARRAY)
		return mt_value_element(eval, &array, (int64_t)bits, out);
	mt_try(mt_eval_binary(eval, '+', &array, &index, &array));
	return dereference(eval, &array, out);
}

static struct mt_error *eval_two(struct mt_eval *eval, const struct mt_node *node,
				 struct mt_value *out)
{
	struct mt_value left, right;

	if (node->op == MT_OP_AND || node->op == MT_OP_OR) {
		struct mt_value value;
		bool is_true;

		mt_try(mt_eval(eval, node->left, &value));
		mt_try(mt_eval_truth(eval, &value, &is_true));
		if (is_true == (node->op == MT_OP_AND)) {
			mt_try(mt_eval(eval, node->right, &value));
			mt_try(mt_eval_truth(eval, &value, &is_true));
		}
		*out = mt_eval_bool(eval, is_true);
		return NULL;
	}
	if (node->op == '@') {
		struct mt_value first, count;
		uint64_t number;

		mt_try(mt_eval(eval, node->left, &first));
		mt_try(mt_value_unreference(eval, &first));
		mt_try(mt_eval(eval, node->right, &count));
		mt_try(mt_value_get(eval, &count, &number));
		if (first.lval != MT_LVAL_MEMORY)
			return mt_error_new(MT_ERROR_USAGE,
					    "Only values in memory can be extended with '@'.");
		if ((int64_t)number < 1 || number > INT32_MAX)
			return mt_error_new(MT_ERROR_USAGE, "Invalid number %lld of repetitions.",
					    (long long)number);
		*out = mt_value_at(mt_type_array_of(first.type, 0, (int64_t)number), first.address);
		return out->type ? NULL : mt_error_no_memory();
	}
	mt_try(mt_eval(eval, node->left, &left));
	mt_try(mt_eval(eval, node->right, &right));
	if (node->op == ',') {
		*out = right;
		return NULL;
	}
	return mt_eval_binary(eval, node->op, &left, &right, out);
}

static struct mt_error *eval_conditional(struct mt_eval *eval, const struct mt_node *node,
					 struct mt_value *out)
{
	struct mt_value value;
	bool is_true;

	mt_try(mt_eval(eval, node->left, &value));
	mt_try(mt_eval_truth(eval, &value, &is_true));
	return mt_eval(eval, is_true ? node->right : node->third, out);
}

static struct mt_error *eval_node(struct mt_eval *eval, const struct mt_node *node,
				  struct mt_value *out)
{
	switch (node->kind) {
	case MT_NODE_VALUE:
		*out = node->value;
		return NULL;
	case MT_NODE_VARIABLE:
		return mt_variable_value(eval, node->variable, out);
	case MT_NODE_ENTRY:
		return mt_call_site_parameter(eval, node->variable, out);
	case MT_NODE_FUNCTION:
		*out = mt_value_at(node->type, (uint64_t)node->number);
		out->is_lazy = false;
		return NULL;
	case MT_NODE_REGISTER:
		return mt_register_value(eval, node->reg, out);
	case MT_NODE_CONVENIENCE: {
		const struct mt_convenience *variable =
		    mt_convenience_get(eval->program, node->name);

		*out = variable ? variable->value
				: mt_value_zero(mt_type_builtin(eval->program, MT_BUILTIN_VOID));
		out->lval = MT_LVAL_CONVENIENCE;
		out->convenience = node->name;
		return NULL;
	}
	case MT_NODE_HISTORY:
		return mt_history_get(eval->program, node->absolute, node->number, out);
	case MT_NODE_UNARY:
		return eval_unary(eval, node, out);
	case MT_NODE_SIZEOF:
	case MT_NODE_ALIGNOF:
		return eval_sizeof(eval, node, out);
	case MT_NODE_BINARY:
		return eval_two(eval, node, out);
	case MT_NODE_ASSIGN: {
		struct mt_value place, value, now;

		mt_try(eval_lvalue(eval, node->left, &place));
		mt_try(mt_eval(eval, node->right, &value));
		if (!node->op)
			return mt_value_assign(eval, &place, &value, out);
		now = place;
		mt_try(mt_value_fetch(eval, &now));
		mt_try(mt_eval_binary(eval, node->op, &now, &value, &now));
		return mt_value_assign(eval, &place, &now, out);
	}
	case MT_NODE_CONDITIONAL:
		return eval_conditional(eval, node, out);
	case MT_NODE_CAST:
		return eval_cast(eval, node, out);
	case MT_NODE_AT_ADDRESS:
		return eval_at_address(eval, node, out);
	case MT_NODE_MEMBER:
		return mt_eval_member(eval, node, out);
	case MT_NODE_INDEX:
		return eval_index(eval, node, out);
	case MT_NODE_CALL:
		if (mt_named_function_of(node))
			return mt_eval_named_function(eval, node, out);
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "mtdb does not call functions of the program from expressions.");
	case MT_NODE_ASSERTION:
		return mt_eval_go_assertion(eval, node, out);
	default:
		return mt_error_new(MT_ERROR_USAGE, "Attempt to use a type name as an expression");
	}
}

/* It may have no type, when only the linker knows it. */
static struct mt_error *eval_lvalue(struct mt_eval *eval, const struct mt_node *node,
				    struct mt_value *out)
{
	struct mt_error *error;

	if (eval->depth >= MOST_DEPTH)
		return mt_error_new(MT_ERROR_USAGE, "The expression is nested too deeply.");
	eval->depth++;
	error = eval_node(eval, node, out);
	eval->depth--;
	return error;
}

struct mt_error *mt_eval(struct mt_eval *eval, const struct mt_node *node, struct mt_value *out)
{
	mt_try(eval_lvalue(eval, node, out));
	if (node->kind == MT_NODE_VARIABLE && !node->variable->die.addr)
		return mt_error_new(MT_ERROR_USAGE,
				    "'%s' has unknown type; cast it to its declared type",
				    node->variable->name);
	return NULL;
}

struct mt_error *mt_expr_evaluate_noting(struct mt_expr *expr, const struct mt_expr_frame *frame,
					 struct mt_expr_reads *reads, struct mt_value **out)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = expr->program,
			       .frame = frame,
			       .arena = &arena,
			       .language = expr->language,
			       .reads = reads};
	struct mt_value value = mt_value_zero(mt_type_builtin(expr->program, MT_BUILTIN_VOID));
	struct mt_error *error = NULL;

	if (expr->root)
		error = mt_eval(&eval, expr->root, &value);
	if (!error)
		error = mt_value_fetch(&eval, &value);
	if (!error)
		error = mt_value_hand_out(&value, out);
	mt_arena_deinit(&arena);
	return error;
}

struct mt_error *mt_expr_evaluate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				  struct mt_value **out)
{
	return mt_expr_evaluate_noting(expr, frame, NULL, out);
}

static struct mt_error *is_true_by(struct mt_expr *expr, const struct mt_expr_frame *frame,
				   struct mt_cfa_rule *rule, bool *is_true)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = expr->program,
			       .frame = frame,
			       .arena = &arena,
			       .language = expr->language,
			       .cfa_rule = rule};
	struct mt_value value;
	struct mt_error *error = NULL;

	*is_true = true;
	if (expr->root)
		error = mt_eval(&eval, expr->root, &value);
	if (!error && expr->root)
		error = mt_eval_truth(&eval, &value, is_true);
	mt_arena_deinit(&arena);
	return error;
}

struct mt_error *mt_expr_is_true(struct mt_expr *expr, const struct mt_expr_frame *frame,
				 bool *is_true)
{
	return is_true_by(expr, frame, &expr->cfa_rule, is_true);
}

struct mt_error *mt_expr_is_true_within(struct mt_expr *expr, const struct mt_expr_frame *frame,
					bool *is_true)
{
	return is_true_by(expr, frame, NULL, is_true);
}
