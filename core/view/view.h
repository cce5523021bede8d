/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A history to walk in: the calls of a thread as a list of lines, indented by depth, of which one
 * is selected.  Calls fold: then what they called is not in the list.  It keeps all calls, in 68
 * bytes each, and formats only the lines that are asked for, as `mtrace history` does; so it takes
 * the same time whatever its length, but for a search.
 *
 * It is a sink of slices, and keeps nothing of what a sink is lent. */
#ifndef MT_VIEW_VIEW_H
#define MT_VIEW_VIEW_H

#include "base/str.h"
#include "trace/slice.h"

#define MT_VIEW_NONE SIZE_MAX

struct mt_view;

/* Errors: NO_MEMORY. */
struct mt_error *mt_view_create(struct mt_view **out);
/* Errors of the sink: NO_MEMORY; UNSUPPORTED (more calls than 32 bits count). */
struct mt_slice_sink mt_view_sink(struct mt_view *view);
void mt_view_destroy(struct mt_view *view); /* NULL is fine */

/* ---- Lines: those of calls, and of what else a history shows ---- */

size_t mt_view_count(const struct mt_view *view);
/* Of calls alone. */
size_t mt_view_calls(const struct mt_view *view);
/* The line below, or above, that is in the list; MT_VIEW_NONE: none is.  Above mt_view_count() is
 * the last one. */
size_t mt_view_below(const struct mt_view *view, size_t line);
size_t mt_view_above(const struct mt_view *view, size_t line);
/* Appends COLUMNS columns of the line, from column FIRST on, without a newline; SIZE_MAX: all of
 * them.  Two columns in front of it have a mark of the selected line, and one of folded ones.  A
 * character takes one column: others, and those that speak to the terminal, are '?'. */
void mt_view_line(struct mt_view *view, size_t line, size_t first, size_t columns,
		  struct mt_str *out);
/* The last COUNT calls and events, without the headings above them, in half as many rows of COLUMNS
 * columns: duration and name, the older ones on the left, the newer ones on the right. */
void mt_view_brief(struct mt_view *view, size_t count, size_t columns, struct mt_str *out);
/* Where the call was made, else where its function begins; of a signal and its like, where it
 * happened.  False: not known.  FILE is lent. */
bool mt_view_place(const struct mt_view *view, size_t line, const char **file, uint32_t *number);

/* ---- The selected line: the last one at first ---- */

/* MT_VIEW_NONE: there are no lines. */
size_t mt_view_selected(const struct mt_view *view);
/* The first line of a window of HEIGHT lines, which has the selected one in it and moves as little
 * as possible.  MT_VIEW_NONE: there are no lines. */
size_t mt_view_top(struct mt_view *view, size_t height);

/* Selects a line; what it lies in is unfolded. */
void mt_view_select(struct mt_view *view, size_t line);
/* Moves by so many lines of the list, as far as it goes. */
void mt_view_move(struct mt_view *view, long lines);
/* Folds the selected call, or unfolds it; of a call that called nothing, its caller. */
void mt_view_fold(struct mt_view *view);
/* Each selects a line, or returns false and changes nothing. */
bool mt_view_caller(struct mt_view *view);
bool mt_view_callee(struct mt_view *view); /* the first call that it made */
/* The next (else the previous) call of the selected call's function. */
bool mt_view_same(struct mt_view *view, bool next);
/* The last line of the next (else the previous) other thread, of which the first follows the last.
 */
bool mt_view_thread(struct mt_view *view, bool next);
/* The nearest line before the selected one whose name contains WORD, in whatever case; when there
 * is none, the last one of all.  False without memory, too. */
bool mt_view_search(struct mt_view *view, const char *word);

#endif
