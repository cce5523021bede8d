/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine `pt`: the processor writes what each thread does into a ring of its own, through
 * perf_event_open(2).  A thread is given its event while it stands still at its birth, so nothing
 * of it is missed; no byte of the program is changed, and no thread is stopped but to be read. */
#include "engine/pt/private.h"

#include <cpuid.h>
#include <stdlib.h>
#include <string.h>

static struct mt_pt_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_pt_engine *)base;
}

struct mt_pt_thread *mt_pt_find(const struct mt_pt_engine *engine, pid_t lwp)
{
	struct mt_pt_thread *thread = NULL;

	HASH_FIND_INT(engine->threads, &lwp, thread);
	return thread;
}

static struct mt_error *create(struct mt_target *target, const struct mt_engine_options *options,
			       struct mt_engine **out)
{
	struct mt_pt_engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		return mt_error_no_memory();
	engine->base.ops = &mt_engine_pt;
	engine->target = target;
	engine->options = *options;
	if (!engine->options.ring_bytes)
		engine->options.ring_bytes = MT_ENGINE_DEFAULT_RING_BYTES;
	const struct mt_pmu_settings settings = {
	    .resolution = options->pt.resolution,
	    .no_return_compression = options->pt.no_return_compression,
	    .ptwrite = options->pt.ptwrite,
	    .power_events = options->pt.power_events,
	    .ring_bytes = engine->options.ring_bytes,
	};
	struct mt_error *error = mt_pmu_read("", &engine->pmu);
	if (!error)
		error = mt_pmu_configure(&engine->pmu, &settings, &engine->config);
	if (error) {
		free(engine);
		return error;
	}
	mt_perf_clock_init(&engine->clock);
	*out = &engine->base;
	return NULL;
}

static void thread_destroy(struct mt_pt_engine *engine, struct mt_pt_thread *thread)
{
	HASH_DEL(engine->threads, thread);
	mt_register_breaks_close(&thread->breaks);
	mt_pt_buffer_close(engine, mt_pt_buffer_of(engine, thread->lwp));
	free(thread);
}

static void destroy(struct mt_engine *base)
{
	struct mt_pt_engine *engine = engine_of(base);

	if (engine->times_full)
		mt_log(engine->options.log, MT_LOG_WARNING,
		       "the processor produced data faster than it could be written: %llu times, "
		       "for %.3f ms in total, nothing was recorded; try --size=64M, "
		       "--resolution=low or --filter",
		       (unsigned long long)engine->times_full, (double)engine->lost_ns / 1e6);
	while (engine->threads)
		thread_destroy(engine, engine->threads);
	while (engine->rings)
		mt_pt_buffer_close(engine, engine->rings);
	mt_array_deinit(&engine->sites);
	mt_str_deinit(&engine->filter);
	free(engine);
}

/* Source: Intel SDM vol. 2A, CPUID leaves 0 and 1. */
static void describe_processor(struct mt_recording_pt *pt)
{
	unsigned int a = 0, b = 0, c = 0, d = 0;
	char vendor[12];

	if (!__get_cpuid(0, &a, &b, &c, &d))
		return;
	memcpy(vendor, &b, 4);
	memcpy(vendor + 4, &d, 4);
	memcpy(vendor + 8, &c, 4);
	pt->cpu_is_intel = memcmp(vendor, "GenuineIntel", sizeof(vendor)) == 0;
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return;
	pt->cpu_family = (uint16_t)((a >> 8 & 0xf) + ((a >> 8 & 0xf) == 0xf ? a >> 20 & 0xff : 0));
	pt->cpu_model = (uint8_t)((a >> 4 & 0xf) | (a >> 12 & 0xf0));
	pt->cpu_stepping = a & 0xf;
}

static void describe(const struct mt_engine *base, struct mt_recording_pt *pt)
{
	const struct mt_pt_engine *engine = (const struct mt_pt_engine *)base;

	*pt = (struct mt_recording_pt){
	    .present = true,
	    .tsc = engine->config.tsc,
	    .mtc = engine->config.mtc,
	    .cyc = engine->config.cyc,
	    .return_compression = engine->config.return_compression,
	    .kernel = engine->options.kernel,
	    .per_cpu = engine->options.pt.per_cpu,
	    .snapshot = !engine->options.pt.full_execution,
	    .filtered = engine->options.pt.filters,
	    .mtc_period = engine->config.mtc_period,
	    .max_nonturbo_ratio = (uint8_t)engine->pmu.max_nonturbo_ratio,
	    .tsc_ctc_numerator = engine->pmu.tsc_ctc_numerator,
	    .tsc_ctc_denominator = engine->pmu.tsc_ctc_denominator,
	};
	describe_processor(pt);
}

