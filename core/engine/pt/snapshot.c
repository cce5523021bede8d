/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into the recording.  The processes stand still while their rings are copied, and no longer:
 * the file is written when they run again.  A stream goes there all the time. */
#include "engine/kernel_maps.h"
#include "engine/pt/private.h"
#include "pt/packet.h"

#define AUX_ALIGNMENT 8

static uint64_t to_ns(const struct mt_pt_engine *engine, uint64_t tsc)
{
	return mt_tsc_to_ns(&engine->options.conversion, tsc);
}

static struct mt_sideband record_of(const struct mt_pt_buffer *ring, enum mt_sideband_kind kind,
				    uint64_t time_ns)
{
	return (struct mt_sideband){
	    .time_ns = time_ns,
	    .kind = (uint8_t)kind,
	    .pid = ring->cpu < 0 ? ring->pid : -1,
	    .tid = ring->lwp,
	    .cpu = ring->cpu,
	};
}

/* In the recording. */
static uint64_t padded(uint64_t size)
{
	return (size + AUX_ALIGNMENT - 1) & ~(uint64_t)(AUX_ALIGNMENT - 1);
}

/* Losses reported by the kernel, by their position in the stream. */
static struct mt_error *put_flags(struct mt_pt_buffer *ring, const struct mt_auxtrace *piece,
				  struct mt_recording_writer *writer)
{
	mt_array_each (flag, &ring->flags) {
		uint64_t age = mt_aux_ring_age(&ring->aux, flag->offset);
		struct mt_sideband aux = record_of(ring, MT_SIDEBAND_AUX, flag->time_ns);

		aux.aux.offset = piece->offset;
		aux.aux.size = age == 0            ? padded(piece->size)
			       : age < piece->size ? piece->size - age
						   : 0;
		aux.aux.flags = flag->flags;
		mt_try(mt_recording_writer_put(writer, &aux));
	}
	ring->flags.count = 0;
	return NULL;
}

/* From the last PSB to the end; 0: there is none. */
static size_t bytes_since_psb(const struct mt_aux_news *news)
{
	for (int i = 1; i >= 0; i--) {
		size_t psb = mt_pt_find_last_psb(news->part[i], news->part_bytes[i]);

		if (psb < news->part_bytes[i])
			return news->part_bytes[i] - psb + (i ? 0 : news->part_bytes[1]);
	}
	return 0;
}

/* A window that goes on from the last one begins at its last PSB: the processor makes none when the
 * event is switched on again, and nothing can be decoded without.  Returns how much is repeated. */
static size_t reach_back(const struct mt_pt_engine *engine, struct mt_pt_buffer *ring)
{
	size_t size = ring->news.goes_on && !engine->options.live && ring->aux.overwritten
			  ? ring->since_psb
			  : 0;

	size = size ? mt_aux_ring_reach_back(&ring->aux, size, &ring->news) : 0;
	ring->since_psb = bytes_since_psb(&ring->news);
	return size;
}

/* A piece that does not go on from the last one begins at another place of the stream. */
static struct mt_error *put_piece(const struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				  struct mt_recording_writer *writer)
{
	size_t repeated = reach_back(engine, ring);
	size_t size = mt_aux_news_bytes(&ring->news);
	struct mt_auxtrace piece = {
	    .size = size,
	    .offset = ring->stream_offset - repeated + (ring->news.goes_on ? 0 : AUX_ALIGNMENT),
	    .reference = ring->tsc,
	    .idx = ring->idx,
	    .tid = ring->lwp,
	    .cpu = ring->cpu,
	};

	struct mt_sideband aux = record_of(ring, MT_SIDEBAND_AUX, to_ns(engine, ring->tsc));
	aux.aux.offset = piece.offset;
	aux.aux.size = piece.size;
	mt_try(mt_recording_writer_put(writer, &aux));
	mt_try(put_flags(ring, &piece, writer));
	mt_try(mt_pt_put_values(engine, ring, repeated, writer));
	ring->stream_offset = piece.offset + padded(size);
	return mt_recording_writer_put_aux_parts(writer, &piece, ring->news.part,
						 ring->news.part_bytes);
}

static struct mt_error *put_ring(struct mt_pt_engine *engine, struct mt_pt_buffer *ring,
				 uint32_t number, struct mt_recording_writer *writer)
{
	mt_try(mt_pt_buffer_drain(engine, ring, writer));
	if (!mt_aux_news_bytes(&ring->news))
		return NULL;
	mt_try(put_piece(engine, ring, writer));
	if (ring->cpu >= 0)
		return NULL;
	const struct mt_pt_thread *thread = mt_pt_find(engine, ring->lwp);
	return mt_engine_put_snapshot(writer, ring->pid, ring->lwp, thread ? thread->pc : 0, number,
				      to_ns(engine, ring->tsc));
}

