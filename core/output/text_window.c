/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "output/text_window.h"

#include "base/array.h"
#include "output/thread_table.h"

#include <stdlib.h>
#include <string.h>

#define STREAM_WINDOW    8192 /* entries */
#define CALLERS_AT_START 16   /* of more callers only so many are shown */
#define CALLERS_AT_END   16

struct open_slice {
	uint64_t number; /* of its entry */
	struct mt_slice slice;
};

struct window {
	struct mt_thread_entry entry;
	struct mt_thread thread;

	MT_ARRAY(struct mt_text_entry) entries;
	size_t first;    /* of the entries: those before have left */
	uint64_t before; /* entries that are no longer in the array */
	uint64_t slices; /* in the window */

	MT_ARRAY(struct open_slice) open; /* by depth */
	uint64_t unended;                 /* left before they ended, and will not end */
	struct mt_thread_segment segment_now;
	bool segment_is_due; /* it has shown nothing yet */
	bool has_segment;    /* one was shown: times count from its end */

	/* For the last N: where the first entry stands. */
	MT_ARRAY(struct mt_text_entry) callers; /* by depth */
	struct mt_text_entry segment;           /* of the first entry, if it has left */
};

struct mt_text_window {
	const struct mt_text_lines *lines;
	void *self; /* theirs */
	uint64_t last;
	struct window streaming;        /* of the thread that is given now */
	struct mt_thread_table windows; /* for the last N: each thread's */
	struct window *window;
};

/* Entries that leave the window. */

/* Of the last N. */
static bool counts(const struct mt_text_entry *entry)
{
	return entry->kind == MT_TEXT_SLICE && !(entry->slice.flags & MT_SLICE_CONTEXT);
}

static struct mt_error *leave(struct mt_text_window *all, struct window *window)
{
	const struct mt_text_entry *entry = &window->entries.items[window->first++];

	window->slices -= counts(entry);
	if (!all->last)
		return all->lines->entry(all->self, entry);
	if (entry->kind == MT_TEXT_SEGMENT) {
		window->segment = *entry;
		window->callers.count = 0;
	}
	if (entry->kind != MT_TEXT_SLICE)
		return NULL;
	/* Entries leave in the order of their beginnings: what stands at this depth or deeper is no
	 * caller of what comes. */
	if (window->callers.count > entry->depth)
		window->callers.count = entry->depth;
	return mt_array_push(&window->callers, *entry) ? mt_error_no_memory() : NULL;
}

static struct mt_error *push(struct mt_text_window *all, struct mt_text_entry entry)
{
	struct window *window = all->window;
	size_t rest = window->entries.count - window->first;

	/* Those that have left give their room away, once they are half of all. */
	if (window->first >= rest && window->first >= STREAM_WINDOW) {
		memmove(window->entries.items, window->entries.items + window->first,
			rest * sizeof(window->entries.items[0]));
		window->before += window->first;
		window->entries.count = rest;
		window->first = 0;
	}
	if (mt_array_push(&window->entries, entry))
		return mt_error_no_memory();
	window->slices += counts(&entry);
	for (;;) {
		uint64_t count = window->entries.count - window->first;
		/* Of the last N entries that are no slices do not count, but their number is
		 * bounded too. */
		bool is_too_wide =
		    all->last ? window->slices > all->last || count / 2 > all->last + STREAM_WINDOW
			      : count > STREAM_WINDOW;

		if (!is_too_wide)
			return NULL;
		mt_try(leave(all, window));
	}
}

/* The sink. */

static struct mt_error *take_thread(void *self, const struct mt_thread *thread)
{
	struct mt_text_window *all = self;

	/* A track is of no thread before it, and may be of instants alone. */
	if (mt_tid_is_track(thread->tid))
		all->streaming.has_segment = false;
	if (!all->last)
		return all->lines->thread(all->self, thread);
	all->window =
	    mt_thread_table_get(&all->windows, thread->pid, thread->tid, sizeof(struct window));
	if (!all->window)
		return mt_error_no_memory();
	all->window->thread = *thread;
	return NULL;
}

static struct mt_error *take_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_text_window *all = self;

	all->window->open.count = 0;
	all->window->segment_now = *segment;
	all->window->segment_is_due = true;
	return NULL;
}

/* A segment of instants alone, as the exit behind a crash is one, goes on from the one before. */
static struct mt_error *announce_segment(struct mt_text_window *all, bool has_slices)
{
	struct window *window = all->window;

	has_slices |= window->segment_now.has_calls;
	if (!window->segment_is_due || (!has_slices && window->has_segment))
		return NULL;
	window->segment_is_due = false;
	window->has_segment = true;
	return push(
	    all, (struct mt_text_entry){.kind = MT_TEXT_SEGMENT, .segment = window->segment_now});
}

static struct mt_error *take_begin(void *self, const struct mt_slice *slice)
{
	struct mt_text_window *all = self;
	struct window *window = all->window;
	size_t depth = window->open.count;
	struct mt_text_entry entry = {
	    .kind = MT_TEXT_SLICE,
	    .depth = (uint32_t)depth,
	    .slice = *slice,
	};

	mt_try(announce_segment(all, true));
	if (depth && slice->kind != MT_SLICE_GAP) {
		const struct mt_function *caller = window->open.items[depth - 1].slice.function;

		if (caller && caller->module && *caller->module)
			entry.caller_module = caller->module;
	}

