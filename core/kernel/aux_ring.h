/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The AUX area of a perf event: where Intel PT's bytes go.
 *
 * Overwritten (snapshot mode): mapped read-only, the PMU writes round and round.  Read while the
 * event is disabled.  In this mode the kernel's driver gives its offset within the area as head,
 * which does not say how often it came round; other kernels count on without end.  Both are
 * understood: a head beyond the area is a count; and with an offset, what lies before it is
 * compared with what lay there at the last reading, since a lap would have written over it.
 *
 * Streaming: mapped writable, the PMU stops when what was not yet taken would be overwritten.
 *
 * Source: perf_event_open(2), "MMAP layout", aux_head and aux_tail; linux/kernel/events/
 * ring_buffer.c, perf_aux_output_end(); linux/arch/x86/events/intel/pt.c, pt_update_head(). */
#ifndef MT_KERNEL_AUX_RING_H
#define MT_KERNEL_AUX_RING_H

#include "kernel/data_ring.h"

struct mt_aux_ring {
	struct perf_event_mmap_page *page; /* lent: of the data ring */
	const uint8_t *bytes;
	size_t size_bytes; /* a power of two */
	bool overwritten;
	bool counts;     /* the head has been seen to count on */
	bool came_round; /* all of it holds data */
	uint64_t head;   /* at the last reading */
	uint8_t *before; /* what it held then; zeros at first, as the area */
};

/* The AUX area of the event FD, whose data ring is mapped: SIZE is rounded up to a power of two of
 * pages.  The data ring must outlive it.
 * Errors: as mt_data_ring_map(); UNSUPPORTED (this event has none); BUSY (another's is mapped). */
struct mt_error *mt_aux_ring_map(int fd, const struct mt_data_ring *data, size_t size_bytes,
				 bool overwritten, struct mt_aux_ring *out);
/* One that was never mapped (all zero) is fine. */
void mt_aux_ring_unmap(struct mt_aux_ring *ring);

/* The bytes that came since the last reading, the oldest first, in up to two parts. */
struct mt_aux_news {
	const uint8_t *part[2]; /* lent until the next reading, or mt_aux_ring_free() */
	size_t part_bytes[2];
	bool goes_on; /* it begins where the last reading ended: nothing was lost between */
};

/* Of an event that is disabled, if the ring is overwritten.  WHOLE: all that an overwritten ring
 * holds, whatever has been read before. */
void mt_aux_ring_read(struct mt_aux_ring *ring, bool whole, struct mt_aux_news *news);
/* How much of an overwritten ring is data by now. */
size_t mt_aux_ring_used(const struct mt_aux_ring *ring);
/* Have NEWS of an overwritten ring begin SIZE bytes earlier.  Returns SIZE, or 0 if these are no
 * more. */
size_t mt_aux_ring_reach_back(const struct mt_aux_ring *ring, size_t size,
			      struct mt_aux_news *news);
/* Streaming: the last SIZE bytes of what was read wait for the next reading. */
void mt_aux_ring_leave(struct mt_aux_ring *ring, struct mt_aux_news *news, size_t size);
/* Streaming: what was read last may be overwritten. */
void mt_aux_ring_free(struct mt_aux_ring *ring);

/* How many bytes before the end of what was read last the PMU was at OFFSET, of a PERF_RECORD_AUX.
 */
uint64_t mt_aux_ring_age(const struct mt_aux_ring *ring, uint64_t offset);

static inline size_t mt_aux_news_bytes(const struct mt_aux_news *news)
{
	return news->part_bytes[0] + news->part_bytes[1];
}

#endif
