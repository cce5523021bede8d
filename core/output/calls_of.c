/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A caller is passed on when the first call under it is.  Whatever was passed on meanwhile was so
 * before the caller began, so times still never run backwards.  So are threads and segments: one
 * without such a call is not shown. */
#include "output/calls_of.h"

#include "base/array.h"
#include "elf/objfile.h"
#include "trace/sink_ops.h"

#include <string.h>

struct mt_calls_of {
	struct mt_slice_sink to;
	const char *function;
	MT_ARRAY(struct mt_slice) open; /* by depth */
	size_t passed;                  /* so many of the outermost are passed on */
	uint64_t count;
	struct mt_thread thread;
	struct mt_thread_segment segment;
	bool thread_passed, segment_passed;
};
MT_SLICE_FILTER(struct mt_calls_of, to);

static struct mt_error *pass_callers(struct mt_calls_of *filter)
{
	const struct mt_slice_sink *to = &filter->to;

	if (!filter->thread_passed)
		mt_try(to->ops->thread(to->self, &filter->thread));
	filter->thread_passed = true;
	if (!filter->segment_passed)
		mt_try(to->ops->segment_begin(to->self, &filter->segment));
	filter->segment_passed = true;
	for (; filter->passed < filter->open.count; filter->passed++)
		mt_try(to->ops->begin(to->self, &filter->open.items[filter->passed]));
	return NULL;
}

static struct mt_error *thread(void *self, const struct mt_thread *which)
{
	struct mt_calls_of *filter = self;

	filter->open.count = filter->passed = 0;
	filter->thread = *which;
	filter->thread_passed = false;
	return NULL;
}

static struct mt_error *segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct mt_calls_of *filter = self;

	filter->open.count = filter->passed = 0;
	filter->segment = *segment;
	filter->segment_passed = false;
	return NULL;
}

static struct mt_error *begin(void *self, const struct mt_slice *slice)
{
	struct mt_calls_of *filter = self;
	struct mt_slice one = *slice;
	bool wanted = slice->function && mt_function_matches(slice->function, filter->function);

	if (!wanted)
		one.flags |= MT_SLICE_CONTEXT;
	if (mt_array_push(&filter->open, one))
		return mt_error_no_memory();
	filter->count += wanted;
	return wanted ? pass_callers(filter) : NULL;
}

static struct mt_error *end(void *self, const struct mt_slice_end *what)
{
	struct mt_calls_of *filter = self;

	if (!filter->open.count)
		return NULL;
	if (filter->passed < filter->open.count--)
		return NULL;
	filter->passed--;
	return mt_slice_pass_end(self, what);
}

static struct mt_error *instant(void *self, const struct mt_instant *what)
{
	const struct mt_calls_of *filter = self;

	if (!filter->passed || filter->passed < filter->open.count)
		return NULL;
	return mt_slice_pass_instant(self, what);
}

static struct mt_error *segment_end(void *self, const struct mt_thread_segment *segment)
{
	const struct mt_calls_of *filter = self;

	return filter->segment_passed ? mt_slice_pass_segment_end(self, segment) : NULL;
}

struct mt_slice_sink mt_calls_of_sink(struct mt_calls_of *filter)
{
	static const struct mt_slice_sink_ops ops = {
	    .thread = thread,
	    .segment_begin = segment_begin,
	    .begin = begin,
	    .end = end,
	    .instant = instant,
	    .segment_end = segment_end,
	    .finish = mt_slice_pass_finish,
	};

	return (struct mt_slice_sink){&ops, filter};
}

struct mt_error *mt_calls_of_create(const char *function, struct mt_slice_sink to,
				    struct mt_calls_of **out)
{
	struct mt_calls_of *filter = calloc(1, sizeof(*filter));

	*out = filter;
	if (!filter)
		return mt_error_no_memory();
	filter->function = function;
	filter->to = to;
	return NULL;
}

uint64_t mt_calls_of_count(const struct mt_calls_of *filter)
{
	return filter->count;
}

void mt_calls_of_destroy(struct mt_calls_of *filter)
{
	if (!filter)
		return;
	mt_array_deinit(&filter->open);
	free(filter);
}
