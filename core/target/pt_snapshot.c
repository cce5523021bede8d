/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into the recording.  The processes stand still while their rings are copied, and no longer:
 * the file is written when they run again. */
#include "target/pt_private.h"

#define AUX_ALIGNMENT 8

static uint64_t to_ns(const struct mt_pt_engine *engine, uint64_t tsc)
{
	return mt_tsc_to_ns(&engine->options.conversion, tsc);
}

/* What the kernel said of losses, by their place in the stream, whose end is at END. */
static struct mt_error *put_flags(struct mt_pt_ring *ring, const struct mt_auxtrace *piece,
				  struct mt_recording_writer *writer)
{
	mt_array_each (flag, &ring->flags) {
		uint64_t age = mt_aux_ring_age(&ring->aux, flag->offset);
		struct mt_sideband aux = {
		    .time_ns = flag->time_ns,
		    .kind = MT_SIDEBAND_AUX,
		    .pid = ring->pid,
		    .tid = ring->lwp,
		    .cpu = -1,
		    .aux = {.offset = piece->offset,
			    .size = age < piece->size ? piece->size - age : 0,
			    .flags = flag->flags},
		};

		mt_try(mt_recording_writer_put(writer, &aux));
	}
	ring->flags.count = 0;
	return NULL;
}

static struct mt_error *put_stretch(const struct mt_pt_engine *engine,
				    const struct mt_pt_ring *ring, const struct mt_auxtrace *piece,
				    struct mt_recording_writer *writer)
{
	struct mt_sideband aux = {
	    .time_ns = to_ns(engine, piece->reference),
	    .kind = MT_SIDEBAND_AUX,
	    .pid = ring->pid,
	    .tid = ring->lwp,
	    .cpu = -1,
	    .aux = {.offset = piece->offset, .size = piece->size},
	};

	return mt_recording_writer_put(writer, &aux);
}

/* A piece that does not go on from the last one begins at another place of the stream. */
static struct mt_error *put_piece(const struct mt_pt_engine *engine, struct mt_pt_ring *ring,
				  struct mt_recording_writer *writer)
{
	size_t size = mt_aux_news_bytes(&ring->news);
	struct mt_auxtrace piece = {
	    .size = size,
	    .offset = ring->stream_offset + (ring->news.goes_on ? 0 : AUX_ALIGNMENT),
	    .reference = ring->tsc,
	    .idx = ring->idx,
	    .tid = ring->lwp,
	    .cpu = -1,
	};

	mt_try(put_stretch(engine, ring, &piece, writer));
	mt_try(put_flags(ring, &piece, writer));
	ring->stream_offset =
	    piece.offset + ((size + AUX_ALIGNMENT - 1) & ~(size_t)(AUX_ALIGNMENT - 1));
	return mt_recording_writer_put_aux_parts(writer, &piece, ring->news.part,
						 ring->news.part_bytes);
}

static struct mt_error *put_note(const struct mt_pt_engine *engine,
				 const struct mt_pt_thread *thread, uint32_t number,
				 struct mt_recording_writer *writer)
{
	struct mt_sideband note = {
	    .time_ns = to_ns(engine, thread->ring->tsc),
	    .kind = MT_SIDEBAND_SAMPLE,
	    .pid = thread->pid,
	    .tid = thread->lwp,
	    .cpu = -1,
	    .sample = {.event = MT_NOTE_SNAPSHOT, .ip = thread->pc, .weight = number},
	};

	return number ? mt_recording_writer_put(writer, &note) : NULL;
}

static struct mt_error *put_thread(struct mt_pt_engine *engine, struct mt_pt_thread *thread,
				   uint32_t number, struct mt_recording_writer *writer)
{
	mt_try(mt_pt_ring_drain(engine, thread->ring, writer));
	if (!mt_aux_news_bytes(&thread->ring->news))
		return NULL;
	mt_try(put_piece(engine, thread->ring, writer));
	return put_note(engine, thread, number, writer);
}

static bool is_wanted(const struct mt_pt_thread *thread, pid_t lwp)
{
	return thread->ring && (!lwp || thread->lwp == lwp);
}

static void copy_ring(const struct mt_pt_engine *engine, struct mt_pt_ring *ring)
{
	mt_pt_ring_enable(ring, false);
	ring->tsc = mt_clock_tsc();
	mt_aux_ring_read(&ring->aux, engine->options.keep_rings, &ring->news);
	mt_pt_ring_enable(ring, true);
}

static void for_processes(struct mt_pt_engine *engine, pid_t lwp,
			  void (*act)(struct mt_target *target, pid_t pid))
{
	for (struct mt_pt_thread *thread = engine->threads; thread && !lwp;
	     thread = thread->hh.next)
		act(engine->target, thread->pid);
}

static void halt(struct mt_target *target, pid_t pid)
{
	mt_error_destroy(target->ops->halt(target, pid));
}

struct mt_error *mt_pt_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				struct mt_recording_writer *writer)
{
	struct mt_pt_engine *engine = (struct mt_pt_engine *)base;
	struct mt_pt_thread *thread;

	mt_perf_clock_sync(&engine->clock);
	for_processes(engine, lwp, halt);
	for (thread = engine->threads; thread; thread = thread->hh.next)
		if (is_wanted(thread, lwp))
			copy_ring(engine, thread->ring);
	for_processes(engine, lwp, engine->target->ops->release);
	for (thread = engine->threads; thread; thread = thread->hh.next)
		if (is_wanted(thread, lwp))
			mt_try(put_thread(engine, thread, number, writer));
	return NULL;
}
