/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A sink of slices that holds whoever feeds it to the promises of trace/slice.h, and passes all on
 * to another sink if there is one.
 *
 *	struct check_sink check = {0};
 *	… mt_slice_sink of check_sink_ops and &check …
 *	assert_string_equal(check_sink_failure(&check), "");
 *	check_sink_deinit(&check); */
#ifndef MT_TESTS_CHECK_SINK_H
#define MT_TESTS_CHECK_SINK_H

#include "base/array.h"
#include "trace/slice.h"

#include <stdarg.h>
#include <stdio.h>

struct check_sink {
	struct mt_slice_sink next;      /* ops may be NULL */
	struct mt_thread thread;        /* the one that is spoken of */
	MT_ARRAY(struct mt_slice) open; /* outermost first */
	struct mt_thread_segment segment;
	bool has_thread;
	bool in_segment;
	bool ending; /* an end was OPEN: only such may follow */
	uint64_t time_ns;
	uint64_t segments, slices, instants, gaps, inferred;
	size_t deepest;
	char failure[256];
};

static inline void check_that(struct check_sink *check, bool holds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static inline void check_that(struct check_sink *check, bool holds, const char *format, ...)
{
	va_list args;

	if (holds || check->failure[0])
		return;
	va_start(args, format);
	vsnprintf(check->failure, sizeof(check->failure), format, args);
	va_end(args);
}

/* "" while all promises were kept, else the first that was not. */
static inline const char *check_sink_failure(const struct check_sink *check)
{
	if (check->failure[0] == '\0' && check->in_segment)
		return "the last segment did not end";
	return check->failure;
}

static inline void check_sink_deinit(struct check_sink *check)
{
	mt_array_deinit(&check->open);
}

static inline void check_time(struct check_sink *check, uint64_t time_ns)
{
	check_that(check, check->in_segment, "something outside of a segment");
	check_that(check, time_ns >= check->time_ns, "time runs backwards: %llu after %llu",
		   (unsigned long long)time_ns, (unsigned long long)check->time_ns);
	check_that(check, time_ns <= check->segment.end_ns, "time %llu behind the segment's end",
		   (unsigned long long)time_ns);
	check->time_ns = time_ns;
}

static inline struct mt_error *check_thread(void *self, const struct mt_thread *thread)
{
	struct check_sink *check = self;

	check_that(check, !check->in_segment, "a thread within a segment");
	check->thread = *thread;
	check->has_thread = true;
	return check->next.ops ? check->next.ops->thread(check->next.self, thread) : NULL;
}

static inline struct mt_error *check_segment_begin(void *self,
						   const struct mt_thread_segment *segment)
{
	struct check_sink *check = self;

	check_that(check, check->has_thread, "a segment without a thread");
	check_that(check, !check->in_segment, "a segment within a segment");
	check_that(check, segment->begin_ns <= segment->end_ns, "a segment ends before it begins");
	check->in_segment = true;
	check->ending = false;
	check->segment = *segment;
	check->time_ns = segment->begin_ns;
	check->segments++;
	return check->next.ops ? check->next.ops->segment_begin(check->next.self, segment) : NULL;
}

static inline void check_slice(struct check_sink *check, const struct mt_slice *slice)
{
	bool call = slice->kind == MT_SLICE_CALL || slice->kind == MT_SLICE_INLINED;

	check_that(check, slice->kind <= MT_SLICE_SIDE, "a slice of no kind");
	check_that(check, slice->depth == check->open.count, "a begin of depth %u with %zu open",
		   slice->depth, check->open.count);
	check_that(check, call == (slice->function != NULL), "function and kind do not agree");
	check_that(check, !check->ending, "a begin after the ends of what is open");
	check_that(check,
		   check->open.count == 0 || mt_array_last(&check->open)->kind != MT_SLICE_GAP,
		   "a slice within a gap");
}

static inline struct mt_error *check_begin(void *self, const struct mt_slice *slice)
{
	struct check_sink *check = self;

	check_time(check, slice->time_ns);
	check_slice(check, slice);
	if (mt_array_push(&check->open, *slice))
		return mt_error_no_memory();
	if (check->open.count > check->deepest)
		check->deepest = check->open.count;
	check->slices++;
	check->gaps += slice->kind == MT_SLICE_GAP;
	check->inferred += slice->flags & MT_SLICE_INFERRED ? 1 : 0;
	return check->next.ops ? check->next.ops->begin(check->next.self, slice) : NULL;
}

static inline struct mt_error *check_end(void *self, const struct mt_slice_end *end)
{
	struct check_sink *check = self;

	check_time(check, end->time_ns);
	check_that(check, check->open.count > 0, "an end without a begin");
	check_that(check, end->depth + 1 == check->open.count, "an end of depth %u with %zu open",
		   end->depth, check->open.count);
	if (check->ending)
		check_that(check, end->flags & MT_SLICE_END_OPEN, "an end after an open end");
	check->ending = end->flags & MT_SLICE_END_OPEN;
	if (check->ending)
		check_that(check, end->time_ns == check->segment.end_ns,
			   "an open end before the segment's end");
	if (check->open.count)
		check->open.count--;
	return check->next.ops ? check->next.ops->end(check->next.self, end) : NULL;
}

static inline struct mt_error *check_instant(void *self, const struct mt_instant *instant)
{
	struct check_sink *check = self;

	check_time(check, instant->time_ns);
	check_that(check, instant->kind <= MT_INSTANT_MARK, "an instant of no kind");
	check->instants++;
	return check->next.ops ? check->next.ops->instant(check->next.self, instant) : NULL;
}

static inline struct mt_error *check_segment_end(void *self,
						 const struct mt_thread_segment *segment)
{
	struct check_sink *check = self;

	check_that(check, check->in_segment, "a segment's end without its begin");
	check_that(check, check->open.count == 0, "%zu slices open at a segment's end",
		   check->open.count);
	check_that(check, segment->number == check->segment.number, "another segment's end");
	check->in_segment = false;
	return check->next.ops ? check->next.ops->segment_end(check->next.self, segment) : NULL;
}

static const struct mt_slice_sink_ops check_sink_ops = {
    .thread = check_thread,
    .segment_begin = check_segment_begin,
    .begin = check_begin,
    .end = check_end,
    .instant = check_instant,
    .segment_end = check_segment_end,
};

#endif
