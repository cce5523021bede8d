/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/kept_events.h"

#include <stdlib.h>

enum { IN_MEMORY = 1 << 20, BATCH = 4096 };

void mt_kept_events_deinit(struct mt_kept_events *kept)
{
	mt_array_deinit(&kept->events);
	mt_spill_deinit(&kept->spill);
	free(kept->batch);
}

struct mt_error *mt_kept_events_add(struct mt_kept_events *kept, const struct mt_event *event)
{
	const size_t size = sizeof(*event);

	if (kept->events.count == IN_MEMORY) {
		mt_try(mt_spill_write(&kept->spill, kept->spilled * size, kept->events.items,
				      IN_MEMORY * size));
		kept->spilled += IN_MEMORY;
		kept->events.count = 0;
	}
	return mt_array_push(&kept->events, *event) ? mt_error_no_memory() : NULL;
}

static struct mt_error *give_spilled(struct mt_kept_events *kept, uint64_t first, size_t count,
				     mt_kept_events_taker *take, void *context)
{
	const size_t size = sizeof(*kept->batch);

	if (!kept->batch)
		kept->batch = calloc(BATCH, size);
	if (!kept->batch)
		return mt_error_no_memory();
	mt_try(mt_spill_read(&kept->spill, first * size, kept->batch, count * size));
	return take(context, kept->batch, count);
}

struct mt_error *mt_kept_events_give(struct mt_kept_events *kept, uint64_t first, uint64_t count,
				     mt_kept_events_taker *take, void *context)
{
	const uint64_t end = first + count;

	while (first < end && first < kept->spilled) {
		const uint64_t left = (end < kept->spilled ? end : kept->spilled) - first;
		const size_t some = left < BATCH ? (size_t)left : BATCH;

		mt_try(give_spilled(kept, first, some, take, context));
		first += some;
	}
	return first < end ? take(context, kept->events.items + (first - kept->spilled),
				  (size_t)(end - first))
			   : NULL;
}
