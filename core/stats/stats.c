/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "stats/stats.h"

#include "elf/objfile.h"
#include "output/args.h"
#include "output/thread_table.h"
#include "stats/result.h"
#include "stats/table.h"
#include "trace/sink_ops.h"

#include <string.h>

struct interval {
	uint64_t begin_ns, end_ns;
};

struct thread {
	struct mt_thread_entry entry;
	struct mt_thread what;
	uint64_t number;
	bool has_calls;
	/* When it did not run, and how much of that lies before a time: times only grow. */
	MT_ARRAY(struct interval) off;
	size_t off_before;
	uint64_t off_ns, last_ns;
};

struct frame {
	struct mt_stats_entry *entry; /* NULL: counts nowhere */
	const struct mt_function *function;
	const char *arguments;
	uint64_t begin_ns, children_ns, waited_ns;
	uint64_t calls;            /* that it counts as, or samples */
	uint64_t children_samples; /* in which it was not innermost */
	uint8_t flags;             /* MT_SLICE_… */
	bool is_call, is_off_cpu;
};

struct mt_stats {
	struct mt_stats_options options;
	struct mt_stats_table functions, waits, callers, callees;
	/* Those of `functions` by their id, where they are not told apart any further. */
	MT_ARRAY(struct mt_stats_entry *) by_id;
	struct mt_thread_table threads;
	uint64_t thread_count;
	struct thread *thread;
	MT_ARRAY(struct frame) frames;
	MT_ARRAY(struct mt_stats_call) slowest; /* what it points to is lent */
	struct mt_stats_result result;
};

/* ---- Waiting ---- */

/* How long the thread did not run before a time. */
static uint64_t waited_before(struct thread *thread, uint64_t time_ns)
{
	if (time_ns < thread->last_ns)
		thread->off_before = thread->off_ns = 0;
	thread->last_ns = time_ns;
	while (thread->off_before < thread->off.count &&
	       thread->off.items[thread->off_before].end_ns <= time_ns) {
		const struct interval *off = &thread->off.items[thread->off_before++];

		thread->off_ns += off->end_ns - off->begin_ns;
	}
	if (thread->off_before == thread->off.count ||
	    thread->off.items[thread->off_before].begin_ns >= time_ns)
		return thread->off_ns;
	return thread->off_ns + time_ns - thread->off.items[thread->off_before].begin_ns;
}

static int note_off_cpu(struct mt_stats *stats, uint64_t begin_ns, uint64_t end_ns)
{
	const struct interval off = {begin_ns, end_ns};

	stats->result.has_waited = true;
	return mt_array_push(&stats->thread->off, off);
}

/* ---- Counting ---- */

static uint64_t group_of(const struct mt_stats *stats, const struct mt_function *caller)
{
	switch (stats->options.by) {
	case MT_STATS_BY_THREAD:
		return stats->thread->number;
	case MT_STATS_BY_PROCESS:
		return (uint64_t)stats->thread->what.pid;
	case MT_STATS_BY_CALLER:
		return caller ? caller->id + 1u : 0;
	default:
		return 0;
	}
}

static const struct mt_function *innermost(const struct mt_stats *stats)
{
	for (size_t i = stats->frames.count; i-- > 0;)
		if (stats->frames.items[i].is_call)
			return stats->frames.items[i].function;
	return NULL;
}

static struct mt_stats_entry *make_entry_of_function(struct mt_stats *stats,
						     const struct mt_function *function)
{
	const struct mt_function *caller =
	    stats->options.by == MT_STATS_BY_CALLER ? innermost(stats) : NULL;
	bool is_new;
	struct mt_stats_entry *entry =
	    mt_stats_table_get(&stats->functions, group_of(stats, caller), function, NULL, &is_new);

	if (!entry || !is_new)
		return entry;
	entry->caller = caller;
	entry->thread = &stats->thread->what;
	entry->category = MT_CATEGORY_CALL;
	entry->is_wanted =
	    stats->options.function && mt_function_matches(function, stats->options.function);
	return entry;
}