	struct open_slice open = {
	    .number = window->before + window->entries.count,
	    .slice = *slice,
	};

	if (mt_array_push(&window->open, open))
		return mt_error_no_memory();
	return push(all, entry);
}

static struct mt_error *take_end(void *self, const struct mt_slice_end *end)
{
	struct mt_text_window *all = self;
	struct window *window = all->window;
	struct mt_text_entry *entry = NULL; /* NULL: it was written */

	if (!window->open.count)
		return NULL;
	uint32_t depth = (uint32_t)--window->open.count;
	struct open_slice open = window->open.items[depth];
	if (open.number >= window->before + window->first)
		entry = &window->entries.items[open.number - window->before];
	else if (all->last && depth < window->callers.count)
		entry = &window->callers.items[depth];
	if (!entry && end->flags & MT_SLICE_END_OPEN) {
		window->unended++;
		return NULL;
	}
	if (!entry)
		return push(all, (struct mt_text_entry){
				     .kind = MT_TEXT_RETURN,
				     .depth = depth,
				     .slice = open.slice,
				     .has_ended = true,
				     .end_ns = end->time_ns,
				     .end_flags = end->flags,
				     .result = end->result,
				     .samples = end->samples,
				 });
	entry->has_ended = true;
	entry->end_ns = end->time_ns;
	entry->end_flags = end->flags;
	entry->result = end->result;
	entry->samples = end->samples;
	return NULL;
}

/* A snapshot that it goes on behind is nothing that the program did. */
static struct mt_error *take_instant(void *self, const struct mt_instant *instant)
{
	struct mt_text_window *all = self;

	if (instant->kind == MT_INSTANT_SNAPSHOT)
		return NULL;
	mt_try(announce_segment(all, false));
	return push(all, (struct mt_text_entry){
			     .kind = MT_TEXT_INSTANT,
			     .depth = (uint32_t)all->window->open.count,
			     .instant = *instant,
			 });
}

static struct mt_error *take_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct mt_text_window *all = self;
	struct window *window = all->window;

	(void)segment;
	if (all->last)
		return NULL;
	if (window->unended)
		mt_try(push(all, (struct mt_text_entry){
				     .kind = MT_TEXT_UNENDED,
				     .count = window->unended,
				 }));
	window->unended = 0;
	while (window->first < window->entries.count)
		mt_try(leave(all, window));
	return NULL;
}

/* The last N calls, at the end of all: while their names are still lent. */

static struct mt_error *write_callers(struct mt_text_window *all, const struct window *window)
{
	size_t first_depth = window->entries.items[window->first].depth;
	size_t count = window->callers.count < first_depth ? window->callers.count : first_depth;
	bool is_long = count > CALLERS_AT_START + CALLERS_AT_END + 1;

	if (window->entries.items[window->first].kind == MT_TEXT_SEGMENT)
		return NULL;
	if (window->first || window->before)
		mt_try(all->lines->entry(all->self, &window->segment));
	for (size_t i = 0; i < count; i++) {
		if (is_long && i == CALLERS_AT_START) {
			i = count - CALLERS_AT_END;
			mt_try(all->lines->elided(all->self, i - CALLERS_AT_START));
		}
		mt_try(all->lines->entry(all->self, &window->callers.items[i]));
	}
	return NULL;
}

static struct mt_error *finish(void *self)
{
	struct mt_text_window *all = self;

	for (struct mt_thread_entry *entry = all->windows.first; entry;
	     entry = mt_thread_table_next(entry)) {
		const struct window *window = (struct window *)entry;

		mt_try(all->lines->thread(all->self, &window->thread));
		if (window->first < window->entries.count)
			mt_try(write_callers(all, window));
		for (size_t i = window->first; i < window->entries.count; i++)
			mt_try(all->lines->entry(all->self, &window->entries.items[i]));
	}
	return NULL;
}

static void window_deinit(struct window *window)
{
	mt_array_deinit(&window->entries);
	mt_array_deinit(&window->open);
	mt_array_deinit(&window->callers);
}

struct mt_error *mt_text_window_create(const struct mt_text_lines *lines, void *self, uint64_t last,
				       struct mt_text_window **out)
{
	struct mt_text_window *all = calloc(1, sizeof(*all));

	*out = all;
	if (!all)
		return mt_error_no_memory();
	all->lines = lines;
	all->self = self;
	all->last = last;
	all->window = &all->streaming;
	return NULL;
}

static const struct mt_slice_sink_ops sink_ops = {
    .thread = take_thread,
    .segment_begin = take_segment_begin,
    .begin = take_begin,
    .end = take_end,
    .instant = take_instant,
    .segment_end = take_segment_end,
    .finish = finish,
};

struct mt_slice_sink mt_text_window_sink(struct mt_text_window *all)
{
	return (struct mt_slice_sink){&sink_ops, all};
}

void mt_text_window_destroy(struct mt_text_window *all)
{
	if (!all)
		return;
	for (struct mt_thread_entry *entry = all->windows.first; entry;
	     entry = mt_thread_table_next(entry))
		window_deinit((struct window *)entry);
	mt_thread_table_deinit(&all->windows);
	window_deinit(&all->streaming);
	free(all);
}
