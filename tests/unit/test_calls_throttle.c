/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "engine/calls/ring/throttle.h"

#define MOST 1000

struct sample {
	struct mt_throttle_event events[MOST];
	size_t count;
};

static void put(struct sample *sample, uint64_t function, bool is_return, bool follows)
{
	sample->events[sample->count++] = (struct mt_throttle_event){function, is_return, follows};
}

static void call(struct sample *sample, uint64_t function)
{
	put(sample, function, false, true);
	put(sample, function, true, true);
}

static void test_nothing(void **state)
{
	uint64_t chosen[4];

	(void)state;
	assert_int_equal(mt_throttle_choose(NULL, 0, 1, chosen, 4), 0);
}

static void test_the_busiest_come_first(void **state)
{
	struct sample sample = {0};
	uint64_t chosen[4] = {0};

	(void)state;
	for (uint64_t function = 1; function <= 6; function++)
		for (uint64_t i = 0; i < 10 * function; i++)
			call(&sample, function);
	assert_int_equal(mt_throttle_choose(sample.events, sample.count, 61, chosen, 4), 3);
	assert_int_equal(chosen[0], 6);
	assert_int_equal(chosen[1], 5);
	assert_int_equal(chosen[2], 4);
}

static void test_capacity(void **state)
{
	struct sample sample = {0};
	uint64_t chosen[2] = {0};

	(void)state;
	for (uint64_t function = 1; function <= 30; function++)
		for (uint64_t i = 0; i < 1 + function % 7; i++)
			call(&sample, function);
	assert_int_equal(mt_throttle_choose(sample.events, sample.count, 1, chosen, 2), 2);
	assert_int_equal(chosen[0] % 7, 6);
	assert_int_equal(chosen[1] % 7, 6);
}

/* 1 calls 2, which is a leaf: 1 is spared for now, and not when 2 is gone. */
static void test_leaves_first(void **state)
{
	struct sample with = {0}, without = {0};
	uint64_t chosen[4] = {0};

	(void)state;
	for (int i = 0; i < 50; i++) {
		put(&with, 1, false, true);
		call(&with, 2);
		put(&with, 1, true, true);
		put(&without, 1, false, true);
		put(&without, 3, false, true);
		put(&without, 1, true, true);
	}
	assert_int_equal(mt_throttle_choose(with.events, with.count, 10, chosen, 4), 1);
	assert_int_equal(chosen[0], 2);
	assert_int_equal(mt_throttle_choose(without.events, without.count, 60, chosen, 4), 1);
	assert_int_equal(chosen[0], 1);
}

/* A call and a return from different places of the ring are no leaf. */
static void test_what_does_not_follow(void **state)
{
	struct sample sample = {0}, again;
	uint64_t chosen[4] = {0};

	(void)state;
	for (int i = 0; i < 50; i++) {
		put(&sample, 1, false, false);
		put(&sample, 1, true, false);
		if (i % 4 == 0)
			call(&sample, 2);
	}
	again = sample;
	assert_int_equal(mt_throttle_choose(sample.events, sample.count, 90, chosen, 4), 1);
	assert_int_equal(chosen[0], 1);
	assert_int_equal(mt_throttle_choose(again.events, again.count, 10, chosen, 4), 1);
	assert_int_equal(chosen[0], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_the_busiest_come_first),
	    cmocka_unit_test(test_capacity),
	    cmocka_unit_test(test_leaves_first),
	    cmocka_unit_test(test_what_does_not_follow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
