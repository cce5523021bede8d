/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operators with two operands, and what members mean. */
#include "expr/node.h"

#include <string.h>

struct mt_value mt_eval_bool(struct mt_eval *eval, bool is_true)
{
	return mt_value_integer(
	    mt_type_builtin(eval->program,
			    eval->language == MT_LANGUAGE_C || eval->language == MT_LANGUAGE_ASM
				? MT_BUILTIN_INT
				: MT_BUILTIN_BOOL),
	    is_true);
}

static struct mt_error *not_a_number(void)
{
	return mt_error_new(MT_ERROR_USAGE,
			    "Argument to arithmetic operation not a number or boolean.");
}

static bool is_number(const struct mt_type *type)
{
	return mt_type_is_integer_kind(type) || type->kind == MT_TYPE_FLOAT;
}

struct mt_error *mt_eval_truth(struct mt_eval *eval, struct mt_value *value, bool *is_true)
{
	struct mt_type *type;
	uint64_t bits;
	long double number;

	mt_try(mt_value_unreference(eval, value));
	type = mt_type_strip(value->type);
	if (type->kind == MT_TYPE_ARRAY || type->kind == MT_TYPE_FUNCTION) {
		*is_true = value->lval != MT_LVAL_MEMORY || value->address;
		return NULL;
	}
	if (type->kind == MT_TYPE_FLOAT) {
		mt_try(mt_value_get_float(eval, value, &number));
		*is_true = number != 0;
		return NULL;
	}
	if (type->kind == MT_TYPE_VOID) {
		*is_true = false;
		return NULL;
	}
	mt_try(mt_value_get(eval, value, &bits));
	*is_true = bits != 0;
	return NULL;
}

static bool is_comparison(int op)
{
	return op == '<' || op == '>' || op == MT_OP_LESS_EQUAL || op == MT_OP_GREATER_EQUAL ||
	       op == MT_OP_EQUAL || op == MT_OP_NOT_EQUAL;
}

#define COMPARE(op, a, b)                                                                          \
	((op) == '<'                   ? (a) < (b)                                                 \
	 : (op) == '>'                 ? (a) > (b)                                                 \
	 : (op) == MT_OP_LESS_EQUAL    ? (a) <= (b)                                                \
	 : (op) == MT_OP_GREATER_EQUAL ? (a) >= (b)                                                \
	 : (op) == MT_OP_EQUAL         ? (a) == (b)                                                \
				       : (a) != (b))

/* A whole number is one of TYPE first, and that is what is computed in. */
static long double as_type(struct mt_type *type, long double number)
{
	return mt_type_size(type) == sizeof(float)    ? (float)number
	       : mt_type_size(type) == sizeof(double) ? (double)number
						      : number;
}

#define COMPUTE(op, a, b)                                                                          \
	((op) == '+' ? (a) + (b) : (op) == '-' ? (a) - (b) : (op) == '*' ? (a) * (b) : (a) / (b))

/* Rounded once: what a long double keeps of it, rounded again, may be another number. */
static long double compute_as(struct mt_type *type, int op, long double x, long double y)
{
	switch (mt_type_size(type)) {
	case sizeof(float):
		return COMPUTE(op, (float)x, (float)y);
	case sizeof(double):
		return COMPUTE(op, (double)x, (double)y);
	default:
		return COMPUTE(op, x, y);
	}
}

static struct mt_error *floats(struct mt_eval *eval, int op, struct mt_value *left,
			       struct mt_value *right, struct mt_value *out)
{
	struct mt_type *a = mt_type_strip(left->type), *b = mt_type_strip(right->type);
	struct mt_type *type = a->kind != MT_TYPE_FLOAT || (b->kind == MT_TYPE_FLOAT &&
							    mt_type_size(b) > mt_type_size(a))
				   ? right->type
				   : left->type;
	long double x, y;

	mt_try(mt_value_get_float(eval, left, &x));
	mt_try(mt_value_get_float(eval, right, &y));
	x = as_type(type, x);
	y = as_type(type, y);
	if (is_comparison(op)) {
		*out = mt_eval_bool(eval, COMPARE(op, x, y));
		return NULL;
	}
	if (op != '+' && op != '-' && op != '*' && op != '/')
		return mt_error_new(MT_ERROR_USAGE,
				    "Integer-only operation on floating point number.");
	*out = mt_value_float(type, compute_as(type, op, x, y));
	return NULL;
}

