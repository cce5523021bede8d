/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a history, in order, each with what is known of it: a sink of slices that finds
 * them, for whoever shows them.
 *
 * The length of a call is known when it ends, but its line stands where it begins.  So lines wait
 * in a window: what ends within it is one whole line.  A line that must leave the window before is
 * given with its length open, and a line of its own shows the end.
 *
 * The same window gives the last N calls: then it is N calls wide, what leaves it is not given, and
 * the callers of what is left are kept apart. */
#ifndef MT_OUTPUT_TEXT_WINDOW_H
#define MT_OUTPUT_TEXT_WINDOW_H

#include "output/text_line.h"

/* Each returns NULL or an error, which ends the run. */
struct mt_text_lines {
	struct mt_error *(*thread)(void *self, const struct mt_thread *thread);
	struct mt_error *(*entry)(void *self, const struct mt_text_entry *entry);
	/* So many callers are left out here. */
	struct mt_error *(*elided)(void *self, size_t count);
};

struct mt_text_window;

/* LAST: only so many calls of a thread, with their callers, are given, when all is over; 0: all, as
 * they come.  Errors: NO_MEMORY. */
struct mt_error *mt_text_window_create(const struct mt_text_lines *lines, void *self, uint64_t last,
				       struct mt_text_window **out);
/* Errors of the sink: NO_MEMORY; those of the lines. */
struct mt_slice_sink mt_text_window_sink(struct mt_text_window *all);
void mt_text_window_destroy(struct mt_text_window *all); /* NULL is fine */

#endif
