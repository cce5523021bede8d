/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which a log of calls has the threads: that in which they were born. */
#include "unit.h"

#include "query/call_log.h"
#include "trace/sink_ops.h"

static struct mt_error *nothing_begins(void *sink, const struct mt_slice *slice)
{
	(void)sink;
	(void)slice;
	return NULL;
}

static struct mt_error *nothing_ends(void *sink, const struct mt_slice_end *end)
{
	(void)sink;
	(void)end;
	return NULL;
}

static const struct mt_slice_sink_ops nothing = {
    .thread = mt_slice_ignore_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = nothing_begins,
    .end = nothing_ends,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

static void call_once(struct mt_slice_sink sink, pid_t tid, uint64_t time_ns)
{
	const struct mt_thread thread = {.pid = 32766, .tid = tid, .name = "worker"};
	const struct mt_thread_segment segment = {.begin_ns = time_ns, .end_ns = time_ns + 10};
	const struct mt_slice slice = {.time_ns = time_ns, .kind = MT_SLICE_GAP};
	const struct mt_slice_end end = {.time_ns = time_ns + 10};

	assert_no_error(sink.ops->thread(sink.self, &thread));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	assert_no_error(sink.ops->begin(sink.self, &slice));
	assert_no_error(sink.ops->end(sink.self, &end));
	assert_no_error(sink.ops->segment_end(sink.self, &segment));
}

/* The system gave the numbers 32766, 32767, 300, 301; the last ones ran first. */
static void numbers_that_began_anew_come_last(void **state)
{
	static const pid_t born[] = {32766, 32767, 300, 301};
	struct mt_call_names *names = NULL;
	struct mt_call_log *log = NULL;

	(void)state;
	assert_no_error(mt_call_names_create(&names));
	assert_no_error(mt_call_log_create(names, (struct mt_slice_sink){&nothing, NULL}, &log));
	const struct mt_slice_sink sink = mt_call_log_sink(log);
	call_once(sink, 300, 200);
	call_once(sink, 301, 150);
	call_once(sink, 32767, 300);
	call_once(sink, 32766, 100);
	assert_no_error(sink.ops->finish(sink.self));
	assert_int_equal(mt_call_log_threads(log), 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(mt_call_log_thread(log, i)->tid, born[i]);
	mt_call_log_destroy(log);
	mt_call_names_destroy(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_that_began_anew_come_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
