/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the encoder's bytes go: a ring that overwrites its oldest lap, or one that grows. */
#include "pt/encode.h"
#include "pt/packet.h"

#include <stdlib.h>

bool mt_pt_ring_make_room_slow(struct mt_pt_encoder_ring *ring)
{
	if (ring->failed)
		return false;
	if (!ring->grows) {
		ring->lap_end = ring->position;
		ring->before += ring->position;
		ring->position = 0;
		return true;
	}
	size_t capacity = ring->capacity ? ring->capacity * 2 : 65536;
	uint8_t *bytes = capacity > ring->capacity ? realloc(ring->bytes, capacity) : NULL;
	if (!bytes) {
		ring->failed = true;
		return false;
	}
	ring->bytes = bytes;
	ring->capacity = capacity;
	return true;
}

struct mt_error *mt_pt_ring_copy(const struct mt_pt_encoder_ring *ring, uint8_t **bytes,
				 size_t *size)
{
	/* The first PSB of what is left of the lap before this one, else of this one. */
	size_t from = ring->lap_end;
	if (ring->lap_end > ring->position)
		from = mt_pt_find_psb(ring->bytes, ring->lap_end, ring->position);
	bool in_old_lap = from < ring->lap_end;
	if (!in_old_lap)
		from = mt_pt_find_psb(ring->bytes, ring->position, 0);
	size_t old_bytes = in_old_lap ? ring->lap_end - from : 0;
	size_t new_from = in_old_lap ? 0 : from;
	size_t new_bytes = ring->position - new_from;

	*bytes = NULL;
	*size = 0;
	if (old_bytes + new_bytes == 0)
		return NULL;
	uint8_t *copy = malloc(old_bytes + new_bytes);
	if (!copy)
		return mt_error_no_memory();
	if (old_bytes)
		memcpy(copy, ring->bytes + from, old_bytes);
	if (new_bytes)
		memcpy(copy + old_bytes, ring->bytes + new_from, new_bytes);
	*bytes = copy;
	*size = old_bytes + new_bytes;
	return NULL;
}
