/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of slices' begins, kept without what distinguishes one begin from the next, its time
 * and its thread: calls come from the same few places again and again. */
#ifndef MT_OUTPUT_SLICE_SHAPE_H
#define MT_OUTPUT_SLICE_SHAPE_H

#include "trace/slice.h"

#define MT_SLICE_SHAPES 8192
/* Two lines of the cache hold a shape.  Of .fxt, the larger, that is room for a header, address
 * (2), file, line, call (2), module and two flags: one with more is not kept. */
#define MT_SLICE_SHAPE_BYTES (10 * sizeof(uint64_t))

struct mt_slice_shape {
	const struct mt_function *function;
	uint64_t address;
	uint64_t call_site;
	const char *call_file;
	uint32_t call_line;
	uint32_t generation; /* of the strings that the record means */
	uint8_t kind;
	uint8_t flags;
	uint8_t size; /* in bytes; 0: none is kept here */
	_Alignas(uint64_t) uint8_t bytes[MT_SLICE_SHAPE_BYTES];
};

struct mt_slice_shapes {
	struct mt_slice_shape shapes[MT_SLICE_SHAPES];
};

/* Whether a slice's begin is told by what a shape is found by. */
static inline bool mt_slice_has_shape(const struct mt_slice *slice)
{
	return !slice->arguments && !slice->call_id && !slice->flow &&
	       slice->kind != MT_SLICE_SIDE && slice->kind != MT_SLICE_GAP;
}

/* The shape of SLICE's begin, as if it had these FLAGS.  NULL: none is kept. */
const struct mt_slice_shape *mt_slice_shape_find(const struct mt_slice_shapes *shapes,
						 const struct mt_slice *slice, uint8_t flags,
						 uint32_t generation);
/* Keep the begin that RECORD holds, of at most MT_SLICE_SHAPE_BYTES, of one that was not found. */
const struct mt_slice_shape *mt_slice_shape_keep(struct mt_slice_shapes *shapes,
						 const struct mt_slice *slice, uint8_t flags,
						 uint32_t generation, const void *record,
						 size_t size);

#endif
