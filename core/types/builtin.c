/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types that need no DWARF: of literals, of registers, of what has no debug information. */
#include "types/program.h"

#include <string.h>

static const struct builtin {
	const char *name;
	uint8_t which, kind, size;
	bool is_signed;
} table[] = {
    {"void", MT_BUILTIN_VOID, MT_TYPE_VOID, 1, false},
    {"char", MT_BUILTIN_CHAR, MT_TYPE_CHAR, 1, true},
    {"signed char", MT_BUILTIN_SCHAR, MT_TYPE_CHAR, 1, true},
    {"unsigned char", MT_BUILTIN_UCHAR, MT_TYPE_CHAR, 1, false},
    {"short", MT_BUILTIN_SHORT, MT_TYPE_INT, 2, true},
    {"unsigned short", MT_BUILTIN_USHORT, MT_TYPE_INT, 2, false},
    {"int", MT_BUILTIN_INT, MT_TYPE_INT, 4, true},
    {"unsigned int", MT_BUILTIN_UINT, MT_TYPE_INT, 4, false},
    {"long", MT_BUILTIN_LONG, MT_TYPE_INT, 8, true},
    {"unsigned long", MT_BUILTIN_ULONG, MT_TYPE_INT, 8, false},
    {"long long", MT_BUILTIN_LLONG, MT_TYPE_INT, 8, true},
    {"unsigned long long", MT_BUILTIN_ULLONG, MT_TYPE_INT, 8, false},
    {"__int128", MT_BUILTIN_INT128, MT_TYPE_INT, 16, true},
    {"unsigned __int128", MT_BUILTIN_UINT128, MT_TYPE_INT, 16, false},
    {"bool", MT_BUILTIN_BOOL, MT_TYPE_BOOL, 1, false},
    {"float", MT_BUILTIN_FLOAT, MT_TYPE_FLOAT, 4, true},
    {"double", MT_BUILTIN_DOUBLE, MT_TYPE_FLOAT, 8, true},
    {"long double", MT_BUILTIN_LDOUBLE, MT_TYPE_FLOAT, 16, true},
    {"_Float16", MT_BUILTIN_HALF, MT_TYPE_FLOAT, 2, true},
    {"bfloat16", MT_BUILTIN_BFLOAT16, MT_TYPE_FLOAT, 2, true},
    {"wchar_t", MT_BUILTIN_WCHAR, MT_TYPE_CHAR, 4, true},
    {"char16_t", MT_BUILTIN_CHAR16, MT_TYPE_CHAR, 2, false},
    {"char32_t", MT_BUILTIN_CHAR32, MT_TYPE_CHAR, 4, false},
    {"int8_t", MT_BUILTIN_INT8, MT_TYPE_INT, 1, true},
    {"uint8_t", MT_BUILTIN_UINT8, MT_TYPE_INT, 1, false},
    {"int16_t", MT_BUILTIN_INT16, MT_TYPE_INT, 2, true},
    {"uint16_t", MT_BUILTIN_UINT16, MT_TYPE_INT, 2, false},
    {"int32_t", MT_BUILTIN_INT32, MT_TYPE_INT, 4, true},
    {"uint32_t", MT_BUILTIN_UINT32, MT_TYPE_INT, 4, false},
    {"int64_t", MT_BUILTIN_INT64, MT_TYPE_INT, 8, true},
    {"uint64_t", MT_BUILTIN_UINT64, MT_TYPE_INT, 8, false},
    {"<data variable, no debug info>", MT_BUILTIN_NODEBUG_DATA, MT_TYPE_ERROR, 0, false},
    {"<text variable, no debug info>", MT_BUILTIN_NODEBUG_TEXT, MT_TYPE_FUNCTION, 1, false},
    {"<thread local variable, no debug info>", MT_BUILTIN_NODEBUG_TLS, MT_TYPE_ERROR, 0, false},
    {"<error type>", MT_BUILTIN_ERROR, MT_TYPE_ERROR, 0, false},
};

struct mt_type *mt_type_new(struct mt_expr_program *program, uint8_t kind, uint64_t size,
			    const char *name)
{
	struct mt_type *type = mt_arena_zalloc(&program->arena, sizeof(*type));

	if (!type)
		return NULL;
	type->program = program;
	type->kind = kind;
	type->size = size;
	type->size_known = true;
	type->expanded = true;
	type->target_known = true;
	type->is_builtin = true;
	type->name = name;
	return type;
}

struct mt_error *mt_type_init_builtins(struct mt_expr_program *program)
{
	struct mt_type **builtins = program->builtins;

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		const struct builtin *item = &table[i];
		struct mt_type *type = mt_type_new(program, item->kind, item->size, item->name);

		if (!type)
			return mt_error_no_memory();
		type->is_signed = item->is_signed;
		builtins[item->which] = type;
	}
	builtins[MT_BUILTIN_NODEBUG_TEXT]->target = builtins[MT_BUILTIN_INT];
	builtins[MT_BUILTIN_DATA_POINTER] = mt_type_pointer_to(builtins[MT_BUILTIN_VOID]);
	builtins[MT_BUILTIN_CODE_POINTER] =
	    mt_type_pointer_to(mt_type_function_returning(builtins[MT_BUILTIN_VOID]));
	return builtins[MT_BUILTIN_CODE_POINTER] && builtins[MT_BUILTIN_DATA_POINTER]
		   ? NULL
		   : mt_error_no_memory();
}

struct mt_type *mt_type_builtin(struct mt_expr_program *program, enum mt_builtin which)
{
	return program->builtins[which];
}

struct mt_type *mt_type_pointer_to(struct mt_type *type)
{
	if (!type || type->pointer)
		return type ? type->pointer : NULL;
	type->pointer = mt_type_new(type->program, MT_TYPE_POINTER, 8, NULL);
	if (type->pointer) {
		type->pointer->target = type;
		type->pointer->language = type->language;
	}
	return type->pointer;
}

static struct mt_type *derive(struct mt_type *type, uint8_t kind, uint64_t size)
{
	struct mt_type *derived = mt_type_new(type->program, kind, size, NULL);

	if (derived) {
		derived->target = type;
		derived->language = type->language;
	}
	return derived;
}

struct mt_type *mt_type_reference_to(struct mt_type *type, bool rvalue)
{
	return derive(type, rvalue ? MT_TYPE_RVALUE_REFERENCE : MT_TYPE_REFERENCE, 8);
}

struct mt_type *mt_type_array_of(struct mt_type *type, int64_t low, int64_t count)
{
	struct mt_type *array = derive(type, MT_TYPE_ARRAY, 0);

	if (array) {
		array->low = low;
		array->count = count;
		array->size_known = false;
	}
	return array;
}

struct mt_type *mt_type_vector_of(struct mt_type *type, int64_t count, const char *name)
{
	struct mt_type *vector = type ? mt_type_array_of(type, 0, count) : NULL;

	if (vector) {
		vector->is_vector = true;
		vector->name = name;
	}
	return vector;
}

struct mt_type *mt_type_qualify(struct mt_type *type, bool is_const, bool is_volatile)
{
	struct mt_type *qualified;

	if (!is_const && !is_volatile)
		return type;
	qualified = derive(type, MT_TYPE_QUALIFIED, 0);
	if (qualified) {
		qualified->is_const = is_const;
		qualified->is_volatile = is_volatile;
		qualified->size_known = false;
	}
	return qualified;
}

struct mt_type *mt_type_function_returning(struct mt_type *type)
{
	return type ? derive(type, MT_TYPE_FUNCTION, 1) : NULL;
}
