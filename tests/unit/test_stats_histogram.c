/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "stats/histogram.h"

#include <stdlib.h>

#define VALUES 20000

static int compare(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

/* Of all sizes, as durations are. */
static uint64_t value(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	uint64_t bits = *state >> 33;
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (*state | 1) >> bits % 64;
}

static void quantiles_are_those_of_the_sorted_values(void **state)
{
	static const unsigned permilles[] = {1, 10, 100, 500, 900, 990, 999, 1000};
	static uint64_t values[VALUES];
	struct mt_histogram parts[3] = {{0}}, whole = {0};
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < VALUES; i++) {
		values[i] = value(&random);
		assert_int_equal(mt_histogram_add(&parts[i % 3], values[i]), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(mt_histogram_merge(&whole, &parts[i]), 0);
		mt_histogram_deinit(&parts[i]);
	}
	qsort(values, VALUES, sizeof(*values), compare);
	assert_int_equal(whole.count, VALUES);
	assert_true(whole.least == values[0] && whole.most == values[VALUES - 1]);
	for (size_t i = 0; i < sizeof(permilles) / sizeof(*permilles); i++) {
		uint64_t exact = values[(VALUES * permilles[i] + 999) / 1000 - 1];
		uint64_t found = mt_histogram_quantile(&whole, permilles[i]);

		assert_true((found > exact ? found - exact : exact - found) <= exact / 64);
	}
	mt_histogram_deinit(&whole);
}

static void powers_hold_all(void **state)
{
	struct mt_histogram histogram = {0};
	uint64_t counts[MT_HISTOGRAM_POWERS];

	(void)state;
	assert_int_equal(mt_histogram_add(&histogram, 0), 0);
	for (unsigned power = 0; power < 64; power++)
		for (unsigned times = 0; times <= power; times++) {
			assert_int_equal(mt_histogram_add(&histogram, 1ull << power), 0);
			assert_int_equal(mt_histogram_add(&histogram, UINT64_MAX >> (63 - power)),
					 0);
		}
	mt_histogram_powers(&histogram, counts);
	for (unsigned power = 0; power < 64; power++)
		assert_int_equal(counts[power], 2 * (power + 1) + !power);
	assert_true(mt_histogram_quantile(&histogram, 1000) <= UINT64_MAX);
	mt_histogram_deinit(&histogram);
}

static void nothing_has_no_quantiles(void **state)
{
	struct mt_histogram histogram = {0}, other = {0};

	(void)state;
	assert_int_equal(mt_histogram_quantile(&histogram, 500), 0);
	assert_int_equal(mt_histogram_add(&other, 7), 0);
	assert_int_equal(mt_histogram_merge(&histogram, &other), 0);
	assert_int_equal(mt_histogram_quantile(&histogram, 1), 7);
	assert_int_equal(histogram.least, 7);
	mt_histogram_deinit(&histogram);
	mt_histogram_deinit(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quantiles_are_those_of_the_sorted_values),
	    cmocka_unit_test(powers_hold_all),
	    cmocka_unit_test(nothing_has_no_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
