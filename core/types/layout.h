/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the fields of a structure lie, as `ptype/o` shows it before each: offset, size, and what is
 * unused between them.  GDB's columns, and its way to walk through structures within others. */
#ifndef MT_TYPES_LAYOUT_H
#define MT_TYPES_LAYOUT_H

#include "types/type.h"

/* Columns that stand before each line. */
#define MT_LAYOUT_WIDTH 27

/* One a structure, from its first field to its end. */
struct mt_layout {
	unsigned offset_bits; /* of the structure in the outermost one */
	unsigned end_bits;    /* of the last field, in this structure */
};

/* A field's columns, after a line about what is unused before it. */
void mt_layout_field(struct mt_layout *layout, const struct mt_type *type,
		     const struct mt_member *member, bool hex, struct mt_str *out);
/* INNER: of the structure that is this MEMBER, which mt_layout_field() was told of. */
void mt_layout_enter(struct mt_layout *inner, const struct mt_layout *layout,
		     const struct mt_member *member);
/* What is unused at the end, and an empty line. */
void mt_layout_end(const struct mt_layout *layout, struct mt_type *type, struct mt_str *out);

#endif
