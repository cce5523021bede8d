/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where one is in a view, and the ways from there. */
#include "view/private.h"

#include <stdlib.h>
#include <string.h>

size_t mt_view_count(const struct mt_view *view)
{
	return view->lines.count;
}

size_t mt_view_calls(const struct mt_view *view)
{
	return view->calls;
}

size_t mt_view_selected(const struct mt_view *view)
{
	return view->selected;
}

/* The line itself, or the outermost folded call that hides it.  Callers may be a million, and calls
 * that somebody folded are few. */
static size_t in_list(const struct mt_view *view, size_t at)
{
	for (size_t i = 0; i < view->folds.count; i++) {
		uint32_t fold = view->folds.items[i];

		if (fold >= at)
			break;
		if (at < (size_t)fold + view->lines.items[fold].size)
			return fold;
	}
	return at;
}

/* Without memory it stays as it is. */
static void fold(struct mt_view *view, uint32_t at)
{
	size_t i = view->folds.count;

	if (view->lines.items[at].is_folded || mt_array_push(&view->folds, at))
		return;
	for (; i && view->folds.items[i - 1] > at; i--)
		view->folds.items[i] = view->folds.items[i - 1];
	view->folds.items[i] = at;
	view->lines.items[at].is_folded = true;
}

static void unfold(struct mt_view *view, uint32_t at)
{
	size_t kept = 0;

	for (size_t i = 0; i < view->folds.count; i++)
		if (view->folds.items[i] != at)
			view->folds.items[kept++] = view->folds.items[i];
	view->folds.count = kept;
	view->lines.items[at].is_folded = false;
}

size_t mt_view_below(const struct mt_view *view, size_t at)
{
	const struct line *line = &view->lines.items[at];
	size_t below = at + (line->is_folded ? line->size : 1);

	return below < view->lines.count ? below : MT_VIEW_NONE;
}

size_t mt_view_above(const struct mt_view *view, size_t at)
{
	return at ? in_list(view, at - 1) : MT_VIEW_NONE;
}

bool mt_view_place(const struct mt_view *view, size_t at, const char **file, uint32_t *number)
{
	const struct line *line = &view->lines.items[at];

	*file = line->file;
	*number = line->number;
	if (mt_view_has_function(line) && (!*file || !*number)) {
		*file = line->function->source.file;
		*number = line->function->source.line;
	}
	return *file && *number;
}

size_t mt_view_top(struct mt_view *view, size_t height)
{
	size_t selected = view->selected;

	if (selected == MT_VIEW_NONE)
		return MT_VIEW_NONE;
	view->top = in_list(view, view->top);
	size_t at = view->top;
	for (size_t row = 0; row < height && at != MT_VIEW_NONE; row++) {
		if (at == selected)
			return view->top;
		at = mt_view_below(view, at);
	}
	if (at == selected) { /* the one behind the window */
		view->top = mt_view_below(view, view->top);
		return view->top;
	}
	/* Elsewhere: in the middle, and the window is full where there are lines enough. */
	bool is_next = mt_view_below(view, selected) == view->top;
	size_t above = height;
	at = selected;
	for (size_t row = 0; row <= height / 2 && at != MT_VIEW_NONE; row++, above--)
		at = mt_view_below(view, at);
	view->top = selected;
	while (!is_next && above-- && (at = mt_view_above(view, view->top)) != MT_VIEW_NONE)
		view->top = at;
	return view->top;
}

void mt_view_select(struct mt_view *view, size_t at)
{
	for (size_t hides; (hides = in_list(view, at)) != at;)
		unfold(view, (uint32_t)hides);
	view->selected = at;
}

void mt_view_move(struct mt_view *view, long lines)
{
	if (view->selected == MT_VIEW_NONE)
		return;
	for (; lines; lines += lines < 0 ? 1 : -1) {
		size_t at = lines < 0 ? mt_view_above(view, view->selected)
				      : mt_view_below(view, view->selected);

		if (at == MT_VIEW_NONE)
			return;
		view->selected = at;
	}
}

void mt_view_fold(struct mt_view *view)
{
	if (view->selected == MT_VIEW_NONE)
		return;
	const struct line *line = &view->lines.items[view->selected];
	if (line->is_folded)
		unfold(view, (uint32_t)view->selected);
	else if (line->size > 1 || mt_view_caller(view))
		fold(view, (uint32_t)view->selected);
}

