/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A position in bytes that are not trusted: what is read beyond the end is 0 and sets `failed`,
 * which is looked at once, when all is read. */
#ifndef MT_BASE_CURSOR_H
#define MT_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct mt_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct mt_cursor mt_cursor_over(const void *bytes, size_t size)
{
	return (struct mt_cursor){.at = bytes, .end = (const uint8_t *)bytes + size};
}

static inline size_t mt_cursor_left(const struct mt_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

/* The next SIZE bytes, lent; NULL when there are not so many. */
static inline const uint8_t *mt_cursor_bytes(struct mt_cursor *cursor, uint64_t size)
{
	const uint8_t *bytes = cursor->at;

	if (cursor->failed || size > mt_cursor_left(cursor)) {
		cursor->failed = true;
		return NULL;
	}
	cursor->at += size;
	return bytes;
}

static inline void mt_cursor_copy(struct mt_cursor *cursor, void *to, size_t size)
{
	const uint8_t *bytes = mt_cursor_bytes(cursor, size);

	if (bytes)
		memcpy(to, bytes, size);
	else
		memset(to, 0, size);
}

static inline uint32_t mt_cursor_u32(struct mt_cursor *cursor)
{
	uint32_t value;

	mt_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

static inline uint64_t mt_cursor_u64(struct mt_cursor *cursor)
{
	uint64_t value;

	mt_cursor_copy(cursor, &value, sizeof(value));
	return value;
}

/* COUNT numbers of 64 bits each; COUNT may be anything. */
static inline void mt_cursor_skip_u64s(struct mt_cursor *cursor, uint64_t count)
{
	if (count > mt_cursor_left(cursor) / sizeof(uint64_t))
		cursor->failed = true;
	else
		mt_cursor_bytes(cursor, count * sizeof(uint64_t));
}

#endif
