/* SPDX-License-Identifier: GPL-3.0-or-later */
/* $rdi, $eax, $al, $sp, $xmm0 …: registers with the types that GDB gives them. */
#include "values/registers.h"
#include "values/user.h"

#include <string.h>

/* The same as GDB's union vec128, whose members are arrays. */
static struct mt_type *vector_type(struct mt_expr_program *program)
{
	static const struct {
		const char *name, *type_name;
		uint8_t element, count;
	} members[] = {
	    {"v8_bfloat16", "v8bf16", MT_BUILTIN_BFLOAT16, 8},
	    {"v8_half", "v8hf", MT_BUILTIN_HALF, 8},
	    {"v4_float", "v4f", MT_BUILTIN_FLOAT, 4},
	    {"v2_double", "v2d", MT_BUILTIN_DOUBLE, 2},
	    {"v16_int8", "v16i8", MT_BUILTIN_INT8, 16},
	    {"v8_int16", "v8i16", MT_BUILTIN_INT16, 8},
	    {"v4_int32", "v4i32", MT_BUILTIN_INT32, 4},
	    {"v2_int64", "v2i64", MT_BUILTIN_INT64, 2},
	    {"uint128", NULL, MT_BUILTIN_UINT128, 1},
	};
	const size_t count = sizeof(members) / sizeof(*members);
	struct mt_type *type = program->user->vector;

	if (type)
		return type;
	type = mt_type_new(program, MT_TYPE_UNION, 16, "vec128");
	if (!type)
		return NULL;
	type->members = mt_arena_zalloc(&program->arena, count * sizeof(*type->members));
	if (!type->members)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		struct mt_type *element = program->builtins[members[i].element];

		type->members[i].name = members[i].name;
		type->members[i].type =
		    members[i].count == 1
			? element
			: mt_type_vector_of(element, members[i].count, members[i].type_name);
		if (!type->members[i].type)
			return NULL;
	}
	type->member_count = count;
	type->is_vector = true;
	program->user->vector = type;
	return type;
}

static struct mt_type *integer_type(struct mt_expr_program *program,
				    const struct mt_register_name *reg)
{
	if (reg->number >= MT_REGISTER_FS_BASE && reg->number <= MT_REGISTER_ORIG_RAX)
		return program->builtins[MT_BUILTIN_LONG];
	if (reg->number >= MT_REGISTER_ES && reg->number <= MT_REGISTER_GS)
		return program->builtins[MT_BUILTIN_INT32];
	switch (reg->size) {
	case 1:
		return program->builtins[MT_BUILTIN_INT8];
	case 2:
		return program->builtins[MT_BUILTIN_INT16];
	case 4:
		return program->builtins[MT_BUILTIN_INT32];
	default:
		return program->builtins[MT_BUILTIN_INT64];
	}
}

static struct mt_type *type_of(struct mt_expr_program *program, const struct mt_register_name *reg)
{
	switch (reg->shape) {
	case MT_SHAPE_DATA_POINTER:
		return program->builtins[MT_BUILTIN_DATA_POINTER];
	case MT_SHAPE_CODE_POINTER:
		return program->builtins[MT_BUILTIN_CODE_POINTER];
	case MT_SHAPE_VECTOR:
		return vector_type(program);
	case MT_SHAPE_X87:
		return program->builtins[MT_BUILTIN_LDOUBLE];
	case MT_SHAPE_FLAGS:
	case MT_SHAPE_MXCSR: {
		struct mt_type **type =
		    reg->name[0] == 'm' ? &program->user->mxcsr : &program->user->eflags;

		if (!*type)
			*type = mt_type_new(program, MT_TYPE_INT, 4,
					    reg->name[0] == 'm' ? "i386_mxcsr" : "i386_eflags");
		return *type;
	}
	default:
		return integer_type(program, reg);
	}
}

struct mt_error *mt_register_value(struct mt_eval *eval, const struct mt_register_name *reg,
				   struct mt_value *out)
{
	const struct mt_expr_frame *frame = eval->frame;
	struct mt_type *type = type_of(eval->program, reg);
	uint8_t bytes[32] = {0};

	if (!type)
		return mt_error_no_memory();
	*out = mt_value_zero(type);
	if (!frame->ops || !frame->ops->get_register) {
		/* As GDB: without a process registers have no value. */
		return mt_error_new(MT_ERROR_NOT_FOUND, "No registers.");
	}
	mt_note_register(eval);
	out->lval = MT_LVAL_REGISTER;
	out->register_number = reg->number;
	out->address = reg->offset;
	if (!frame->ops->get_register(frame->context, reg->number, bytes,
				      (size_t)reg->size + reg->offset)) {
		out->is_optimized_out = true;
		out->is_unavailable = true; /* <not saved> */
		return NULL;
	}
	memcpy(out->small, bytes + reg->offset, reg->size);
	return NULL;
}
