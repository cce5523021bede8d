/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading an AUX area in order, beside a writer that keeps all it ever wrote. */
#include "unit.h"

#include "kernel/aux_ring.h"
#include "kernel/system.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define RING    4096
#define HISTORY (1 << 16)

/* The area and the page stand in plain memory. */
struct writer {
	struct perf_event_mmap_page page;
	struct mt_aux_ring ring;
	uint8_t area[RING];
	uint8_t history[HISTORY];
	uint64_t written;
	bool counts; /* the head */
	uint32_t random;
};

static uint8_t next_byte(struct writer *writer)
{
	writer->random = writer->random * 1103515245u + 12345u;
	return (uint8_t)(writer->random >> 16);
}

static void start(struct writer *writer, bool overwritten, bool counts)
{
	*writer = (struct writer){.counts = counts, .random = 1};
	writer->ring = (struct mt_aux_ring){
	    .page = &writer->page,
	    .bytes = writer->area,
	    .size_bytes = RING,
	    .overwritten = overwritten,
	    .before = overwritten ? calloc(1, RING) : NULL,
	};
}

static void end(struct writer *writer)
{
	free(writer->ring.before);
}

static void put(struct writer *writer, size_t count)
{
	for (; count; count--) {
		uint8_t byte = next_byte(writer);

		writer->area[writer->written % RING] = byte;
		writer->history[writer->written++] = byte;
	}
	writer->page.aux_head = writer->counts ? writer->written : writer->written % RING;
}

/* What is read is COUNT bytes, the last that were written. */
static void check(struct writer *writer, bool whole, size_t count, bool goes_on)
{
	const uint8_t *wanted = writer->history + writer->written - count;
	struct mt_aux_news news;

	mt_aux_ring_read(&writer->ring, whole, &news);
	assert_int_equal(mt_aux_news_bytes(&news), count);
	assert_int_equal(news.goes_on, goes_on);
	if (news.part_bytes[0])
		assert_memory_equal(news.part[0], wanted, news.part_bytes[0]);
	if (news.part_bytes[1])
		assert_memory_equal(news.part[1], wanted + news.part_bytes[0], news.part_bytes[1]);
}

static void walk(bool counts)
{
	struct writer writer;

	start(&writer, true, counts);
	check(&writer, false, 0, true);
	put(&writer, 1000);
	check(&writer, false, 1000, true);
	check(&writer, false, 0, true);
	put(&writer, 3000); /* up to 96 bytes before the end */
	check(&writer, false, 3000, true);
	put(&writer, 500); /* over the end, but nothing that was unread */
	check(&writer, false, 500, true);
	put(&writer, RING - 1);
	check(&writer, false, RING - 1, true);
	put(&writer, RING + 700); /* 700 are lost */
	check(&writer, false, RING, false);
	put(&writer, 3 * RING + 96);
	check(&writer, false, RING, false);
	put(&writer, 96);
	check(&writer, false, 96, true);
	end(&writer);
}

static void heads_that_wrap_are_read_in_order(void **state)
{
	(void)state;
	walk(false);
}

static void heads_that_count_are_read_in_order(void **state)
{
	(void)state;
	walk(true);
}

/* A place does not tell a whole lap from none: the bytes do. */
static void a_lap_to_the_same_place_is_seen(void **state)
{
	struct writer writer;

	(void)state;
	start(&writer, true, false);
	put(&writer, 100);
	check(&writer, false, 100, true);
	put(&writer, RING);
	check(&writer, false, RING, false);
	put(&writer, 2 * RING);
	check(&writer, false, RING, false);
	check(&writer, false, 0, true);
	end(&writer);
}

static void first_readings_see_laps(void **state)
{
	struct writer writer;

	(void)state;
	start(&writer, true, false);
	put(&writer, RING + 10);
	check(&writer, false, RING, false);
	end(&writer);
}

static void whole_rings_are_read_again(void **state)
{
	struct writer writer;

	(void)state;
	for (int counts = 0; counts < 2; counts++) {
		start(&writer, true, counts);
		put(&writer, 1000);
		check(&writer, true, 1000, true);
		put(&writer, 1000);
		check(&writer, true, 2000, true);
		put(&writer, 3000);
		check(&writer, true, RING, true);
		put(&writer, 10);
		check(&writer, true, RING, true);
		end(&writer);
	}
}

/* Any sequence of writes and readings: what is said to go on does. */
static void readings_join_up(void **state)
{
	struct writer writer;
	uint32_t random = 7;

	(void)state;
	for (int round = 0; round < 50; round++) {
		uint64_t read_to = 0;

		start(&writer, true, round & 1);
		writer.random = (uint32_t)round;
		while (writer.written < HISTORY - 2 * RING) {
			random = random * 1103515245u + 12345u;
			put(&writer, (random >> 16) % (RING + RING / 2));
			uint64_t since = writer.written - read_to;
			bool lost = since > RING || (!writer.counts && since == RING);

			if (lost)
				check(&writer, false, RING, false);
			else
				check(&writer, false, since, true);
			read_to = writer.written;
		}
		end(&writer);
	}
}

static void streams_are_given_back(void **state)
{
	struct writer writer;
	struct mt_aux_news news;

	(void)state;
	start(&writer, false, true);
	put(&writer, 3000);
	check(&writer, false, 3000, true);
	assert_int_equal(writer.page.aux_tail, 0);
	mt_aux_ring_free(&writer.ring);
	assert_int_equal(writer.page.aux_tail, 3000);
	put(&writer, 2000);
	check(&writer, false, 2000, true);
	mt_aux_ring_free(&writer.ring);
	assert_int_equal(writer.page.aux_tail, 5000);
	put(&writer, 4000); /* up to 9000, around the end at 8192 */
	mt_aux_ring_read(&writer.ring, false, &news);
	mt_aux_ring_leave(&writer.ring, &news, 1000);
	assert_int_equal(news.part_bytes[0], 3000);
	assert_int_equal(news.part_bytes[1], 0);
	mt_aux_ring_free(&writer.ring);
	assert_int_equal(writer.page.aux_tail, 8000);
	check(&writer, false, 1000, true);
	end(&writer);
}

static void records_are_dated_by_their_offset(void **state)
{
	struct writer writer;
	struct mt_aux_news news;

	(void)state;
	for (int counts = 0; counts < 2; counts++) {
		start(&writer, true, counts);
		put(&writer, RING + 500);
		mt_aux_ring_read(&writer.ring, false, &news);
		assert_int_equal(mt_aux_ring_age(&writer.ring, counts ? RING + 400 : 400), 100);
		assert_int_equal(mt_aux_ring_age(&writer.ring, RING - 100), 600);
		end(&writer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(heads_that_wrap_are_read_in_order),
	    cmocka_unit_test(heads_that_count_are_read_in_order),
	    cmocka_unit_test(a_lap_to_the_same_place_is_seen),
	    cmocka_unit_test(first_readings_see_laps),
	    cmocka_unit_test(whole_rings_are_read_again),
	    cmocka_unit_test(readings_join_up),
	    cmocka_unit_test(streams_are_given_back),
	    cmocka_unit_test(records_are_dated_by_their_offset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
