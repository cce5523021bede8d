/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernel/data_ring.h"

#include "base/array.h"
#include "kernel/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define MLOCK_PATH   "/proc/sys/kernel/perf_event_mlock_kb"
#define RECORD_BYTES 65536 /* header.size has 16 bits */

struct mt_error *mt_data_ring_explain(const char *what, size_t size_bytes, int errnum)
{
	struct rlimit limit = {0};
	char text[32] = "?";
	unsigned long long kb = size_bytes / 1024;

	if (errnum == ENOMEM)
		return mt_error_new(
		    MT_ERROR_NO_MEMORY,
		    "cannot map %llu kB of %s: not enough memory; use smaller rings", kb, what);
	if (errnum != EPERM)
		return mt_error_errno(errnum, "cannot map %s of %llu kB", what, kb);
	mt_system_read_file(MLOCK_PATH, text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return mt_error_new(
	    MT_ERROR_PERMISSION,
	    "cannot map %llu kB of %s: this user may lock only "
	    "kernel.perf_event_mlock_kb (%s kB) per CPU plus ulimit -l (%llu kB); use "
	    "smaller rings, run as root, or run: sudo sysctl kernel.perf_event_mlock_kb=%llu",
	    kb, what, text, (unsigned long long)limit.rlim_cur / 1024, kb * 64);
}

size_t mt_data_ring_round_up(size_t size_bytes)
{
	size_t rounded = (size_t)sysconf(_SC_PAGESIZE);

	while (rounded < size_bytes && rounded << 1)
		rounded <<= 1;
	return rounded;
}

struct mt_error *mt_data_ring_map(int fd, size_t size_bytes, bool overwritten,
				  struct mt_data_ring *out)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = mt_data_ring_round_up(size_bytes);
	/* The kernel never overwrites what a writable mapping has not given back. */
	int protection = overwritten ? PROT_READ : PROT_READ | PROT_WRITE;
	void *base = NULL;
	int result;

	*out = (struct mt_data_ring){.fd = -1};
	result = mt_system_map(fd, 0, page + size, protection, &base);
	if (result < 0)
		return mt_data_ring_explain("a data ring", size, -result);
	*out = (struct mt_data_ring){
	    .fd = fd,
	    .page = base,
	    .data = (uint8_t *)base + page,
	    .size_bytes = size,
	    .page_bytes = page,
	    .overwritten = overwritten,
	};
	return NULL;
}

void mt_data_ring_unmap(struct mt_data_ring *ring)
{
	if (ring->page)
		mt_system_unmap(ring->page, ring->page_bytes + ring->size_bytes);
	free(ring->joined);
	*ring = (struct mt_data_ring){.fd = -1};
}

static void copy_out(const struct mt_data_ring *ring, uint64_t at, void *to, size_t size)
{
	size_t offset = at & (ring->size_bytes - 1);
	size_t first = size < ring->size_bytes - offset ? size : ring->size_bytes - offset;

	memcpy(to, ring->data + offset, first);
	memcpy((char *)to + first, ring->data, size - first);
}

/* The size of the record at AT, of which LEFT bytes can be there; 0: there is none. */
static size_t record_size(const struct mt_data_ring *ring, uint64_t at, uint64_t left)
{
	struct perf_event_header header;

	if (left < sizeof(header))
		return 0;
	copy_out(ring, at, &header, sizeof(header));
	return header.size < sizeof(header) || header.size > left ? 0 : header.size;
}

/* The record at AT in one piece. */
static struct mt_error *join(struct mt_data_ring *ring, uint64_t at, size_t size,
			     const struct perf_event_header **record)
{
	size_t offset = at & (ring->size_bytes - 1);

	if (offset + size <= ring->size_bytes) {
		*record = (const void *)(ring->data + offset);
		return NULL;
	}
	if (!ring->joined)
		ring->joined = malloc(RECORD_BYTES);
	if (!ring->joined)
		return mt_error_no_memory();
	copy_out(ring, at, ring->joined, size);
	*record = (const void *)ring->joined;
	return NULL;
}

typedef struct mt_error *take_record(void *context, const struct perf_event_header *record);

static struct mt_error *read_stream(struct mt_data_ring *ring, take_record *take, void *context)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	struct mt_error *error = NULL;

	while (!error && tail != head) {
		const struct perf_event_header *record = NULL;
		size_t size = record_size(ring, tail, head - tail);

		if (!size) {
			ring->garbled++;
			tail = head;
			break;
		}
		error = join(ring, tail, size, &record);
		if (!error)
			error = take(context, record);
		if (!error)
			tail += size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
	return error;
}

/* The head of an overwritten ring moves down from zero, so what lies above it is older; the oldest
 * record may be overwritten in part. */
static struct mt_error *read_overwritten(struct mt_data_ring *ring, take_record *take,
					 void *context, bool *older_lost)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t unread = ring->read_to - head, at = head;
	uint64_t left = unread < ring->size_bytes ? unread : ring->size_bytes;
	MT_ARRAY(uint64_t) found = {0}; /* where records are, the newest first */
	struct mt_error *error = NULL;
	size_t size;

	while (!error && (size = record_size(ring, at, left)) != 0) {
		if (mt_array_push(&found, at))
			error = mt_error_no_memory();
		at += size;
		left -= size;
	}
	*older_lost = unread > ring->size_bytes;
	if (!error)
		ring->garbled += left && !*older_lost;
	while (!error && found.count) {
		const struct perf_event_header *record = NULL;

		at = found.items[--found.count];
		error = join(ring, at, record_size(ring, at, ring->size_bytes), &record);
		if (!error)
			error = take(context, record);
		if (!error)
			ring->read_to = at;
	}
	mt_array_deinit(&found);
	return error;
}

struct mt_error *mt_data_ring_read(struct mt_data_ring *ring, take_record *take, void *context,
				   bool *older_lost)
{
	struct mt_error *error;
	bool unwanted;

	if (!older_lost)
		older_lost = &unwanted;
	*older_lost = false;
	if (!ring->page)
		return NULL;
	if (!ring->overwritten) {
		error = read_stream(ring, take, context);
	} else {
		mt_system_ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 1);
		error = read_overwritten(ring, take, context, older_lost);
		mt_system_ioctl(ring->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0);
	}
	return error;
}
