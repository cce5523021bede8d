/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "query/explain.h"

#include "base/arena.h"
#include "elf/objfile.h"
#include "output/path_tree.h"
#include "output/thread_table.h"
#include "stats/histogram.h"
#include "trace/sink_ops.h"

#include <string.h>

struct cost {
	uint64_t calls, self_ns, off_ns, faults;
};

/* A path below the function. */
struct node {
	struct mt_path path;
	struct mt_histogram self, calls; /* of the calls of the function that came here */
	struct cost now;                 /* of the one that is under way */
};

struct thread {
	struct mt_thread_entry entry;
	struct mt_thread what;
	struct mt_waits waits;
};

struct frame {
	struct node *node; /* NULL: outside of the function, or on a side track */
	const struct mt_side_event *side;
	bool is_new; /* else the place above stands for it */
	bool is_estimated, takes_lock;
	uint64_t lock;
	uint64_t begin_ns, children_ns;
	struct mt_waited waited, children_waited;
};

struct touched {
	struct node *node;
	struct cost cost;
};

/* A slow one, with the places where it was. */
struct slow {
	struct mt_explain_call call;
	struct touched *touched;
	size_t count;
};

struct mt_explain {
	const char *function;
	size_t most;
	mt_explain_done *done;
	void *context;
	struct mt_thread_table threads;
	struct thread *thread;
	struct mt_thread_segment segment;
	MT_ARRAY(uint8_t) fits; /* by a function's id: 0 not asked, 1 yes, 2 no */
	MT_ARRAY(struct frame) frames;
	size_t inside; /* the function's frame is the one before this; 0: outside */
	struct node root;
	struct mt_path_tree tree;
	MT_ARRAY(struct node *) touched;
	struct mt_histogram durations;
	struct mt_slice slice; /* of the function's call */
	bool is_estimated, has_estimated_begins;
	uint64_t gaps;
	struct mt_call_locks locks; /* of it */
	size_t in_lock;             /* a function of a lock: its frame is the one before this */
	struct mt_lock_acts acts;
	MT_ARRAY(struct slow) slowest;
	struct mt_explain_result result;
	struct mt_arena texts;
};

/* ---- Paths ---- */

static bool fits(struct mt_explain *explain, const struct mt_function *function)
{
	while (explain->fits.count <= function->id)
		if (mt_array_push(&explain->fits, (uint8_t)0))
			return mt_function_matches(function, explain->function);
	uint8_t *known = &explain->fits.items[function->id];
	if (!*known)
		*known = mt_function_matches(function, explain->function) ? 1 : 2;
	return *known == 1;
}

static const char *path_of(struct mt_explain *explain, const struct node *node)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_path_append(&node->path, " > ", mt_str_append, &text);
	return text.failed || !text.text ? NULL
					 : mt_arena_text(&explain->texts, text.text, SIZE_MAX);
}

/* ---- The function's calls ---- */

static int keep_slow(struct mt_explain *explain, uint64_t end_ns)
{
	const uint64_t duration_ns = end_ns - explain->slice.time_ns;
	struct slow slow = {
	    .call = {.begin_ns = explain->slice.time_ns,
		     .duration_ns = duration_ns,
		     .zero_ns = explain->segment.end_ns,
		     .span_ns = explain->segment.end_ns - explain->segment.begin_ns,
		     .function = explain->slice.function->name,
		     .arguments = explain->slice.arguments,
		     .thread = explain->thread->what.name,
		     .pid = explain->thread->what.pid,
		     .tid = explain->thread->what.tid,
		     .is_estimated = explain->is_estimated,
		     .has_estimated_begins = explain->has_estimated_begins,
		     .gaps = explain->gaps},
	    .count = explain->touched.count,
	};
	size_t at = explain->slowest.count;
	const bool is_full = at >= explain->most;

	if (is_full && (!at || mt_array_last(&explain->slowest)->call.duration_ns >= duration_ns))
		return 0;
	slow.touched = calloc(slow.count, sizeof(*slow.touched));
	if (!slow.touched)
		return -1;
	for (size_t i = 0; i < slow.count; i++)
		slow.touched[i] =
		    (struct touched){explain->touched.items[i], explain->touched.items[i]->now};
	slow.call.wait_count =
	    mt_waits_within(&explain->thread->waits, slow.call.begin_ns, end_ns, slow.call.waits);
	slow.call.locks = explain->locks;
	mt_call_locks_note_futex(&slow.call.locks, &explain->thread->waits, slow.call.begin_ns,
				 end_ns);
	if (is_full)
		free(mt_array_last(&explain->slowest)->touched);
	else if (mt_array_push(&explain->slowest, slow))
		return free(slow.touched), -1;
	for (at = explain->slowest.count - 1;
	     at && explain->slowest.items[at - 1].call.duration_ns < duration_ns; at--)
		explain->slowest.items[at] = explain->slowest.items[at - 1];
	explain->slowest.items[at] = slow;
	return 0;
}

