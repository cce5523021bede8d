/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accesses a ring at a position, given as the total number of bytes written. */
#ifndef MT_ENGINE_CALLS_RING_PRIVATE_H
#define MT_ENGINE_CALLS_RING_PRIVATE_H

#include "engine/calls/ring/ring.h"

#include <string.h>

/* Where it lies: within the bytes, though the program may have said that it came to where none
 * begins. */
static inline const uint8_t *slot_at(const struct mt_ring_view *view, uint64_t at)
{
	return view->bytes + (at & (view->size - sizeof(struct mt_ring_event)));
}

static inline uint64_t word_at(const struct mt_ring_view *view, uint64_t at)
{
	uint64_t word;

	memcpy(&word, slot_at(view, at), sizeof(word));
	return word;
}

static inline struct mt_ring_event event_at(const struct mt_ring_view *view, uint64_t at)
{
	struct mt_ring_event event;

	memcpy(&event, slot_at(view, at), sizeof(event));
	return event;
}

#endif
