/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What goroutines did, out of the runs that are kept of them: a rebuild each; and for each thread
 * whom it ran when. */
#include "decode/goroutines_private.h"
#include "trace/goroutines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define END_OF_GOROUTINE "runtime.goexit1"

/* ---- A goroutine's runs ---- */

static const char *name_at(const struct mt_goroutine_run *run, uint64_t address)
{
	const struct mt_symbolizer *symbolizer = &run->epoch->symbolizer.symbolizer;
	const struct mt_function *function = symbolizer->function_at(symbolizer->context, address);

	return function->kind == MT_FUNCTION_SYMBOL ? function->name : NULL;
}

/* Its calling convention may stand behind the name. */
static bool is_function(const struct mt_goroutine_run *run, uint64_t address, const char *name)
{
	const char *found = name_at(run, address);
	const size_t length = strlen(name);

	return found && strncmp(found, name, length) == 0 &&
	       (!found[length] || found[length] == '.');
}

static uint64_t later(uint64_t one, uint64_t other)
{
	return one > other ? one : other;
}

/* One goroutine while it is put out. */
struct showing {
	struct mt_goroutines *goroutines;
	struct mt_rebuild *rebuild;
	const struct mt_goroutine_run *run;
	size_t notice;            /* the next one that its process has */
	uint64_t last_ns;         /* up to then it is known what it did */
	uint64_t unseen_until_ns; /* from then on all of its process's threads are seen */
	uint32_t snapshot;        /* the last one that it was told of */
	struct mt_event left; /* the call by which it left its thread, if that was last; else 0 */
	uint64_t ending_at;   /* the stack pointer of its last call; 0: it has not come to that */
	bool is_over;
};

static struct mt_error *push(struct showing *showing, const struct mt_event *event)
{
	return mt_rebuild_push(showing->rebuild, event, 1);
}

static struct mt_error *push_return(struct showing *showing, const struct mt_event *call,
				    uint64_t time_ns, uint64_t sp)
{
	const struct mt_event event = {
	    .time_ns = time_ns, .kind = MT_EVENT_LEAVE, .from = sp, .to = call->to};

	return push(showing, &event);
}

/* It left its thread's processor: until it is switched to again, or for ever. */
static struct mt_error *push_leaving(struct showing *showing, const struct mt_event *call)
{
	mt_try(push(showing, call));
	if (!showing->ending_at) {
		showing->left = *call;
		return NULL;
	}
	showing->is_over = true;
	mt_try(push_return(showing, call, call->time_ns, call->from));
	return push_return(showing, call, call->time_ns, showing->ending_at);
}

static struct mt_error *push_events(void *context, const struct mt_event *events, size_t count)
{
	struct showing *showing = context;
	const struct mt_goroutine_run *run = showing->run;
	size_t done = 0;

	for (size_t i = 0; i < count; i++) {
		const bool is_entry = events[i].kind == MT_EVENT_ENTRY;

		if (is_entry && is_function(run, events[i].to, END_OF_GOROUTINE))
			showing->ending_at = events[i].from;
		if (!is_entry || !is_function(run, events[i].to, MT_GOROUTINE_LEAVE))
			continue;
		mt_try(mt_rebuild_push(showing->rebuild, events + done, i - done));
		mt_try(push_leaving(showing, &events[i]));
		done = i + 1;
	}
	return mt_rebuild_push(showing->rebuild, events + done, count - done);
}

static struct mt_error *push_run(struct showing *showing, const struct mt_goroutine_run *run)
{
	if (!showing->run || run->epoch != showing->run->epoch)
		mt_rebuild_set_symbolizer(showing->rebuild, &run->epoch->symbolizer.symbolizer);
	showing->run = run;
	if (showing->left.kind)
		mt_try(push_return(showing, &showing->left, run->begin_ns, showing->left.from));
	showing->left.kind = 0;
	return mt_kept_events_give(&showing->goroutines->events, run->first, run->count,
				   push_events, showing);
}

/* Up to TIME_NS.  How much was lost of this goroutine, if anything, is not known. */
static struct mt_error *push_loss(struct showing *showing, uint64_t time_ns)
{
	const uint64_t until_ns =
	    showing->unseen_until_ns < time_ns ? showing->unseen_until_ns : time_ns;
	const struct mt_event gap = {
	    .time_ns = until_ns, .kind = MT_EVENT_GAP, .detail = MT_GAP_AUX_LOST};

	if (until_ns <= showing->last_ns)
		return NULL;
	showing->last_ns = until_ns;
	showing->left.kind = 0;
	return push(showing, &gap);
}

/* Those up to TIME_NS, at which it is seen again. */
static struct mt_error *push_notices(struct showing *showing, int pid, uint64_t time_ns)
{
	const struct mt_goroutines *goroutines = showing->goroutines;

