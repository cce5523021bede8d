/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a history of samples keeps: the newest records, whole and in their order, against a list of
 * all. */
#include "engine/sample/private.h"
#include "unit.h"

#define HISTORY_BYTES 1000
#define RECORDS       5000

struct record {
	struct perf_event_header header;
	uint32_t number;
	uint8_t filling[400];
};

struct seen {
	uint32_t first, next;
	size_t bytes, count;
};

static uint16_t size_of(uint32_t number)
{
	return (uint16_t)(offsetof(struct record, filling) + number * 7919u % 301 / 4 * 4);
}

static uint8_t filling_of(uint32_t number)
{
	return (uint8_t)(number * 31 + 7);
}

static struct mt_error *check_one(void *context, const struct perf_event_header *header)
{
	const struct record *record = (const void *)header;
	struct seen *seen = context;

	if (!seen->count++)
		seen->first = seen->next = record->number;
	assert_int_equal(record->number, seen->next++);
	assert_int_equal(header->size, size_of(record->number));
	for (size_t i = 0; i < header->size - offsetof(struct record, filling); i++)
		assert_int_equal(record->filling[i], filling_of(record->number));
	seen->bytes += header->size;
	return NULL;
}

static void push(struct mt_sample_history *history, uint32_t number)
{
	struct record record = {.header = {.size = size_of(number)}, .number = number};

	memset(record.filling, filling_of(number), sizeof(record.filling));
	assert_no_error(mt_sample_history_push(history, &record.header));
}

static void test_the_newest_are_kept(void **state)
{
	struct mt_sample_history history = {.size_bytes = HISTORY_BYTES};

	(void)state;
	for (uint32_t number = 0; number < RECORDS; number++) {
		struct seen seen = {0};

		push(&history, number);
		assert_no_error(mt_sample_history_each(&history, check_one, &seen));
		assert_int_equal(seen.next, number + 1);
		assert_true(seen.bytes <= HISTORY_BYTES);
		/* One more had no room. */
		if (seen.first)
			assert_true(seen.bytes + size_of(seen.first - 1) > HISTORY_BYTES);
	}
	mt_sample_history_deinit(&history);
}

static void test_what_has_no_room_at_all(void **state)
{
	struct mt_sample_history history = {.size_bytes = 64};
	struct record record = {.header = {.size = 72}};
	struct seen seen = {0};

	(void)state;
	push(&history, 0);
	assert_no_error(mt_sample_history_push(&history, &record.header));
	assert_no_error(mt_sample_history_each(&history, check_one, &seen));
	assert_int_equal(seen.count, 1);
	mt_sample_history_deinit(&history);
}

static void test_nothing(void **state)
{
	struct mt_sample_history history = {.size_bytes = HISTORY_BYTES};
	struct seen seen = {0};

	(void)state;
	assert_no_error(mt_sample_history_each(&history, check_one, &seen));
	assert_int_equal(seen.count, 0);
	mt_sample_history_deinit(&history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_newest_are_kept),
	    cmocka_unit_test(test_what_has_no_room_at_all),
	    cmocka_unit_test(test_nothing),
	};

	return cmocka_run_group_tests_name("engine/sample/history.c", tests, NULL, NULL);
}
