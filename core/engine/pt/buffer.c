/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/pt/filter.h"
#include "engine/pt/private.h"
#include "kernel/event.h"
#include "kernel/system.h"
#include "perf/kernel_record.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define DATA_RING_BYTES (32u << 10)
#define STREAM_FACTOR   4 /* of the ring's size: it has to hold what comes between two looks */

/* Mappings come with the time at which they were made, so that code is known from its first
 * instruction on. */
static struct mt_error *open_event(const struct mt_pt_engine *engine, pid_t lwp, int cpu, int *fd)
{
	bool threads_alone = mt_perf_kernel_is_at_least(5, 13); /* can be had: not children */
	const struct mt_perf_spec spec = {
	    .type = engine->pmu.type,
	    .config = engine->config.config,
	    .period = 1,
	    .sample_type = MT_KERNEL_RECORD_SAMPLE_TYPE,
	    .kernel = engine->options.kernel,
	    .disabled = true,
	    .sideband = true,
	    .switches = cpu >= 0,
	    .inherit = cpu >= 0 && (engine->options.follow_forks || !threads_alone),
	    .inherit_thread = cpu >= 0 && !engine->options.follow_forks && threads_alone,
	    .raw_clock = engine->clock.raw,
	};
	struct perf_event_attr attr = mt_perf_spec_attr(&spec);

	attr.build_id = mt_perf_kernel_is_at_least(5, 12);
	*fd = mt_system_open_event(&attr, lwp, cpu, -1);
	if (*fd >= 0)
		return NULL;
	return mt_perf_event_explain(&attr, "Intel PT", lwp, cpu, -*fd);
}

static struct mt_error *make_filter(struct mt_pt_engine *engine, pid_t pid)
{
	char link[32], program[PATH_MAX];
	ssize_t length;

	if (!engine->options.pt.filters || engine->filter.length)
		return NULL;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, program, sizeof(program) - 1);
	if (length < 0)
		return mt_error_errno(errno, "cannot read %s", link);
	program[length] = '\0';
	return mt_pt_filter_text(engine->options.pt.filters, program, engine->pmu.address_filters,
				 &engine->filter);
}

static struct mt_error *set_filter(struct mt_pt_engine *engine, pid_t pid, int fd)
{
	int result;

	mt_try(make_filter(engine, pid));
	if (!engine->filter.length)
		return NULL;
	result = mt_system_ioctl(fd, PERF_EVENT_IOC_SET_FILTER, (uintptr_t)engine->filter.text);
	if (result >= 0)
		return NULL;
	return mt_error_errno(-result, "the kernel rejected the filter \"%s\"",
			      engine->filter.text);
}

static struct mt_error *map_once(const struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				 uint64_t size)
{
	return mt_aux_ring_map(ring->fd, &ring->data, size, !engine->options.pt.full_execution,
			       &ring->aux);
}

static bool is_too_large(const struct mt_error *error)
{
	enum mt_error_code code = error ? mt_error_code(error) : 0;

	return code == MT_ERROR_PERMISSION || code == MT_ERROR_NO_MEMORY;
}

/* Halves the ring until what may be locked, and what there is, suffices for it. */
static struct mt_error *map_aux(const struct mt_pt_engine *engine, struct mt_pt_buffer *ring)
{
	uint64_t size =
	    engine->options.ring_bytes * (engine->options.pt.full_execution ? STREAM_FACTOR : 1);
	struct mt_error *error = map_once(engine, ring, size);
	struct mt_error *smaller = error;

	while (is_too_large(smaller) && size / 2 >= MT_ENGINE_LEAST_RING_BYTES) {
		if (smaller != error)
			mt_error_destroy(smaller);
		size /= 2;
		smaller = map_once(engine, ring, size);
	}
	if (error && !smaller)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       ring->cpu < 0 ? "the ring of thread %d is reduced to %llu kB: %s"
				     : "the ring of CPU %d is reduced to %llu kB: %s",
		       ring->cpu < 0 ? ring->lwp : ring->cpu, (unsigned long long)size / 1024,
		       mt_error_message(error));
	if (smaller != error)
		mt_error_destroy(error);
	return smaller;
}

static struct mt_error *open_all(struct mt_pt_engine *engine, struct mt_pt_buffer *ring, pid_t lwp)
{
	mt_try(open_event(engine, lwp, ring->cpu, &ring->fd));
	mt_try(mt_data_ring_map(ring->fd, DATA_RING_BYTES, false, &ring->data));
	mt_try(map_aux(engine, ring));
	return set_filter(engine, ring->pid, ring->fd);
}

