/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash.h"

#include "unit.h"

#include <string.h>

static void test_any_bit_and_any_length(void **state)
{
	uint8_t bytes[100];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t size = 0; size < sizeof(bytes); size++) {
		uint64_t sum = mt_hash(5, bytes, size);

		assert_true(sum == mt_hash(5, bytes, size));
		assert_true(sum != mt_hash(6, bytes, size));
		assert_true(sum != mt_hash(5, bytes, size + 1));
		for (size_t bit = 0; bit < 8 * size; bit++) {
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
			assert_true(sum != mt_hash(5, bytes, size));
			bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

static void test_zeros_count(void **state)
{
	uint8_t zeros[64] = {0};

	(void)state;
	assert_true(mt_hash(0, zeros, 32) != mt_hash(0, zeros, 64));
	assert_true(mt_hash(0, zeros, 0) != mt_hash(0, zeros, 1));
	assert_true(mt_hash(0, zeros, 0) == mt_hash(0, NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_any_bit_and_any_length),
	    cmocka_unit_test(test_zeros_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
