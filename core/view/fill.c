/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A view as a sink of slices.  What is lent has an address that stays while it is filled: so each
 * function and each file name is copied once. */
#include "view/private.h"

#include "trace/sink_ops.h"

#include <stdlib.h>
#include <string.h>

static struct copy *find_copy(const struct mt_view *view, const void *lent)
{
	struct copy *copy = NULL;

	HASH_FIND_PTR(view->copies, &lent, copy);
	return copy;
}

static bool add_copy(struct mt_view *view, const void *lent, const void *own)
{
	struct copy *copy = own ? mt_arena_zalloc(&view->arena, sizeof(*copy)) : NULL;

	if (!copy)
		return false;
	copy->lent = lent;
	copy->own = own;
	HASH_ADD_PTR(view->copies, lent, copy);
	return find_copy(view, lent) == copy;
}

/* NULL without memory; "" for NULL. */
static const char *own_text(struct mt_view *view, const char *lent)
{
	if (!lent)
		return "";
	const struct copy *copy = find_copy(view, lent);
	if (copy)
		return copy->own;
	const char *own = mt_arena_text(&view->arena, lent, SIZE_MAX);
	return add_copy(view, lent, own) ? own : NULL;
}

static const struct mt_function *own_function(struct mt_view *view, const struct mt_function *lent)
{
	const struct copy *copy = find_copy(view, lent);
	if (copy)
		return copy->own;
	struct mt_function *own = mt_arena_copy(&view->arena, lent, sizeof(*lent));
	if (!own)
		return NULL;
	own->id = (uint32_t)view->functions.count;
	own->name = own_text(view, lent->name);
	own->module = own_text(view, lent->module);
	own->source.file = lent->source.file ? own_text(view, lent->source.file) : NULL;
	if (!own->name || !own->module || (lent->source.file && !own->source.file) ||
	    mt_array_push(&view->functions, own))
		return NULL;
	return add_copy(view, lent, own) ? own : NULL;
}

/* Texts of values are not shared. */
static bool keep_value(struct mt_view *view, struct line *line, const char *arguments,
		       const char *result)
{
	if (!arguments && !result)
		return true;
	if (!line->values)
		line->values = mt_arena_zalloc(&view->arena, sizeof(*line->values));
	if (!line->values)
		return false;
	if (arguments)
		line->values->arguments = mt_arena_text(&view->arena, arguments, SIZE_MAX);
	if (result)
		line->values->result = mt_arena_text(&view->arena, result, SIZE_MAX);
	return (!arguments || line->values->arguments) && (!result || line->values->result);
}

static struct mt_error *add_line(struct mt_view *view, struct line *line)
{
	if (view->lines.count >= NO_PARENT)
		return mt_error_new(MT_ERROR_UNSUPPORTED, "too many calls for the window");
	line->parent = view->open.count ? *mt_array_last(&view->open) : NO_PARENT;
	line->depth = (uint32_t)view->open.count;
	line->size = 1;
	const uint32_t name = line->is_text                ? NAME_TEXT
			      : mt_view_has_function(line) ? line->function->id
							   : NO_NAME;
	return mt_array_push(&view->lines, *line) || mt_array_push(&view->names, name)
		   ? mt_error_no_memory()
		   : NULL;
}

/* OUT ends with a newline, or more lines follow in it, which are left out. */
static struct mt_error *add_text(struct mt_view *view, const struct mt_str *out, struct line line)
{
	if (out->failed || !out->text)
		return mt_error_no_memory();
	line.is_text = true;
	line.text = mt_arena_text(&view->arena, out->text, strcspn(out->text, "\n"));
	return line.text ? add_line(view, &line) : mt_error_no_memory();
}

static struct mt_error *take_thread(void *self, const struct mt_thread *thread)
{
	struct mt_view *view = self;
	mt_auto(mt_str) struct mt_str out = {0};

	view->is_track = mt_tid_is_track(thread->tid);
	if (view->is_track)
		return NULL;
	const struct part part = {view->lines.count, thread->tid};
	if (mt_array_push(&view->parts, part))
		return mt_error_no_memory();
	mt_text_thread(&out, &view->style, thread);
	mt_try(add_text(view, &out, (struct line){.is_heading = true}));
	if (!thread->sampling)
		return NULL;
	mt_str_clear(&out);
	mt_text_sampling(&out, thread->sampling);
	return add_text(view, &out, (struct line){.is_heading = true});
}

