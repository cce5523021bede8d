/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps to what a killed tracer of ours left.  One counts if it is not the file's. */
#include "engine/calls/texts/texts.h"

#include "engine/calls/memory/left.h"

#include <string.h>

#define JUMP        0xe9
#define SHORT_JUMP  0xeb
#define INT3        0xcc
#define JUMP_BYTES  MT_PATCH_JUMP_BYTES
#define SHORT_BYTES MT_PATCH_SHORT_BYTES
#define SHORT_REACH 127

size_t mt_calls_left_next_jump(const struct mt_calls_left *left, uint64_t address,
			       const uint8_t *text, size_t size, size_t at)
{
	int32_t distance;

	while (at + JUMP_BYTES <= size) {
		const uint8_t *found = memchr(text + at, JUMP, size - JUMP_BYTES + 1 - at);

		if (!found)
			break;
		at = (size_t)(found - text);
		memcpy(&distance, found + 1, sizeof(distance));
		if (mt_calls_left_holds(left, MT_CALLS_LEFT_CODE,
					address + at + JUMP_BYTES + (uint64_t)(int64_t)distance))
			return at;
		at++;
	}
	return size;
}

struct span {
	size_t at, end;
};

typedef MT_ARRAY(struct span) spans;

/* With the dead bytes behind it.  0, or -1 without memory. */
static int add_span(spans *found, const uint8_t *text, size_t size, size_t at, size_t length)
{
	struct span span = {at, at + length};

	while (span.end < size && text[span.end] == INT3)
		span.end++;
	return mt_array_push(found, span);
}

/* Short jumps that lead to the long one AT; what only looks like one is the file's in the end. */
static int add_short_jumps(spans *found, const uint8_t *text, const uint8_t *clean, size_t size,
			   size_t at)
{
	const size_t first = SHORT_REACH + SHORT_BYTES;
	int failed = 0;

	for (size_t i = at < first ? 0 : at - first;
	     i < at + SHORT_REACH && i + SHORT_BYTES <= size; i++)
		if (text[i] == SHORT_JUMP && i + SHORT_BYTES + (size_t)(int8_t)text[i + 1] == at &&
		    memcmp(text + i, clean + i, SHORT_BYTES) != 0)
			failed |= add_span(found, text, size, i, SHORT_BYTES);
	return failed;
}

/* Beside what was put back nothing may be left of a patch. */
static bool is_clean(const spans *found, const uint8_t *text, const uint8_t *clean, size_t size)
{
	mt_array_each (span, found)
		if ((span->at && text[span->at - 1] != clean[span->at - 1]) ||
		    (span->end < size && text[span->end] != clean[span->end]))
			return false;
	return true;
}

bool mt_calls_left_undo(const struct mt_calls_left *left, uint64_t address, uint8_t *text,
			const uint8_t *clean, size_t size)
{
	spans found = {0};
	int failed = 0;

	/* All are found before the first is put back: one may look as if it lay in another. */
	for (size_t at = mt_calls_left_next_jump(left, address, text, size, 0); at < size;
	     at = mt_calls_left_next_jump(left, address, text, size, at + 1)) {
		if (memcmp(text + at, clean + at, JUMP_BYTES) == 0)
			continue;
		failed |= add_span(&found, text, size, at, JUMP_BYTES);
		failed |= add_short_jumps(&found, text, clean, size, at);
	}
	mt_array_each (span, &found)
		memcpy(text + span->at, clean + span->at, span->end - span->at);
	bool done = !failed && is_clean(&found, text, clean, size);
	mt_array_deinit(&found);
	return done;
}

bool mt_calls_left_is_reached(const struct mt_calls_left *left, uint64_t address,
			      const uint8_t *text, size_t size)
{
	return mt_calls_left_next_jump(left, address, text, size, 0) < size;
}
