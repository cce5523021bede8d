/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/array.h"

#include "unit.h"

static void test_zeroed_storage_is_an_empty_array(void **state)
{
	(void)state;
	MT_ARRAY(int) numbers = {0};
	int seen = 0;

	mt_array_each (number, &numbers)
		seen++;
	assert_int_equal(seen, 0);
	mt_array_deinit(&numbers);
}

static void test_keeps_what_is_pushed_in_order(void **state)
{
	(void)state;
	MT_ARRAY(int) numbers = {0};
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(mt_array_push(&numbers, i), 0);
	assert_int_equal(numbers.count, 1000);
	assert_int_equal(*mt_array_last(&numbers), 999);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i);
	mt_array_each (number, &numbers)
		sum += *number;
	assert_int_equal(sum, 999 * 1000 / 2);
	mt_array_deinit(&numbers);
	assert_null(numbers.items);
	assert_int_equal(numbers.count, 0);
}

static void test_reserve_makes_room_once(void **state)
{
	(void)state;
	MT_ARRAY(long) numbers = {0};

	assert_int_equal(mt_array_reserve(&numbers, 100), 0);
	long *items = numbers.items;
	for (long i = 0; i < 100; i++)
		assert_int_equal(mt_array_push(&numbers, i), 0);
	assert_ptr_equal(numbers.items, items);
	mt_array_deinit(&numbers);
}

static void test_without_memory_the_array_stays(void **state)
{
	(void)state;
	MT_ARRAY(long) numbers = {0};

	assert_int_equal(mt_array_push(&numbers, 7), 0);
	assert_int_equal(mt_array_reserve(&numbers, SIZE_MAX / 2), -1);
	assert_int_equal(mt_array_reserve(&numbers, SIZE_MAX), -1);
	assert_int_equal(numbers.count, 1);
	assert_int_equal(numbers.items[0], 7);
	mt_array_deinit(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_zeroed_storage_is_an_empty_array),
	    cmocka_unit_test(test_keeps_what_is_pushed_in_order),
	    cmocka_unit_test(test_reserve_makes_room_once),
	    cmocka_unit_test(test_without_memory_the_array_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
