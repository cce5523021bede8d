/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "decode/fibers.h"
#include "decode/kept_events.h"
#include "trace/sink_ops.h"

#include <inttypes.h>
#include <stdlib.h>

/* What was done on a stack, from a switch to it on. */
struct fiber_run {
	uint32_t fiber;
	const struct mt_epoch *epoch;
	size_t notices;        /* that came before it */
	uint64_t first, count; /* of the events that are kept */
};

struct fiber {
	/* The first functions of coroutines that began on it. */
	const struct mt_function *start; /* NULL: none was seen */
	bool starts_differ;
	size_t first, runs; /* once these are sorted */
};

struct mt_fibers {
	struct mt_decode_run *run;
	const struct mt_track *track;
	MT_ARRAY(struct fiber) fibers;     /* by their numbers, less one */
	MT_ARRAY(struct mt_event) notices; /* what all of them get */
	MT_ARRAY(struct fiber_run) runs;
	struct mt_kept_events events;
};

struct mt_error *mt_fibers_create(struct mt_decode_run *run, struct mt_fibers **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->run = run;
	return NULL;
}

void mt_fibers_destroy(struct mt_fibers *fibers)
{
	if (!fibers)
		return;
	mt_array_deinit(&fibers->fibers);
	mt_array_deinit(&fibers->notices);
	mt_array_deinit(&fibers->runs);
	mt_kept_events_deinit(&fibers->events);
	free(fibers);
}

/* ---- Taking ---- */

static void note_start(struct mt_fibers *fibers, struct fiber *fiber, const struct mt_event *event)
{
	const struct mt_symbolizer *symbolizer = &fibers->track->epoch->symbolizer.symbolizer;
	const struct mt_function *start = symbolizer->function_at(symbolizer->context, event->to);

	fiber->starts_differ |= fiber->start && fiber->start != start;
	fiber->start = start;
}

static bool goes_on(const struct mt_fibers *fibers, uint32_t number)
{
	const struct fiber_run *last = fibers->runs.count ? mt_array_last(&fibers->runs) : NULL;

	return last && last->fiber == number && last->epoch == fibers->track->epoch &&
	       last->notices == fibers->notices.count;
}

static struct mt_error *take(void *self, uint32_t number, const struct mt_event *event,
			     bool is_start)
{
	struct mt_fibers *fibers = self;

	if (!number) {
		/* A thread that ends, ends none of its coroutines. */
		if (event->kind == MT_EVENT_MARK && event->detail != MT_MARK_SNAPSHOT &&
		    event->detail != MT_MARK_EXEC && event->detail != MT_MARK_OWN_STACK)
			return NULL;
		return mt_array_push(&fibers->notices, *event) ? mt_error_no_memory() : NULL;
	}
	while (fibers->fibers.count < number)
		if (mt_array_push(&fibers->fibers, (struct fiber){0}))
			return mt_error_no_memory();
	if (is_start)
		note_start(fibers, &fibers->fibers.items[number - 1], event);
	if (!goes_on(fibers, number)) {
		const struct fiber_run run = {.fiber = number,
					      .epoch = fibers->track->epoch,
					      .notices = fibers->notices.count,
					      .first = mt_kept_events_count(&fibers->events)};

		if (mt_array_push(&fibers->runs, run))
			return mt_error_no_memory();
	}
	mt_array_last(&fibers->runs)->count++;
	return mt_kept_events_add(&fibers->events, event);
}

struct mt_fiber_taker mt_fibers_taker(struct mt_fibers *fibers, const struct mt_track *track)
{
	fibers->track = track;
	return (struct mt_fiber_taker){take, fibers};
}

/* ---- Showing ---- */

/* "coroutine 3 (work)" */
static const char *name_of(struct mt_decode_run *run, const struct fiber *fiber, uint32_t number)
{
	const bool is_known = fiber->start && !fiber->starts_differ;

	return mt_arena_format(&run->arena,
			       is_known ? "coroutine %" PRIu32 " (%s)" : "coroutine %" PRIu32,
			       number, is_known ? fiber->start->name : "");
}

static struct mt_error *push(void *rebuild, const struct mt_event *events, size_t count)
{
	return mt_rebuild_push(rebuild, events, count);
}

/* Where the thread's own stack lies, as was last said before the first COUNT notices were over. */
static struct mt_error *push_own_stack(const struct mt_fibers *fibers, size_t count,
				       struct mt_rebuild *rebuild)
{
	while (count-- > 0) {
		const struct mt_event *notice = &fibers->notices.items[count];

		if (notice->kind == MT_EVENT_MARK && notice->detail == MT_MARK_OWN_STACK)
			return mt_rebuild_push(rebuild, notice, 1);
	}
	return NULL;
}

