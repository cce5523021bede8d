/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a view as text, of the width of a window. */
#include "base/search.h"
#include "base/utf8.h"
#include "view/private.h"

static const struct segment *segment_of(const struct mt_view *view, size_t line)
{
	const size_t behind =
	    mt_partition_point(i, 0, view->segments.count, view->segments.items[i].first <= line);

	return behind ? &view->segments.items[behind - 1] : NULL;
}

/* Lines are in the recording's order: the segment's zero may be another's than the last one's. */
static void put_slice(struct mt_view *view, size_t at, struct mt_str *out)
{
	const struct line *line = &view->lines.items[at];
	const struct line *caller =
	    line->parent == NO_PARENT ? NULL : &view->lines.items[line->parent];
	const struct segment *segment = segment_of(view, at);
	struct mt_text_entry entry = {
	    .kind = MT_TEXT_SLICE,
	    .has_ended = line->has_ended,
	    .end_flags = line->end_flags,
	    .samples = line->samples,
	    .depth = line->depth,
	    .end_ns = line->end_ns,
	    .result = line->values ? line->values->result : NULL,
	    .slice = {.time_ns = line->begin_ns,
		      .kind = line->kind,
		      .flags = line->flags,
		      .depth = line->depth,
		      .call_source = {.file = line->file, .line = line->number},
		      .cause = line->cause,
		      .arguments = line->values ? line->values->arguments : NULL},
	};

	if (line->kind == MT_SLICE_GAP)
		entry.slice.bytes_lost = line->bytes_lost;
	else
		entry.slice.function = line->function;
	if (!line->file && caller && mt_view_has_function(caller))
		entry.caller_module = caller->function->module;
	view->style.zero_ns = segment ? segment->zero_ns : 0;
	view->style.length_ns = segment ? segment->length_ns : 0;
	mt_text_entry(out, &view->style, &entry);
}

bool mt_view_whole(struct mt_view *view, size_t at)
{
	const struct line *line = &view->lines.items[at];
	struct mt_str *whole = &view->whole;

	mt_str_clear(whole);
	if (line->is_text)
		mt_str_append(whole, line->text);
	else
		put_slice(view, at, whole);
	return !whole->failed && whole->text;
}

void mt_view_line(struct mt_view *view, size_t at, size_t first, size_t columns, struct mt_str *out)
{
	const struct line *line = &view->lines.items[at];

	if (columns < 2)
		return;
	mt_str_append(out, at == view->selected ? ">" : " ");
	mt_str_append(out, line->is_folded ? "+" : " ");
	columns -= 2;
	if (mt_view_whole(view, at))
		mt_utf8_append_columns(out, view->whole.text, first, columns);
}