/* A failure for a later thread is tolerated, since the first ones are worth continuing for. */
static struct mt_error *tolerate_loss(const struct mt_pt_engine *engine, pid_t lwp,
				      const char *what, struct mt_error *error)
{
	if (!error || !engine->has_ring)
		return error;
	mt_log(engine->options.log, MT_LOG_WARNING, "thread %d %s: %s", lwp, what,
	       mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

/* Descendants of our threads have their events on the CPUs already. */
static struct mt_error *add_ring(struct mt_pt_engine *engine, pid_t pid, pid_t lwp, pid_t parent)
{
	if (!engine->options.pt.per_cpu)
		return mt_pt_buffer_open(engine, pid, lwp);
	return mt_pt_find(engine, parent) ? NULL : mt_pt_add_cpus(engine, pid, lwp);
}

static struct mt_error *add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent)
{
	struct mt_pt_engine *engine = engine_of(base);
	struct mt_pt_thread *thread = calloc(1, sizeof(*thread));

	if (!thread)
		return mt_error_no_memory();
	thread->pid = pid;
	thread->lwp = lwp;
	HASH_ADD_INT(engine->threads, lwp, thread);
	if (!mt_pt_find(engine, lwp)) {
		free(thread);
		return mt_error_no_memory();
	}
	mt_try(tolerate_loss(engine, lwp, "is not recorded", add_ring(engine, pid, lwp, parent)));
	return tolerate_loss(engine, lwp, "has no triggers", mt_pt_add_breaks(engine, thread));
}

static void remove_thread(struct mt_engine *base, pid_t lwp)
{
	struct mt_pt_thread *thread = mt_pt_find(engine_of(base), lwp);

	if (thread)
		thread_destroy(engine_of(base), thread);
}

/* The event goes with the task, whatever its number is. */
static void rename_thread(struct mt_engine *base, pid_t former, pid_t lwp)
{
	struct mt_pt_engine *engine = engine_of(base);
	struct mt_pt_thread *thread = mt_pt_find(engine, former);
	struct mt_pt_buffer *ring;

	if (!thread || former == lwp)
		return;
	remove_thread(base, lwp);
	HASH_DEL(engine->threads, thread);
	thread->lwp = lwp;
	HASH_ADD_INT(engine->threads, lwp, thread);
	ring = mt_pt_buffer_of(engine, former);
	if (!ring)
		return;
	ring->lwp = lwp;
	ring->idx = engine->next_idx++;
	ring->stream_offset = 0;
	ring->since_psb = 0;
}

static struct mt_error *stopped(struct mt_engine *base, const struct mt_stop *stop,
				struct mt_engine_news *news)
{
	struct mt_pt_engine *engine = engine_of(base);
	struct mt_pt_thread *thread = mt_pt_find(engine, stop->lwp);
	struct user_regs_struct registers;

	*news = (struct mt_engine_news){
	    .time_ns = mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc())};
	if (!thread || stop->kind == MT_STOP_EXITED)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, stop->lwp, &registers));
	thread->signal_pc = thread->signalled ? thread->pc : 0;
	thread->pc = registers.rip;
	news->pc = thread->pc;
	news->ordinary = mt_pt_has_resumed(engine, thread) && stop->kind == MT_STOP_INTERRUPTED;
	mt_pt_note_pause(engine, thread, stop);
	news->breakpoint = mt_register_breaks_hit(&thread->breaks, stop, &news->pc);
	if (news->breakpoint)
		mt_try(mt_pt_note_hit(engine, thread, news->pc));
	if (stop->kind == MT_STOP_EXEC)
		mt_pt_forget_breaks(engine, thread);
	news->maps_changed = stop->kind == MT_STOP_EXEC || stop->kind == MT_STOP_LIBRARIES;
	return NULL;
}

static struct mt_error *resume(struct mt_engine *base, pid_t lwp, int signal)
{
	struct mt_pt_engine *engine = engine_of(base);
	struct mt_pt_thread *thread = mt_pt_find(engine, lwp);

	if (thread)
		mt_try(mt_pt_unpause(engine, thread));
	return mt_target_resume(engine->target, lwp, MT_RESUME_CONTINUE, signal);
}

static int leader(struct mt_engine *base, pid_t lwp)
{
	return mt_pt_leader(engine_of(base), lwp);
}

static struct mt_error *hit(struct mt_engine *base, pid_t lwp, uint64_t pc)
{
	const struct mt_pt_thread *thread = mt_pt_find(engine_of(base), lwp);

	return thread ? mt_pt_note_hit(engine_of(base), thread, pc) : NULL;
}

/* Since when, only decoding would show. */
static bool look(struct mt_engine *base, pid_t lwp, struct mt_engine_ring *out)
{
	const struct mt_pt_buffer *ring = mt_pt_buffer_of(engine_of(base), lwp);

	if (!ring)
		return false;
	*out = (struct mt_engine_ring){.bytes = ring->aux.size_bytes,
				       .used = mt_aux_ring_used(&ring->aux),
				       .span_ns = UINT64_MAX};
	return true;
}

static const struct mt_engine_break_ops breaks = {
    .in_registers = true,
    .set = mt_pt_set_breakpoint,
    .clear = mt_pt_clear_breakpoint,
};
static const struct mt_engine_group_ops group = {.leader = leader, .hit = hit};
static const struct mt_engine_live_ops live = {.drain = mt_pt_drain, .look = look};

const struct mt_engine_ops mt_engine_pt = {
    .name = "pt",
    .summary = "Intel PT: the processor records every branch",
    .automatic = true,
    .probe = mt_pt_probe,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .add_thread = add_thread,
    .remove_thread = remove_thread,
    .rename_thread = rename_thread,
    .stopped = stopped,
    .resume = resume,
    .snapshot = mt_pt_snapshot,
    .breaks = &breaks,
    .group = &group,
    .live = &live,
};