static struct mt_error *push_runs(struct mt_fibers *fibers, const struct fiber *fiber,
				  struct mt_rebuild *rebuild)
{
	const struct fiber_run *run = &fibers->runs.items[fiber->first];
	const struct mt_event *notices = fibers->notices.items;
	const struct mt_epoch *epoch = NULL;
	size_t noticed = run->notices;

	mt_try(push_own_stack(fibers, noticed, rebuild));
	for (size_t i = 0; i < fiber->runs; i++, run++) {
		if (run->notices > noticed)
			mt_try(mt_rebuild_push(rebuild, notices + noticed, run->notices - noticed));
		noticed = run->notices;
		if (run->epoch != epoch)
			mt_rebuild_set_symbolizer(rebuild, &run->epoch->symbolizer.symbolizer);
		epoch = run->epoch;
		mt_try(mt_kept_events_give(&fibers->events, run->first, run->count, push, rebuild));
	}
	if (fibers->notices.count > noticed)
		mt_try(
		    mt_rebuild_push(rebuild, notices + noticed, fibers->notices.count - noticed));
	return mt_rebuild_finish(rebuild);
}

static struct mt_error *show(struct mt_fibers *fibers, const struct fiber *fiber)
{
	struct mt_decode_run *run = fibers->run;
	const struct mt_process_thread *thread = fibers->track->thread;
	const uint32_t number = ++run->fiber_count;
	if (run->options->coroutine && run->options->coroutine != number)
		return NULL;
	struct mt_rebuild_options options = {
	    .thread = {.pid = thread->pid,
		       .tid = MT_FIBER_TID(number),
		       .name = name_of(run, fiber, number),
		       .process = mt_processes_name_of(run->processes, thread)},
	    .sink = run->calls_sink,
	    .inlines = !run->options->no_inlines,
	    .values = &run->values,
	    .last_call_id = &run->last_call_id,
	    .open_calls_of = fibers->track->tid,
	};
	struct mt_rebuild *rebuild = NULL;

	if (!options.thread.name)
		return mt_error_no_memory();
	for (size_t i = 0; i < fiber->runs; i++)
		options.events += fibers->runs.items[fiber->first + i].count;
	mt_try(mt_rebuild_create(run->rebuild_ops, &options, &rebuild));
	struct mt_error *error = push_runs(fibers, fiber, rebuild);
	mt_rebuild_destroy(rebuild);
	return error;
}

static int compare_runs(const void *left, const void *right)
{
	const struct fiber_run *one = left, *other = right;

	if (one->fiber != other->fiber)
		return one->fiber < other->fiber ? -1 : 1;
	return one->first < other->first ? -1 : one->first > other->first;
}

static struct mt_error *show_all(struct mt_fibers *fibers)
{
	for (size_t i = 0; i < fibers->runs.count;) {
		const uint32_t number = fibers->runs.items[i].fiber;
		struct fiber *fiber = &fibers->fibers.items[number - 1];

		for (fiber->first = i;
		     i < fibers->runs.count && fibers->runs.items[i].fiber == number; i++)
			fiber->runs++;
		mt_try(show(fibers, fiber));
	}
	return NULL;
}

struct mt_error *mt_fibers_show(struct mt_fibers *fibers)
{
	if (!fibers->runs.count)
		return NULL;
	qsort(fibers->runs.items, fibers->runs.count, sizeof(*fibers->runs.items), compare_runs);
	fibers->run->fibers_thread = fibers->track->tid;
	struct mt_error *error = show_all(fibers);
	fibers->run->fibers_thread = 0;
	return error;
}

/* ---- One of them alone ---- */

struct mt_slice_sink mt_fibers_no_sink(void)
{
	static const struct mt_slice_sink_ops ops = {.thread = mt_slice_ignore_thread,
						     .segment_begin = mt_slice_ignore_segment,
						     .begin = mt_slice_ignore_begin,
						     .end = mt_slice_ignore_end,
						     .instant = mt_slice_ignore_instant,
						     .segment_end = mt_slice_ignore_segment};

	return (struct mt_slice_sink){.ops = &ops};
}

struct mt_error *mt_fibers_check(const struct mt_decode_run *run)
{
	const uint32_t wanted = run->options->coroutine;

	return wanted <= run->fiber_count
		   ? NULL
		   : mt_error_new(MT_ERROR_NOT_FOUND,
				  "the recording contains no calls of coroutine %" PRIu32
				  ": it has %" PRIu32,
				  wanted, run->fiber_count);
}
