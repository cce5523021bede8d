/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A hit pauses the trace in the kernel, at the very instruction: neither what the kernel does until
 * the thread stands still is in it, nor what the thread does should it stop late.  So the event of
 * the hit is in one group with the trace's.
 *
 * The trace goes on with a sample of another event of the group: context switches.  The thread
 * makes one whenever it stops.  So when it is to go on from a hit it is interrupted first, and that
 * event is on until it stands again, before an instruction of its own has run.  A thread's trace
 * that pauses costs a stop more at each hit.
 *
 * Source: perf_event_open(2), aux_pause and aux_resume; linux/kernel/events/core.c,
 * __perf_event_overflow() and perf_event_aux_pause(); Linux 6.13. */
#include "engine/pt/private.h"
#include "kernel/event.h"
#include "kernel/system.h"

static bool can_pause(struct mt_pt_engine *engine)
{
	mt_auto(mt_error) struct mt_error *error = NULL;
	enum mt_log_level level = MT_LOG_DEBUG;

	if (engine->pause_tried || engine->options.pt.per_cpu || engine->options.pt.full_execution)
		return engine->pauses;
	engine->pause_tried = true;
	error = mt_pt_try_pause(&engine->pmu);
	engine->pauses = !error;
	if (error && engine->options.kernel)
		level = MT_LOG_INFO;
	mt_log(engine->options.log, level,
	       error ? "after a hit the trace continues until the thread stops: %s"
		     : "a hit pauses the trace in the kernel%s",
	       error ? mt_error_message(error) : "");
	return engine->pauses;
}

static struct mt_error *open_resume(const struct mt_pt_engine *engine, struct mt_pt_buffer *ring)
{
	struct mt_perf_spec spec = mt_pt_resume_spec();

	spec.raw_clock = engine->clock.raw;
	return mt_perf_event_open(&spec, ring->lwp, -1, ring->fd, &ring->resume);
}

int mt_pt_leader(struct mt_pt_engine *engine, pid_t lwp)
{
	struct mt_pt_buffer *ring = mt_pt_buffer_of(engine, lwp);
	mt_auto(mt_error) struct mt_error *error = NULL;

	if (!ring || !can_pause(engine))
		return -1;
	if (ring->resume < 0)
		error = open_resume(engine, ring);
	if (error && mt_error_code(error) != MT_ERROR_GONE)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "a hit stops thread %d, but does not pause its trace: %s", lwp,
		       mt_error_message(error));
	return ring->resume < 0 ? -1 : ring->fd;
}

static bool switch_resume(const struct mt_pt_engine *engine, pid_t lwp, unsigned long request)
{
	const struct mt_pt_buffer *ring = mt_pt_buffer_of(engine, lwp);

	return ring && ring->resume >= 0 && mt_system_ioctl(ring->resume, request, 0) >= 0;
}

bool mt_pt_has_resumed(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	if (!thread->resuming)
		return false;
	switch_resume(engine, thread->lwp, PERF_EVENT_IOC_DISABLE);
	thread->resuming = thread->paused = false;
	return true;
}

void mt_pt_note_pause(const struct mt_pt_engine *engine, struct mt_pt_thread *thread,
		      const struct mt_stop *stop)
{
	const struct mt_pt_buffer *ring = mt_pt_buffer_of(engine, thread->lwp);

	if (ring && ring->resume >= 0 && mt_perf_is_trap(stop->signal, stop->code))
		thread->paused = true;
	thread->signalled = stop->kind == MT_STOP_SIGNAL && !thread->paused;
}

struct mt_error *mt_pt_note_hit(const struct mt_pt_engine *engine,
				const struct mt_pt_thread *thread, uint64_t pc)
{
	struct mt_pt_buffer *ring = mt_pt_buffer_of(engine, thread->lwp);
	struct mt_pt_flag flag = {.flags = PERF_AUX_FLAG_PARTIAL};

	/* Whoever entered a signal's handler instead ran no instruction in between. */
	if (!ring || !(thread->paused && thread->pc != pc && thread->signal_pc != pc))
		return NULL;
	flag.offset = __atomic_load_n(&ring->aux.page->aux_head, __ATOMIC_ACQUIRE);
	flag.time_ns = mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc());
	return mt_array_push(&ring->flags, flag) ? mt_error_no_memory() : NULL;
}

struct mt_error *mt_pt_unpause(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	if (!thread->paused || !switch_resume(engine, thread->lwp, PERF_EVENT_IOC_ENABLE))
		return NULL;
	thread->resuming = true;
	return mt_target_interrupt(engine->target, thread->lwp);
}
