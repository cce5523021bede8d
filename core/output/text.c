/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A history for people: a line a call, indented, with how long it took.
 *
 * The length of a call is known when it ends, but its line stands where it begins.  So lines wait
 * in a window: what ends within it is one whole line.  A line that must leave the window before is
 * written with its length open ("…"), and a line of its own shows the end.
 *
 * The same window gives the last N calls: then it is N calls wide, what leaves it is not written,
 * and the callers of what is left are kept apart. */
#include "output/format.h"

#include "base/array.h"
#include "output/text_line.h"
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

struct text {
	struct mt_stream *stream;
	uint64_t last;
	struct mt_text_style style;
	struct mt_str out;

	struct window streaming;        /* of the thread that is written now */
	struct mt_thread_table windows; /* for the last N: each thread's */
	struct window *window;
	bool has_threads; /* one was written */
};

static struct mt_error *write_out(struct text *text)
{
	return mt_stream_write_str(text->stream, &text->out);
}

/* Entries that leave the window. */

static struct mt_error *write_entry(struct text *text, const struct mt_text_entry *entry)
{
	mt_text_entry(&text->out, &text->style, entry);
	return write_out(text);
}

/* Of the last N. */
static bool counts(const struct mt_text_entry *entry)
{
	return entry->kind == MT_TEXT_SLICE && !(entry->slice.flags & MT_SLICE_CONTEXT);
}

static struct mt_error *leave(struct text *text, struct window *window)
{
	const struct mt_text_entry *entry = &window->entries.items[window->first++];

	window->slices -= counts(entry);
	if (!text->last)
		return write_entry(text, entry);
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

static struct mt_error *push(struct text *text, struct mt_text_entry entry)
{
	struct window *window = text->window;
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
		bool is_too_wide = text->last ? window->slices > text->last ||
						    count / 2 > text->last + STREAM_WINDOW
					      : count > STREAM_WINDOW;

		if (!is_too_wide)
			return NULL;
		mt_try(leave(text, window));
	}
}

/* The sink. */

static struct mt_error *write_thread(struct text *text, const struct mt_thread *thread)
{
	if (text->has_threads)
		mt_str_append(&text->out, "\n");
	text->has_threads = true;
	mt_text_thread(&text->out, &text->style, thread);
	return write_out(text);
}

static struct mt_error *text_thread(void *self, const struct mt_thread *thread)
{
	struct text *text = self;

	/* A track is of no thread before it, and may be of instants alone. */
	if (mt_tid_is_track(thread->tid))
		text->streaming.has_segment = false;
	if (!text->last)
		return write_thread(text, thread);
	text->window =
	    mt_thread_table_get(&text->windows, thread->pid, thread->tid, sizeof(struct window));
	if (!text->window)
		return mt_error_no_memory();
	text->window->thread = *thread;
	return NULL;
}

static struct mt_error *text_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct text *text = self;

	text->window->open.count = 0;
	text->window->segment_now = *segment;
	text->window->segment_is_due = true;
	return NULL;
}

/* A segment of instants alone, as the exit behind a crash is one, goes on from the one before. */
static struct mt_error *announce_segment(struct text *text, bool has_slices)
{
	struct window *window = text->window;

	if (!window->segment_is_due || (!has_slices && window->has_segment))
		return NULL;
	window->segment_is_due = false;
	window->has_segment = true;
	return push(
	    text, (struct mt_text_entry){.kind = MT_TEXT_SEGMENT, .segment = window->segment_now});
}

static struct mt_error *text_begin(void *self, const struct mt_slice *slice)
{
	struct text *text = self;
	struct window *window = text->window;
	size_t depth = window->open.count;
	struct mt_text_entry entry = {
	    .kind = MT_TEXT_SLICE,
	    .depth = (uint32_t)depth,
	    .slice = *slice,
	};

	mt_try(announce_segment(text, true));
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
	return push(text, entry);
}

static struct mt_error *text_end(void *self, const struct mt_slice_end *end)
{
	struct text *text = self;
	struct window *window = text->window;
	struct mt_text_entry *entry = NULL; /* NULL: it was written */

