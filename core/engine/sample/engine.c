/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine `sample`: the kernel records the stack of each thread now and then while it runs, by
 * perf_event_open(2), as `perf record -g` does.  No byte of the program is changed, and no thread
 * is stopped but to be read, so it works where nothing can be patched.  What happened between two
 * samples nobody saw. */
#include "engine/sample/private.h"

#include <stdlib.h>

static struct mt_sample_engine *engine_of(struct mt_engine *base)
{
	return (struct mt_sample_engine *)base;
}

static struct mt_sample_thread *find(const struct mt_sample_engine *engine, pid_t lwp)
{
	struct mt_sample_thread *thread = NULL;

	HASH_FIND_INT(engine->threads, &lwp, thread);
	return thread;
}

/* With what nobody asked for otherwise. */
static struct mt_engine_options complete(const struct mt_engine_options *asked)
{
	struct mt_engine_options options = *asked;

	if (!options.ring_bytes)
		options.ring_bytes = MT_ENGINE_DEFAULT_RING_BYTES;
	if (!options.sample.period_ns)
		options.sample.period_ns = MT_ENGINE_DEFAULT_SAMPLE_NS;
	if (options.sample.follows_frame_pointers)
		options.sample.stack_bytes = 0;
	else if (!options.sample.stack_bytes)
		options.sample.stack_bytes = MT_ENGINE_DEFAULT_STACK_BYTES;
	return options;
}

static struct mt_error *create(struct mt_target *target, const struct mt_engine_options *asked,
			       struct mt_engine **out)
{
	const struct mt_engine_options options = complete(asked);

	if (options.ring_bytes < mt_sample_least_bytes(&options))
		return mt_error_new(MT_ERROR_USAGE,
				    "a ring of %llu bytes has no room for samples with %llu bytes "
				    "of the stack: use a larger --size or a smaller --stack",
				    (unsigned long long)options.ring_bytes,
				    (unsigned long long)options.sample.stack_bytes);
	struct mt_sample_engine *engine = calloc(1, sizeof(*engine));
	if (!engine)
		return mt_error_no_memory();
	engine->base.ops = &mt_engine_sample;
	engine->target = target;
	engine->options = options;
	mt_perf_clock_init(&engine->clock);
	*out = &engine->base;
	return NULL;
}

static void thread_destroy(struct mt_sample_engine *engine, struct mt_sample_thread *thread)
{
	HASH_DEL(engine->threads, thread);
	mt_register_breaks_close(&thread->breaks);
	mt_sample_close(thread);
	mt_sample_history_deinit(&thread->history);
	free(thread);
}

/* Where something is missing that nobody asked to leave out. */
static void tell_losses(const struct mt_sample_engine *engine)
{
	const struct mt_log *log = engine->options.log;

	if (engine->without_ring > 1)
		mt_log(log, MT_LOG_WARNING, "%u threads were not sampled", engine->without_ring);
	if (engine->times_overwritten && !engine->options.live)
		mt_log(log, MT_LOG_WARNING,
		       "samples came faster than they were read: some are missing in %u places; "
		       "try a larger --size, a lower --frequency or a smaller --stack",
		       engine->times_overwritten);
	if (engine->times_throttled)
		mt_log(log, MT_LOG_WARNING,
		       "the kernel paused sampling %u times, since it took too much time; try a "
		       "lower --frequency, or run: sudo sysctl "
		       "kernel.perf_event_max_sample_rate=100000",
		       engine->times_throttled);
}

static void destroy(struct mt_engine *base)
{
	struct mt_sample_engine *engine = engine_of(base);

	tell_losses(engine);
	while (engine->threads)
		thread_destroy(engine, engine->threads);
	mt_array_deinit(&engine->sites);
	free(engine);
}

static void describe(const struct mt_engine *base, struct mt_recording_pt *pt)
{
	(void)base;
	*pt = (struct mt_recording_pt){0};
}

static void describe_event(const struct mt_engine *base, struct perf_event_attr *attr)
{
	*attr = mt_sample_attr((const struct mt_sample_engine *)base);
	/* Of the recording's own clock, and read back in its order. */
	attr->use_clockid = 0;
	attr->clockid = 0;
	attr->write_backward = 0;
}

/* A failure for a later thread is tolerated, since the first ones are worth continuing for.  It is
 * said of one: others will not fare better. */
static struct mt_error *tolerate_loss(const struct mt_sample_engine *engine, pid_t lwp,
				      const char *what, bool is_first, struct mt_error *error)
{
	if (!error || !engine->has_ring)
		return error;
	if (is_first)
		mt_log(engine->options.log, MT_LOG_WARNING, "thread %d %s: %s", lwp, what,
		       mt_error_message(error));
	mt_error_destroy(error);
	return NULL;
}

static struct mt_error *add_break(const struct mt_sample_engine *engine,
				  struct mt_sample_thread *thread, uint64_t address)
{
	const struct mt_register_break_group group = {
	    .lwp = thread->lwp, .leader = -1, .raw_clock = engine->clock.raw};

	return mt_register_breaks_add(&thread->breaks, &group, address);
}

static struct mt_error *add_breaks(const struct mt_sample_engine *engine,
				   struct mt_sample_thread *thread)
{
	mt_array_each (site, &engine->sites)
		if (site->pid == thread->pid)
			mt_try(add_break(engine, thread, site->address));
	return NULL;
}

static struct mt_error *add_thread(struct mt_engine *base, pid_t pid, pid_t lwp, pid_t parent)
{
	struct mt_sample_engine *engine = engine_of(base);
	struct mt_sample_thread *thread = calloc(1, sizeof(*thread));