bool mt_view_caller(struct mt_view *view)
{
	if (view->selected == MT_VIEW_NONE || view->lines.items[view->selected].parent == NO_PARENT)
		return false;
	view->selected = view->lines.items[view->selected].parent;
	return true;
}

bool mt_view_callee(struct mt_view *view)
{
	if (view->selected == MT_VIEW_NONE)
		return false;
	const struct line *lines = view->lines.items;
	size_t end = view->selected + lines[view->selected].size;
	for (size_t at = view->selected + 1; at < end; at++) {
		if (lines[at].is_text)
			continue;
		mt_view_select(view, at);
		return true;
	}
	return false;
}

/* Names are compared once a function, not once a call: IS_WANTED is by the functions' ids. */
static bool is_wanted_line(const struct mt_view *view, size_t at, const bool *is_wanted,
			   const char *word)
{
	uint32_t name = view->names.items[at];

	if (name == NAME_TEXT)
		return word && strcasestr(view->lines.items[at].text, word);
	return name != NO_NAME && is_wanted[name];
}

/* The first wanted line from FIRST up to END. */
static size_t find_first(const struct mt_view *view, size_t first, size_t end,
			 const bool *is_wanted)
{
	for (size_t at = first; at < end; at++)
		if (is_wanted_line(view, at, is_wanted, NULL))
			return at;
	return MT_VIEW_NONE;
}

/* The last one. */
static size_t find_last(const struct mt_view *view, size_t first, size_t end, const bool *is_wanted,
			const char *word)
{
	for (size_t at = end; at-- > first;)
		if (is_wanted_line(view, at, is_wanted, word))
			return at;
	return MT_VIEW_NONE;
}

static bool select_found(struct mt_view *view, size_t found)
{
	if (found != MT_VIEW_NONE)
		mt_view_select(view, found);
	return found != MT_VIEW_NONE;
}

bool mt_view_same(struct mt_view *view, bool next)
{
	const struct line *line =
	    view->selected == MT_VIEW_NONE ? NULL : &view->lines.items[view->selected];
	bool *is_wanted = line && mt_view_has_function(line)
			      ? calloc(view->functions.count, sizeof(*is_wanted))
			      : NULL;

	if (!is_wanted)
		return false;
	for (size_t i = 0; i < view->functions.count; i++)
		is_wanted[i] = strcmp(view->functions.items[i]->name, line->function->name) == 0;
	size_t found = next ? find_first(view, view->selected + 1, view->lines.count, is_wanted)
			    : find_last(view, 0, view->selected, is_wanted, NULL);
	free(is_wanted);
	return select_found(view, found);
}

bool mt_view_search(struct mt_view *view, const char *word)
{
	bool *is_wanted = view->selected == MT_VIEW_NONE
			      ? NULL
			      : calloc(view->functions.count + 1, sizeof(*is_wanted));

	if (!is_wanted)
		return false;
	for (size_t i = 0; i < view->functions.count; i++)
		is_wanted[i] = strcasestr(view->functions.items[i]->name, word) != NULL;
	size_t found = find_last(view, 0, view->selected, is_wanted, word);
	if (found == MT_VIEW_NONE)
		found = find_last(view, view->selected, view->lines.count, is_wanted, word);
	free(is_wanted);
	return select_found(view, found);
}

/* The part of the list that has the selected line. */
static size_t part_of_selected(const struct mt_view *view)
{
	size_t part = 0;

	while (part + 1 < view->parts.count && view->parts.items[part + 1].first <= view->selected)
		part++;
	return part;
}

bool mt_view_thread(struct mt_view *view, bool next)
{
	size_t count = view->parts.count;
	size_t here = count ? part_of_selected(view) : 0;

	for (size_t step = 1; step < count; step++) {
		size_t part = (here + (next ? step : count - step)) % count;

		if (view->parts.items[part].tid == view->parts.items[here].tid)
			continue;
		size_t end =
		    part + 1 < count ? view->parts.items[part + 1].first : view->lines.count;
		view->selected = in_list(view, end - 1);
		return true;
	}
	return false;
}