/* A thread that has ended needs none. */
static struct mt_error *ignore_gone(struct mt_error *error)
{
	if (!error || mt_error_code(error) != MT_ERROR_GONE)
		return error;
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *open_ring(struct mt_pt_engine *engine, pid_t pid, pid_t lwp, int cpu)
{
	struct mt_pt_buffer *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return mt_error_no_memory();
	ring->fd = ring->resume = -1;
	ring->pid = pid;
	ring->lwp = cpu < 0 ? lwp : -1;
	ring->cpu = cpu;
	ring->idx = engine->next_idx++;
	ring->next = engine->rings;
	engine->rings = ring;
	struct mt_error *error = open_all(engine, ring, lwp);
	if (error)
		mt_pt_buffer_close(engine, ring);
	else
		mt_pt_buffer_enable(ring, true);
	engine->has_ring |= !error;
	return ignore_gone(error);
}

struct mt_error *mt_pt_buffer_open(struct mt_pt_engine *engine, pid_t pid, pid_t lwp)
{
	return open_ring(engine, pid, lwp, -1);
}

struct mt_error *mt_pt_buffer_open_cpu(struct mt_pt_engine *engine, pid_t pid, pid_t lwp, int cpu)
{
	return open_ring(engine, pid, lwp, cpu);
}

struct mt_error *mt_pt_buffer_join(struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				   pid_t lwp)
{
	int fd = -1, result;

	mt_try(ignore_gone(open_event(engine, lwp, ring->cpu, &fd)));
	if (fd < 0)
		return NULL;
	if (mt_array_push(&ring->others, fd)) {
		mt_system_close(fd);
		return mt_error_no_memory();
	}
	mt_try(set_filter(engine, ring->pid, fd));
	result = mt_system_ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, (uintptr_t)ring->fd);
	if (result < 0)
		return mt_error_errno(-result, "cannot redirect thread %d to the ring of CPU %d",
				      lwp, ring->cpu);
	mt_system_ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return NULL;
}

struct mt_pt_buffer *mt_pt_buffer_of(const struct mt_pt_engine *engine, pid_t lwp)
{
	for (struct mt_pt_buffer *ring = engine->rings; ring; ring = ring->next)
		if (ring->lwp == lwp)
			return ring;
	return NULL;
}

void mt_pt_buffer_close(struct mt_pt_engine *engine, struct mt_pt_buffer *ring)
{
	if (!ring)
		return;
	struct mt_pt_buffer **at = &engine->rings;
	while (*at && *at != ring)
		at = &(*at)->next;
	if (*at)
		*at = ring->next;
	mt_aux_ring_unmap(&ring->aux);
	mt_data_ring_unmap(&ring->data);
	mt_array_each (fd, &ring->others)
		mt_system_close(*fd);
	if (ring->resume >= 0)
		mt_system_close(ring->resume);
	if (ring->fd >= 0)
		mt_system_close(ring->fd);
	mt_array_deinit(&ring->others);
	mt_array_deinit(&ring->flags);
	free(ring);
}

void mt_pt_buffer_enable(const struct mt_pt_buffer *ring, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	mt_system_ioctl(ring->fd, request, 0);
	mt_array_each (fd, &ring->others)
		mt_system_ioctl(*fd, request, 0);
}

struct drain {
	struct mt_pt_engine *engine;
	struct mt_pt_buffer *ring;
	struct mt_recording_writer *writer;
};

static struct mt_error *keep_flag(struct mt_pt_buffer *ring, const struct mt_sideband *aux)
{
	const uint64_t told =
	    PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;
	uint64_t overwritten = aux->aux.flags & PERF_AUX_FLAG_OVERWRITE;
	struct mt_pt_flag flag = {
	    .offset = aux->aux.offset + (overwritten ? 0 : aux->aux.size),
	    .flags = aux->aux.flags & told,
	    .time_ns = aux->time_ns,
	};

	if (!flag.flags)
		return NULL;
	if (flag.flags & PERF_AUX_FLAG_TRUNCATED) {
		ring->stopped_full = true;
		ring->stopped_ns = flag.time_ns;
	}
	return mt_array_push(&ring->flags, flag) ? mt_error_no_memory() : NULL;
}

/* Those that the session tells of itself are left out: the vDSO among the mappings. */
static struct mt_error *take_record(void *context, const struct perf_event_header *record)
{
	const struct drain *drain = context;
	const struct mt_pt_engine *engine = drain->engine;
	struct mt_sideband it;

	if (!mt_kernel_record_parse(record, &it))
		return NULL;
	it.time_ns = mt_tsc_to_ns(&engine->options.conversion,
				  mt_perf_clock_to_tsc(&engine->clock, it.time_ns));
	switch (it.kind) {
	case MT_SIDEBAND_AUX:
		return keep_flag(drain->ring, &it);
	case MT_SIDEBAND_MMAP:
		if (!it.mmap.executable || it.mmap.path[0] != '/')
			return NULL;
		return mt_recording_writer_put(drain->writer, &it);
	case MT_SIDEBAND_SWITCH:
	case MT_SIDEBAND_ITRACE_START:
		return drain->ring->cpu < 0 ? NULL : mt_recording_writer_put(drain->writer, &it);
	case MT_SIDEBAND_LOST:
		return mt_recording_writer_put(drain->writer, &it);
	default:
		return NULL;
	}
}

struct mt_error *mt_pt_buffer_drain(struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				    struct mt_recording_writer *writer)
{
	struct drain drain = {engine, ring, writer};

	return mt_data_ring_read(&ring->data, take_record, &drain, NULL);
}
