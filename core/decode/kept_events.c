/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/kept_events.h"

#include <string.h>

enum { IN_MEMORY = 1 << 20 };

void mt_kept_events_deinit(struct mt_kept_events *kept)
{
	mt_array_deinit(&kept->events);
	mt_spill_deinit(&kept->spill);
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

struct mt_error *mt_kept_events_read(struct mt_kept_events *kept, uint64_t first,
				     struct mt_event *out, size_t count)
{
	const size_t size = sizeof(*out);
	size_t spilled = 0;

	if (first < kept->spilled) {
		spilled = kept->spilled - first < count ? kept->spilled - first : count;
		mt_try(mt_spill_read(&kept->spill, first * size, out, spilled * size));
	}
	if (count > spilled)
		memcpy(out + spilled, kept->events.items + (first + spilled - kept->spilled),
		       (count - spilled) * size);
	return NULL;
}
