/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sink that throws all away: what it costs to come there. */
#ifndef MT_TESTS_BENCH_NO_SINK_H
#define MT_TESTS_BENCH_NO_SINK_H

#include "trace/slice.h"

static struct mt_error *no_thread(void *sink, const struct mt_thread *thread)
{
	(void)sink, (void)thread;
	return NULL;
}

static struct mt_error *no_segment(void *sink, const struct mt_thread_segment *segment)
{
	(void)sink, (void)segment;
	return NULL;
}

static struct mt_error *no_begin(void *sink, const struct mt_slice *slice)
{
	(void)sink, (void)slice;
	return NULL;
}

static struct mt_error *no_end(void *sink, const struct mt_slice_end *end)
{
	(void)sink, (void)end;
	return NULL;
}

static struct mt_error *no_instant(void *sink, const struct mt_instant *instant)
{
	(void)sink, (void)instant;
	return NULL;
}

static const struct mt_slice_sink_ops no_ops = {
    .thread = no_thread,
    .segment_begin = no_segment,
    .begin = no_begin,
    .end = no_end,
    .instant = no_instant,
    .segment_end = no_segment,
};

#endif
