/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds calls by function, values, duration and time: a sink of slices that hands out those that
 * fit, each when it ends, or at the end of all the best so many of them.  Its memory grows with the
 * depth of calls and with what is kept, and not with the recording. */
#ifndef MT_QUERY_GREP_H
#define MT_QUERY_GREP_H

#include "base/str.h"
#include "trace/slice.h"

enum mt_grep_keep {
	MT_GREP_ALL,     /* as they come: threads one after the other */
	MT_GREP_SLOWEST, /* the slowest first; calls that were seen whole alone */
	MT_GREP_FIRST,   /* in the order of their begins, as are these two */
	MT_GREP_LAST,
	MT_GREP_AROUND, /* that were under way, or nearest to `around_ns` */
};

struct mt_grep_options {
	const char *pattern; /* "FUNCTION(EXPRESSION) > TIME": query/pattern.h */
	enum mt_grep_keep keep;
	size_t most; /* but for MT_GREP_ALL */
	/* Before the end of the segment, as the history shows times.  FROM is the larger one. */
	uint64_t around_ns;
	uint64_t from_ns,
	    to_ns; /* only calls that were under way in between; UINT64_MAX and 0: all */
};

/* A call that fits.  Lent until the call of `found` returns. */
struct mt_grep_call {
	const struct mt_thread *thread;
	const struct mt_slice *const *path; /* the outermost first, the call itself the last */
	size_t depth;                       /* how many */
	const struct mt_slice_end *end;
	uint64_t zero_ns; /* the segment's end */
	uint64_t span_ns; /* its length */
};

struct mt_grep_result {
	uint64_t matched;     /* with those that are not kept */
	uint64_t functions;   /* calls of a function of that name */
	uint64_t unknown;     /* of these: the expression could not be evaluated */
	const char *problem;  /* why, the last time.  Lent. */
	const char *function; /* of that name.  Lent. */
};

typedef struct mt_error *mt_grep_found(void *context, const struct mt_grep_call *call);

struct mt_grep;

/* OPTIONS are copied, their strings lent.  Errors: USAGE (a pattern that means nothing);
 * NO_MEMORY. */
struct mt_error *mt_grep_create(const struct mt_grep_options *options, mt_grep_found *found,
				void *context, struct mt_grep **out);
void mt_grep_destroy(struct mt_grep *grep); /* NULL is fine */
/* Errors of the sink: FOUND's; NO_MEMORY. */
struct mt_slice_sink mt_grep_sink(struct mt_grep *grep);
struct mt_grep_result mt_grep_result(const struct mt_grep *grep);

#endif
