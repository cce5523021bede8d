/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The newest records of a thread, one behind the other in a ring of ours.  Rings of the kernel's
 * are memory that cannot be paged out, of which a user may have little. */
#include "engine/sample/private.h"

#include <stdlib.h>

static size_t offset_of(const struct mt_sample_history *history, uint64_t at)
{
	return (size_t)(at % history->size_bytes);
}

static size_t until_end(const struct mt_sample_history *history, uint64_t at, size_t size)
{
	size_t room = history->size_bytes - offset_of(history, at);

	return size < room ? size : room;
}

static void copy_out(const struct mt_sample_history *history, uint64_t at, void *to, size_t size)
{
	size_t first = until_end(history, at, size);

	memcpy(to, history->bytes + offset_of(history, at), first);
	memcpy((char *)to + first, history->bytes, size - first);
}

static void copy_in(struct mt_sample_history *history, const void *from, size_t size)
{
	size_t first = until_end(history, history->end, size);

	memcpy(history->bytes + offset_of(history, history->end), from, first);
	memcpy(history->bytes, (const char *)from + first, size - first);
	history->end += size;
}

static size_t size_at(const struct mt_sample_history *history, uint64_t at)
{
	struct perf_event_header header;

	copy_out(history, at, &header, sizeof(header));
	return header.size;
}

struct mt_error *mt_sample_history_push(struct mt_sample_history *history,
					const struct perf_event_header *record)
{
	if (!history->bytes)
		history->bytes = malloc(history->size_bytes);
	if (!history->bytes)
		return mt_error_no_memory();
	if (record->size > history->size_bytes)
		return NULL;
	while (history->end - history->begin > history->size_bytes - record->size)
		history->begin += size_at(history, history->begin);
	copy_in(history, record, record->size);
	return NULL;
}

struct mt_error *mt_sample_history_each(const struct mt_sample_history *history,
					mt_sample_take *take, void *context)
{
	uint64_t words[UINT16_MAX / sizeof(uint64_t) + 1]; /* as much as a record can have */

	for (uint64_t at = history->begin; at < history->end;) {
		size_t size = size_at(history, at);

		copy_out(history, at, words, size);
		mt_try(take(context, (const void *)words));
		at += size;
	}
	return NULL;
}

void mt_sample_history_deinit(struct mt_sample_history *history)
{
	free(history->bytes);
	*history = (struct mt_sample_history){0};
}
