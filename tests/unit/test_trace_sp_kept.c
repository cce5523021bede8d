/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of calls that are cut by lost data. */
#include "sp_text.h"

#include "trace/sink_ops.h"

#define SNAPSHOT(number) MARK(MT_MARK_SNAPSHOT, number)
/* The caller stands at OFFSET, as an unwinder says. */
#define FRAME_AT(function, sp, offset)                                                             \
	{                                                                                          \
		.kind = MT_EVENT_FRAME, .from = (sp), .to = sp_address(function) + (offset)        \
	}

static void test_one_number_before_and_behind(void **state)
{
	(void)state;
	/* By an unwinder, innermost first. */
	EXPECT("a@1(b@2(!gap)l)l[lost]()|ai@1(bi@2(c())o)o|", ENTER('a', 900), ENTER('b', 800),
	       LOST(64), ENTER('c', 700), LEAVE('c', 700), FRAME('b', 800), FRAME('a', 900));
	/* By their rets. */
	EXPECT("a@1(b@2(!gap)l)l[lost]()|ai@1(bi@2(c()))|", ENTER('a', 900), ENTER('b', 800),
	       LOST(64), ENTER('c', 700), LEAVE('c', 700), LEAVE('b', 800), LEAVE('a', 900));
	/* What returned before the loss has none, nor has what began behind it. */
	EXPECT("a@1(b(c())!gap)l[lost]()|ai@1(c())|", ENTER('a', 900), ENTER('b', 800),
	       ENTER('c', 700), LEAVE('c', 700), LEAVE('b', 800), LOST(64), ENTER('c', 700),
	       LEAVE('c', 700), LEAVE('a', 900));
}

static void test_over_several_losses(void **state)
{
	(void)state;
	EXPECT("a@1(b@2(!gap)l)l[lost]()|ai@1(bi@2(c())o)o#|!gap[lost]()|ai@1(bi@2(d()))|",
	       ENTER('a', 900), ENTER('b', 800), LOST(64), ENTER('c', 700), LEAVE('c', 700),
	       FRAME('b', 800), FRAME('a', 900), SNAPSHOT(1), LOST(64), ENTER('d', 700),
	       LEAVE('d', 700), LEAVE('b', 800), LEAVE('a', 900));
	/* Nothing is said of "a" between the losses. */
	EXPECT("a@1(b@2(!gap)l)l[lost]()|bi@2()!gap[lost]()|ai@1(c())|", ENTER('a', 900),
	       ENTER('b', 800), LOST(64), LEAVE('b', 800), LOST(64), ENTER('c', 800),
	       LEAVE('c', 800), LEAVE('a', 900));
}

static void test_another_call_at_the_same_place(void **state)
{
	(void)state;
	/* Another function, so that what it called is another call, too. */
	EXPECT("a@1(b@2(c@3(!gap)l)l)l[lost]()|ai@1(di(ci()))|", ENTER('a', 900), ENTER('b', 800),
	       ENTER('c', 700), LOST(64), LEAVE('c', 700), LEAVE('d', 800), LEAVE('a', 900));
	/* From elsewhere in "a". */
	EXPECT("ai@1(bi@2(!gap)l)l[lost]()|ai@1(bi(d())o)o|", FRAME('b', 800),
	       FRAME_AT('a', 900, 0x10), LOST(64), ENTER('d', 700), LEAVE('d', 700),
	       FRAME('b', 800), FRAME_AT('a', 900, 0x30));
	/* From where it was called before, as its entry said. */
	EXPECT("a@1(b@2(!gap)l)l[lost]()|ai@1(bi@2(d())o)o|", ENTER('a', 900),
	       ENTER_FROM('b', 800, 'a', 0x30), LOST(64), ENTER('d', 700), LEAVE('d', 700),
	       FRAME('b', 800), FRAME_AT('a', 900, 0x30));
}

static void test_what_cannot_go_on(void **state)
{
	(void)state;
	EXPECT("a(!exit)o#|!gap[lost]()|ai(b())|", ENTER('a', 900), MARK(MT_MARK_EXIT, 0),
	       SNAPSHOT(1), LOST(64), ENTER('b', 800), LEAVE('b', 800), LEAVE('a', 900));
	EXPECT("a(!exec)o|!gap[lost]()|ai(b())|", ENTER('a', 900), MARK(MT_MARK_EXEC, 0), LOST(64),
	       ENTER('b', 800), LEAVE('b', 800), LEAVE('a', 900));
	/* Nothing is lost. */
	EXPECT("a(!snapshotb())|", ENTER('a', 900), SNAPSHOT(1), ENTER('b', 800), LEAVE('b', 800),
	       LEAVE('a', 900));
}

/* How many slices have numbers, and the greatest. */
struct numbers {
	uint64_t count, greatest;
};

static struct mt_error *count_number(void *self, const struct mt_slice *slice)
{
	struct numbers *numbers = self;

	numbers->count += slice->call_id != 0;
	if (slice->call_id > numbers->greatest)
		numbers->greatest = slice->call_id;
	return NULL;
}

static struct mt_error *ignore_end(void *self, const struct mt_slice_end *end)
{
	(void)self;
	(void)end;
	return NULL;
}

static const struct mt_slice_sink_ops counting = {
    .thread = mt_slice_ignore_thread,
    .segment_begin = mt_slice_ignore_segment,
    .begin = count_number,
    .end = ignore_end,
    .instant = mt_slice_ignore_instant,
    .segment_end = mt_slice_ignore_segment,
};

/* The outermost thousand are kept. */
static void test_deep_stacks(void **state)
{
	enum { DEPTH = 1500 };
	static struct mt_event events[2 * DEPTH + 1];

	(void)state;
	for (uint64_t i = 0; i < DEPTH; i++) {
		const uint64_t sp = 1000000 - 16 * i;

		events[i] = (struct mt_event)ENTER('a' + i % 26, sp);
		events[2 * DEPTH - i] = (struct mt_event)LEAVE('a' + i % 26, sp);
	}
	events[DEPTH] = (struct mt_event)LOST(64);
	for (uint64_t i = 0; i <= 2 * DEPTH; i++)
		events[i].time_ns = 100 + i;

	struct numbers numbers = {0};
	sp_rebuild(events, 2 * DEPTH + 1, 700, (struct mt_slice_sink){&counting, &numbers});
	assert_int_equal(numbers.count, 2 * 1024);
	assert_int_equal(numbers.greatest, 1024);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_one_number_before_and_behind),
	    cmocka_unit_test(test_over_several_losses),
	    cmocka_unit_test(test_another_call_at_the_same_place),
	    cmocka_unit_test(test_what_cannot_go_on),
	    cmocka_unit_test(test_deep_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
