/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/slice_shape.h"

#include <string.h>

bool mt_slice_has_shape(const struct mt_slice *slice)
{
	return !slice->arguments && !slice->call_id && slice->kind != MT_SLICE_SIDE &&
	       slice->kind != MT_SLICE_GAP;
}

static inline bool is_of(const struct mt_slice_shape *shape, const struct mt_slice *slice)
{
	return shape->address == slice->address && shape->call_site == slice->call_site &&
	       shape->function == slice->function && shape->call_file == slice->call_source.file &&
	       shape->call_line == slice->call_source.line && shape->kind == slice->kind &&
	       shape->flags == slice->flags;
}

static inline bool is_kept(const struct mt_slice_shape *shape, uint64_t generation)
{
	return shape->size && shape->generation == generation;
}

struct mt_slice_shape *mt_slice_shape_of(struct mt_slice_shapes *shapes,
					 const struct mt_slice *slice, uint64_t generation)
{
	uint64_t what = ((uint64_t)(uintptr_t)slice->function ^ slice->call_site << 21) +
			slice->call_source.line + ((uint64_t)slice->flags << 56);
	size_t at = (what * 0x9e3779b97f4a7c15u) >> 51; /* 13 bits: MT_SLICE_SHAPES */
	struct mt_slice_shape *shape = &shapes->shapes[at], *other = &shapes->shapes[at ^ 1];

	if (is_of(shape, slice) && is_kept(shape, generation))
		return shape;
	if (is_of(other, slice) && is_kept(other, generation))
		return other;
	*other = *shape;
	*shape = (struct mt_slice_shape){
	    .function = slice->function,
	    .address = slice->address,
	    .call_site = slice->call_site,
	    .call_file = slice->call_source.file,
	    .call_line = slice->call_source.line,
	    .kind = slice->kind,
	    .flags = slice->flags,
	};
	return shape;
}

void mt_slice_shape_keep(struct mt_slice_shape *shape, const void *record, size_t size,
			 uint64_t generation)
{
	shape->size = (uint8_t)size;
	shape->generation = generation;
	memcpy(shape->bytes, record, size);
}
