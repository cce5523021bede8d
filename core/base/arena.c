/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/arena.h"

#include "base/str.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE 65536

struct mt_arena_chunk {
	struct mt_arena_chunk *next;
	_Alignas(max_align_t) uint8_t bytes[];
};

static int add_chunk(struct mt_arena *arena, size_t size)
{
	if (size > SIZE_MAX - sizeof(struct mt_arena_chunk))
		return -1;

	struct mt_arena_chunk *chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return -1;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used = 0;
	arena->size = size;
	return 0;
}

void *mt_arena_alloc(struct mt_arena *arena, size_t size)
{
	const size_t alignment = _Alignof(max_align_t);
	size_t start = (arena->used + alignment - 1) & ~(alignment - 1);

	if (!arena->chunks || start > arena->size || size > arena->size - start) {
		if (add_chunk(arena, size > CHUNK_SIZE ? size : CHUNK_SIZE))
			return NULL;
		start = 0;
	}
	arena->used = start + size;
	return arena->chunks->bytes + start;
}

void *mt_arena_zalloc(struct mt_arena *arena, size_t size)
{
	void *piece = mt_arena_alloc(arena, size);

	return piece ? memset(piece, 0, size) : NULL;
}

void *mt_arena_copy(struct mt_arena *arena, const void *bytes, size_t size)
{
	void *copy = mt_arena_alloc(arena, size);

	return copy && size ? memcpy(copy, bytes, size) : copy;
}

char *mt_arena_text(struct mt_arena *arena, const char *text, size_t max)
{
	size_t length = strnlen(text, max);
	char *copy = mt_arena_alloc(arena, length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = '\0';
	}
	return copy;
}

char *mt_arena_format(struct mt_arena *arena, const char *format, ...)
{
	mt_auto(mt_str) struct mt_str text = {0};
	va_list args;

	va_start(args, format);
	mt_str_vappendf(&text, format, args);
	va_end(args);
	return text.failed ? NULL : mt_arena_text(arena, text.text, text.length);
}

void mt_arena_deinit(struct mt_arena *arena)
{
	while (arena->chunks) {
		struct mt_arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
	*arena = (struct mt_arena){0};
}
