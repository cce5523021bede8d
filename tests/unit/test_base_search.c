/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/search.h"

#include "unit.h"

static const unsigned sorted[] = {2, 3, 3, 5, 8};
#define COUNT (sizeof(sorted) / sizeof(sorted[0]))

static void test_finds_the_first_that_is_not_before(void **state)
{
	(void)state;
	for (unsigned value = 0; value < 10; value++) {
		size_t below = 0, upto = 0;

		while (below < COUNT && sorted[below] < value)
			below++;
		while (upto < COUNT && sorted[upto] <= value)
			upto++;
		assert_int_equal(mt_partition_point(i, 0, COUNT, sorted[i] < value), below);
		assert_int_equal(mt_partition_point(i, 0, COUNT, sorted[i] <= value), upto);
	}
}

static void test_searches_a_part(void **state)
{
	(void)state;
	assert_int_equal(mt_partition_point(i, 2, COUNT, sorted[i] <= 1), 2);
	assert_int_equal(mt_partition_point(i, 2, 4, sorted[i] <= 9), 4);
	assert_int_equal(mt_partition_point(i, 3, 3, sorted[i] <= 9), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_finds_the_first_that_is_not_before),
	    cmocka_unit_test(test_searches_a_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