struct mt_type *mt_eval_common_type(struct mt_expr_program *program, struct mt_type *a,
				    struct mt_type *b)
{
	uint64_t left = mt_type_size(a), right = mt_type_size(b), size;
	bool left_unsigned = !a->is_signed && left >= 4,
	     right_unsigned = !b->is_signed && right >= 4;
	bool is_unsigned;

	left = left < 4 ? 4 : left;
	right = right < 4 ? 4 : right;
	is_unsigned = left > right   ? left_unsigned
		      : right > left ? right_unsigned
				     : left_unsigned || right_unsigned;
	size = left > right ? left : right;
	return mt_type_builtin(
	    program, size <= 4   ? (is_unsigned ? MT_BUILTIN_UINT : MT_BUILTIN_INT)
		     : size <= 8 ? (is_unsigned ? MT_BUILTIN_ULONG : MT_BUILTIN_LONG)
				 : (is_unsigned ? MT_BUILTIN_UINT128 : MT_BUILTIN_INT128));
}

static struct mt_error *divide(int op, bool is_signed, uint64_t x, uint64_t y, uint64_t *out)
{
	if (!y)
		return mt_error_new(MT_ERROR_USAGE, "Division by zero");
	if (!is_signed)
		*out = op == '/' ? x / y : x % y;
	else if ((int64_t)y == -1)
		*out = op == '/' ? -x : 0;
	else
		*out = (uint64_t)(op == '/' ? (int64_t)x / (int64_t)y : (int64_t)x % (int64_t)y);
	return NULL;
}

static uint64_t shift(int op, bool is_signed, uint64_t x, uint64_t by, unsigned bits)
{
	if (by >= bits)
		return op == MT_OP_SHIFT_RIGHT && is_signed && (int64_t)x < 0 ? UINT64_MAX : 0;
	if (op == MT_OP_SHIFT_LEFT)
		return x << by;
	return is_signed ? (uint64_t)((int64_t)x >> by) : x >> by;
}

static struct mt_error *compute(int op, struct mt_type *type, uint64_t x, uint64_t y, uint64_t *out)
{
	switch (op) {
	case '+':
		*out = x + y;
		return NULL;
	case '-':
		*out = x - y;
		return NULL;
	case '*':
		*out = x * y;
		return NULL;
	case '/':
	case '%':
		return divide(op, type->is_signed, x, y, out);
	case '&':
		*out = x & y;
		return NULL;
	case '|':
		*out = x | y;
		return NULL;
	case '^':
		*out = x ^ y;
		return NULL;
	case MT_OP_SHIFT_LEFT:
	case MT_OP_SHIFT_RIGHT:
		*out = shift(op, type->is_signed, x, y, (unsigned)mt_type_size(type) * 8);
		return NULL;
	default:
		return not_a_number();
	}
}

static struct mt_error *integers(struct mt_eval *eval, int op, struct mt_value *left,
				 struct mt_value *right, struct mt_value *out)
{
	struct mt_type *a = mt_type_strip(left->type), *b = mt_type_strip(right->type), *type;
	bool is_shift = op == MT_OP_SHIFT_LEFT || op == MT_OP_SHIFT_RIGHT;
	uint64_t x, y, result = 0;
	unsigned bits;

	mt_type_expand(a);
	mt_type_expand(b);
	type = mt_eval_common_type(eval->program, a, is_shift ? a : b);
	bits = (unsigned)mt_type_size(type) * 8;
	mt_try(mt_value_get(eval, left, &x));
	mt_try(mt_value_get(eval, right, &y));
	x = mt_extend(x, bits, type->is_signed);
	if (!is_shift)
		y = mt_extend(y, bits, type->is_signed);
	if (is_comparison(op)) {
		*out = mt_eval_bool(eval, type->is_signed ? COMPARE(op, (int64_t)x, (int64_t)y)
							  : COMPARE(op, x, y));
		return NULL;
	}
	if (!eval->no_side_effects || y || (op != '/' && op != '%'))
		mt_try(compute(op, type, x, y, &result));
	*out = mt_value_integer(type, mt_extend(result, bits, type->is_signed));
	return NULL;
}

uint64_t mt_eval_target_size(struct mt_type *pointer)
{
	struct mt_type *target = mt_type_strip(mt_type_target(pointer));
	uint64_t size = mt_type_size(target);

	return size && target->kind != MT_TYPE_VOID && target->kind != MT_TYPE_FUNCTION ? size : 1;
}

static struct mt_error *pointers(struct mt_eval *eval, int op, struct mt_value *left,
				 struct mt_value *right, struct mt_value *out)
{
	struct mt_type *a = mt_type_strip(left->type), *b = mt_type_strip(right->type);
	bool both = a->kind == MT_TYPE_POINTER && b->kind == MT_TYPE_POINTER;
	uint64_t x, y;