static bool is_wanted(const struct mt_pt_buffer *ring, pid_t lwp)
{
	return !lwp || ring->lwp == lwp;
}

static struct mt_error *snapshot(struct mt_pt_engine *engine, pid_t lwp, uint32_t number,
				 struct mt_recording_writer *writer)
{
	struct mt_pt_thread *thread, *threads = lwp ? NULL : engine->threads;
	struct mt_pt_buffer *ring;

	for (thread = threads; thread; thread = thread->hh.next)
		mt_error_destroy(mt_target_halt(engine->target, thread->pid));
	/* The stop in which a trace was to go on may have been taken for the one asked for here. */
	for (thread = threads; thread; thread = thread->hh.next)
		mt_pt_has_resumed(engine, thread);
	for (ring = engine->rings; ring; ring = ring->next)
		if (is_wanted(ring, lwp)) {
			mt_pt_buffer_enable(ring, false);
			ring->tsc = mt_clock_tsc();
			mt_aux_ring_read(&ring->aux, engine->options.live, &ring->news);
			mt_pt_buffer_enable(ring, true);
		}
	for (thread = threads; thread; thread = thread->hh.next)
		mt_target_release(engine->target, thread->pid);
	for (ring = engine->rings; ring; ring = ring->next)
		if (is_wanted(ring, lwp))
			mt_try(put_ring(engine, ring, number, writer));
	return NULL;
}

/* The kernel switches an event off for which there is no room. */
static void start_again(struct mt_pt_engine *engine, struct mt_pt_buffer *ring)
{
	if (!ring->stopped_full)
		return;
	engine->times_full++;
	engine->lost_ns += to_ns(engine, mt_clock_tsc()) - ring->stopped_ns;
	ring->stopped_full = false;
	mt_pt_buffer_enable(ring, true);
}

/* perf joins no packet across pieces, so each begins with a PSB; one that does not come for long
 * is not waited for. */
static size_t tail_of(const struct mt_pt_buffer *ring)
{
	size_t size = mt_aux_news_bytes(&ring->news);
	size_t since_psb = bytes_since_psb(&ring->news);

	if (since_psb)
		return since_psb;
	return size > ring->aux.size_bytes / 2 ? size % AUX_ALIGNMENT : size;
}

/* The event is off after a loss, and so stands at the end of a packet. */
static struct mt_error *put_stream(struct mt_pt_engine *engine, struct mt_pt_buffer *ring, bool all,
				   struct mt_recording_writer *writer)
{
	mt_try(mt_pt_buffer_drain(engine, ring, writer));
	ring->tsc = mt_clock_tsc();
	mt_aux_ring_read(&ring->aux, false, &ring->news);
	if (!all && !ring->stopped_full)
		mt_aux_ring_leave(&ring->aux, &ring->news, tail_of(ring));
	if (mt_aux_news_bytes(&ring->news))
		mt_try(put_piece(engine, ring, writer));
	mt_aux_ring_free(&ring->aux);
	start_again(engine, ring);
	return NULL;
}

/* The contents of a trigger's snapshot are there in any case. */
static struct mt_error *end_streams(struct mt_pt_engine *engine, pid_t lwp,
				    struct mt_recording_writer *writer)
{
	for (struct mt_pt_buffer *ring = engine->rings; ring; ring = ring->next) {
		if (!is_wanted(ring, lwp))
			continue;
		mt_pt_buffer_enable(ring, false);
		mt_try(put_stream(engine, ring, true, writer));
		mt_pt_buffer_enable(ring, true);
	}
	return NULL;
}

/* Once, before all data: the filters; and without the kernel its stretches have no names. */
static struct mt_error *put_head(struct mt_pt_engine *engine, struct mt_recording_writer *writer)
{
	if (engine->filter.length)
		mt_try(mt_recording_writer_set_filter(writer, engine->filter.text));
	if (!engine->options.kernel || engine->kernel_is_told)
		return NULL;
	engine->kernel_is_told = true;
	return mt_engine_put_kernel(engine->options.log, to_ns(engine, mt_clock_tsc()), writer);
}

struct mt_error *mt_pt_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				struct mt_recording_writer *writer)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;

	mt_perf_clock_sync(&engine->clock);
	mt_try(put_head(engine, writer));
	return engine->options.pt.full_execution ? end_streams(engine, lwp, writer)
						 : snapshot(engine, lwp, number, writer);
}

struct mt_error *mt_pt_drain(struct mt_engine *base, struct mt_recording_writer *writer)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;

	mt_perf_clock_sync(&engine->clock);
	mt_try(put_head(engine, writer));
	for (struct mt_pt_buffer *ring = engine->rings; ring; ring = ring->next) {
		if (engine->options.pt.full_execution) {
			mt_try(put_stream(engine, ring, false, writer));
		} else {
			mt_try(mt_pt_buffer_drain(engine, ring, writer));
			start_again(engine, ring);
		}
	}
	return NULL;
}
