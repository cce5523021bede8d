/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/slice_shape.h"

#include <string.h>

enum { WAYS = 4 }; /* places, next to each other, that a shape may have */

static inline bool is_of(const struct mt_slice_shape *shape, const struct mt_slice *slice,
			 uint8_t flags)
{
	return shape->address == slice->address && shape->call_site == slice->call_site &&
	       shape->function == slice->function && shape->call_file == slice->call_source.file &&
	       shape->call_line == slice->call_source.line && shape->kind == slice->kind &&
	       shape->flags == flags;
}

static inline size_t place_of(const struct mt_slice *slice, uint8_t flags)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t what = ((uint64_t)(uintptr_t)slice->function * factor ^ slice->call_site) +
			((uint64_t)slice->call_source.line << 40) + ((uint64_t)flags << 56);

	return ((what ^ what >> 32) * factor >> 40) % (MT_SLICE_SHAPES / WAYS) * WAYS;
}

const struct mt_slice_shape *mt_slice_shape_find(const struct mt_slice_shapes *shapes,
						 const struct mt_slice *slice, uint8_t flags,
						 uint32_t generation)
{
	const struct mt_slice_shape *shape = &shapes->shapes[place_of(slice, flags)];

	for (size_t way = 0; way < WAYS; way++)
		if (is_of(&shape[way], slice, flags) && shape[way].size &&
		    shape[way].generation == generation)
			return &shape[way];
	return NULL;
}

const struct mt_slice_shape *mt_slice_shape_keep(struct mt_slice_shapes *shapes,
						 const struct mt_slice *slice, uint8_t flags,
						 uint32_t generation, const void *record,
						 size_t size)
{
	struct mt_slice_shape *shape = &shapes->shapes[place_of(slice, flags)];

	memmove(shape + 1, shape, (WAYS - 1) * sizeof(*shape));
	shape->function = slice->function;
	shape->address = slice->address;
	shape->call_site = slice->call_site;
	shape->call_file = slice->call_source.file;
	shape->call_line = slice->call_source.line;
	shape->generation = generation;
	shape->kind = slice->kind;
	shape->flags = flags;
	shape->size = (uint8_t)size;
	memcpy(shape->bytes, record, size);
	return shape;
}
