/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accesses a ring at a position, given as the total number of bytes written. */
#ifndef MT_ENGINE_CALLS_RING_PRIVATE_H
#define MT_ENGINE_CALLS_RING_PRIVATE_H

#include "engine/calls/ring/ring.h"

#include <string.h>

static inline uint64_t word_at(const struct mt_ring_view *view, uint64_t at)
{
	uint64_t word;

	memcpy(&word, view->bytes + (at & (view->size - 1)), sizeof(word));
	return word;
}

static inline struct mt_ring_event event_at(const struct mt_ring_view *view, uint64_t at)
{
	struct mt_ring_event event;

	memcpy(&event, view->bytes + (at & (view->size - 1)), sizeof(event));
	return event;
}

#endif
