/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Offsets, sizes and holes of a structure's fields. */
#include "types/layout.h"

static void hole(const struct mt_layout *layout, unsigned bits, const char *what,
		 struct mt_str *out)
{
	unsigned unused = bits - layout->end_bits;

	/* What lies before the first field is the vtable's pointer. */
	if (!layout->end_bits || layout->end_bits >= bits)
		return;
	if (unused % 8)
		mt_str_appendf(out, "/* XXX %2u-bit %-7s    */\n", unused % 8, what);
	if (unused / 8)
		mt_str_appendf(out, "/* XXX %2u-byte %-7s   */\n", unused / 8, what);
}

void mt_layout_field(struct mt_layout *layout, const struct mt_type *type,
		     const struct mt_member *member, bool hex, struct mt_str *out)
{
	unsigned size = (unsigned)mt_type_size(member->type);
	unsigned bits = (unsigned)member->offset * 8 + member->bit_offset;
	unsigned place = layout->offset_bits + bits;

	if (type->kind == MT_TYPE_UNION) {
		mt_str_appendf(
		    out, hex ? "/*                0x%04x */" : "/*                %6u */", size);
		return;
	}
	hole(layout, bits, "hole", out);
	mt_str_appendf(out, hex ? "/* 0x%04x" : "/* %6u", place / 8);
	if (member->bit_size)
		mt_str_appendf(out, hex ? ": 0x%x" : ":%2u  ", place % 8);
	else
		mt_str_append(out, "     ");
	mt_str_appendf(out, hex ? " |  0x%04x */" : " |  %6u */", size);
	layout->end_bits = bits + (member->bit_size ? member->bit_size : size * 8);
}

void mt_layout_enter(struct mt_layout *inner, const struct mt_layout *layout,
		     const struct mt_member *member)
{
	inner->offset_bits = layout->offset_bits + (unsigned)member->offset * 8;
	/* As GDB: within a union this wraps, and no hole is seen before the first field. */
	inner->end_bits = layout->end_bits - (unsigned)mt_type_size(member->type) * 8;
}

void mt_layout_end(const struct mt_layout *layout, struct mt_type *type, struct mt_str *out)
{
	hole(layout, (unsigned)mt_type_size(type) * 8, "padding", out);
	mt_str_append(out, "\n");
}
