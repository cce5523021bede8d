/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records of slices' begins, kept without what distinguishes one begin from the next, its time
 * and its thread: calls come from the same few places again and again. */
#ifndef MT_OUTPUT_FXT_SHAPE_H
#define MT_OUTPUT_FXT_SHAPE_H

#include "output/fxt_record.h"

#define MT_FXT_SHAPES 8192
/* Header, time, address (2), file, line, call (2), module, five flags. */
#define MT_FXT_SHAPE_WORDS 14

struct mt_fxt_shape {
	const struct mt_function *function;
	uint64_t address;
	uint64_t call_site;
	const char *call_file;
	uint32_t call_line;
	uint8_t kind;
	uint8_t flags;
	uint8_t count;       /* of words; 0: none is kept here */
	uint64_t generation; /* of the strings that the words mean */
	uint64_t words[MT_FXT_SHAPE_WORDS];
};

struct mt_fxt_shapes {
	struct mt_fxt_shape shapes[MT_FXT_SHAPES];
};

/* Whether a slice's begin is told by what a shape is found by. */
bool mt_fxt_has_shape(const struct mt_slice *slice);
/* The shape of SLICE's begin, or where it may be kept: then its count is 0. */
struct mt_fxt_shape *mt_fxt_shape_of(struct mt_fxt_shapes *shapes, const struct mt_slice *slice,
				     uint64_t generation);
/* Keep the begin that RECORD holds, of at most MT_FXT_SHAPE_WORDS. */
void mt_fxt_shape_keep(struct mt_fxt_shape *shape, const struct mt_fxt_record *record,
		       uint64_t generation);
/* Write it.  Errors: SYSTEM. */
struct mt_error *mt_fxt_shape_send(const struct mt_fxt_shape *shape, uint8_t thread_slot,
				   uint64_t time_ns, struct mt_stream *stream);

#endif
