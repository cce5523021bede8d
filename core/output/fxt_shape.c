/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/fxt_shape.h"

#include <endian.h>
#include <string.h>

bool mt_fxt_has_shape(const struct mt_slice *slice)
{
	return !slice->arguments && slice->kind != MT_SLICE_SIDE && slice->kind != MT_SLICE_GAP;
}

static inline bool is_of(const struct mt_fxt_shape *shape, const struct mt_slice *slice)
{
	return shape->address == slice->address && shape->call_site == slice->call_site &&
	       shape->function == slice->function && shape->call_file == slice->call_source.file &&
	       shape->call_line == slice->call_source.line && shape->kind == slice->kind &&
	       shape->flags == slice->flags;
}

static inline bool is_kept(const struct mt_fxt_shape *shape, uint64_t generation)
{
	return shape->count && shape->generation == generation;
}

struct mt_fxt_shape *mt_fxt_shape_of(struct mt_fxt_shapes *shapes, const struct mt_slice *slice,
				     uint64_t generation)
{
	uint64_t what = ((uint64_t)(uintptr_t)slice->function ^ slice->call_site << 21) +
			slice->call_source.line + ((uint64_t)slice->flags << 56);
	size_t at = (what * 0x9e3779b97f4a7c15u) >> 51; /* 13 bits: MT_FXT_SHAPES */
	struct mt_fxt_shape *shape = &shapes->shapes[at], *other = &shapes->shapes[at ^ 1];

	if (is_of(shape, slice) && is_kept(shape, generation))
		return shape;
	if (is_of(other, slice) && is_kept(other, generation))
		return other;
	*other = *shape;
	*shape = (struct mt_fxt_shape){
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

void mt_fxt_shape_keep(struct mt_fxt_shape *shape, const struct mt_fxt_record *record,
		       uint64_t generation)
{
	shape->count = (uint8_t)record->count;
	shape->generation = generation;
	memcpy(shape->words, record->words, record->count * sizeof(record->words[0]));
	shape->words[0] |= htole64((uint64_t)record->count << MT_FXT_SIZE_SHIFT);
	shape->words[0] &= htole64(~((uint64_t)UINT8_MAX << MT_FXT_THREAD_SHIFT));
}

struct mt_error *mt_fxt_shape_send(const struct mt_fxt_shape *shape, uint8_t thread_slot,
				   uint64_t time_ns, struct mt_stream *stream)
{
	void *room = NULL;
	uint64_t *words;

	mt_try(mt_stream_room(stream, shape->count * sizeof(*words), &room));
	words = room;
	memcpy(words, shape->words, shape->count * sizeof(*words));
	words[0] |= htole64((uint64_t)thread_slot << MT_FXT_THREAD_SHIFT);
	words[1] = htole64(time_ns);
	return NULL;
}
