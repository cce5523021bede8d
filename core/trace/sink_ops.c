/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "trace/sink_ops.h"

struct mt_error *mt_slice_pass_thread(void *filter, const struct mt_thread *thread)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->thread(to->self, thread);
}

struct mt_error *mt_slice_pass_segment_begin(void *filter, const struct mt_thread_segment *segment)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->segment_begin(to->self, segment);
}

struct mt_error *mt_slice_pass_begin(void *filter, const struct mt_slice *slice)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->begin(to->self, slice);
}

struct mt_error *mt_slice_pass_end(void *filter, const struct mt_slice_end *end)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->end(to->self, end);
}

struct mt_error *mt_slice_pass_instant(void *filter, const struct mt_instant *instant)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->instant(to->self, instant);
}

struct mt_error *mt_slice_pass_segment_end(void *filter, const struct mt_thread_segment *segment)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->segment_end(to->self, segment);
}

struct mt_error *mt_slice_pass_finish(void *filter)
{
	const struct mt_slice_sink *to = filter;

	return to->ops->finish ? to->ops->finish(to->self) : NULL;
}

struct mt_error *mt_slice_ignore_thread(void *sink, const struct mt_thread *thread)
{
	(void)sink;
	(void)thread;
	return NULL;
}

struct mt_error *mt_slice_ignore_segment(void *sink, const struct mt_thread_segment *segment)
{
	(void)sink;
	(void)segment;
	return NULL;
}

struct mt_error *mt_slice_ignore_begin(void *sink, const struct mt_slice *slice)
{
	(void)sink;
	(void)slice;
	return NULL;
}

struct mt_error *mt_slice_ignore_end(void *sink, const struct mt_slice_end *end)
{
	(void)sink;
	(void)end;
	return NULL;
}

struct mt_error *mt_slice_ignore_instant(void *sink, const struct mt_instant *instant)
{
	(void)sink;
	(void)instant;
	return NULL;
}
