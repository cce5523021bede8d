/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events with AUX areas by their system calls alone: nothing of the engine's is used here. */
#include "event.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int device;
static unsigned int checks, failures;
static uint64_t played_bytes;

void check(bool fine, const char *format, ...)
{
	int error = errno;
	va_list arguments;

	printf("%sok %u - core: ", fine ? "" : "not ", ++checks);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	if (!fine && error)
		printf(" (%s)", strerror(error));
	printf("\n");
	failures += !fine;
	errno = 0;
}

void check_errno(long result, int expected, const char *what)
{
	int error = errno;

	check(result == -1 && error == expected, "%s: %s (%s)", what,
	      result == -1 ? strerrorname_np(error) : "no error", strerrorname_np(expected));
}

bool checks_end(void)
{
	printf("1..%u\n", checks);
	return !failures;
}

uint32_t pmu_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/intel_pt/type", "re");
	uint32_t type;

	if (!file || fscanf(file, "%u", &type) != 1)
		err(1, "the PMU's type");
	fclose(file);
	return type;
}

struct perf_event_attr pt_attr(void)
{
	struct perf_event_attr attr = {
	    .type = pmu_type(),
	    .size = sizeof(attr),
	    .config = 1u << 0 | 1u << 10 | 1u << 13, /* pt, tsc, branch */
	    .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	    .sample_id_all = 1,
	    .exclude_kernel = 1,
	    .exclude_hv = 1,
	    .disabled = 1,
	};

	return attr;
}

int open_event(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

bool map_event(struct event *event, size_t aux_bytes, bool writable)
{
	int protection = PROT_READ | (writable ? PROT_WRITE : 0);
	void *area;

	area =
	    mmap(NULL, (1 + DATA_PAGES) * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, event->fd, 0);
	if (area == MAP_FAILED)
		return false;
	event->page = area;
	event->page->aux_offset = (1 + DATA_PAGES) * PAGE;
	event->page->aux_size = aux_bytes;
	event->aux_bytes = aux_bytes;
	event->aux = mmap(NULL, aux_bytes, protection, MAP_SHARED, event->fd,
			  (off_t)event->page->aux_offset);
	if (event->aux != MAP_FAILED)
		return true;
	event->aux = NULL;
	return false;
}

struct event trace(pid_t pid, int cpu, size_t aux_bytes, bool writable)
{
	struct perf_event_attr attr = pt_attr();
	struct event event = {.fd = open_event(&attr, pid, cpu)};

	if (event.fd < 0)
		err(1, "perf_event_open");
	if (!map_event(&event, aux_bytes, writable))
		err(1, "mmap of an event");
	return event;
}

void close_event(struct event *event)
{
	if (event->aux)
		munmap(event->aux, event->aux_bytes);
	if (event->page)
		munmap(event->page, (1 + DATA_PAGES) * PAGE);
	close(event->fd);
	*event = (struct event){.fd = -1};
}

void enable(const struct event *event)
{
	if (ioctl(event->fd, PERF_EVENT_IOC_ENABLE, 0))
		err(1, "PERF_EVENT_IOC_ENABLE");
}

void disable(const struct event *event)
{
	if (ioctl(event->fd, PERF_EVENT_IOC_DISABLE, 0))
		err(1, "PERF_EVENT_IOC_DISABLE");
}

uint64_t aux_head(const struct event *event)
{
	return __atomic_load_n(&event->page->aux_head, __ATOMIC_ACQUIRE);
}

/* No two bytes that lie a power of two apart are bound to be the same. */
uint8_t pattern(uint64_t number)
{
	return (uint8_t)(number * 2654435761u >> 13 | 1);
}

uint64_t played(void)
{
	return played_bytes;
}

void play(size_t size)
{
	uint64_t header[3] = {0, 0, size}; /* struct pt_stream of tests/kernel/module/device.c */
	uint8_t *bytes = malloc(sizeof(header) + size);

	if (!bytes)
		err(1, "play");
	memcpy(bytes, header, sizeof(header));
	for (size_t i = 0; i < size; i++)
		bytes[sizeof(header) + i] = pattern(played_bytes + i);
	if (write(device, bytes, sizeof(header) + size) != (ssize_t)(sizeof(header) + size))
		err(1, "/dev/mtrace_test_pt");
	played_bytes += size;
	free(bytes);
}

bool next_record(struct event *event, struct record *record)
{
	static uint64_t copy[512];
	const uint8_t *data = (const uint8_t *)event->page + PAGE;
	uint64_t head = __atomic_load_n(&event->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = event->page->data_tail;
	struct perf_event_header header;

	if (tail == head)
		return false;
	memcpy(&header, data + tail % (DATA_PAGES * PAGE), sizeof(header));
	if (header.size > sizeof(copy) || header.size > head - tail)
		errx(1, "a record of %u bytes", header.size);
	for (size_t i = 0; i < header.size; i++)
		((uint8_t *)copy)[i] = data[(tail + i) % (DATA_PAGES * PAGE)];
	__atomic_store_n(&event->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
	*record = (struct record){header.type, copy + 1};
	return true;
}

bool next_of(struct event *event, uint32_t type, struct record *record)
{
	while (next_record(event, record)) {
		if (record->type == type)
			return true;
	}
	return false;
}