	if (!window->open.count)
		return NULL;
	uint32_t depth = (uint32_t)--window->open.count;
	struct open_slice open = window->open.items[depth];
	if (open.number >= window->before + window->first)
		entry = &window->entries.items[open.number - window->before];
	else if (text->last && depth < window->callers.count)
		entry = &window->callers.items[depth];
	if (!entry && end->flags & MT_SLICE_END_OPEN) {
		window->unended++;
		return NULL;
	}
	if (!entry)
		return push(text, (struct mt_text_entry){
				      .kind = MT_TEXT_RETURN,
				      .depth = depth,
				      .slice = open.slice,
				      .has_ended = true,
				      .end_ns = end->time_ns,
				      .end_flags = end->flags,
				      .result = end->result,
				  });
	entry->has_ended = true;
	entry->end_ns = end->time_ns;
	entry->end_flags = end->flags;
	entry->result = end->result;
	return NULL;
}

static struct mt_error *text_instant(void *self, const struct mt_instant *instant)
{
	struct text *text = self;

	mt_try(announce_segment(text, false));
	return push(text, (struct mt_text_entry){
			      .kind = MT_TEXT_INSTANT,
			      .depth = (uint32_t)text->window->open.count,
			      .instant = *instant,
			  });
}

static struct mt_error *text_segment_end(void *self, const struct mt_thread_segment *segment)
{
	struct text *text = self;
	struct window *window = text->window;

	(void)segment;
	if (text->last)
		return NULL;
	if (window->unended)
		mt_try(push(text, (struct mt_text_entry){
				      .kind = MT_TEXT_UNENDED,
				      .count = window->unended,
				  }));
	window->unended = 0;
	while (window->first < window->entries.count)
		mt_try(leave(text, window));
	return NULL;
}

/* The last N calls, at the end of all: while their names are still lent. */

static struct mt_error *write_callers(struct text *text, const struct window *window)
{
	size_t first_depth = window->entries.items[window->first].depth;
	size_t count = window->callers.count < first_depth ? window->callers.count : first_depth;
	bool is_long = count > CALLERS_AT_START + CALLERS_AT_END + 1;

	if (window->entries.items[window->first].kind == MT_TEXT_SEGMENT)
		return NULL;
	if (window->first || window->before)
		mt_try(write_entry(text, &window->segment));
	for (size_t i = 0; i < count; i++) {
		if (is_long && i == CALLERS_AT_START) {
			i = count - CALLERS_AT_END;
			mt_text_elided(&text->out, &text->style, i - CALLERS_AT_START);
		}
		mt_try(write_entry(text, &window->callers.items[i]));
	}
	return NULL;
}

static struct mt_error *text_finish(void *self)
{
	struct text *text = self;

	for (struct mt_thread_entry *entry = text->windows.first; entry;
	     entry = mt_thread_table_next(entry)) {
		const struct window *window = (struct window *)entry;

		mt_try(write_thread(text, &window->thread));
		if (window->first < window->entries.count)
			mt_try(write_callers(text, window));
		for (size_t i = window->first; i < window->entries.count; i++)
			mt_try(write_entry(text, &window->entries.items[i]));
	}
	return NULL;
}

static void window_deinit(struct window *window)
{
	mt_array_deinit(&window->entries);
	mt_array_deinit(&window->open);
	mt_array_deinit(&window->callers);
}

static void text_destroy(void *self)
{
	struct text *text = self;

	if (!text)
		return;
	for (struct mt_thread_entry *entry = text->windows.first; entry;
	     entry = mt_thread_table_next(entry))
		window_deinit((struct window *)entry);
	mt_thread_table_deinit(&text->windows);
	window_deinit(&text->streaming);
	mt_text_style_deinit(&text->style);
	mt_str_deinit(&text->out);
	free(text);
}

static struct mt_error *text_create(struct mt_stream *stream,
				    const struct mt_trace_writer_options *options, void **self)
{
	struct text *text = calloc(1, sizeof(*text));

	*self = text;
	if (!text)
		return mt_error_no_memory();
	text->stream = stream;
	text->last = options->last;
	text->style.colour = options->colour;
	text->window = &text->streaming;
	if (!options->command)
		return NULL;
	mt_text_command(&text->out, &text->style, options->command);
	return write_out(text);
}

const struct mt_trace_format mt_format_text = {
    .name = "text",
    .ending = ".txt",
    .create = text_create,
    .destroy = text_destroy,
    .sink =
	{
	    .thread = text_thread,
	    .segment_begin = text_segment_begin,
	    .begin = text_begin,
	    .end = text_end,
	    .instant = text_instant,
	    .segment_end = text_segment_end,
	    .finish = text_finish,
	},
};
