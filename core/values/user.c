/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "values/user.h"

#include <string.h>

static const struct mt_expr_settings defaults = {
    .elements = 200,
    .repeats = 10,
    .symbol = true,
    .address = true,
    .unions = true,
    .static_members = true,
    .max_depth = 20,
    .output_radix = 10,
    .input_radix = 10,
};

struct mt_error *mt_expr_program_create(struct mt_space *space, struct mt_expr_program **out)
{
	struct mt_expr_program *program = calloc(1, sizeof(*program));
	struct mt_expr_user *user = calloc(1, sizeof(*user));
	struct mt_error *error;

	if (!program || !user) {
		free(program);
		free(user);
		return mt_error_no_memory();
	}
	error = mt_program_init(program, space);
	user->settings = defaults;
	program->user = user;
	if (error)
		mt_expr_program_destroy(program);
	else
		*out = program;
	return error;
}

void mt_expr_program_destroy(struct mt_expr_program *program)
{
	struct mt_convenience *variable, *next;

	if (!program)
		return;
	HASH_ITER (hh, program->user->conveniences, variable, next) {
		HASH_DEL(program->user->conveniences, variable);
		free(variable->name);
		free(variable);
	}
	mt_array_deinit(&program->user->history);
	free(program->user);
	mt_program_deinit(program);
	free(program);
}

void mt_expr_program_set_space(struct mt_expr_program *program, struct mt_space *space)
{
	program->space = space;
	program->user->examine.any = false;
}

struct mt_expr_settings *mt_expr_program_settings(struct mt_expr_program *program)
{
	return &program->user->settings;
}

static struct mt_convenience *find_or_add(struct mt_expr_program *program, const char *name)
{
	struct mt_convenience *variable;

	HASH_FIND_STR(program->user->conveniences, name, variable);
	if (variable)
		return variable;
	variable = calloc(1, sizeof(*variable));
	if (!variable || !(variable->name = strdup(name))) {
		free(variable);
		return NULL;
	}
	variable->is_void = true;
	HASH_ADD_KEYPTR(hh, program->user->conveniences, variable->name, strlen(name), variable);
	return variable;
}

struct mt_error *mt_convenience_set(struct mt_expr_program *program, const char *name,
				    const struct mt_value *value)
{
	struct mt_convenience *variable = find_or_add(program, name);
	struct mt_value kept;

	if (!variable)
		return mt_error_no_memory();
	mt_try(mt_value_keep(&program->arena, value, &kept));
	kept.lval = MT_LVAL_NONE;
	kept.bit_size = 0;
	variable->value = kept;
	variable->is_void = value->type->kind == MT_TYPE_VOID;
	return NULL;
}

const struct mt_convenience *mt_convenience_get(struct mt_expr_program *program, const char *name)
{
	struct mt_convenience *variable;

	HASH_FIND_STR(program->user->conveniences, name, variable);
	return variable && !variable->is_void ? variable : NULL;
}

struct mt_error *mt_expr_set_integer(struct mt_expr_program *program, const char *name,
				     int64_t value)
{
	enum mt_builtin which = value == (int32_t)value ? MT_BUILTIN_INT : MT_BUILTIN_LONG;
	struct mt_value integer =
	    mt_value_integer(mt_type_builtin(program, which), (uint64_t)value);

	return mt_convenience_set(program, name, &integer);
}

struct mt_error *mt_expr_record(struct mt_expr_program *program, const struct mt_value *value,
				unsigned *number)
{
	struct mt_value kept;

	mt_try(mt_value_keep(&program->arena, value, &kept));
	if (mt_array_push(&program->user->history, kept))
		return mt_error_no_memory();
	*number = (unsigned)program->user->history.count;
	return NULL;
}

struct mt_error *mt_history_get(struct mt_expr_program *program, bool absolute, int64_t number,
				struct mt_value *out)
{
	int64_t count = (int64_t)program->user->history.count;
	int64_t wanted = absolute ? number : count - number;

	*out = mt_value_zero(mt_type_builtin(program, MT_BUILTIN_VOID));
	if (!absolute && !count)
		return NULL;
	if (wanted < 1 && !absolute)
		return NULL;
	if (wanted < 1 || wanted > count)
		return mt_error_new(MT_ERROR_NOT_FOUND, "History has not yet reached $%lld.",
				    (long long)wanted);
	*out = program->user->history.items[wanted - 1];
	return NULL;
}
