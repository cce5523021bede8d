/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values in words, of any type; and what the letters of /FMT make of them. */
#include "print/container.h"
#include "values/go.h"

#include <ctype.h>
#include <string.h>

static void print_error(struct mt_print *print, struct mt_error *error)
{
	mt_str_appendf(print->out, "<error: %s>", mt_error_message(error));
	mt_error_destroy(error);
}

static void print_reference(struct mt_print *print, struct mt_value *value)
{
	struct mt_value target;
	uint64_t address = 0;
	bool leads_on;
	struct mt_error *error = mt_value_get(print->eval, value, &address);

	if (error) {
		print_error(print, error);
		return;
	}
	leads_on = !print->in_reference && !print->depth;
	if (leads_on)
		error = mt_value_dereference(print->eval, value, &target);
	if (!error && leads_on)
		error = mt_value_fetch(print->eval, &target);
	if (error) {
		mt_str_appendf(print->out, "<error reading variable: %s>", mt_error_message(error));
		mt_error_destroy(error);
		return;
	}
	if (print->settings->address)
		mt_str_appendf(print->out, "@0x%llx%s", (unsigned long long)address,
			       leads_on ? ": " : "");
	if (!leads_on)
		return;
	print->in_reference++;
	mt_print_value(print, &target);
	print->in_reference--;
}

static bool is_method_pointer(struct mt_type *type)
{
	return type->kind == MT_TYPE_MEMBER_POINTER &&
	       mt_type_strip(mt_type_target(type))->kind == MT_TYPE_FUNCTION;
}

static void print_kind(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	if (type->language == MT_LANGUAGE_RUST && type->name && strcmp(type->name, "()") == 0) {
		mt_str_append(print->out, "()");
		return;
	}
	switch (type->kind) {
	case MT_TYPE_VOID:
		mt_str_append(print->out, "void");
		break;
	case MT_TYPE_STRUCT:
	case MT_TYPE_UNION:
		mt_print_aggregate(print, value);
		break;
	case MT_TYPE_ARRAY:
		mt_print_array(print, value);
		break;
	case MT_TYPE_REFERENCE:
	case MT_TYPE_RVALUE_REFERENCE:
		print_reference(print, value);
		break;
	case MT_TYPE_FUNCTION:
		mt_str_append(print->out, "{");
		mt_type_name(value->type, NULL, print->out);
		mt_str_appendf(print->out, "} ");
		mt_print_address(print, value->address, true);
		break;
	case MT_TYPE_ERROR:
		mt_str_append(print->out, type->name ? type->name : "<error type>");
		break;
	default:
		mt_print_scalar(print, value);
	}
}

static bool is_partial(const struct mt_type *type)
{
	return mt_type_is_aggregate(type) || type->kind == MT_TYPE_ARRAY;
}

/* A reference to such an object is shown as the object. */
static bool print_library_type(struct mt_print *print, struct mt_value *value, struct mt_type *type)
{
	struct mt_value target;

	if (!mt_type_is_reference(type))
		return mt_print_library_type(print, value);
	if (value->is_optimized_out || value->is_implicit_pointer ||
	    mt_type_strip(mt_type_target(type))->kind != MT_TYPE_STRUCT)
		return false;
	struct mt_error *error = mt_value_dereference(print->eval, value, &target);
	bool is_printed = !error && mt_print_library_type(print, &target);
	mt_error_destroy(error);
	return is_printed;
}

void mt_print_value(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type);
	struct mt_error *error;

	if (print_library_type(print, value, type))
		return;
	if (print->is_summary && is_partial(type) && type->kind != MT_TYPE_ARRAY) {
		mt_str_append(print->out, "...");
		return;
	}
	if (value->is_optimized_out ||
	    (!is_partial(type) && mt_value_hole(value, 0, value->holes ? mt_type_size(type) : 0))) {
		mt_str_append(print->out,
			      value->is_unavailable ? "<not saved>" : "<optimized out>");
		return;
	}
	if (value->is_implicit_pointer) {
		mt_str_append(print->out, "<synthetic pointer>");
		return;
	}
	if (type->kind != MT_TYPE_FUNCTION) {
		error = mt_value_fetch(print->eval, value);
		if (error) {
			print_error(print, error);
			return;
		}
	}
	if (print->format && print->format->letter && print->format->letter != 's' &&
	    !mt_type_is_aggregate(type) && type->kind != MT_TYPE_ARRAY &&
	    type->kind != MT_TYPE_FUNCTION && type->kind != MT_TYPE_VOID &&
	    type->kind != MT_TYPE_ERROR && !is_method_pointer(type))
		mt_print_format(print, value, print->format);
	else
		print_kind(print, value, type);
}

/* Pointers (but to characters) and references say what they are. */
static bool tells_type(struct mt_print *print, struct mt_value *value)
{
	struct mt_type *type = mt_type_strip(value->type), *target;

	if (print->format && print->format->letter && print->format->letter != 's' &&
	    print->format->letter != 'a')
		return false;
	if (print->format && print->format->letter == 'a')
		return false;
	if (value->is_optimized_out)
		return false;
	if (mt_type_is_reference(type))
		return true;

	if (mt_type_is_go_map(value->type) && !mt_print_is_raw(print))
		return false;
	if (type->kind != MT_TYPE_POINTER)
		return false;
	if (mt_type_unqualified(value->type)->kind == MT_TYPE_TYPEDEF)
		return true;
	/* `char *` alone needs no word, by whatever name. */
	target = mt_type_target(type);
	return !(!value->type->name && mt_type_unqualified(target)->name &&
		 strcmp(mt_type_unqualified(target)->name, "char") == 0) &&
	       !mt_type_is_text(target);
}

struct mt_error *mt_print_top(struct mt_print *print, struct mt_value *value)
{
	if (mt_type_strip(value->type)->kind == MT_TYPE_FUNCTION && print->format &&
	    print->format->letter && print->format->letter != 's')
		return mt_error_new(MT_ERROR_USAGE, "Value can't be converted to integer.");
	if (!value->is_optimized_out && mt_type_strip(value->type)->kind != MT_TYPE_FUNCTION)
		mt_try(mt_value_fetch(print->eval, value));
	if (tells_type(print, value)) {
		mt_str_append(print->out, "(");
		mt_type_name(value->type, NULL, print->out);
		mt_str_append(print->out, ") ");
	}
	mt_print_value(print, value);
	return NULL;
}

struct mt_error *mt_value_print(const struct mt_value *value, const struct mt_expr_frame *frame,
				const struct mt_expr_format *format, struct mt_str *out)
{
	struct mt_expr_program *program = value->type->program;
	struct mt_arena arena = {0};
	struct mt_eval eval = {.program = program, .frame = frame, .arena = &arena};
	struct mt_print print = {
	    .eval = &eval, .settings = &program->user->settings, .format = format, .out = out};
	struct mt_value copy = *value;
	struct mt_error *error = mt_print_top(&print, &copy);

	mt_arena_deinit(&arena);
	return error ? error : out->failed ? mt_error_no_memory() : NULL;
}
