/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "perf/event.h"
#include "perf/kernel_record.h"
#include "perf/system.h"
#include "target/pt_private.h"

#include <errno.h>
#include <stdlib.h>

#define DATA_RING_BYTES (32u << 10)

/* Mappings come with the time at which they were made, so that code is known from its first
 * instruction on. */
static struct mt_error *open_event(const struct mt_pt_engine *engine, struct mt_pt_ring *ring)
{
	const struct mt_perf_spec spec = {
	    .type = engine->pmu.type,
	    .config = engine->config.config,
	    .period = 1,
	    .sample_type = MT_KERNEL_RECORD_SAMPLE_TYPE,
	    .kernel = engine->options.pt.kernel,
	    .disabled = true,
	    .sideband = true,
	    .raw_clock = engine->clock.raw,
	};
	struct perf_event_attr attr = mt_perf_spec_attr(&spec);

	attr.build_id = mt_perf_kernel_is_at_least(5, 12);
	ring->fd = mt_system_open_event(&attr, ring->lwp, -1, -1);
	if (ring->fd >= 0)
		return NULL;
	return mt_perf_event_explain(&attr, "Intel PT", ring->lwp, -1, -ring->fd);
}

static bool is_too_large(const struct mt_error *error)
{
	enum mt_error_code code = error ? mt_error_code(error) : 0;

	return code == MT_ERROR_PERMISSION || code == MT_ERROR_NO_MEMORY;
}

/* Halves the ring until what may be locked, and what there is, suffices for it. */
static struct mt_error *map_aux(const struct mt_pt_engine *engine, struct mt_pt_ring *ring)
{
	uint64_t size = engine->options.ring_bytes;
	struct mt_error *error = mt_aux_ring_map(ring->fd, &ring->data, size, true, &ring->aux);

	while (is_too_large(error) && size / 2 >= MT_ENGINE_LEAST_RING_BYTES) {
		struct mt_error *smaller;

		size /= 2;
		smaller = mt_aux_ring_map(ring->fd, &ring->data, size, true, &ring->aux);
		if (!smaller)
			mt_log(engine->options.log, MT_LOG_WARNING,
			       "thread %d gets a ring of %llu kB: %s", ring->lwp,
			       (unsigned long long)size / 1024, mt_error_message(error));
		if (!is_too_large(smaller)) {
			mt_error_destroy(error);
			return smaller;
		}
		mt_error_destroy(smaller);
	}
	return error;
}

static struct mt_error *open_all(const struct mt_pt_engine *engine, struct mt_pt_ring *ring)
{
	mt_try(open_event(engine, ring));
	mt_try(mt_data_ring_map(ring->fd, DATA_RING_BYTES, false, &ring->data));
	return map_aux(engine, ring);
}

struct mt_error *mt_pt_ring_open(struct mt_pt_engine *engine, pid_t pid, pid_t lwp,
				 struct mt_pt_ring **out)
{
	struct mt_pt_ring *ring = calloc(1, sizeof(*ring));

	*out = NULL;
	if (!ring)
		return mt_error_no_memory();
	ring->fd = -1;
	ring->pid = pid;
	ring->lwp = lwp;
	ring->idx = engine->next_idx++;
	struct mt_error *error = open_all(engine, ring);
	if (error) {
		mt_pt_ring_close(ring);
		if (mt_error_code(error) != MT_ERROR_GONE)
			return error;
		mt_error_destroy(error);
		return NULL;
	}
	mt_pt_ring_enable(ring, true);
	*out = ring;
	return NULL;
}

void mt_pt_ring_close(struct mt_pt_ring *ring)
{
	if (!ring)
		return;
	mt_aux_ring_unmap(&ring->aux);
	mt_data_ring_unmap(&ring->data);
	if (ring->fd >= 0)
		mt_system_close(ring->fd);
	mt_array_deinit(&ring->flags);
	free(ring);
}

void mt_pt_ring_enable(struct mt_pt_ring *ring, bool on)
{
	mt_system_ioctl(ring->fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

struct drain {
	struct mt_pt_engine *engine;
	struct mt_pt_ring *ring;
	struct mt_recording_writer *writer;
};

static struct mt_error *keep_flag(struct mt_pt_ring *ring, const struct mt_sideband *aux)
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
	case MT_SIDEBAND_LOST:
		return mt_recording_writer_put(drain->writer, &it);
	default:
		return NULL;
	}
}

struct mt_error *mt_pt_ring_drain(struct mt_pt_engine *engine, struct mt_pt_ring *ring,
				  struct mt_recording_writer *writer)
{
	struct drain drain = {engine, ring, writer};

	return mt_data_ring_read(&ring->data, take_record, &drain, NULL);
}