static struct mt_stats_entry *entry_of_function(struct mt_stats *stats,
						const struct mt_function *function)
{
	if (stats->options.by != MT_STATS_BY_FUNCTION)
		return make_entry_of_function(stats, function);
	while (stats->by_id.count <= function->id)
		if (mt_array_push(&stats->by_id, NULL))
			return NULL;
	struct mt_stats_entry **entry = &stats->by_id.items[function->id];
	if (!*entry)
		*entry = make_entry_of_function(stats, function);
	return *entry;
}

static struct mt_stats_entry *entry_of_wait(struct mt_stats *stats, const char *name,
					    const char *category)
{
	bool is_new;
	struct mt_stats_entry *entry =
	    mt_stats_table_get(&stats->waits, (uintptr_t)category, NULL, name, &is_new);

	if (entry)
		entry->category = category;
	return entry;
}

static int count(struct mt_stats_entry *entry, const struct frame *frame, uint64_t duration_ns,
		 bool is_partial)
{
	entry->calls += frame->calls;
	entry->partial += is_partial;
	entry->self_ns += duration_ns > frame->children_ns ? duration_ns - frame->children_ns : 0;
	return is_partial ? 0 : mt_histogram_add(&entry->durations, duration_ns);
}

/* With another function: who called it, or what it called. */
static int count_related(struct mt_stats_table *table, const struct mt_function *other,
			 const struct frame *frame, uint64_t duration_ns, bool is_partial)
{
	bool is_new;
	struct mt_stats_entry *entry = other ? mt_stats_table_get(table, 0, other, NULL, &is_new)
					     : mt_stats_table_get(table, 0, NULL, "-", &is_new);

	if (!entry)
		return -1;
	entry->category = MT_CATEGORY_CALL;
	entry->total_ns += duration_ns;
	return count(entry, frame, duration_ns, is_partial);
}

static int note_slow(struct mt_stats *stats, const struct frame *frame, uint64_t duration_ns,
		     bool is_estimated)
{
	const struct mt_stats_call call = {
	    .begin_ns = frame->begin_ns,
	    .duration_ns = duration_ns,
	    .function = frame->function->name,
	    .arguments = frame->arguments,
	    .thread = stats->thread->what.name,
	    .tid = stats->thread->what.tid,
	    .is_estimated = is_estimated,
	};
	size_t at = stats->slowest.count;

	if (at < stats->options.slowest && mt_array_push(&stats->slowest, call))
		return -1;
	for (; at > 0 && stats->slowest.items[at - 1].duration_ns < duration_ns; at--)
		if (at < stats->slowest.count)
			stats->slowest.items[at] = stats->slowest.items[at - 1];
	if (at < stats->slowest.count)
		stats->slowest.items[at] = call;
	return 0;
}

/* Each sample stands for a period.  A function that calls itself is in a sample once. */
static int end_sampled(struct mt_stats *stats, struct frame *frame, const struct mt_slice_end *what)
{
	const uint64_t period_ns = stats->result.sampling.period_ns;
	const struct mt_function *caller = innermost(stats);
	struct frame *parent = stats->frames.count ? mt_array_last(&stats->frames) : NULL;
	bool is_outermost = !--frame->entry->open;
	int failed;

	if (parent)
		parent->children_samples += what->samples;
	frame->children_ns = frame->children_samples * period_ns;
	frame->calls = is_outermost ? what->samples : 0;
	frame->entry->total_ns += frame->calls * period_ns;
	failed = count(frame->entry, frame, what->samples * period_ns, true);
	frame->calls = what->samples;
	if (frame->entry->is_wanted)
		failed |=
		    count_related(&stats->callers, caller, frame, what->samples * period_ns, true);
	if (parent && parent->is_call && parent->entry->is_wanted)
		failed |= count_related(&stats->callees, frame->function, frame,
					what->samples * period_ns, true);
	return failed;
}

