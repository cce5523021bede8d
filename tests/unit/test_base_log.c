/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two hooks by which the core speaks: log lines and progress. */
#include "base/log.h"
#include "base/progress.h"
#include "base/str.h"

#include "unit.h"

static void keep_line(void *context, enum mt_log_level level, const char *text)
{
	mt_str_appendf(context, "%d:%s;", (int)level, text);
}

static void test_lines_from_the_least_level_on(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str kept = {0};
	const struct mt_log log = {keep_line, &kept, MT_LOG_INFO};

	mt_log(&log, MT_LOG_DEBUG, "not %s", "this");
	mt_log(&log, MT_LOG_INFO, "this %d", 1);
	mt_log(&log, MT_LOG_WARNING, "and this");
	assert_string_equal(kept.text, "1:this 1;2:and this;");
}

static void test_without_a_sink_nothing_happens(void **state)
{
	(void)state;
	const struct mt_log log = {0};

	mt_log(NULL, MT_LOG_WARNING, "to nobody");
	mt_log(&log, MT_LOG_WARNING, "to nobody");
}

static void test_kept_lines_are_told_once_and_in_order(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str one = {0}, other = {0};
	const struct mt_log log = {keep_line, &one, MT_LOG_INFO};
	struct mt_log_kept kept = {0};

	mt_log_keep(&kept);
	mt_log(&log, MT_LOG_DEBUG, "not this");
	mt_log(&log, MT_LOG_INFO, "a");
	mt_log(&(struct mt_log){keep_line, &other, MT_LOG_DEBUG}, MT_LOG_DEBUG, "b");
	mt_log(&log, MT_LOG_WARNING, "c");
	mt_log_keep(NULL);
	mt_log(&log, MT_LOG_INFO, "first");
	assert_string_equal(one.text, "1:first;");
	assert_null(other.text);
	mt_log_tell(&kept);
	assert_string_equal(one.text, "1:first;1:a;2:c;");
	assert_string_equal(other.text, "0:b;");
	mt_log_tell(&kept);
	assert_string_equal(one.text, "1:first;1:a;2:c;");
}

struct hook {
	uint64_t done, total;
	char what[32];
	bool stop;
};

static void keep_report(void *context, const char *what, uint64_t done, uint64_t total)
{
	struct hook *hook = context;

	hook->done = done;
	hook->total = total;
	strncpy(hook->what, what, sizeof(hook->what) - 1);
}

static bool wants_stop(void *context)
{
	return ((struct hook *)context)->stop;
}

static void test_progress_is_reported_then_asked(void **state)
{
	(void)state;
	struct hook hook = {0};
	const struct mt_progress progress = {keep_report, wants_stop, &hook};

	assert_no_error(mt_progress_step(&progress, "decoding", 3, 10));
	assert_int_equal(hook.done, 3);
	assert_int_equal(hook.total, 10);
	assert_string_equal(hook.what, "decoding");
	hook.stop = true;
	assert_error(mt_progress_step(&progress, "decoding", 4, 10), MT_ERROR_INTERRUPTED,
		     "decoding: interrupted");
	assert_int_equal(hook.done, 4);
}

static void test_progress_hooks_are_optional(void **state)
{
	(void)state;
	struct hook hook = {.stop = true};
	const struct mt_progress silent = {NULL, NULL, NULL};
	const struct mt_progress only_stop = {NULL, wants_stop, &hook};

	assert_no_error(mt_progress_step(NULL, "decoding", 1, 0));
	assert_no_error(mt_progress_step(&silent, "decoding", 1, 0));
	assert_error(mt_progress_step(&only_stop, "decoding", 1, 0), MT_ERROR_INTERRUPTED, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_from_the_least_level_on),
	    cmocka_unit_test(test_without_a_sink_nothing_happens),
	    cmocka_unit_test(test_kept_lines_are_told_once_and_in_order),
	    cmocka_unit_test(test_progress_is_reported_then_asked),
	    cmocka_unit_test(test_progress_hooks_are_optional),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
