/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many small things that live and go together: bytes whose address never changes, let go of all at
 * once.  Zeroed storage is an empty arena. */
#ifndef MT_BASE_ARENA_H
#define MT_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

struct mt_arena {
	struct mt_arena_chunk *chunks; /* the newest first */
	size_t used, size;             /* of the newest */
};

/* Storage aligned for anything; NULL without memory. */
void *mt_arena_alloc(struct mt_arena *arena, size_t size);
void *mt_arena_zalloc(struct mt_arena *arena, size_t size); /* zeroed */
void *mt_arena_copy(struct mt_arena *arena, const void *bytes, size_t size);
/* The text up to its NUL, or up to MAX bytes, with a NUL behind; NULL without memory. */
char *mt_arena_text(struct mt_arena *arena, const char *text, size_t max);
char *mt_arena_format(struct mt_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void mt_arena_deinit(struct mt_arena *arena);

#endif