static int end_call(struct mt_stats *stats, struct frame *frame, const struct mt_slice_end *what)
{
	const uint64_t duration_ns = what->time_ns - frame->begin_ns;
	const bool is_partial = frame->flags & MT_SLICE_INFERRED ||
				what->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST);
	const bool is_estimated =
	    frame->flags & MT_SLICE_TIME_ESTIMATED || what->flags & MT_SLICE_END_TIME_ESTIMATED;
	struct mt_stats_entry *entry = frame->entry;
	const struct frame *parent = stats->frames.count ? mt_array_last(&stats->frames) : NULL;
	int failed;

	if (frame->flags & MT_SLICE_SAMPLED)
		return end_sampled(stats, frame, what);
	failed = count(entry, frame, duration_ns, is_partial);
	stats->result.calls += !(frame->flags & MT_SLICE_INFERRED);
	stats->result.partial += is_partial;
	stats->result.estimated += is_estimated;
	stats->result.has_estimated_begins |= frame->flags & MT_SLICE_TIME_ESTIMATED;
	if (!--entry->open) {
		entry->total_ns += duration_ns;
		if (stats->result.has_waited)
			entry->waited_ns +=
			    waited_before(stats->thread, what->time_ns) - frame->waited_ns;
	}
	if (entry->is_wanted) {
		failed |= count_related(&stats->callers, innermost(stats), frame, duration_ns,
					is_partial);
		if (!is_partial)
			failed |= note_slow(stats, frame, duration_ns, is_estimated);
	}
	if (parent && parent->is_call && parent->entry->is_wanted)
		failed |=
		    count_related(&stats->callees, frame->function, frame, duration_ns, is_partial);
	return failed;
}

/* ---- The sink ---- */

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct mt_stats *stats = self;
	/* That of a side track is its thread's. */
	const pid_t tid = mt_tid_is_track(what->tid) ? what->tid & (MT_TID_LIMIT - 1) : what->tid;
	struct thread *known = mt_thread_table_get(&stats->threads, what->pid, tid, sizeof(*known));

	stats->frames.count = 0;
	stats->thread = known;
	if (!known)
		return mt_error_no_memory();
	if (!known->number)
		known->number = ++stats->thread_count;
	if (tid == what->tid || !known->what.tid)
		known->what = *what;
	known->what.tid = tid;
	if (what->sampling) {
		uint64_t before = stats->result.sampling.samples;

		stats->result.sampling = *what->sampling;
		stats->result.sampling.samples += before;
	}
	return NULL;
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_stats *stats = self;
	struct mt_stats_result *result = &stats->result;

	stats->frames.count = 0;
	if (!result->end_ns || segment->begin_ns < result->begin_ns)
		result->begin_ns = segment->begin_ns;
	if (segment->end_ns > result->end_ns)
		result->end_ns = segment->end_ns;
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_stats *stats = self;
	const struct mt_side_event *side = slice->side;
	struct frame frame = {
	    .begin_ns = slice->time_ns,
	    .flags = slice->flags,
	    .calls = !(slice->flags & MT_SLICE_INFERRED),
	    .function = slice->function,
	    .arguments = slice->arguments,
	    .is_call = slice->kind == MT_SLICE_CALL || slice->kind == MT_SLICE_INLINED,
	    .is_off_cpu = side && side->is_off_cpu,
	};
	bool counts = true;

	if (frame.is_call)
		frame.entry = entry_of_function(stats, slice->function);
	else if (slice->kind == MT_SLICE_SYSCALL || slice->kind == MT_SLICE_UNTRACED)
		frame.entry = entry_of_wait(stats, mt_slice_name(slice), MT_CATEGORY_KERNEL);
	else if (side && (side->is_off_cpu || strcmp(side->category, "sched") != 0))
		frame.entry = entry_of_wait(stats, side->name, side->category);
	else
		counts = false;
	stats->result.gaps += slice->kind == MT_SLICE_GAP;
	if (counts && !frame.entry)
		return mt_error_no_memory();
	if (frame.is_call) {
		frame.entry->open++;
		stats->result.threads += !stats->thread->has_calls;
		stats->thread->has_calls = true;
		if (stats->result.has_waited)
			frame.waited_ns = waited_before(stats->thread, slice->time_ns);
	}
	return mt_array_push(&stats->frames, frame) ? mt_error_no_memory() : NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_stats *stats = self;

	if (!stats->frames.count)
		return NULL;
	struct frame frame = stats->frames.items[--stats->frames.count];
	const uint64_t duration_ns = what->time_ns - frame.begin_ns;
	int failed = 0;

	if (stats->frames.count)
		mt_array_last(&stats->frames)->children_ns += duration_ns;
	if (frame.is_call) {
		failed = end_call(stats, &frame, what);
	} else if (frame.entry) {
		frame.entry->total_ns += duration_ns;
		failed = count(frame.entry, &frame, duration_ns,
			       what->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST));
	}
	if (frame.is_off_cpu)
		failed |= note_off_cpu(stats, frame.begin_ns, what->time_ns);
	return failed ? mt_error_no_memory() : NULL;
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_stats *stats = self;

	stats->result.gaps += what->kind == MT_INSTANT_GAP;
	if (what->kind != MT_INSTANT_FAULT || !what->side)
		return NULL;
	struct mt_stats_entry *entry = entry_of_wait(stats, what->side->name, what->side->category);
	if (!entry)
		return mt_error_no_memory();
	entry->calls++;
	return NULL;
}