	mt_try(mt_value_get(eval, left, &x));
	mt_try(mt_value_get(eval, right, &y));
	if (is_comparison(op)) {
		*out = mt_eval_bool(eval, COMPARE(op, x, y));
		return NULL;
	}
	if (both && op == '-') {
		if (mt_eval_target_size(a) != mt_eval_target_size(b))
			return mt_error_new(
			    MT_ERROR_USAGE,
			    "First argument of `-' is a pointer and second argument is neither\n"
			    "an integer nor a pointer of the same type.");
		*out = mt_value_integer(
		    mt_type_builtin(eval->program, MT_BUILTIN_LONG),
		    (uint64_t)((int64_t)(x - y) / (int64_t)mt_eval_target_size(a)));
		return NULL;
	}
	if (op == '+' && !both) {
		bool first = a->kind == MT_TYPE_POINTER;

		*out = first ? mt_value_integer(left->type, x + y * mt_eval_target_size(a))
			     : mt_value_integer(right->type, y + x * mt_eval_target_size(b));
		return NULL;
	}
	if (op == '-' && a->kind == MT_TYPE_POINTER) {
		*out = mt_value_integer(left->type, x - y * mt_eval_target_size(a));
		return NULL;
	}
	/* Anything else is done with the address as a number. */
	left->type = a->kind == MT_TYPE_POINTER ? mt_type_builtin(eval->program, MT_BUILTIN_LONG)
						: left->type;
	right->type = b->kind == MT_TYPE_POINTER ? mt_type_builtin(eval->program, MT_BUILTIN_LONG)
						 : right->type;
	return integers(eval, op, left, right, out);
}

struct mt_error *mt_eval_no_operator(const struct mt_type *type, const char *name)
{
	if (type->kind != MT_TYPE_STRUCT)
		return NULL;
	return mt_error_new(MT_ERROR_USAGE, "Structure has no component named operator%s.", name);
}

static const char *text_of(int op, char buffer[2])
{
	switch (op) {
	case MT_OP_EQUAL:
		return "==";
	case MT_OP_NOT_EQUAL:
		return "!=";
	case MT_OP_LESS_EQUAL:
		return "<=";
	case MT_OP_GREATER_EQUAL:
		return ">=";
	case MT_OP_SHIFT_LEFT:
		return "<<";
	case MT_OP_SHIFT_RIGHT:
		return ">>";
	default:
		buffer[0] = (char)op;
		buffer[1] = '\0';
		return buffer;
	}
}

/* Unions and vectors: they may be equal. */
static struct mt_error *others(struct mt_eval *eval, int op, struct mt_value *left,
			       struct mt_value *right, struct mt_value *out)
{
	struct mt_type *a = mt_type_strip(left->type), *b = mt_type_strip(right->type);
	uint64_t size = mt_type_size(a);
	char buffer[2];
	bool is_equal;

	mt_try(mt_eval_no_operator(a, text_of(op, buffer)));
	mt_try(mt_eval_no_operator(b, text_of(op, buffer)));
	if ((op != MT_OP_EQUAL && op != MT_OP_NOT_EQUAL) || size != mt_type_size(b) ||
	    a->kind != b->kind)
		return not_a_number();
	mt_try(mt_value_need(eval, left));
	mt_try(mt_value_need(eval, right));
	is_equal = memcmp(mt_value_bytes(left), mt_value_bytes(right), size) == 0;
	*out = mt_eval_bool(eval, is_equal == (op == MT_OP_EQUAL));
	return NULL;
}

struct mt_error *mt_eval_binary(struct mt_eval *eval, int op, struct mt_value *left,
				struct mt_value *right, struct mt_value *out)
{
	struct mt_type *a, *b;

	mt_try(mt_value_decay(eval, left));
	mt_try(mt_value_decay(eval, right));
	a = mt_type_strip(left->type);
	b = mt_type_strip(right->type);
	if (is_number(a) && is_number(b))
		return a->kind == MT_TYPE_FLOAT || b->kind == MT_TYPE_FLOAT
			   ? floats(eval, op, left, right, out)
			   : integers(eval, op, left, right, out);
	if ((a->kind == MT_TYPE_POINTER &&
	     (b->kind == MT_TYPE_POINTER || mt_type_is_integer_kind(b))) ||
	    (b->kind == MT_TYPE_POINTER && mt_type_is_integer_kind(a)))
		return pointers(eval, op, left, right, out);
	return others(eval, op, left, right, out);
}
