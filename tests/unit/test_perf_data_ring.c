/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Data rings, over what this kernel gives: COMM records of our own thread, whose names count. */
#include "unit.h"

#include "base/clock.h"
#include "kernel/clock.h"
#include "kernel/data_ring.h"
#include "kernel/event.h"
#include "kernel/system.h"

#include <stdio.h>
#include <sys/prctl.h>

#define RING_BYTES      4096
#define TOLERATED_TICKS 100000

struct fixture {
	int fd;
	struct mt_data_ring ring;
	struct mt_perf_clock clock;
	unsigned first, last, seen, lost;
	uint64_t last_time;
	unsigned stop_at; /* an error at this record; 0: none */
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[8];
	uint64_t time;
};

static void open_or_skip(const struct mt_perf_spec *spec, int *fd)
{
	struct mt_error *error = mt_perf_event_open(spec, 0, -1, -1, fd);

	if (!error)
		return;
	print_message("%s\n", mt_error_message(error));
	mt_error_destroy(error);
	skip();
}

static void open_ring(struct fixture *f, bool overwritten)
{
	struct mt_perf_spec spec = {
	    .what = "a dummy event",
	    .type = PERF_TYPE_SOFTWARE,
	    .config = PERF_COUNT_SW_DUMMY,
	    .sample_type = PERF_SAMPLE_TIME,
	    .sideband = true,
	    .backward = overwritten,
	};

	*f = (struct fixture){0};
	mt_perf_clock_init(&f->clock);
	spec.raw_clock = f->clock.raw;
	open_or_skip(&spec, &f->fd);
	assert_no_error(mt_data_ring_map(f->fd, RING_BYTES, overwritten, &f->ring));
}

static void close_ring(struct fixture *f)
{
	assert_int_equal(f->ring.garbled, 0);
	mt_data_ring_unmap(&f->ring);
	mt_system_close(f->fd);
}

static void name_self(unsigned from, unsigned to)
{
	char name[16];

	for (unsigned i = from; i < to; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		prctl(PR_SET_NAME, name);
	}
}

static struct mt_error *take(void *context, const struct perf_event_header *header)
{
	const struct comm_record *record = (const void *)header;
	struct fixture *f = context;
	unsigned number = 0;

	if (header->type == PERF_RECORD_LOST)
		f->lost += *(const uint64_t *)((const char *)(header + 1) + 8);
	if (header->type != PERF_RECORD_COMM)
		return NULL;
	if (f->stop_at && f->seen == f->stop_at)
		return mt_error_new(MT_ERROR_INTERRUPTED, "enough");
	assert_int_equal(sscanf(record->name, "n%u", &number), 1);
	if (!f->seen)
		f->first = number;
	else
		assert_int_equal(number, f->last + 1);
	assert_true(record->time >= f->last_time);
	f->last_time = record->time;
	f->last = number;
	f->seen++;
	return NULL;
}

static void streams_across_the_wrap(void **state)
{
	struct fixture f;

	(void)state;
	open_ring(&f, false);
	for (unsigned i = 0; i < 1000; i += 20) {
		name_self(i, i + 20);
		assert_no_error(mt_data_ring_read(&f.ring, take, &f, NULL));
		assert_int_equal(f.last, i + 19);
	}
	assert_int_equal(f.first, 0);
	assert_int_equal(f.seen, 1000);
	assert_int_equal(f.lost, 0);
	close_ring(&f);
}

static void tells_what_was_lost(void **state)
{
	struct fixture f;
	unsigned kept;

	(void)state;
	open_ring(&f, false);
	name_self(0, 1000);
	assert_no_error(mt_data_ring_read(&f.ring, take, &f, NULL));
	kept = f.seen;
	assert_int_equal(f.first, 0);
	assert_in_range(kept, 50, 900);

	/* The count goes into the ring as soon as there is room. */
	f.seen = 0;
	name_self(1000, 1001);
	assert_no_error(mt_data_ring_read(&f.ring, take, &f, NULL));
	assert_int_equal(f.first, 1000);
	assert_int_equal(kept + f.lost, 1000);
	close_ring(&f);
}

static void overwritten_holds_the_last(void **state)
{
	struct fixture f;
	bool older_lost;

	(void)state;
	open_ring(&f, true);
	name_self(0, 10);
	assert_no_error(mt_data_ring_read(&f.ring, take, &f, &older_lost));
	assert_int_equal(f.seen, 10);
	assert_false(older_lost);

	name_self(10, 1000);
	f.seen = 0;
	assert_no_error(mt_data_ring_read(&f.ring, take, &f, &older_lost));
	assert_true(older_lost);
	assert_int_equal(f.last, 999);
	assert_in_range(f.seen, 50, 900);

	f.seen = 0;
	assert_no_error(mt_data_ring_read(&f.ring, take, &f, &older_lost));
	assert_int_equal(f.seen, 0);
	assert_false(older_lost);
	close_ring(&f);
}

static void what_was_not_taken_comes_again(void **state)
{
	(void)state;
	for (int overwritten = 0; overwritten < 2; overwritten++) {
		struct fixture f;

		open_ring(&f, overwritten);
		name_self(0, 10);
		f.stop_at = 4;
		assert_error(mt_data_ring_read(&f.ring, take, &f, NULL), MT_ERROR_INTERRUPTED,
			     "enough");
		f.stop_at = 0;
		assert_no_error(mt_data_ring_read(&f.ring, take, &f, NULL));
		assert_int_equal(f.seen, 10);
		close_ring(&f);
	}
}

static void times_are_of_one_axis(void **state)
{
	struct fixture f;
	uint64_t before, after, recorded;

	(void)state;
	open_ring(&f, false);
	for (unsigned i = 0; i < 20; i++) {
		before = mt_clock_tsc();
		name_self(i, i + 1);
		after = mt_clock_tsc();
		assert_no_error(mt_data_ring_read(&f.ring, take, &f, NULL));
		mt_perf_clock_sync(&f.clock);
		recorded = mt_perf_clock_to_tsc(&f.clock, f.last_time);
		/* Two readings of the clocks lie tens of nanoseconds apart, and more where a
		 * hypervisor comes between them. */
		assert_in_range(recorded, before - TOLERATED_TICKS, after + TOLERATED_TICKS);
	}
	close_ring(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(streams_across_the_wrap),
	    cmocka_unit_test(tells_what_was_lost),
	    cmocka_unit_test(overwritten_holds_the_last),
	    cmocka_unit_test(what_was_not_taken_comes_again),
	    cmocka_unit_test(times_are_of_one_axis),
	};

	return cmocka_run_group_tests_name("perf/data_ring.h", tests, NULL, NULL);
}