static void forget_call(struct mt_explain *explain)
{
	mt_array_each (node, &explain->touched)
		(*node)->now = (struct cost){0};
	explain->touched.count = explain->inside = explain->in_lock = explain->locks.count = 0;
}

static int end_call(struct mt_explain *explain, const struct mt_slice_end *end)
{
	int failed = 0;

	if (explain->slice.flags & MT_SLICE_INFERRED ||
	    end->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST)) {
		explain->result.partial++;
	} else {
		explain->result.calls++;
		explain->result.estimated += explain->is_estimated;
		failed =
		    mt_histogram_add(&explain->durations, end->time_ns - explain->slice.time_ns);
		mt_array_each (node, &explain->touched) {
			failed |= mt_histogram_add(&(*node)->self, (*node)->now.self_ns);
			failed |= mt_histogram_add(&(*node)->calls, (*node)->now.calls);
		}
		failed |= keep_slow(explain, end->time_ns);
	}
	forget_call(explain);
	return failed;
}

/* ---- The sink ---- */

static struct mt_error *thread(void *self, const struct mt_thread *what)
{
	struct mt_explain *explain = self;
	/* That of a side track is its thread's. */
	const pid_t tid = mt_tid_is_track(what->tid) ? what->tid & (MT_TID_LIMIT - 1) : what->tid;

	explain->thread =
	    mt_thread_table_get(&explain->threads, what->pid, tid, sizeof(*explain->thread));
	if (!explain->thread)
		return mt_error_no_memory();
	if (tid == what->tid)
		explain->thread->what = *what;
	explain->frames.count = 0;
	forget_call(explain);
	return NULL;
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_explain *explain = self;

	explain->segment = *segment;
	explain->frames.count = 0;
	forget_call(explain);
	return NULL;
}

static void begin_lock(struct mt_explain *explain, struct frame *frame,
		       const struct mt_slice *slice)
{
	const enum mt_lock_act act = mt_lock_act(&explain->acts, slice->function);

	if (act == MT_LOCK_NOTHING)
		return;
	explain->in_lock = explain->frames.count + 1;
	frame->takes_lock = act == MT_LOCK_TAKE;
	frame->lock = mt_lock_of_arguments(act, slice->arguments);
}

static void end_lock(struct mt_explain *explain, const struct frame *frame,
		     const struct mt_slice_end *end)
{
	const struct mt_lock_wait wait = {.begin_ns = frame->begin_ns,
					  .end_ns = end->time_ns,
					  .lock = frame->lock,
					  .is_lock = true,
					  .is_estimated = frame->is_estimated ||
							  end->flags & MT_SLICE_END_TIME_ESTIMATED};

	explain->in_lock = 0;
	if (frame->takes_lock)
		mt_call_locks_note(&explain->locks, &wait);
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_explain *explain = self;
	const size_t depth = explain->frames.count;
	struct frame frame = {.begin_ns = slice->time_ns, .side = slice->side};
	struct node *parent = explain->inside ? mt_array_last(&explain->frames)->node : NULL;

	if (!parent && slice->function && fits(explain, slice->function)) {
		parent = &explain->root;
		explain->inside = depth + 1;
		explain->slice = *slice;
		explain->is_estimated = explain->has_estimated_begins = false;
		explain->gaps = 0;
	}
	if (parent) {
		explain->gaps += slice->kind == MT_SLICE_GAP;
		explain->has_estimated_begins |= slice->flags & MT_SLICE_TIME_ESTIMATED;
		explain->is_estimated |= explain->has_estimated_begins;
		frame.waited = mt_waits_before(&explain->thread->waits, slice->time_ns);
		frame.is_estimated = slice->flags & MT_SLICE_TIME_ESTIMATED;
		if (slice->function && !explain->in_lock)
			begin_lock(explain, &frame, slice);
		frame.node = (struct node *)mt_path_tree_child(
		    &explain->tree, &parent->path, depth - explain->inside + 1, slice->function,
		    mt_slice_name(slice));
		frame.is_new = frame.node != parent;
		if (!frame.node)
			return mt_error_no_memory();
		if (frame.is_new && !frame.node->now.calls++ &&
		    mt_array_push(&explain->touched, frame.node))
			return mt_error_no_memory();
	}
	return mt_array_push(&explain->frames, frame) ? mt_error_no_memory() : NULL;
}

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

