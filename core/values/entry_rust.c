/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rust's own ABI, as rustc has it (rustc_ty_utils/src/abi.rs): objects of one scalar are passed as
 * that, those of two as both, each in a register, and large ones by reference.  Of the rest too
 * much has changed over time. */
#include "values/variable.h"

#include <dwarf.h>

#define MOST_DEPTH 8

/* What scalars an object of Rust's is made of. */
struct leaves {
	size_t count;
	uint64_t last; /* the offset of the one that lies behind the others */
	bool is_known, has_floats;
};

static void count_leaves(struct mt_type *type, uint64_t offset, unsigned depth,
			 struct leaves *leaves)
{
	Dwarf_Die part;

	type = mt_type_strip(type);
	if (!mt_type_size(type))
		return;
	if (!mt_type_is_aggregate(type) && type->kind != MT_TYPE_ARRAY) {
		leaves->count++;
		leaves->last = offset > leaves->last ? offset : leaves->last;
		leaves->has_floats |= type->kind == MT_TYPE_FLOAT;
		return;
	}
	mt_type_expand(type);
	if (depth > MOST_DEPTH || type->kind != MT_TYPE_STRUCT || !type->die.addr ||
	    mt_die_child(&type->die, DW_TAG_variant_part, &part)) {
		leaves->is_known = false;
		return;
	}
	for (size_t i = 0; i < type->member_count; i++)
		if (type->members[i].kind == MT_MEMBER_FIELD)
			count_leaves(type->members[i].type, offset + type->members[i].offset,
				     depth + 1, leaves);
}

bool mt_entry_is_as_in_c(struct mt_type *type)
{
	struct leaves leaves = {.is_known = true};

	type = mt_type_strip(type);
	if (mt_type_size(type) > 16 || (!mt_type_is_aggregate(type) && type->kind != MT_TYPE_ARRAY))
		return true;
	count_leaves(type, 0, 0, &leaves);
	if (!leaves.is_known || leaves.count > 2)
		return leaves.is_known && !leaves.has_floats && mt_type_size(type) <= 8;
	return leaves.count < 2 || leaves.last == 8;
}
