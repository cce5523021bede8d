/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A log gives back what it was given, however many different slices that is. */
#include "trace/segment_log.h"
#include "trace/sink_ops.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { MANY = 2 * MT_LOG_SLICES + 1000 };

struct got {
	uint64_t begins;
	uint64_t wrong;     /* call sites */
	uint64_t last_line; /* of the call sites' sources */
	bool has_wrong_line;
};

/* Each slice twice, the second time behind so many others. */
static uint64_t site_of(uint64_t number)
{
	return 0x400000 + 7 * (number % 3 ? number : number / 3);
}

static bool has_source(void *context, uint64_t address, struct mt_source *out)
{
	*out = (struct mt_source){.line = (uint32_t)address + *(uint32_t *)context};
	return true;
}

static struct mt_error *on_begin(void *self, const struct mt_slice *slice)
{
	struct got *got = self;
	uint64_t site = site_of(got->begins++);

	got->wrong += slice->call_site != site;
	got->last_line = slice->call_source.line;
	got->has_wrong_line |= slice->call_source.line != (uint32_t)slice->call_site;
	return NULL;
}

static struct mt_error *on_end(void *self, const struct mt_slice_end *end)
{
	(void)self;
	(void)end;
	return NULL;
}

static const struct mt_slice_sink_ops counting = {
    .thread = mt_slice_ignore_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = on_begin,
    .end = on_end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

static void put(struct mt_segment_log *log, uint64_t number, bool estimated)
{
	const struct mt_log_slice slice = {.call_site = site_of(number), .kind = MT_SLICE_CALL};

	mt_segment_log_begin(log, number, estimated, &slice);
	mt_segment_log_end(log, number, estimated, 0);
}

static struct got replayed(struct mt_segment_log *log)
{
	static const struct mt_thread thread = {.pid = 1, .tid = 1};
	struct got got = {0};
	const struct mt_replay replay = {.sink = {&counting, &got}, .thread = &thread};

	mt_segment_log_settle(log, MANY);
	assert_no_error(log->error);
	log->error = NULL;
	assert_no_error(mt_segment_log_replay(log, &replay));
	return got;
}

static void more_slices_than_have_numbers(void **state)
{
	uint32_t line = 0;
	const struct mt_symbolizer symbolizer = {.source_at = has_source, .context = &line};

	(void)state;
	for (int estimated = 0; estimated < 2; estimated++) {
		struct mt_segment_log log;

		assert_no_error(mt_segment_log_init(&log, 1 << 20));
		mt_segment_log_set_symbolizer(&log, &symbolizer);
		for (uint64_t i = 0; i < MANY; i++)
			put(&log, i, estimated);

		struct got got = replayed(&log);
		assert_int_equal(got.begins, MANY);
		assert_int_equal(got.wrong, 0);
		assert_false(got.has_wrong_line);
		/* They are bounded all the same. */
		assert_true(log.slices.items.count <= MT_LOG_SLICES + MT_LOG_PENDING);
		mt_segment_log_deinit(&log);
	}
}

/* Other code lies there now, so other lines. */
static void another_symbolizer_is_asked_again(void **state)
{
	uint32_t first = 0, second = 1;
	struct mt_symbolizer symbolizers[] = {{.source_at = has_source, .context = &first},
					      {.source_at = has_source, .context = &second}};
	struct mt_segment_log log;

	(void)state;
	assert_no_error(mt_segment_log_init(&log, 0));
	mt_segment_log_set_symbolizer(&log, &symbolizers[0]);
	put(&log, 0, false);
	mt_segment_log_set_symbolizer(&log, &symbolizers[1]);
	put(&log, 0, false);

	struct got got = replayed(&log);
	assert_int_equal(got.begins, 2);
	assert_int_equal(got.last_line, site_of(0) + second);
	mt_segment_log_deinit(&log);
}

enum { RESULTS = 20000, LEAST = 1 /* byte of memory: as little as there may be */ };

static struct mt_error *on_end_with_result(void *self, const struct mt_slice_end *end)
{
	char expected[16];

	snprintf(expected, sizeof(expected), "%d", (*(int *)self)++);
	assert_non_null(end->result);
	assert_string_equal(end->result, expected);
	return NULL;
}

static struct mt_error *ignore_begin(void *self, const struct mt_slice *slice)
{
	(void)self;
	(void)slice;
	return NULL;
}

/* In memory, and in the file that most of the log is in by then. */
static void texts_that_come_late_go_where_they_belong(void **state)
{
	static const struct mt_thread thread = {.pid = 1, .tid = 1};
	static const struct mt_log_slice slice = {.call_site = 1, .kind = MT_SLICE_CALL};
	static char texts[RESULTS][16];
	static uint64_t places[RESULTS];
	struct mt_slice_sink_ops ops = counting;
	struct mt_segment_log log;
	int ends = 0;

	(void)state;
	ops.begin = ignore_begin;
	ops.end = on_end_with_result;
	assert_no_error(mt_segment_log_init(&log, LEAST));
	for (int i = 0; i < RESULTS; i++) {
		mt_segment_log_begin_settled(&log, (uint64_t)i * i, false, &slice);
		places[i] = mt_segment_log_late_text(&log, &(struct mt_log_late_text){0});
		mt_segment_log_end(&log, (uint64_t)i * i, false, 0);
	}
	assert_true(log.spilled > 0);
	for (int i = RESULTS - 1; i >= 0; i--) {
		struct mt_log_late_text late;

		snprintf(texts[i], sizeof(texts[i]), "%d", i);
		assert_true(mt_segment_log_get_late(&log, places[i], &late));
		assert_null(late.text);
		late.text = texts[i];
		mt_segment_log_set_late(&log, places[i], &late);
	}
	assert_no_error(log.error);
	assert_no_error(mt_segment_log_replay(
	    &log, &(struct mt_replay){.sink = {&ops, &ends}, .thread = &thread}));
	assert_int_equal(ends, RESULTS);
	mt_segment_log_deinit(&log);
}

static void a_log_that_cannot_spill_fails_once(void **state)
{
	struct mt_segment_log log;

	(void)state;
	assert_int_equal(setenv("TMPDIR", "/does/not/exist", 1), 0);
	assert_no_error(mt_segment_log_init(&log, LEAST));
	for (uint64_t i = 0; i < MT_LOG_SLICES; i++)
		put(&log, i, i % 2);
	assert_non_null(log.error);
	assert_int_equal(mt_segment_log_late_text(&log, &(struct mt_log_late_text){0}), 0);
	assert_int_equal(log.spilled, 0);
	mt_segment_log_deinit(&log);
	assert_int_equal(unsetenv("TMPDIR"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(more_slices_than_have_numbers),
	    cmocka_unit_test(another_symbolizer_is_asked_again),
	    cmocka_unit_test(texts_that_come_late_go_where_they_belong),
	    cmocka_unit_test(a_log_that_cannot_spill_fails_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
