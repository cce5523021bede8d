/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/clock.h"

#include "unit.h"

static void test_without_a_conversion_numbers_stay(void **state)
{
	(void)state;
	const struct mt_time_conversion none = {0};

	assert_false(mt_time_conversion_is_known(&none));
	assert_int_equal(mt_tsc_to_ns(&none, 12345), 12345);
	assert_int_equal(mt_ns_to_tsc(&none, 12345), 12345);
}

/* A real one, of a 3.7 GHz processor: its zero is "negative". */
static const struct mt_time_conversion real = {31, 581029125, 18444502336406842448ull};

static void test_against_wide_arithmetic(void **state)
{
	(void)state;
	for (uint64_t tsc = 1; tsc < UINT64_MAX / 3; tsc = tsc * 3 + 1) {
		unsigned __int128 product = (unsigned __int128)tsc * real.mult;
		uint64_t wanted = real.zero_ns + (uint64_t)(product >> real.shift);
		assert_int_equal(mt_tsc_to_ns(&real, tsc), wanted);
	}
}

/* The greatest there are: a product of 32 and of 31 bits still has room. */
static void test_the_ends_of_the_range(void **state)
{
	static const struct mt_time_conversion widest = {31, UINT32_MAX, UINT64_MAX},
					       slowest = {0, 1, 0}, fastest = {32, UINT32_MAX, 7};
	const struct mt_time_conversion *all[] = {&widest, &slowest, &fastest};
	const uint64_t counts[] = {0,          1,          0x7fffffff,       0x80000000,
				   UINT32_MAX, 1ull << 32, (1ull << 63) - 1, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < sizeof(counts) / sizeof(*counts); k++) {
			unsigned __int128 product = (unsigned __int128)counts[k] * all[i]->mult;
			assert_int_equal(mt_tsc_to_ns(all[i], counts[k]),
					 all[i]->zero_ns + (uint64_t)(product >> all[i]->shift));
		}
}

static void test_there_and_back_is_the_same_to_a_few_ticks(void **state)
{
	(void)state;
	for (uint64_t tsc = 1000; tsc < 1ull << 60; tsc = tsc * 5 + 7) {
		uint64_t back = mt_ns_to_tsc(&real, mt_tsc_to_ns(&real, tsc));
		uint64_t off = back > tsc ? back - tsc : tsc - back;
		assert_true(off <= 8);
	}
}

static void test_times_never_run_backwards(void **state)
{
	(void)state;
	uint64_t before = mt_tsc_to_ns(&real, 8000000000000000ull);

	for (uint64_t i = 1; i < 10000; i++) {
		uint64_t now = mt_tsc_to_ns(&real, 8000000000000000ull + i);
		assert_true(now >= before);
		before = now;
	}
}

static void test_the_measured_conversion_follows_the_clock(void **state)
{
	(void)state;
	struct mt_time_conversion measured = mt_time_conversion_measure();

	assert_true(mt_time_conversion_is_known(&measured));
	uint64_t before = mt_clock_monotonic_ns();
	uint64_t converted = mt_tsc_to_ns(&measured, mt_clock_tsc());
	uint64_t after = mt_clock_monotonic_ns();
	/* Generous: a busy machine may hold us up between the readings. */
	assert_true(converted + 1000000 > before);
	assert_true(converted < after + 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_without_a_conversion_numbers_stay),
	    cmocka_unit_test(test_against_wide_arithmetic),
	    cmocka_unit_test(test_the_ends_of_the_range),
	    cmocka_unit_test(test_there_and_back_is_the_same_to_a_few_ticks),
	    cmocka_unit_test(test_times_never_run_backwards),
	    cmocka_unit_test(test_the_measured_conversion_follows_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