	(void)parent;
	if (!thread)
		return mt_error_no_memory();
	thread->pid = pid;
	thread->lwp = lwp;
	thread->stacks.fd = thread->maps.fd = -1;
	thread->history.size_bytes = engine->options.ring_bytes;
	HASH_ADD_INT(engine->threads, lwp, thread);
	if (!find(engine, lwp)) {
		free(thread);
		return mt_error_no_memory();
	}
	if (engine->options.only && engine->options.only != lwp)
		return NULL;
	struct mt_error *error = mt_sample_open(engine, thread);
	engine->without_ring += error != NULL;
	mt_try(tolerate_loss(engine, lwp, "is not sampled", engine->without_ring == 1, error));
	return tolerate_loss(engine, lwp, "has no triggers", true, add_breaks(engine, thread));
}

static void remove_thread(struct mt_engine *base, pid_t lwp)
{
	struct mt_sample_thread *thread = find(engine_of(base), lwp);

	if (thread)
		thread_destroy(engine_of(base), thread);
}

/* The events go with the task, whatever its number is. */
static void rename_thread(struct mt_engine *base, pid_t former, pid_t lwp)
{
	struct mt_sample_engine *engine = engine_of(base);
	struct mt_sample_thread *thread = find(engine, former);

	if (!thread || former == lwp)
		return;
	remove_thread(base, lwp);
	HASH_DEL(engine->threads, thread);
	thread->lwp = lwp;
	HASH_ADD_INT(engine->threads, lwp, thread);
}

static struct mt_error *stopped(struct mt_engine *base, const struct mt_stop *stop,
				struct mt_engine_news *news)
{
	struct mt_sample_engine *engine = engine_of(base);
	struct mt_sample_thread *thread = find(engine, stop->lwp);
	struct user_regs_struct registers;

	*news = (struct mt_engine_news){
	    .time_ns = mt_tsc_to_ns(&engine->options.conversion, mt_clock_tsc())};
	if (!thread || stop->kind == MT_STOP_EXITED)
		return NULL;
	mt_try(engine->target->ops->get_registers(engine->target, stop->lwp, &registers));
	thread->stopped_ns = news->time_ns;
	thread->pc = news->pc = registers.rip;
	news->breakpoint = mt_register_breaks_hit(&thread->breaks, stop, &news->pc);
	if (stop->kind == MT_STOP_EXEC) {
		mt_break_sites_forget(&engine->sites, thread->pid);
		mt_register_breaks_close(&thread->breaks);
	}
	news->maps_changed = stop->kind == MT_STOP_EXEC || stop->kind == MT_STOP_LIBRARIES;
	return NULL;
}

static struct mt_error *resume(struct mt_engine *base, pid_t lwp, int signal)
{
	struct mt_sample_engine *engine = engine_of(base);
	struct mt_sample_thread *thread = find(engine, lwp);

	if (thread)
		thread->stopped_ns = 0;
	return mt_target_resume(engine->target, lwp, MT_RESUME_CONTINUE, signal);
}

static struct mt_error *set_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address,
				       const struct mt_engine_condition *condition)
{
	struct mt_sample_engine *engine = engine_of(base);
	bool is_new;

	(void)condition;
	mt_try(mt_break_sites_add(&engine->sites, pid, address, &is_new));
	for (struct mt_sample_thread *thread = is_new ? engine->threads : NULL; thread;
	     thread = thread->hh.next)
		if (thread->pid == pid)
			mt_try(add_break(engine, thread, address));
	return NULL;
}

static void clear_breakpoint(struct mt_engine *base, pid_t pid, uint64_t address)
{
	struct mt_sample_engine *engine = engine_of(base);

	mt_break_sites_remove(&engine->sites, pid, address);
	for (struct mt_sample_thread *thread = engine->threads; thread; thread = thread->hh.next)
		if (thread->pid == pid)
			mt_register_breaks_remove(&thread->breaks, address);
}

/* Since when, only reading it all would show. */
static bool look(struct mt_engine *base, pid_t lwp, struct mt_engine_ring *out)
{
	const struct mt_sample_thread *thread = find(engine_of(base), lwp);
	const struct mt_data_ring *ring = thread ? &thread->stacks.data : NULL;

	if (!ring || !ring->page)
		return false;
	const uint64_t used = mt_sample_unread(ring) + thread->history.end - thread->history.begin;

	*out = (struct mt_engine_ring){
	    .bytes = thread->history.size_bytes,
	    .used = used < thread->history.size_bytes ? used : thread->history.size_bytes,
	    .span_ns = UINT64_MAX,
	};
	return true;
}

static const struct mt_engine_break_ops breaks = {
    .in_registers = true,
    .set = set_breakpoint,
    .clear = clear_breakpoint,
};
static const struct mt_engine_sample_ops samples = {.describe = describe_event};
static const struct mt_engine_live_ops live = {
    .tick = mt_sample_tick, .drain = mt_sample_drain, .look = look};

const struct mt_engine_ops mt_engine_sample = {
    .name = "sample",
    .summary = "samples the threads' stacks while they run: any program, but no calls",
    .automatic = false,
    .probe = mt_sample_probe,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .add_thread = add_thread,
    .remove_thread = remove_thread,
    .rename_thread = rename_thread,
    .stopped = stopped,
    .resume = resume,
    .snapshot = mt_sample_snapshot,
    .breaks = &breaks,
    .live = &live,
    .samples = &samples,
};
