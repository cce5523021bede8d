/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts that a watchpoint needs of its expression: which memory its value comes from, and where
 * it means anything.
 *
 * Values are read when they are needed, so that what was read is just what the value depends on: of
 * `p->next` that is p and the member, and nothing else of *p. */
#include "expr/node.h"
#include "expr/regex.h"

#include <dwarf.h>
#include <inttypes.h>
#include <string.h>

static bool is_constant(const struct mt_node *node)
{
	if (!node)
		return true;
	switch (node->kind) {
	case MT_NODE_VALUE:
	case MT_NODE_FUNCTION:
	case MT_NODE_TYPE:
	case MT_NODE_SIZEOF:
	case MT_NODE_ALIGNOF:
		return true;
	case MT_NODE_UNARY:
		return (node->op == '-' || node->op == '+' || node->op == '!' || node->op == '~') &&
		       is_constant(node->left);
	case MT_NODE_BINARY:
	case MT_NODE_CONDITIONAL:
	case MT_NODE_CAST:
	case MT_NODE_MEMBER:
	case MT_NODE_INDEX:
		return !node->through_pointer && is_constant(node->left) &&
		       is_constant(node->right) && is_constant(node->third);
	default:
		return false;
	}
}

bool mt_expr_is_constant(const struct mt_expr *expr)
{
	return expr->root && is_constant(expr->root);
}

static bool is_of_frame(const Dwarf_Op *operation)
{
	switch (operation->atom) {
	case DW_OP_reg0 ... DW_OP_reg31:
	case DW_OP_breg0 ... DW_OP_breg31:
	case DW_OP_regx:
	case DW_OP_bregx:
	case DW_OP_fbreg:
	case DW_OP_call_frame_cfa:
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return true;
	default:
		return false;
	}
}

/* A list of locations, of which one holds at a place in the code. */
static bool is_list(struct mt_variable *variable)
{
	unsigned form =
	    variable->attribute.valp ? dwarf_whatform(&variable->attribute) : DW_FORM_exprloc;

	return form == DW_FORM_sec_offset || form == DW_FORM_loclistx || form == DW_FORM_data4;
}

static bool variable_needs_frame(struct mt_variable *variable)
{
	if (variable->kind == MT_VARIABLE_ABI)
		return true;
	if (variable->kind != MT_VARIABLE_LOCATION)
		return variable->kind == MT_VARIABLE_OPTIMIZED_OUT && is_list(variable);
	for (size_t i = 0; i < variable->count; i++)
		if (is_of_frame(&variable->operations[i]))
			return true;
	return is_list(variable);
}

/* The first one; NULL: none. */
static const struct mt_node *find_node(const struct mt_node *node,
				       bool (*is_wanted)(const struct mt_node *node))
{
	if (!node || is_wanted(node))
		return node;
	const struct mt_node *const parts[] = {node->left, node->right, node->third, node->next};
	const struct mt_node *found = NULL;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !found; i++)
		found = find_node(parts[i], is_wanted);
	return found;
}

static bool any_node(const struct mt_node *node, bool (*is_wanted)(const struct mt_node *node))
{
	return find_node(node, is_wanted);
}

static bool needs_frame(const struct mt_node *node)
{
	return node->kind == MT_NODE_ENTRY ||
	       (node->kind == MT_NODE_VARIABLE && variable_needs_frame(node->variable));
}

bool mt_expr_needs_frame(const struct mt_expr *expr)
{
	return any_node(expr->root, needs_frame);
}

static bool is_bound(const struct mt_node *node)
{
	return node->kind == MT_NODE_ENTRY ||
	       (node->kind == MT_NODE_VARIABLE && is_list(node->variable));
}

bool mt_expr_is_bound(const struct mt_expr *expr)
{
	return any_node(expr->root, is_bound);
}

static bool is_assignment(const struct mt_node *node)
{
	return node->kind == MT_NODE_ASSIGN ||
	       (node->kind == MT_NODE_UNARY &&
		(node->op == MT_OP_INCREMENT || node->op == MT_OP_DECREMENT));
}

static bool is_debuggers(const struct mt_node *node)
{
	if (is_assignment(node))
		return true;
	if (node->kind == MT_NODE_CONVENIENCE)
		return mt_named_function_of_name(node->name) == MT_NAMED_NONE &&
		       strcmp(node->name, "_duration") != 0 && strcmp(node->name, "_thread") != 0;
	return node->kind == MT_NODE_HISTORY ||
	       (node->kind == MT_NODE_CALL && !mt_named_function_of(node));
}

/* NODE's call of $_regex, if it is one, has a pattern that is known here, as far as can be said. */
static struct mt_error *check_pattern(const struct mt_node *node)
{
	mt_auto(mt_regex) struct mt_regex regex = {0};

	if (mt_named_function_of(node) != MT_NAMED_REGEX)
		return NULL;
	mt_try(mt_check_arguments(node));
	const struct mt_node *pattern = node->right->next;
	return pattern->kind == MT_NODE_VALUE ? mt_literal_pattern(pattern, &regex) : NULL;
}

static bool is_bad_pattern(const struct mt_node *node)
{
	struct mt_error *error = check_pattern(node);
	const bool is_bad = error;

	mt_error_destroy(error);
	return is_bad;
}

struct mt_error *mt_expr_check_alone(const struct mt_expr *expr)
{
	const struct mt_node *node = find_node(expr->root, is_debuggers);

	if (!node)
		node = find_node(expr->root, is_bad_pattern);
	if (!node)
		return NULL;
	if (mt_named_function_of(node))
		return check_pattern(node);
	if (is_assignment(node))
		return mt_error_new(MT_ERROR_USAGE, "Nothing is assigned (\"==\" compares).");
	if (node->kind == MT_NODE_CALL && node->left->kind != MT_NODE_CONVENIENCE)
		return mt_error_new(MT_ERROR_USAGE, "Functions of the program are not called.");
	const char *name = node->kind == MT_NODE_CALL ? node->left->name : node->name;
	return mt_error_new(MT_ERROR_USAGE, "$%s is known to a debugger alone.", name ? name : "");
}

struct mt_error *mt_expr_locate(struct mt_expr *expr, const struct mt_expr_frame *frame,
				struct mt_str *out)
{
	mt_auto(mt_str) struct mt_str name = {0};
	struct mt_value *value = NULL;
	struct mt_error *error = mt_expr_evaluate(expr, frame, &value);

	if (!error && value->lval != MT_LVAL_MEMORY)
		error = mt_error_new(MT_ERROR_USAGE,
				     "Attempt to take address of value not located in memory.");
	if (!error && value->bit_size)
		error = mt_error_new(MT_ERROR_USAGE, "Attempt to take address of a bit field.");
	if (!error) {
		mt_type_name(value->type, NULL, &name);
		mt_str_appendf(out, "* (%s *) 0x%" PRIx64, name.text ? name.text : "char",
			       value->address);
	}
	mt_value_destroy(value);
	return !error && (name.failed || out->failed) ? mt_error_no_memory() : error;
}