	for (; showing->notice < goroutines->notices.count; showing->notice++) {
		const struct mt_goroutine_notice *notice =
		    &goroutines->notices.items[showing->notice];
		const struct mt_event *event = &notice->event;

		if (event->time_ns > time_ns)
			break;
		if (notice->pid != pid)
			continue;
		if (event->kind == MT_EVENT_GAP) {
			showing->unseen_until_ns =
			    later(showing->unseen_until_ns, notice->until_ns);
			continue;
		}
		if ((uint32_t)event->to <= showing->snapshot)
			continue;
		mt_try(push_loss(showing, event->time_ns));
		showing->snapshot = (uint32_t)event->to;
		mt_try(push(showing, event));
	}
	return push_loss(showing, time_ns);
}

/* What came before it was first seen is nothing to it. */
static void skip_notices(struct showing *showing, int pid, uint64_t time_ns)
{
	const struct mt_goroutines *goroutines = showing->goroutines;

	for (; showing->notice < goroutines->notices.count; showing->notice++) {
		const struct mt_goroutine_notice *notice =
		    &goroutines->notices.items[showing->notice];

		if (notice->event.time_ns > time_ns)
			break;
		if (notice->pid != pid)
			continue;
		if (notice->event.kind == MT_EVENT_MARK)
			showing->snapshot = (uint32_t)notice->event.to;
		else
			showing->unseen_until_ns =
			    later(showing->unseen_until_ns, notice->until_ns);
	}
	showing->last_ns = time_ns;
}

static const char *process_of(struct mt_goroutines *goroutines, int pid)
{
	struct mt_processes *processes = goroutines->run->processes;
	struct mt_process_thread *thread = mt_processes_thread(processes, pid);

	return thread ? mt_processes_name_of(processes, thread) : NULL;
}

static struct mt_error *show_runs(struct showing *showing, const struct mt_goroutine *one)
{
	const struct mt_goroutine_run *run = &showing->goroutines->runs.items[one->first];
	const int pid = (int)one->key.pid;

	skip_notices(showing, pid, run->begin_ns);
	for (size_t i = 0; i < one->runs; i++) {
		if (run[i].goes_on)
			showing->last_ns = later(showing->last_ns, run[i].begin_ns);
		mt_try(push_notices(showing, pid, run[i].begin_ns));
		mt_try(push_run(showing, &run[i]));
		showing->last_ns = later(showing->last_ns, run[i].end_ns);
	}
	if (!showing->is_over)
		mt_try(push_notices(showing, pid, UINT64_MAX));
	return mt_rebuild_finish(showing->rebuild);
}

static struct mt_error *show(struct mt_goroutines *goroutines, struct mt_goroutine *one,
			     uint32_t serial, struct mt_goroutine_states *states)
{
	struct mt_decode_run *run = goroutines->run;
	struct showing showing = {.goroutines = goroutines};
	struct mt_rebuild_options options = {
	    .thread = {.pid = (pid_t)one->key.pid,
		       .tid = MT_GOROUTINE_TID(one->key.id, serial),
		       .name = one->name,
		       .process = process_of(goroutines, (int)one->key.pid)},
	    .sink = states ? mt_goroutine_states_sink(states, one) : run->calls_sink,
	    .inlines = !run->options->no_inlines,
	    .values = &run->values,
	    .last_call_id = &run->last_call_id,
	};

	for (size_t i = 0; i < one->runs; i++)
		options.events += goroutines->runs.items[one->first + i].count;
	mt_try(mt_rebuild_create(run->rebuild_ops, &options, &showing.rebuild));
	struct mt_error *error = show_runs(&showing, one);
	mt_rebuild_destroy(showing.rebuild);
	return error;
}

/* ---- All of them ---- */

static int compare(uint64_t one, uint64_t other)
{
	return one < other ? -1 : one > other;
}

static int compare_runs(const void *left, const void *right)
{
	const struct mt_goroutine_run *one = left, *other = right;
	int order = compare((uint64_t)one->goroutine->key.pid, (uint64_t)other->goroutine->key.pid);

	if (!order)
		order = compare(one->goroutine->key.id, other->goroutine->key.id);
	if (!order)
		order = compare(one->begin_ns, other->begin_ns);
	return order ? order : compare(one->first, other->first);
}

static int compare_by_thread(const void *left, const void *right)
{
	const struct mt_goroutine_run *one = left, *other = right;
	const int order = compare((uint64_t)one->tid, (uint64_t)other->tid);

	return order ? order : compare(one->first, other->first);
}

static int compare_notices(const void *left, const void *right)
{
	const struct mt_goroutine_notice *one = left, *other = right;

	return compare(one->event.time_ns, other->event.time_ns);
}

