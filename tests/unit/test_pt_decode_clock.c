/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TSC that packets tell; what libipt makes of whole streams is compared in pt_decode.h. */
#include "unit.h"

#include "pt/decode_clock.h"

/* TSC ticks twice as fast as the crystal, 16 of whose ticks lie between two MTCs. */
static const struct mt_pt_clock known = {
    .numerator = 2, .denominator = 1, .mtc_shift = 4, .nominal = 20};

static void test_crystal_and_cycles(void **state)
{
	struct mt_pt_clock clock = known;

	(void)state;
	mt_pt_clock_tsc(&clock, 1000, true);
	assert_int_equal(mt_pt_clock_tma(&clock, 0x100, 6), 0);
	assert_int_equal(mt_pt_clock_cbr(&clock, 10, true), 0); /* half as fast */
	mt_pt_clock_cyc(&clock, 7);
	assert_int_equal(clock.tsc, 1000 + 7 * 2);
	mt_pt_clock_mtc(&clock, 0x11);
	assert_int_equal(clock.tsc, 1000 - 6 + 16 * 2);
	mt_pt_clock_mtc(&clock, 0x10); /* once around */
	assert_int_equal(clock.tsc, 1000 - 6 + 256 * 16 * 2);
}

/* Older processors do not tell the crystal's frequency, nor do all recordings. */
static void test_without_a_crystal(void **state)
{
	struct mt_pt_clock clock = {.mtc_shift = 4, .nominal = 20};

	(void)state;
	mt_pt_clock_tsc(&clock, 1000, true);
	assert_int_equal(mt_pt_clock_tma(&clock, 0x100, 0), 0);
	assert_int_equal(mt_pt_clock_cbr(&clock, 10, true), 0);
	mt_pt_clock_cyc(&clock, 5);
	mt_pt_clock_mtc(&clock, 0x77);
	mt_pt_clock_cyc(&clock, 5);
	assert_int_equal(clock.tsc, 1000 + 10 * 2);
	mt_pt_clock_tsc(&clock, 2000, false);
	mt_pt_clock_cyc(&clock, 5);
	assert_int_equal(clock.tsc, 2000 + 5 * 2);
}

static void test_what_cannot_be(void **state)
{
	struct mt_pt_clock clock = known;

	(void)state;
	assert_int_equal(mt_pt_clock_tma(&clock, 1, 0), -1); /* of no TSC */
	mt_pt_clock_tsc(&clock, 1000, false);
	assert_int_equal(mt_pt_clock_tma(&clock, 1, 0), 0);
	assert_int_equal(mt_pt_clock_tma(&clock, 1, 0), -1); /* a second one */
	assert_int_equal(mt_pt_clock_cbr(&clock, 0, false), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_crystal_and_cycles),
	    cmocka_unit_test(test_without_a_crystal),
	    cmocka_unit_test(test_what_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
