/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions fill the rings: a choice from a sample of events. */
#ifndef MT_ENGINE_CALLS_RING_THROTTLE_H
#define MT_ENGINE_CALLS_RING_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mt_throttle_event {
	uint64_t function; /* any number that stands for it */
	bool is_return;
	bool follows; /* right behind the event before it */
};

/* Functions with at least LEAST of the events, at the most CAPACITY of them, the busiest first.  If
 * some of them call nothing that is recorded, those alone: without them the others may be bearable.
 * The events are sorted by this.  Returns how many. */
size_t mt_throttle_choose(struct mt_throttle_event *events, size_t count, size_t least,
			  uint64_t *functions, size_t capacity);

#endif
