/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The data ring of a perf event: where the kernel puts its records.
 *
 * A streaming ring is emptied while it fills; the kernel counts what does not fit, and reports
 * it by PERF_RECORD_LOST among the records.  An overwritten ring (of an event that was opened with
 * `backward`) holds the last records, however long nobody looks: a flight recorder.
 *
 * Other events of the same thread and CPU may write into an event's ring:
 * ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, fd of the one with the ring).
 *
 * Source: perf_event_open(2), "MMAP layout"; tools/perf/util/mmap.c for write_backward. */
#ifndef MT_KERNEL_DATA_RING_H
#define MT_KERNEL_DATA_RING_H

#include "base/error.h"

#include <linux/perf_event.h>

#define MT_DATA_RING_LEAST_BYTES 4096

struct mt_data_ring {
	int fd; /* lent */
	struct perf_event_mmap_page *page;
	uint8_t *data;
	size_t size_bytes;
	size_t page_bytes;
	bool overwritten;
	uint8_t *joined;  /* a record that lies across the end, in one piece */
	uint64_t read_to; /* OVERWRITTEN: what is older was handed out before */
	uint64_t garbled; /* records that made no sense: reading went on behind what was there */
};

/* Map FD's ring: SIZE is rounded up to a power of two of pages.  The event must outlive the ring.
 * Errors: PERMISSION (more memory than perf_event_mlock_kb and RLIMIT_MEMLOCK allow: names both);
 * NO_MEMORY; SYSTEM. */
struct mt_error *mt_data_ring_map(int fd, size_t size_bytes, bool overwritten,
				  struct mt_data_ring *out);
/* A ring that was never mapped (all zero) is fine. */
void mt_data_ring_unmap(struct mt_data_ring *ring);

/* Whether a streaming ring holds what was not read. */
static inline bool mt_data_ring_has_news(const struct mt_data_ring *ring)
{
	return ring->page &&
	       __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) != ring->page->data_tail;
}

/* SIZE rounded up to a power of two of pages. */
size_t mt_data_ring_round_up(size_t size_bytes);
/* What mapping SIZE bytes of WHAT ("the AUX ring") failed with, for people. */
struct mt_error *mt_data_ring_explain(const char *what, size_t size_bytes, int errnum);

/* Calls TAKE for each record that came since the last time, the oldest first, and makes room.  An
 * error of TAKE ends the walk; the records it did not see come again.  An overwritten ring does not
 * take records while it is read.  *older_lost, which may be NULL, is set before TAKE is called:
 * records have been overwritten since the last time. Errors: TAKE's; NO_MEMORY. */
struct mt_error *mt_data_ring_read(struct mt_data_ring *ring,
				   struct mt_error *(*take)(void *context,
							    const struct perf_event_header *record),
				   void *context, bool *older_lost);

#endif
