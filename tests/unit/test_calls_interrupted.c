/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a ring has of a call and its values, parted by what a signal's handler did, comes together.
 */
#include "unit.h"

#include "engine/calls/threads.h"

#define SP    0x7000u
#define BELOW 0x6f00u  /* where a handler runs */
#define OTHER 0x90000u /* or there, on a stack of its own */

struct ring {
	struct mt_event events[64];
	size_t count;
	struct mt_calls_values_runs runs;
};

static void put(struct ring *ring, enum mt_event_kind kind, uint64_t sp, uint32_t detail)
{
	const struct mt_event *last = ring->count ? &ring->events[ring->count - 1] : NULL;

	ring->events[ring->count++] = (struct mt_event){
	    .time_ns = last ? last->time_ns + 10 : 10, .kind = kind, .from = sp, .detail = detail};
	/* Those from 100 on are results'. */
	mt_calls_join_values(&ring->runs, ring->events, ring->count, detail >= 100);
}

/* Numbers of values, and of calls, in the order that they have now. */
#define assert_order(ring, ...)                                                                    \
	do {                                                                                       \
		const uint32_t order[] = {__VA_ARGS__};                                            \
		assert_int_equal((ring)->count, sizeof(order) / sizeof(order[0]));                 \
		for (size_t i = 0; i < (ring)->count; i++) {                                       \
			assert_int_equal((ring)->events[i].detail, order[i]);                      \
			if (i)                                                                     \
				assert_true((ring)->events[i].time_ns >=                           \
					    (ring)->events[i - 1].time_ns);                        \
		}                                                                                  \
	} while (0)

#define ENTRY(sp, number) put(&ring, MT_EVENT_ENTRY, sp, number)
#define LEAVE(sp, number) put(&ring, MT_EVENT_LEAVE, sp, number)
#define VALUE(sp, number) put(&ring, MT_EVENT_VALUE, sp, number)

static void test_nothing_comes_between(void **state)
{
	struct ring ring = {0};

	(void)state;
	VALUE(SP, 1), VALUE(SP, 2), ENTRY(SP, 20), LEAVE(SP, 21), VALUE(SP, 100), VALUE(SP, 101);
	VALUE(SP, 1), VALUE(SP, 2), ENTRY(SP, 30);
	assert_order(&ring, 1, 2, 20, 100, 101, 21, 1, 2, 30);
	assert_int_equal(ring.runs.count, 0);
}

static void test_between_arguments(void **state)
{
	(void)state;
	for (uint64_t handler = BELOW; handler <= OTHER; handler += OTHER - BELOW) {
		struct ring ring = {0};

		VALUE(SP, 1), VALUE(SP, 2), ENTRY(handler, 50), LEAVE(handler, 51);
		VALUE(SP, 3), ENTRY(SP, 20);
		assert_order(&ring, 50, 51, 1, 2, 3, 20);
	}
}

static void test_between_arguments_and_the_entry(void **state)
{
	struct ring ring = {0};

	(void)state;
	VALUE(SP, 1), VALUE(SP, 2), ENTRY(BELOW, 50), LEAVE(BELOW, 51), ENTRY(SP, 20);
	assert_order(&ring, 50, 51, 1, 2, 20);
}

static void test_between_a_return_and_results(void **state)
{
	struct ring ring = {0};

	(void)state;
	LEAVE(SP, 21), ENTRY(BELOW, 50), LEAVE(BELOW, 51), VALUE(SP, 100), ENTRY(BELOW, 52);
	VALUE(SP, 101), ENTRY(SP, 30);
	assert_order(&ring, 100, 101, 21, 50, 51, 52, 30);
}

/* A handler is interrupted as well, and has values of its own. */
static void test_handlers_of_handlers(void **state)
{
	struct ring ring = {0};

	(void)state;
	VALUE(SP, 1), VALUE(BELOW, 1), ENTRY(OTHER, 50), LEAVE(OTHER, 51), VALUE(OTHER, 100);
	VALUE(BELOW, 2), ENTRY(BELOW, 60), VALUE(SP, 2), ENTRY(SP, 20);
	assert_order(&ring, 50, 100, 51, 1, 2, 60, 1, 2, 20);
}

/* The call that they were of did not come: they go to none that has its own. */
static void test_a_handler_that_does_not_return(void **state)
{
	struct ring ring = {0};

	(void)state;
	VALUE(SP, 1), VALUE(SP, 2), ENTRY(BELOW, 50), VALUE(SP, 1), ENTRY(SP, 20);
	ENTRY(BELOW, 60), VALUE(SP, 100);
	assert_order(&ring, 1, 2, 50, 1, 20, 60, 100);
}

/* Its own arguments are left where they are, and nothing is moved in their place. */
static void test_a_handler_that_ends_before_its_call(void **state)
{
	struct ring ring = {0};

	(void)state;
	LEAVE(SP, 21), VALUE(BELOW, 1), VALUE(SP, 100), ENTRY(BELOW, 60);
	assert_order(&ring, 100, 21, 1, 60);
}

static void test_more_than_there_is_room_for(void **state)
{
	struct ring ring = {0};

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		VALUE(SP - 16 * i, i);
	assert_int_equal(ring.runs.count, MT_CALLS_VALUES_RUNS);
	ENTRY(SP - 16 * 2, 20);
	assert_order(&ring, 0, 1, 3, 4, 5, 2, 20);
	ENTRY(SP, 30);
	assert_order(&ring, 0, 1, 3, 4, 5, 2, 20, 30);
}

static void test_what_was_written_is_gone(void **state)
{
	struct ring ring = {0};

	(void)state;
	VALUE(SP, 1), ENTRY(BELOW, 50), VALUE(BELOW - 16, 2), ENTRY(BELOW - 32, 60);
	mt_calls_values_written(&ring.runs, 1);
	memmove(ring.events, ring.events + 1, --ring.count * sizeof(ring.events[0]));
	ENTRY(BELOW - 16, 61), ENTRY(SP, 20);
	assert_order(&ring, 50, 60, 2, 61, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_comes_between),
	    cmocka_unit_test(test_between_arguments),
	    cmocka_unit_test(test_between_arguments_and_the_entry),
	    cmocka_unit_test(test_between_a_return_and_results),
	    cmocka_unit_test(test_handlers_of_handlers),
	    cmocka_unit_test(test_a_handler_that_does_not_return),
	    cmocka_unit_test(test_a_handler_that_ends_before_its_call),
	    cmocka_unit_test(test_more_than_there_is_room_for),
	    cmocka_unit_test(test_what_was_written_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