static struct mt_error *take_segment(void *self, const struct mt_thread_segment *segment)
{
	struct mt_view *view = self;
	const struct mt_text_entry entry = {.kind = MT_TEXT_SEGMENT, .segment = *segment};
	const struct segment one = {view->lines.count, segment->end_ns,
				    segment->end_ns - segment->begin_ns};
	mt_auto(mt_str) struct mt_str out = {0};

	if (view->is_track)
		return NULL;
	if (mt_array_push(&view->segments, one))
		return mt_error_no_memory();
	mt_text_entry(&out, &view->style, &entry);
	return add_text(view, &out, (struct line){.is_heading = true});
}

static struct mt_error *take_begin(void *self, const struct mt_slice *slice)
{
	struct mt_view *view = self;
	struct line line = {.begin_ns = slice->time_ns,
			    .number = slice->call_source.line,
			    .kind = slice->kind,
			    .flags = slice->flags,
			    .cause = (uint8_t)slice->cause};

	if (view->is_track)
		return NULL;
	bool is_kept = keep_value(view, &line, slice->arguments, NULL);
	if (slice->kind == MT_SLICE_GAP) {
		line.bytes_lost = slice->bytes_lost;
	} else if (slice->function) {
		line.function = own_function(view, slice->function);
		is_kept &= line.function != NULL;
	}
	if (slice->call_source.file) {
		line.file = own_text(view, slice->call_source.file);
		is_kept &= line.file != NULL;
	}
	if (!is_kept)
		return mt_error_no_memory();
	mt_try(add_line(view, &line));
	view->calls++;
	return mt_array_push(&view->open, (uint32_t)(view->lines.count - 1)) ? mt_error_no_memory()
									     : NULL;
}

static struct mt_error *take_end(void *self, const struct mt_slice_end *end)
{
	struct mt_view *view = self;

	if (view->is_track)
		return NULL;
	uint32_t at = view->open.items[--view->open.count];
	struct line *line = &view->lines.items[at];
	line->size = (uint32_t)(view->lines.count - at);
	line->end_ns = end->time_ns;
	line->end_flags = end->flags;
	line->samples = end->samples;
	line->has_ended = true;
	return keep_value(view, line, NULL, end->result) ? NULL : mt_error_no_memory();
}

static struct mt_error *take_instant(void *self, const struct mt_instant *instant)
{
	struct mt_view *view = self;
	const struct mt_text_entry entry = {
	    .kind = MT_TEXT_INSTANT, .depth = (uint32_t)view->open.count, .instant = *instant};
	struct line line = {.number = instant->source.line};
	mt_auto(mt_str) struct mt_str out = {0};

	if (view->is_track)
		return NULL;
	if (instant->source.file) {
		line.file = own_text(view, instant->source.file);
		if (!line.file)
			return mt_error_no_memory();
	}
	mt_text_entry(&out, &view->style, &entry);
	return add_text(view, &out, line);
}

static void forget_copies(struct mt_view *view)
{
	HASH_CLEAR(hh, view->copies);
	mt_array_deinit(&view->open);
}

static struct mt_error *finish(void *self)
{
	struct mt_view *view = self;

	forget_copies(view);
	view->selected = view->lines.count ? view->lines.count - 1 : MT_VIEW_NONE;
	return NULL;
}

static const struct mt_slice_sink_ops ops = {
    .thread = take_thread,
    .segment_begin = take_segment,
    .begin = take_begin,
    .end = take_end,
    .instant = take_instant,
    .segment_end = mt_slice_ignore_segment,
    .finish = finish,
};

struct mt_slice_sink mt_view_sink(struct mt_view *view)
{
	return (struct mt_slice_sink){&ops, view};
}

struct mt_error *mt_view_create(struct mt_view **out)
{
	struct mt_view *view = calloc(1, sizeof(*view));

	*out = view;
	if (!view)
		return mt_error_no_memory();
	view->selected = MT_VIEW_NONE;
	return NULL;
}

void mt_view_destroy(struct mt_view *view)
{
	if (!view)
		return;
	forget_copies(view);
	mt_array_deinit(&view->lines);
	mt_array_deinit(&view->segments);
	mt_array_deinit(&view->parts);
	mt_array_deinit(&view->folds);
	mt_array_deinit(&view->functions);
	mt_array_deinit(&view->names);
	mt_text_style_deinit(&view->style);
	mt_str_deinit(&view->whole);
	mt_arena_deinit(&view->arena);
	free(view);
}
