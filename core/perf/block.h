/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block of bytes that is put together field by field: a record or a feature to be written.
 * Over a mt_str, whose `failed` says at the end that memory ran out. */
#ifndef MT_PERF_BLOCK_H
#define MT_PERF_BLOCK_H

#include "base/str.h"
#include "perf/format.h"

#include <string.h>

static inline void mt_block_put(struct mt_str *block, const void *bytes, size_t size)
{
	mt_str_append_bytes(block, bytes, size);
}

static inline void mt_block_put_u32(struct mt_str *block, uint32_t value)
{
	mt_block_put(block, &value, sizeof(value));
}

static inline void mt_block_put_u64(struct mt_str *block, uint64_t value)
{
	mt_block_put(block, &value, sizeof(value));
}

static inline void mt_block_pad(struct mt_str *block, size_t alignment)
{
	static const char zeros[64];

	if (block->length % alignment)
		mt_block_put(block, zeros, alignment - block->length % alignment);
}

/* In records: the text, its NUL, zeros up to the next 8 bytes. */
static inline void mt_block_put_text(struct mt_str *block, const char *text)
{
	mt_block_put(block, text, strlen(text) + 1);
	mt_block_pad(block, MT_PERF_ALIGNMENT);
}

/* Set the size of the record that began at START. */
static inline void mt_block_end_record(struct mt_str *block, size_t start)
{
	uint16_t size = (uint16_t)(block->length - start);

	if (!block->failed)
		memcpy(block->text + start + offsetof(struct perf_event_header, size), &size,
		       sizeof(size));
}

#endif
