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

/* The line itself, or the outermost folded call that hides it. */
static size_t in_list(const struct mt_view *view, size_t at)
{
	const struct line *lines = view->lines.items;

	for (uint32_t up = lines[at].parent; up != NO_PARENT; up = lines[up].parent)
		if (lines[up].is_folded)
			at = up;
	return at;
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
	struct line *lines = view->lines.items;

	for (uint32_t up = lines[at].parent; up != NO_PARENT; up = lines[up].parent)
		lines[up].is_folded = false;
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
	struct line *line = &view->lines.items[view->selected];
	if (line->size > 1)
		line->is_folded = !line->is_folded;
	else if (mt_view_caller(view))
		view->lines.items[view->selected].is_folded = true;
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
static bool is_wanted_line(const struct line *line, const bool *is_wanted, const char *word)
{
	if (line->is_text)
		return word && strcasestr(line->text, word);
	return mt_view_has_function(line) && is_wanted[line->function->id];
}

/* The nearest wanted line before the selected one, or behind. */
static size_t find(const struct mt_view *view, bool forward, const bool *is_wanted,
		   const char *word)
{
	const struct line *lines = view->lines.items;
	size_t at = view->selected;

	while (forward ? ++at < view->lines.count : at-- > 0)
		if (is_wanted_line(&lines[at], is_wanted, word))
			return at;
	return MT_VIEW_NONE;
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
	size_t found = find(view, next, is_wanted, NULL);
	free(is_wanted);
	if (found != MT_VIEW_NONE)
		mt_view_select(view, found);
	return found != MT_VIEW_NONE;
}

bool mt_view_search(struct mt_view *view, const char *word)
{
	bool *is_wanted = view->selected == MT_VIEW_NONE
			      ? NULL
			      : calloc(view->functions.count + 1, sizeof(*is_wanted));
	size_t before = view->selected;

	if (!is_wanted)
		return false;
	for (size_t i = 0; i < view->functions.count; i++)
		is_wanted[i] = strcasestr(view->functions.items[i]->name, word) != NULL;
	size_t found = find(view, false, is_wanted, word);
	if (found == MT_VIEW_NONE) {
		view->selected = view->lines.count;
		found = find(view, false, is_wanted, word);
		view->selected = before;
	}
	free(is_wanted);
	if (found != MT_VIEW_NONE)
		mt_view_select(view, found);
	return found != MT_VIEW_NONE;
}
