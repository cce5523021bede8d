/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types compared, and how they are aligned. */
#include "types/program.h"

#include <string.h>

#define MOST_STEPS 64

static uint64_t align_of(struct mt_type *type, unsigned depth)
{
	uint64_t most = 1;

	type = mt_type_strip(type);
	if (depth > MOST_STEPS)
		return 1;
	if (type->kind == MT_TYPE_ARRAY)
		return align_of(mt_type_target(type), depth + 1);
	if (!mt_type_is_aggregate(type))
		return mt_type_size(type) ? mt_type_size(type) : 1;
	mt_type_expand(type);
	for (size_t i = 0; i < type->member_count; i++) {
		uint64_t align = type->members[i].kind == MT_MEMBER_STATIC
				     ? 1
				     : align_of(type->members[i].type, depth + 1);

		most = align > most ? align : most;
	}
	return most;
}

uint64_t mt_type_align(struct mt_type *type)
{
	return align_of(type, 0);
}

static bool same(struct mt_type *a, struct mt_type *b, unsigned depth)
{
	a = mt_type_strip(a);
	b = mt_type_strip(b);
	if (a == b || depth > MOST_STEPS)
		return true;
	if (a->kind != b->kind || mt_type_size(a) != mt_type_size(b))
		return false;
	if (a->kind == MT_TYPE_POINTER || a->kind == MT_TYPE_ARRAY || mt_type_is_reference(a))
		return same(mt_type_target(a), mt_type_target(b), depth + 1);
	if (mt_type_is_aggregate(a) || a->kind == MT_TYPE_ENUM)
		return a->name && b->name && strcmp(a->name, b->name) == 0;
	return a->is_signed == b->is_signed;
}

bool mt_type_same(struct mt_type *a, struct mt_type *b)
{
	return same(a, b, 0);
}
