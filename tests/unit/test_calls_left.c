/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts without the jumps into what a killed tracer left. */
#include "unit.h"

#include "engine/calls/private.h"

#include <string.h>

#define TEXT 0x400000u
#define SIZE 256u
#define ROOM 0x10000000u

static struct mt_calls_left *make_left(void)
{
	const struct mt_calls_left_range range = {
	    .kind = MT_CALLS_LEFT_CODE, .start = ROOM, .end = ROOM + (1u << 24)};
	struct mt_calls_left *left = calloc(1, sizeof(*left));

	assert_non_null(left);
	assert_int_equal(mt_array_push(&left->ranges, range), 0);
	return left;
}

static void make_clean(uint8_t clean[SIZE])
{
	for (size_t i = 0; i < SIZE; i++)
		clean[i] = (uint8_t)(i * 7 % 0x90);
}

static void put_jump(uint8_t *text, size_t at, uint32_t distance, size_t dead)
{
	text[at] = 0xe9;
	memcpy(text + at + 1, &distance, sizeof(distance));
	memset(text + at + 5, 0xcc, dead);
}

static uint32_t distance_to(uint64_t target, size_t at)
{
	return (uint32_t)(target - (TEXT + at + 5));
}

static void test_all_go(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];

	make_clean(clean);
	memcpy(text, clean, SIZE);
	put_jump(text, 0, distance_to(ROOM, 0), 0);
	put_jump(text, 20, distance_to(ROOM + 64, 20), 9);
	put_jump(text, 25, distance_to(ROOM + 128, 25),
		 2); /* in the dead bytes of the one before */
	put_jump(text, SIZE - 5, distance_to(ROOM + 192, SIZE - 5), 0);
	text[100] = 0xeb; /* short, to a long one further on */
	text[101] = 60 - 2;
	text[102] = 0xcc;
	put_jump(text, 160, distance_to(ROOM + 256, 160), 0);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text, clean, SIZE);
	mt_calls_left_destroy(left);
}

/* The distance of one reads as a short jump to the other. */
static void test_one_that_looks_like_two(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];
	uint32_t distance = 0x0feb1000u; /* eb 0f at 43: to 60 */

	make_clean(clean);
	memcpy(text, clean, SIZE);
	put_jump(text, 40, distance, 1);
	put_jump(text, 60, distance_to(ROOM, 60), 0);
	assert_int_equal(text[43], 0xeb);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text, clean, SIZE);
	mt_calls_left_destroy(left);
}

/* What others wrote stays; where it touches a jump of ours, nothing is certain. */
static void test_what_is_not_ours(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];

	make_clean(clean);
	memcpy(text, clean, SIZE);
	text[10] = 0xcc;
	put_jump(text, 100, 0x1000, 3); /* leads elsewhere */
	put_jump(text, 40, distance_to(ROOM, 40), 4);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text + 40, clean + 40, 9);
	assert_int_equal(text[10], 0xcc);
	assert_int_equal(text[100], 0xe9);

	put_jump(text, 40, distance_to(ROOM, 40), 4);
	text[49] = 0x90;
	assert_false(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	mt_calls_left_destroy(left);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_go),
	    cmocka_unit_test(test_one_that_looks_like_two),
	    cmocka_unit_test(test_what_is_not_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