/* Also those that were woken, and did not run. */
static struct mt_error *find_all(struct mt_goroutines *goroutines)
{
	for (size_t i = 0; i < goroutines->runs.count; i++) {
		struct mt_goroutine *one = goroutines->runs.items[i].goroutine;

		if (!one->runs++)
			one->first = i;
	}
	for (struct mt_goroutine *one = goroutines->by_id; one; one = one->hh.next)
		mt_try(mt_goroutine_name(goroutines, one));
	return NULL;
}

static struct mt_error *show_all(struct mt_goroutines *goroutines,
				 struct mt_goroutine_states *states)
{
	const uint64_t wanted = goroutines->run->options->goroutine;
	bool was_shown = false;
	uint32_t serial = 0;

	for (size_t i = 0; i < goroutines->runs.count; serial++) {
		struct mt_goroutine *one = goroutines->runs.items[i].goroutine;

		i += one->runs;
		if (wanted && one->key.id != wanted)
			continue;
		was_shown = true;
		mt_try(show(goroutines, one, serial, states));
	}
	return was_shown || !wanted
		   ? NULL
		   : mt_error_new(MT_ERROR_NOT_FOUND,
				  "the recording contains no calls of goroutine %" PRIu64, wanted);
}

/* COUNT runs of one thread: whom it ran when. */
static struct mt_error *show_thread(struct mt_goroutines *goroutines,
				    const struct mt_goroutine_run *runs, size_t count)
{
	struct mt_decode_run *run = goroutines->run;
	const struct mt_slice_sink *sink = &run->sink;
	const struct mt_process_thread *thread = mt_processes_thread(run->processes, runs[0].tid);
	struct mt_thread_segment segment = {.begin_ns = runs[0].begin_ns};
	uint64_t last_ns = segment.begin_ns;
	struct mt_thread who = {.tid = MT_SIDE_TRACK_TID(MT_SIDE_TRACK_GOROUTINES, runs[0].tid)};

	if (!thread)
		return mt_error_no_memory();
	who.pid = thread->pid;
	who.process = mt_processes_name_of(run->processes, thread);
	who.name = mt_arena_format(&run->arena, "goroutines of %s (%d)",
				   thread->name ? thread->name : "?", thread->tid);
	if (!who.name)
		return mt_error_no_memory();
	for (size_t i = 0; i < count; i++)
		segment.end_ns = later(segment.end_ns, later(runs[i].begin_ns, runs[i].end_ns));
	mt_try(sink->ops->thread(sink->self, &who));
	mt_try(sink->ops->segment_begin(sink->self, &segment));
	for (size_t i = 0; i < count; i++) {
		struct mt_side_event *what = mt_arena_zalloc(&run->arena, sizeof(*what));
		const struct mt_slice slice = {.kind = MT_SLICE_SIDE,
					       .time_ns = later(last_ns, runs[i].begin_ns),
					       .side = what};
		const struct mt_slice_end end = {.time_ns = later(slice.time_ns, runs[i].end_ns)};

		/* A thread may have gone on while the others' rings were read. */
		last_ns = end.time_ns;

		if (!what)
			return mt_error_no_memory();
		what->name = runs[i].goroutine->name;
		what->category = "goroutine";
		mt_try(sink->ops->begin(sink->self, &slice));
		mt_try(sink->ops->end(sink->self, &end));
	}
	return sink->ops->segment_end(sink->self, &segment);
}

static struct mt_error *show_threads(struct mt_goroutines *goroutines)
{
	const struct mt_goroutine_run *runs = goroutines->runs.items;

	for (size_t i = 0, next; i < goroutines->runs.count; i = next) {
		for (next = i; next < goroutines->runs.count && runs[next].tid == runs[i].tid;)
			next++;
		mt_try(show_thread(goroutines, runs + i, next - i));
	}
	return NULL;
}

struct mt_error *mt_goroutines_finish(struct mt_goroutines *goroutines)
{
	if (goroutines->runs.count)
		qsort(goroutines->runs.items, goroutines->runs.count,
		      sizeof(*goroutines->runs.items), compare_runs);
	if (goroutines->notices.count)
		qsort(goroutines->notices.items, goroutines->notices.count,
		      sizeof(*goroutines->notices.items), compare_notices);
	/* Statistics are of calls, and count the kernel's side tracks. */
	const bool is_for_statistics = goroutines->run->options->side_tracks_first;
	struct mt_goroutine_states *states = NULL;
	struct mt_error *error = find_all(goroutines);
	if (!error && !is_for_statistics)
		error =
		    mt_goroutine_states_create(goroutines, goroutines->run->calls_sink, &states);
	if (!error)
		error = show_all(goroutines, states);
	mt_goroutine_states_destroy(states);
	if (error || goroutines->run->options->goroutine || !goroutines->runs.count ||
	    is_for_statistics)
		return error;
	qsort(goroutines->runs.items, goroutines->runs.count, sizeof(*goroutines->runs.items),
	      compare_by_thread);
	return show_threads(goroutines);
}
