/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best so many are a heap with the worst of them on top, and copies of what they are made of:
 * strings and functions are lent for the whole run. */
#include "query/grep.h"

#include "base/array.h"
#include "query/pattern.h"
#include "trace/sink_ops.h"

#include <string.h>

struct kept {
	uint64_t key; /* the best has the smallest */
	uint64_t order;
	struct mt_thread thread;
	struct mt_slice *path;
	size_t depth;
	struct mt_slice_end end;
	uint64_t zero_ns, span_ns;
};

struct mt_grep {
	struct mt_grep_options options;
	struct mt_pattern *pattern;
	mt_grep_found *found;
	void *context;
	struct mt_thread thread;
	struct mt_thread_segment segment;
	MT_ARRAY(struct mt_slice) open;
	MT_ARRAY(const struct mt_slice *) path;
	MT_ARRAY(struct kept) kept;
	struct mt_grep_result result;
};

/* ---- What is kept ---- */

static bool is_worse(const struct kept *a, const struct kept *b)
{
	return a->key != b->key ? a->key > b->key : a->order > b->order;
}

static void swap(struct kept *a, struct kept *b)
{
	struct kept third = *a;

	*a = *b;
	*b = third;
}

static void sift_up(struct mt_grep *grep)
{
	struct kept *items = grep->kept.items;

	for (size_t at = grep->kept.count - 1; at && is_worse(&items[at], &items[(at - 1) / 2]);
	     at = (at - 1) / 2)
		swap(&items[at], &items[(at - 1) / 2]);
}

static void sift_down(struct mt_grep *grep)
{
	struct kept *items = grep->kept.items;
	size_t at = 0, child;

	while ((child = 2 * at + 1) < grep->kept.count) {
		child += child + 1 < grep->kept.count && is_worse(&items[child + 1], &items[child]);
		if (!is_worse(&items[child], &items[at]))
			return;
		swap(&items[child], &items[at]);
		at = child;
	}
}

static uint64_t distance_of(uint64_t begin_ns, uint64_t end_ns, uint64_t time_ns)
{
	return time_ns < begin_ns ? begin_ns - time_ns : time_ns > end_ns ? time_ns - end_ns : 0;
}

static uint64_t key_of(const struct mt_grep *grep, const struct mt_grep_call *call)
{
	const uint64_t begin_ns = call->path[call->depth - 1]->time_ns, end_ns = call->end->time_ns;
	const uint64_t around_ns = grep->options.around_ns;

	switch (grep->options.keep) {
	case MT_GREP_SLOWEST:
		return UINT64_MAX - (end_ns - begin_ns);
	case MT_GREP_LAST:
		return UINT64_MAX - begin_ns;
	case MT_GREP_AROUND:
		return distance_of(begin_ns, end_ns,
				   call->zero_ns > around_ns ? call->zero_ns - around_ns : 0);
	default:
		return begin_ns;
	}
}

static int fill(struct kept *kept, const struct mt_grep_call *call)
{
	kept->path = call->depth ? calloc(call->depth, sizeof(*kept->path)) : NULL;
	if (!kept->path)
		return -1;
	for (size_t i = 0; i < call->depth; i++)
		kept->path[i] = *call->path[i];
	kept->depth = call->depth;
	kept->thread = *call->thread;
	kept->end = *call->end;
	kept->zero_ns = call->zero_ns;
	kept->span_ns = call->span_ns;
	return 0;
}

static struct mt_error *keep(struct mt_grep *grep, const struct mt_grep_call *call)
{
	struct kept kept = {.key = key_of(grep, call), .order = grep->result.matched};
	const bool is_full = grep->kept.count >= grep->options.most;

	if (!grep->options.most || (is_full && !is_worse(&grep->kept.items[0], &kept)))
		return NULL;
	if (fill(&kept, call))
		return mt_error_no_memory();
	if (is_full) {
		free(grep->kept.items[0].path);
		grep->kept.items[0] = kept;
		sift_down(grep);
	} else if (mt_array_push(&grep->kept, kept)) {
		free(kept.path);
		return mt_error_no_memory();
	} else {
		sift_up(grep);
	}
	return NULL;
}

static uint64_t begin_of(const struct kept *kept)
{
	return kept->path[kept->depth - 1].time_ns;
}

static int by_begin(const void *a, const void *b)
{
	const struct kept *left = a, *right = b;

	if (begin_of(left) != begin_of(right))
		return begin_of(left) < begin_of(right) ? -1 : 1;
	return left->order < right->order ? -1 : 1;
}

static int by_key(const void *a, const void *b)
{
	return is_worse(a, b) ? 1 : -1;
}

