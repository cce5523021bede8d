/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/aux_ring.h"

#include "kernel/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* So much of what a lap would have written over is compared: several PSBs, each with its TSC. */
#define COMPARED_BYTES (64u << 10)

struct mt_error *mt_aux_ring_map(int fd, const struct mt_data_ring *data, size_t size_bytes,
				 bool overwritten, struct mt_aux_ring *out)
{
	size_t size = mt_data_ring_round_up(size_bytes);
	uint64_t offset = data->page_bytes + data->size_bytes;
	void *bytes = NULL;

	*out = (struct mt_aux_ring){.page = data->page, .size_bytes = size};
	out->overwritten = overwritten;
	if (overwritten) {
		out->before = calloc(1, size);
		if (!out->before)
			return mt_error_no_memory();
	}
	data->page->aux_offset = offset;
	data->page->aux_size = size;
	int result = mt_system_map(fd, offset, size,
				   overwritten ? PROT_READ : PROT_READ | PROT_WRITE, &bytes);
	if (result < 0) {
		free(out->before);
		*out = (struct mt_aux_ring){0};
		if (result == -EOPNOTSUPP)
			return mt_error_new(
			    MT_ERROR_UNSUPPORTED,
			    "this event has no AUX area: the kernel's PMU intel_pt is not as it "
			    "claims, or the ring is too small for this processor");
		if (result == -EBUSY)
			return mt_error_new(MT_ERROR_BUSY,
					    "this event already has an AUX area mapped");
		return mt_data_ring_explain("an AUX ring", size, -result);
	}
	out->bytes = bytes;
	return NULL;
}

void mt_aux_ring_unmap(struct mt_aux_ring *ring)
{
	if (ring->bytes)
		mt_system_unmap((void *)(uintptr_t)ring->bytes, ring->size_bytes);
	free(ring->before);
	*ring = (struct mt_aux_ring){0};
}

static size_t offset_of(const struct mt_aux_ring *ring, uint64_t at)
{
	return at & (ring->size_bytes - 1);
}

/* SIZE bytes that end at END, in BYTES. */
static void set_parts(const struct mt_aux_ring *ring, const uint8_t *bytes, uint64_t end,
		      size_t size, struct mt_aux_news *news)
{
	size_t begin = offset_of(ring, end - size);
	size_t first = size < ring->size_bytes - begin ? size : ring->size_bytes - begin;

	news->part[0] = bytes + begin;
	news->part_bytes[0] = first;
	news->part[1] = bytes;
	news->part_bytes[1] = size - first;
}

/* How many bytes were written; more than the ring has: some are lost. */
static uint64_t written(struct mt_aux_ring *ring, uint64_t head)
{
	size_t from = offset_of(ring, head), size, first;

	if (head > ring->size_bytes)
		ring->counts = true;
	if (ring->counts)
		return head - ring->head;
	/* Whether what lies from the head on to where the last reading ended is other than it was
	 * then: a lap wrote over it. */
	size = ring->size_bytes - offset_of(ring, head - ring->head);
	if (size > COMPARED_BYTES)
		size = COMPARED_BYTES;
	first = size < ring->size_bytes - from ? size : ring->size_bytes - from;
	if (memcmp(ring->bytes + from, ring->before + from, first) != 0 ||
	    memcmp(ring->bytes, ring->before, size - first) != 0)
		return ring->size_bytes + 1;
	return offset_of(ring, head - ring->head);
}

static void read_overwritten(struct mt_aux_ring *ring, uint64_t head, bool whole,
			     struct mt_aux_news *news)
{
	uint64_t count = written(ring, head);
	uint64_t begin = offset_of(ring, ring->head);

	news->goes_on = count <= ring->size_bytes;
	if (count > ring->size_bytes)
		count = ring->size_bytes;
	ring->came_round |= begin + count >= ring->size_bytes;
	set_parts(ring, ring->bytes, head, count, news);
	for (int i = 0; i < 2; i++)
		memcpy(ring->before + (news->part[i] - ring->bytes), news->part[i],
		       news->part_bytes[i]);
	if (whole)
		count = ring->came_round ? ring->size_bytes : offset_of(ring, head);
	set_parts(ring, ring->before, head, count, news);
}

void mt_aux_ring_read(struct mt_aux_ring *ring, bool whole, struct mt_aux_news *news)
{
	uint64_t head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t count = head - ring->head;

	*news = (struct mt_aux_news){0};
	if (ring->overwritten) {
		read_overwritten(ring, head, whole, news);
	} else {
		news->goes_on = count <= ring->size_bytes;
		if (count > ring->size_bytes)
			count = ring->size_bytes;
		set_parts(ring, ring->bytes, head, count, news);
	}
	ring->head = head;
}

size_t mt_aux_ring_used(const struct mt_aux_ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->aux_head, __ATOMIC_ACQUIRE);

	return ring->came_round || head > ring->size_bytes ? ring->size_bytes : head;
}

size_t mt_aux_ring_reach_back(const struct mt_aux_ring *ring, size_t size, struct mt_aux_news *news)
{
	size_t whole = mt_aux_news_bytes(news) + size;

	if (whole > ring->size_bytes)
		return 0;
	set_parts(ring, ring->before, ring->head, whole, news);
	return size;
}

void mt_aux_ring_leave(struct mt_aux_ring *ring, struct mt_aux_news *news, size_t size)
{
	size_t of_second = size < news->part_bytes[1] ? size : news->part_bytes[1];

	news->part_bytes[1] -= of_second;
	news->part_bytes[0] -= size - of_second;
	ring->head -= size;
}

void mt_aux_ring_free(struct mt_aux_ring *ring)
{
	if (!ring->overwritten)
		__atomic_store_n(&ring->page->aux_tail, ring->head, __ATOMIC_RELEASE);
}

uint64_t mt_aux_ring_age(const struct mt_aux_ring *ring, uint64_t offset)
{
	uint64_t age = ring->head - offset;

	return ring->counts || !ring->overwritten ? age : offset_of(ring, age);
}
