/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value that a function is made to return, put where its caller expects it (System V ABI for
 * AMD64, section 3.2.3). */
#include "expr/node.h"
#include "space/unwind.h"

#include <string.h>

/* The type that the function returns; without DWARF, the one that the user casts to. */
static struct mt_error *find_type(struct mt_eval *eval, const struct mt_expr *expr,
				  uint64_t function, struct mt_type **out)
{
	struct mt_module *module;
	Dwarf_Die die;

	mt_try(mt_program_update(eval->program));
	module = mt_program_module_at(eval->program, function);
	*out = NULL;
	if (module && mt_scope_function(module, function - module->bias, &die)) {
		*out = mt_type_of(module, &die);
		if (!*out)
			*out = mt_type_builtin(eval->program, MT_BUILTIN_VOID);
	} else if (expr->root && expr->root->kind == MT_NODE_CAST) {
		*out = expr->root->type;
	}
	return *out ? NULL
		    : mt_error_new(MT_ERROR_USAGE,
				   "Return value type not available for selected stack frame.\n"
				   "Please use an explicit cast of the value to return.");
}

static void put(struct mt_expr_given *out, unsigned number, const uint8_t *bytes, uint64_t size)
{
	uint8_t *to = out->parts[out->count].bytes;

	out->parts[out->count++].number = number;
	memcpy(to, bytes, size < 8 ? size : 8);
}

static struct mt_error *place(struct mt_eval *eval, struct mt_value *value,
			      struct mt_expr_given *out)
{
	unsigned integers = 0, floats = 0;
	bool is_sse[2] = {false};
	uint64_t size = mt_type_size(value->type);
	size_t count = 0;

	if (mt_type_strip(value->type)->kind == MT_TYPE_VOID)
		return NULL;
	if (!mt_entry_classes(value->type, is_sse, &count))
		return mt_error_new(
		    MT_ERROR_UNSUPPORTED,
		    "A value of this type is not returned in registers; return without one, and "
		    "set it in the caller.");
	mt_try(mt_value_need(eval, value));
	for (size_t i = 0; i < count && i * 8 < size; i++)
		put(out,
		    is_sse[i] ? MT_REGISTER_XMM0 + floats++
			      : (unsigned)MT_REGISTER_RAX + integers++,
		    mt_value_bytes(value) + i * 8, size - i * 8);
	return NULL;
}

struct mt_error *mt_expr_give(struct mt_expr *expr, uint64_t function,
			      const struct mt_expr_frame *frame, struct mt_expr_given *out)
{
	struct mt_arena arena = {0};
	struct mt_eval eval = {
	    .program = expr->program, .frame = frame, .arena = &arena, .language = expr->language};
	struct mt_value value, wanted;
	struct mt_type *type;

	*out = (struct mt_expr_given){0};
	if (!expr->root)
		return NULL;
	struct mt_error *error = mt_eval(&eval, expr->root, &value);
	if (!error)
		error = find_type(&eval, expr, function, &type);
	if (!error)
		error = mt_value_cast(&eval, &value, type, &wanted);
	if (!error)
		error = place(&eval, &wanted, out);
	mt_arena_deinit(&arena);
	return error;
}
