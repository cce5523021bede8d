// SPDX-License-Identifier: GPL-3.0-or-later OR GPL-2.0-only
/* Where the bytes go: the heads, marks and flags that the real driver shows.
 *
 * Snapshot: the ring is written round and round; at each stop the driver says where the next byte
 * would go, within the buffer, and that the whole of it may be of interest.  Nothing tells whether
 * the first lap was ever finished.
 * Full: output stops before the oldest byte that was not read yet, at the border of a region, with
 * the transaction marked as truncated; an interrupt on the way there wakes the reader. */
#include "pt.h"

#include <linux/slab.h>
#include <linux/string.h>

void *pt_setup_aux(struct perf_event *event, void **pages, int page_count, bool snapshot)
{
	struct pt_buffer *buffer;

	if (!page_count)
		return NULL;
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return NULL;
	buffer->pages = pages;
	buffer->bytes = (unsigned long)page_count << PAGE_SHIFT;
	buffer->snapshot = snapshot;
	return buffer;
}

void pt_free_aux(void *buffer)
{
	kfree(buffer);
}

/* The first byte of the region that POSITION lies in: perf's core marks the first page of what it
 * allocated in one piece. */
static unsigned long region_start(const struct pt_buffer *buffer, unsigned long position)
{
	unsigned long within = position % buffer->bytes;
	unsigned long start = 0, next = 0;

	while (next <= within) {
		struct page *page = virt_to_page(buffer->pages[next >> PAGE_SHIFT]);

		start = next;
		next += PAGE_SIZE << (PagePrivate(page) ? page_private(page) : 0);
	}
	return position - within + start;
}

/* Output can end at borders of regions alone.  False: there is none before the oldest byte. */
static bool set_marks(struct pt_buffer *buffer, struct perf_output_handle *handle)
{
	unsigned long end = buffer->position + handle->size + 1;
	unsigned long wake = min(handle->wakeup, end - PAGE_SIZE);

	buffer->stop_at = region_start(buffer, end);
	if (buffer->stop_at <= buffer->position) {
		perf_aux_output_flag(handle, PERF_AUX_FLAG_TRUNCATED);
		return false;
	}
	buffer->wake_at = region_start(buffer, wake);
	return true;
}

bool pt_output_begin(struct pt_cpu *cpu, struct perf_event *event)
{
	struct pt_buffer *buffer = perf_aux_output_begin(&cpu->handle, event);

	if (!buffer)
		return false;
	buffer->position = cpu->handle.head;
	if (buffer->snapshot)
		buffer->position %= buffer->bytes;
	buffer->begun = buffer->position;
	if (!buffer->snapshot && !set_marks(buffer, &cpu->handle)) {
		perf_aux_output_end(&cpu->handle, 0);
		return false;
	}
	return true;
}

void pt_output_end(struct pt_cpu *cpu)
{
	struct pt_buffer *buffer = perf_get_aux(&cpu->handle);

	if (!buffer)
		return;
	if (buffer->snapshot) {
		cpu->handle.head = buffer->position;
		perf_aux_output_end(&cpu->handle, buffer->bytes);
	} else {
		perf_aux_output_end(&cpu->handle, buffer->position - buffer->begun);
	}
}

/* The performance monitoring interrupt. */
static void interrupt(struct pt_cpu *cpu, struct pt_buffer *buffer)
{
	struct perf_event *event = cpu->handle.event;

	if (buffer->position == buffer->stop_at)
		perf_aux_output_flag(&cpu->handle, PERF_AUX_FLAG_TRUNCATED);
	pt_output_end(cpu);
	if (!pt_output_begin(cpu, event))
		event->hw.state = PERF_HES_STOPPED;
}

/* How many bytes can be written in one piece. */
static size_t room(const struct pt_buffer *buffer)
{
	size_t size = PAGE_SIZE - offset_in_page(buffer->position);

	if (buffer->snapshot)
		return size;
	if (buffer->wake_at > buffer->position)
		size = min_t(size_t, size, buffer->wake_at - buffer->position);
	return min_t(size_t, size, buffer->stop_at - buffer->position);
}

void pt_output(struct pt_cpu *cpu, const u8 *bytes, size_t size)
{
	while (size && cpu->handle.event && !cpu->handle.event->hw.state &&
	       !pt_is_paused(cpu->handle.event)) {
		struct pt_buffer *buffer = perf_get_aux(&cpu->handle);
		unsigned long within = buffer->position % buffer->bytes;
		size_t piece = min(size, room(buffer));

		memcpy(buffer->pages[within >> PAGE_SHIFT] + offset_in_page(within), bytes, piece);
		bytes += piece;
		size -= piece;
		buffer->position += piece;
		if (buffer->snapshot)
			buffer->position %= buffer->bytes;
		else if (buffer->position == buffer->wake_at || buffer->position == buffer->stop_at)
			interrupt(cpu, buffer);
	}
}