static const char *keep(struct mt_stats *stats, const char *text, bool *failed)
{
	const char *kept = text ? mt_arena_text(&stats->result.texts, text, SIZE_MAX) : NULL;

	*failed |= text && !kept;
	return kept;
}

static struct mt_error *finish(void *self)
{
	struct mt_stats *stats = self;
	struct mt_stats_result *result = &stats->result;
	bool failed = false;

	mt_try(mt_stats_make_rows(&stats->functions, stats->options.by, stats->options.function,
				  &result->texts, &result->functions));
	mt_try(mt_stats_make_rows(&stats->waits, MT_STATS_BY_FUNCTION, false, &result->texts,
				  &result->waits));
	mt_try(mt_stats_make_rows(&stats->callers, MT_STATS_BY_FUNCTION, false, &result->texts,
				  &result->callers));
	mt_try(mt_stats_make_rows(&stats->callees, MT_STATS_BY_FUNCTION, false, &result->texts,
				  &result->callees));
	result->sampling.event = keep(stats, result->sampling.event, &failed);
	mt_array_each (call, &stats->slowest) {
		call->function = keep(stats, call->function, &failed);
		call->arguments = keep(stats, call->arguments, &failed);
		call->thread = keep(stats, call->thread, &failed);
		failed |= mt_array_push(&result->slowest, *call) != 0;
	}
	return failed ? mt_error_no_memory() : NULL;
}

struct mt_slice_sink mt_stats_sink(struct mt_stats *stats)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = mt_slice_ignore_segment,
	    .finish = finish,
	};

	return (struct mt_slice_sink){&ops, stats};
}

struct mt_error *mt_stats_create(const struct mt_stats_options *options, struct mt_stats **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->options = *options;
	return NULL;
}

struct mt_stats_result *mt_stats_result(struct mt_stats *stats)
{
	return &stats->result;
}

static void deinit_thread(struct mt_thread_entry *entry)
{
	mt_array_deinit(&((struct thread *)entry)->off);
}

void mt_stats_destroy(struct mt_stats *stats)
{
	if (!stats)
		return;
	for (struct mt_thread_entry *one = stats->threads.first; one;
	     one = mt_thread_table_next(one))
		deinit_thread(one);
	mt_thread_table_deinit(&stats->threads);
	mt_stats_table_deinit(&stats->functions);
	mt_stats_table_deinit(&stats->waits);
	mt_stats_table_deinit(&stats->callers);
	mt_stats_table_deinit(&stats->callees);
	mt_array_deinit(&stats->by_id);
	mt_array_deinit(&stats->frames);
	mt_array_deinit(&stats->slowest);
	mt_stats_rows_deinit(&stats->result.functions);
	mt_stats_rows_deinit(&stats->result.waits);
	mt_stats_rows_deinit(&stats->result.callers);
	mt_stats_rows_deinit(&stats->result.callees);
	mt_array_deinit(&stats->result.slowest);
	mt_arena_deinit(&stats->result.texts);
	free(stats);
}
