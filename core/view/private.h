/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MT_VIEW_PRIVATE_H
#define MT_VIEW_PRIVATE_H

#include "base/arena.h"
#include "base/array.h"
#include "output/text_line.h"
#include "view/view.h"

#include <uthash.h>

#define NO_PARENT UINT32_MAX
#define NO_NAME   UINT32_MAX
#define NAME_TEXT (UINT32_MAX - 1) /* the line's text */

struct values {
	const char *arguments, *result;
};

/* A line: a slice, or a text that was formatted when it came. */
struct line {
	uint64_t begin_ns, end_ns;
	union {
		const struct mt_function *function; /* NULL: by its kind */
		const char *text;
		uint64_t bytes_lost; /* of a gap */
	};
	const char *file;      /* of the call site; NULL: not known */
	struct values *values; /* NULL: none were recorded */
	uint32_t number;       /* of the line in FILE */
	uint32_t parent;       /* the line of the caller */
	uint32_t size;         /* lines of it, and of all that it called */
	uint32_t depth;
	uint32_t samples; /* that it was in; 0: it was not sampled */
	uint8_t kind;     /* enum mt_slice_kind */
	uint8_t flags, end_flags;
	uint8_t cause; /* of a gap */
	bool is_text, has_ended, is_folded;
	bool is_heading; /* of a thread or segment: a text that nothing happened in */
};

/* What was lent, by its address, and our copy of it. */
struct copy {
	const void *lent;
	const void *own;
	UT_hash_handle hh;
};

/* From `first` on lines are of this segment. */
struct segment {
	size_t first;
	uint64_t zero_ns, length_ns;
};

/* From `first` on lines are of this thread. */
struct part {
	size_t first;
	pid_t tid;
};

struct mt_view {
	struct mt_arena arena;
	MT_ARRAY(struct line) lines;
	MT_ARRAY(struct segment) segments;
	MT_ARRAY(struct part) parts;
	MT_ARRAY(uint32_t) folds;                       /* lines that are folded, in order */
	MT_ARRAY(const struct mt_function *) functions; /* by their id, which is ours */
	/* By line, the id of its function, or one of the below: a search reads nothing else. */
	MT_ARRAY(uint32_t) names;
	size_t calls;
	size_t selected, top;
	struct mt_text_style style;
	struct mt_str whole; /* of mt_view_line() */
	/* While it is filled. */
	struct copy *copies;
	MT_ARRAY(uint32_t) open; /* slices that have not ended */
	bool is_track;           /* of what comes nothing is a call of a thread */
};

/* Puts all columns of a line but the first two into view->whole.  False: there is no memory. */
bool mt_view_whole(struct mt_view *view, size_t line);

static inline bool mt_view_has_function(const struct line *line)
{
	return !line->is_text && line->kind != MT_SLICE_GAP && line->function;
}

#endif
