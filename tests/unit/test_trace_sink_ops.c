/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A filter of nothing else passes all on, as it is. */
#include "unit.h"

#include "trace/sink_ops.h"

struct filter {
	struct mt_slice_sink to;
};
MT_SLICE_FILTER(struct filter, to);

static const struct mt_slice_sink_ops passing = {
    .thread = mt_slice_pass_thread,
    .segment_begin = mt_slice_pass_segment_begin,
    .begin = mt_slice_pass_begin,
    .end = mt_slice_pass_end,
    .instant = mt_slice_pass_instant,
    .segment_end = mt_slice_pass_segment_end,
    .finish = mt_slice_pass_finish,
};

/* What came last. */
struct seen {
	const char *op;
	const void *what;
};

static struct mt_error *see(struct seen *seen, const char *op, const void *what)
{
	*seen = (struct seen){op, what};
	return mt_error_new(MT_ERROR_INTERNAL, "%s", op);
}

static struct mt_error *see_thread(void *seen, const struct mt_thread *thread)
{
	return see(seen, "thread", thread);
}

static struct mt_error *see_segment_begin(void *seen, const struct mt_thread_segment *segment)
{
	return see(seen, "segment_begin", segment);
}

static struct mt_error *see_begin(void *seen, const struct mt_slice *slice)
{
	return see(seen, "begin", slice);
}

static struct mt_error *see_end(void *seen, const struct mt_slice_end *end)
{
	return see(seen, "end", end);
}

static struct mt_error *see_instant(void *seen, const struct mt_instant *instant)
{
	return see(seen, "instant", instant);
}

static struct mt_error *see_segment_end(void *seen, const struct mt_thread_segment *segment)
{
	return see(seen, "segment_end", segment);
}

static struct mt_error *see_finish(void *seen)
{
	return see(seen, "finish", NULL);
}

static const struct mt_slice_sink_ops seeing = {
    .thread = see_thread,
    .segment_begin = see_segment_begin,
    .begin = see_begin,
    .end = see_end,
    .instant = see_instant,
    .segment_end = see_segment_end,
    .finish = see_finish,
};

#define assert_passed(name, sent)                                                                  \
	do {                                                                                       \
		assert_error(passing.name(&filter, sent), MT_ERROR_INTERNAL, #name);               \
		assert_string_equal(seen.op, #name);                                               \
		assert_ptr_equal(seen.what, sent);                                                 \
	} while (0)

static void test_all_is_passed_on(void **state)
{
	struct seen seen = {0};
	struct filter filter = {{&seeing, &seen}};
	const struct mt_thread thread = {0};
	const struct mt_thread_segment segment = {0};
	const struct mt_slice slice = {0};
	const struct mt_slice_end end = {0};
	const struct mt_instant instant = {0};

	(void)state;
	assert_passed(thread, &thread);
	assert_passed(segment_begin, &segment);
	assert_passed(begin, &slice);
	assert_passed(end, &end);
	assert_passed(instant, &instant);
	assert_passed(segment_end, &segment);
	assert_error(passing.finish(&filter), MT_ERROR_INTERNAL, "finish");
	assert_string_equal(seen.op, "finish");
}

static void test_a_next_one_without_finish(void **state)
{
	const struct mt_slice_sink_ops none = {0};
	struct filter filter = {{&none, NULL}};

	(void)state;
	assert_no_error(passing.finish(&filter));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_is_passed_on),
	    cmocka_unit_test(test_a_next_one_without_finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
