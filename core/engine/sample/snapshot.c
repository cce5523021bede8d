/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rings into histories, now and then, and these into the recording.  A ring takes no samples while
 * it is read, which the kernel counts. */
#include "engine/kernel_maps.h"
#include "engine/sample/private.h"
#include "perf/kernel_record.h"

struct reading {
	const struct mt_sample_engine *engine;
	struct mt_recording_writer *writer;
	unsigned throttled;
	uint64_t left_ns; /* when the thread left its CPU; 0: it came back, or that is not known */
	bool has_records;
};

static uint64_t to_ns(const struct mt_sample_engine *engine, uint64_t perf_ns)
{
	return mt_tsc_to_ns(&engine->options.conversion,
			    mt_perf_clock_to_tsc(&engine->clock, perf_ns));
}

static struct mt_error *take_sample(const struct reading *reading,
				    const struct perf_event_header *record)
{
	const size_t time_at = sizeof(*record) + 3 * sizeof(uint64_t);
	uint64_t perf_ns;

	if (record->size < time_at + sizeof(perf_ns))
		return NULL;
	memcpy(&perf_ns, (const char *)record + time_at, sizeof(perf_ns));
	return mt_recording_writer_put_stack(reading->writer, MT_STACK_TIMED, record,
					     to_ns(reading->engine, perf_ns));
}

/* The session tells of the vDSO itself. */
static bool is_wanted(const struct mt_sideband *record)
{
	switch (record->kind) {
	case MT_SIDEBAND_MMAP:
		return record->mmap.executable && record->mmap.path[0] == '/';
	case MT_SIDEBAND_SWITCH:
	case MT_SIDEBAND_LOST:
		return true;
	default:
		return false;
	}
}

static struct mt_error *take_record(void *context, const struct perf_event_header *record)
{
	struct reading *reading = context;
	struct mt_sideband it;

	reading->has_records = true;
	if (record->type == PERF_RECORD_SAMPLE)
		return take_sample(reading, record);
	reading->throttled += record->type == PERF_RECORD_THROTTLE;
	if (!mt_kernel_record_parse(record, &it) || !is_wanted(&it))
		return NULL;
	it.time_ns = to_ns(reading->engine, it.time_ns);
	if (it.kind == MT_SIDEBAND_SWITCH)
		reading->left_ns = it.context_switch.out ? it.time_ns : 0;
	return mt_recording_writer_put(reading->writer, &it);
}

static struct mt_error *put_maps(const struct mt_sample_engine *engine,
				 struct mt_sample_thread *thread,
				 struct mt_recording_writer *writer)
{
	struct reading reading = {.engine = engine, .writer = writer};

	return mt_data_ring_read(&thread->maps.data, take_record, &reading, NULL);
}

static struct mt_error *keep(void *context, const struct perf_event_header *record)
{
	return mt_sample_history_push(context, record);
}

static struct mt_error *read_ring(struct mt_sample_engine *engine, struct mt_sample_thread *thread)
{
	bool older_lost = false;
	struct mt_error *error =
	    mt_data_ring_read(&thread->stacks.data, keep, &thread->history, &older_lost);

	engine->times_overwritten += older_lost;
	return error;
}

static struct mt_error *put_stacks(struct mt_sample_engine *engine, struct mt_sample_thread *thread,
				   uint32_t number, struct mt_recording_writer *writer)
{
	struct reading reading = {.engine = engine, .writer = writer};
	const uint64_t now_ns = mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc());
	/* Debuggers ask when all threads stand still, and do not say when they go on. */
	const bool is_live = engine->options.live;
	const bool is_shown = is_live || (number && thread->stopped_ns);
	const uint64_t stopped_ns = is_live ? now_ns : thread->stopped_ns;

	mt_try(read_ring(engine, thread));
	mt_try(mt_sample_history_each(&thread->history, take_record, &reading));
	if (!is_live) {
		thread->history.begin = thread->history.end;
		engine->times_throttled += reading.throttled;
	}
	if (is_shown)
		mt_try(mt_sample_put_stop(engine, thread,
					  reading.left_ns ? reading.left_ns : stopped_ns, writer));
	return reading.has_records || is_shown
		   ? mt_engine_put_snapshot(writer, thread->pid, thread->lwp, thread->pc, number,
					    now_ns)
		   : NULL;
}

/* Once.  Without it the kernel's frames have no names. */
static struct mt_error *put_kernel(struct mt_sample_engine *engine,
				   struct mt_recording_writer *writer)
{
	if (!engine->options.kernel || engine->kernel_is_told)
		return NULL;
	engine->kernel_is_told = true;
	return mt_engine_put_kernel(
	    engine->options.log, mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc()), writer);
}

struct mt_error *mt_sample_snapshot(struct mt_engine *base, pid_t lwp, uint32_t number,
				    struct mt_recording_writer *writer)
{
	struct mt_sample_engine *engine = (struct mt_sample_engine *)base;

	mt_perf_clock_sync(&engine->clock);
	mt_try(put_kernel(engine, writer));
	for (struct mt_sample_thread *thread = engine->threads; thread; thread = thread->hh.next) {
		if (lwp && thread->lwp != lwp)
			continue;
		mt_try(put_maps(engine, thread, writer));
		mt_try(put_stacks(engine, thread, number, writer));
	}
	return NULL;
}

/* Not more often than need be, for what it loses.  A ring that cannot be emptied now can later. */
void mt_sample_tick(struct mt_engine *base)
{
	struct mt_sample_engine *engine = (struct mt_sample_engine *)base;
	const uint64_t now_ns = mt_clock_monotonic_ns();

	/* Called after each stop of a thread's, too. */
	if (now_ns < engine->next_look_ns)
		return;
	engine->next_look_ns = now_ns + MT_ENGINE_TICK_MS * 1000000ull / 2;
	for (struct mt_sample_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (mt_sample_unread(&thread->stacks.data) > thread->stacks.data.size_bytes / 4)
			mt_error_destroy(read_ring(engine, thread));
}

struct mt_error *mt_sample_drain(struct mt_engine *base, struct mt_recording_writer *writer)
{
	struct mt_sample_engine *engine = (struct mt_sample_engine *)base;

	mt_perf_clock_sync(&engine->clock);
	mt_try(put_kernel(engine, writer));
	for (struct mt_sample_thread *thread = engine->threads; thread; thread = thread->hh.next)
		mt_try(put_maps(engine, thread, writer));
	return NULL;
}