static void end_within(struct mt_explain *explain, const struct frame *frame,
		       const struct mt_slice_end *end)
{
	struct frame *parent =
	    explain->frames.count >= explain->inside ? mt_array_last(&explain->frames) : NULL;
	const struct mt_waited waited = mt_waits_before(&explain->thread->waits, end->time_ns);
	const uint64_t duration_ns = end->time_ns - frame->begin_ns;
	const uint64_t off_ns = waited.off_ns - frame->waited.off_ns;
	const uint64_t faults = waited.faults - frame->waited.faults;
	struct cost *now = &frame->node->now;

	explain->is_estimated |= end->flags & MT_SLICE_END_TIME_ESTIMATED;
	if (explain->in_lock > explain->frames.count)
		end_lock(explain, frame, end);
	now->self_ns += without(duration_ns, frame->children_ns);
	now->off_ns += without(off_ns, frame->children_waited.off_ns);
	now->faults += without(faults, frame->children_waited.faults);
	if (!parent)
		return;
	parent->children_ns += duration_ns;
	parent->children_waited.off_ns += off_ns;
	parent->children_waited.faults += faults;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_explain *explain = self;

	if (!explain->frames.count)
		return NULL;
	struct frame frame = explain->frames.items[--explain->frames.count];
	if (frame.side) {
		explain->result.has_off |= frame.side->is_off_cpu;
		return mt_waits_add(&explain->thread->waits, frame.side, frame.begin_ns,
				    what->time_ns);
	}
	if (!explain->inside)
		return NULL;
	end_within(explain, &frame, what);
	if (explain->frames.count < explain->inside && end_call(explain, what))
		return mt_error_no_memory();
	return NULL;
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	struct mt_explain *explain = self;

	explain->gaps += what->kind == MT_INSTANT_GAP;
	if (what->kind != MT_INSTANT_FAULT || !what->side)
		return NULL;
	explain->result.has_faults = true;
	return mt_waits_add(&explain->thread->waits, what->side, what->time_ns, what->time_ns);
}

/* ---- What came out ---- */

/* The median over all calls: in those that never came there it is 0. */
static uint64_t median_of(const struct mt_explain *explain, const struct mt_histogram *histogram)
{
	const uint64_t elsewhere = explain->result.calls - histogram->count;
	const uint64_t half = (explain->result.calls + 1) / 2;

	if (half <= elsewhere)
		return 0;
	return mt_histogram_quantile(histogram,
				     (unsigned)((half - elsewhere) * 1000 / histogram->count));
}

static int by_excess(const void *a, const void *b)
{
	const struct mt_explain_place *left = a, *right = b;
	const uint64_t more_left = without(left->self_ns, left->median_self_ns);
	const uint64_t more_right = without(right->self_ns, right->median_self_ns);

	return (more_left < more_right) - (more_left > more_right);
}

static int compare_slow(struct mt_explain *explain, struct slow *slow)
{
	for (size_t i = 0; i < slow->count; i++) {
		const struct touched *touched = &slow->touched[i];
		const struct mt_explain_place place = {
		    .path = path_of(explain, touched->node),
		    .self_ns = touched->cost.self_ns,
		    .median_self_ns = median_of(explain, &touched->node->self),
		    .calls = touched->cost.calls,
		    .median_calls = median_of(explain, &touched->node->calls),
		    .off_ns = touched->cost.off_ns,
		    .faults = touched->cost.faults,
		};

		if (!place.path || mt_array_push(&slow->call.places, place))
			return -1;
	}
	qsort(slow->call.places.items, slow->call.places.count, sizeof(struct mt_explain_place),
	      by_excess);
	return 0;
}

static struct mt_error *finish(void *self)
{
	struct mt_explain *explain = self;
	struct mt_explain_result *result = &explain->result;

	result->median_ns = mt_histogram_quantile(&explain->durations, 500);
	mt_array_each (slow, &explain->slowest) {
		mt_call_locks_keep(&slow->call.locks,
				   without(slow->call.duration_ns, result->median_ns));
		if (compare_slow(explain, slow) || mt_array_push(&result->slowest, slow->call))
			return mt_error_no_memory();
	}
	return explain->done ? explain->done(explain->context, result) : NULL;
}

struct mt_slice_sink mt_explain_sink(struct mt_explain *explain)
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

	return (struct mt_slice_sink){&ops, explain};
}

void mt_explain_on_done(struct mt_explain *explain, mt_explain_done *done, void *context)
{
	explain->done = done;
	explain->context = context;
}

struct mt_error *mt_explain_create(const char *function, size_t most, struct mt_explain **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return mt_error_no_memory();
	(*out)->function = function;
	(*out)->most = most;
	(*out)->tree.node_bytes = sizeof(struct node);
	return NULL;
}

void mt_explain_destroy(struct mt_explain *explain)
{
	if (!explain)
		return;
	for (struct mt_thread_entry *one = explain->threads.first; one;
	     one = mt_thread_table_next(one))
		mt_waits_deinit(&((struct thread *)one)->waits);
	mt_thread_table_deinit(&explain->threads);
	for (struct mt_path *path = explain->tree.nodes; path; path = path->next) {
		mt_histogram_deinit(&((struct node *)path)->self);
		mt_histogram_deinit(&((struct node *)path)->calls);
	}
	mt_path_tree_deinit(&explain->tree);
	mt_array_each (slow, &explain->slowest) {
		mt_array_deinit(&slow->call.places);
		free(slow->touched);
	}
	mt_histogram_deinit(&explain->durations);
	mt_array_deinit(&explain->slowest);
	mt_array_deinit(&explain->result.slowest);
	mt_array_deinit(&explain->fits);
	mt_array_deinit(&explain->acts.known);
	mt_array_deinit(&explain->frames);
	mt_array_deinit(&explain->touched);
	mt_arena_deinit(&explain->texts);
	free(explain);
}