static struct mt_error *give(struct mt_grep *grep, const struct kept *kept)
{
	grep->path.count = 0;
	for (size_t i = 0; i < kept->depth; i++)
		if (mt_array_push(&grep->path, &kept->path[i]))
			return mt_error_no_memory();
	const struct mt_grep_call call = {
	    .thread = &kept->thread,
	    .path = grep->path.items,
	    .depth = kept->depth,
	    .end = &kept->end,
	    .zero_ns = kept->zero_ns,
	    .span_ns = kept->span_ns,
	};
	return grep->found(grep->context, &call);
}

static struct mt_error *finish(void *self)
{
	struct mt_grep *grep = self;

	if (grep->kept.count)
		qsort(grep->kept.items, grep->kept.count, sizeof(*grep->kept.items),
		      grep->options.keep == MT_GREP_SLOWEST ? by_key : by_begin);
	mt_array_each (kept, &grep->kept)
		mt_try(give(grep, kept));
	return NULL;
}

/* ---- The sink ---- */

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct mt_grep *grep = self;

	grep->thread = *which;
	grep->open.count = 0;
	return NULL;
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_grep *grep = self;

	grep->segment = *segment;
	grep->open.count = 0;
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_grep *grep = self;

	return mt_array_push(&grep->open, *slice) ? mt_error_no_memory() : NULL;
}

static bool is_in_time(const struct mt_grep *grep, const struct mt_slice *slice,
		       const struct mt_slice_end *end)
{
	const uint64_t zero_ns = grep->segment.end_ns;
	const uint64_t from_ns =
	    zero_ns > grep->options.from_ns ? zero_ns - grep->options.from_ns : 0;

	return end->time_ns >= from_ns && slice->time_ns + grep->options.to_ns <= zero_ns;
}

/* The call at the end of `open`, which ends. */
static struct mt_error *take(struct mt_grep *grep, const struct mt_slice_end *end)
{
	grep->path.count = 0;
	mt_array_each (slice, &grep->open)
		if (mt_array_push(&grep->path, slice))
			return mt_error_no_memory();
	const struct mt_grep_call call = {
	    .thread = &grep->thread,
	    .path = grep->path.items,
	    .depth = grep->path.count,
	    .end = end,
	    .zero_ns = grep->segment.end_ns,
	    .span_ns = grep->segment.end_ns - grep->segment.begin_ns,
	};
	grep->result.matched++;
	return grep->options.keep == MT_GREP_ALL ? grep->found(grep->context, &call)
						 : keep(grep, &call);
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_grep *grep = self;
	enum mt_value_truth truth = MT_VALUE_TRUTH_FALSE;
	struct mt_error *error = NULL;

	if (!grep->open.count)
		return NULL;
	const struct mt_slice *slice = mt_array_last(&grep->open);
	const bool is_partial = slice->flags & MT_SLICE_INFERRED ||
				what->flags & (MT_SLICE_END_OPEN | MT_SLICE_END_LOST);

	if (slice->function && mt_pattern_fits_function(grep->pattern, slice->function) &&
	    is_in_time(grep, slice, what) &&
	    !(is_partial && grep->options.keep == MT_GREP_SLOWEST)) {
		grep->result.functions++;
		error = mt_pattern_fits_call(grep->pattern, slice, what, &truth);
		grep->result.unknown += truth == MT_VALUE_TRUTH_UNKNOWN;
	}
	if (!error && truth == MT_VALUE_TRUTH_TRUE)
		error = take(grep, what);
	grep->open.count--;
	return error;
}

struct mt_slice_sink mt_grep_sink(struct mt_grep *grep)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = mt_slice_ignore_instant,
	    .segment_end = mt_slice_ignore_segment,
	    .finish = finish,
	};

	return (struct mt_slice_sink){&ops, grep};
}

struct mt_grep_result mt_grep_result(const struct mt_grep *grep)
{
	struct mt_grep_result result = grep->result;

	result.function = mt_pattern_function(grep->pattern);
	result.problem = mt_pattern_problem(grep->pattern);
	return result;
}

struct mt_error *mt_grep_create(const struct mt_grep_options *options, mt_grep_found *found,
				void *context, struct mt_grep **out)
{
	struct mt_grep *grep = calloc(1, sizeof(*grep));

	*out = NULL;
	if (!grep)
		return mt_error_no_memory();
	grep->options = *options;
	grep->found = found;
	grep->context = context;
	struct mt_error *error = mt_pattern_create(options->pattern, &grep->pattern);
	if (error)
		mt_grep_destroy(grep);
	else
		*out = grep;
	return error;
}

void mt_grep_destroy(struct mt_grep *grep)
{
	if (!grep)
		return;
	mt_pattern_destroy(grep->pattern);
	mt_array_each (kept, &grep->kept)
		free(kept->path);
	mt_array_deinit(&grep->kept);
	mt_array_deinit(&grep->open);
	mt_array_deinit(&grep->path);
	free(grep);
}
