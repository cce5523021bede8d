/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A writer that does in C what trampolines do in machine code, and the reader against it. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/calls/ring/ring.h"

#define SIZE 2048
#define MOST 2000

struct writer {
	uint8_t ring[SIZE];
	uint64_t written;
	enum mt_ring_stamps stamps;
	uint64_t tsc; /* steps with every event */
	struct mt_call_event truth[MOST];
	size_t count;
};

static void put(struct writer *writer, const void *bytes, size_t size)
{
	memcpy(writer->ring + writer->written % SIZE, bytes, size);
	writer->written += size;
}

static void put_slot(struct writer *writer, uint32_t site, uint32_t stack)
{
	struct mt_ring_event event = {site, stack};

	if (writer->written % MT_RING_LINE_BYTES == 0)
		put(writer, &writer->tsc, sizeof(writer->tsc));
	put(writer, &event, sizeof(event));
}

/* An entry's slots lie in one line, and neither is its first. */
static void make_room_for_two(struct writer *writer)
{
	const uint64_t nothing = 0;

	if (writer->written % MT_RING_LINE_BYTES == 0) {
		put(writer, &writer->tsc, sizeof(writer->tsc));
		put(writer, &nothing, sizeof(nothing));
	} else if (writer->written % MT_RING_LINE_BYTES == MT_RING_LINE_BYTES - 8) {
		put(writer, &nothing, sizeof(nothing));
		put(writer, &writer->tsc, sizeof(writer->tsc));
	}
}

/* Entries have odd numbers here. */
static void put_event(struct writer *writer, uint32_t site, uint32_t stack, bool own_stamp)
{
	bool is_entry = site % 2;
	uint32_t in_ring = is_entry ? site | MT_RING_SITE_ENTRY : site;
	uint64_t return_address = is_entry ? 0x7fff00000000 + stack : 0;
	struct mt_ring_full_event full = {{in_ring, stack}, ++writer->tsc};
	const struct mt_ring_full_event caller = {{MT_RING_SITE_CALLER, 0}, return_address};

	writer->truth[writer->count++] = (struct mt_call_event){.tsc = writer->tsc,
								.site = site,
								.stack = stack,
								.return_address = return_address,
								.estimated = !own_stamp};
	if (writer->stamps == MT_RING_FULL) {
		put(writer, &full, sizeof(full));
		if (is_entry)
			put(writer, &caller, sizeof(caller));
		return;
	}
	if (is_entry)
		make_room_for_two(writer);
	put_slot(writer, in_ring, stack);
	if (is_entry)
		put(writer, &return_address, sizeof(return_address));
	if (own_stamp) {
		put_slot(writer, MT_RING_SITE_STAMP_LOW, (uint32_t)writer->tsc);
		put_slot(writer, MT_RING_SITE_STAMP_HIGH, (uint32_t)(writer->tsc >> 32));
	}
}

static struct mt_ring_view view_of(const struct writer *writer)
{
	return (struct mt_ring_view){.bytes = writer->ring,
				     .size = SIZE,
				     .written = writer->written,
				     .stamps = writer->stamps};
}

static size_t read_all(const struct mt_ring_view *view, struct mt_call_event *events)
{
	struct mt_ring_cursor cursor;
	bool at_end = false;
	size_t count = 0;

	mt_ring_cursor_init(&cursor, view);
	while (!at_end) {
		assert_true(count + MT_RING_LINE_EVENTS <= MOST);
		count += mt_ring_next_line(&cursor, events + count, &at_end);
	}
	return count;
}

/* What is read is the end of what was written, event by event, with times that fit. */
static void check(const struct writer *writer, size_t least)
{
	struct mt_ring_view view = view_of(writer);
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	size_t count = read_all(&view, events);

	assert_true(count >= least && count <= writer->count);
	for (size_t i = 0; i < count; i++) {
		const struct mt_call_event *true_event = &writer->truth[writer->count - count + i];

		assert_int_equal(events[i].site, true_event->site);
		assert_int_equal(events[i].stack, true_event->stack);
		assert_int_equal(events[i].return_address, true_event->return_address);
		if (!events[i].estimated)
			assert_int_equal(events[i].tsc, true_event->tsc);
		assert_true(i == 0 || events[i].tsc >= events[i - 1].tsc);
		assert_in_range(events[i].tsc, true_event->tsc > 600 ? true_event->tsc - 600 : 0,
				true_event->tsc + 600);
	}
	free(events);
}

static void write_random(enum mt_ring_stamps stamps, size_t count, unsigned int seed)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	assert_non_null(writer);
	srand(seed);
	writer->stamps = stamps;
	writer->tsc = 0xfffff000; /* soon more than 32 bits */
	for (size_t i = 0; i < count; i++) {
		writer->tsc += (uint64_t)rand() % 50;
		put_event(writer, 1 + (uint32_t)rand() % 100, (uint32_t)rand(),
			  stamps == MT_RING_FULL || rand() % 5 == 0);
	}
	check(writer, count < 40 ? count : 30);
	free(writer);
}

static void test_sampled(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 300; seed++)
		write_random(MT_RING_SAMPLED, seed * 3 % 700, seed);
}

static void test_full(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 300; seed++)
		write_random(MT_RING_FULL, seed * 3 % 700, seed);
}

static void test_empty_and_lost(void **state)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	struct mt_ring_view view;
	bool at_end = false;

	(void)state;
	assert_non_null(writer);
	view = view_of(writer);
	mt_ring_cursor_init(&cursor, &view);
	assert_int_equal(mt_ring_next_line(&cursor, events, &at_end), 0);
	assert_true(at_end);
	assert_int_equal(mt_ring_bytes_lost(&view), 0);
	for (int i = 0; i < 200; i++)
		put_event(writer, 1, 1, false);
	view = view_of(writer);
	assert_in_range(mt_ring_bytes_lost(&view), writer->written - SIZE,
			writer->written - SIZE + 2 * MT_RING_LINE_BYTES);
	view.begin = writer->written;
	assert_int_equal(mt_ring_bytes_lost(&view), 0);
	free(writer);
}

static void put_some(struct writer *writer, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		writer->tsc += (uint64_t)rand() % 50;
		put_event(writer, 1, 1, writer->stamps == MT_RING_FULL || rand() % 9 == 0);
	}
}

/* The newest part of a ring as a smaller one. */
static void copy_ring(enum mt_ring_stamps stamps, unsigned int seed)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *all = calloc(2 * MOST, sizeof(*all)), *copied = all + MOST;
	uint64_t size = (uint64_t)MT_RING_LINE_BYTES << seed % 4, least;
	struct mt_ring_view view;
	uint8_t bytes[SIZE];
	size_t count, more;

	assert_true(writer && all);
	srand(seed);
	writer->stamps = stamps;
	writer->tsc = 1000;
	put_some(writer, (size_t)rand() % 300);
	view = view_of(writer);
	view.begin = rand() % 2 ? writer->written / 2 & ~15ull : 0;
	count = read_all(&view, all);
	least = mt_ring_least_size(&view);
	if (rand() % 2)
		size = least;
	assert_int_equal(
	    mt_ring_copy(&view, &(struct mt_ring_live){&writer->written, -1, 0}, size, bytes), 0);
	view.bytes = bytes;
	view.size = size;
	more = read_all(&view, copied);
	assert_true(more <= count && (size != least || more == count));
	assert_memory_equal(copied, all + count - more, more * sizeof(*all));
	free(all);
	free(writer);
}

static void test_copies(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 1000; seed++)
		copy_ring(seed % 2 ? MT_RING_FULL : MT_RING_SAMPLED, seed / 2);
}

/* Its writer went on while it was copied: what stands there of later rounds is not taken for the
 * oldest events. */
static void written_on(enum mt_ring_stamps stamps, unsigned int seed)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	struct mt_ring_view view;
	uint8_t bytes[SIZE];
	size_t before, count;

	assert_true(writer && events);
	srand(seed);
	writer->stamps = stamps;
	writer->tsc = 1000;
	for (uint32_t i = 1; i < 200; i++)
		put_event(writer, i, i, stamps == MT_RING_FULL || rand() % 9 == 0);
	before = writer->count;
	view = view_of(writer);
	for (uint32_t i = 0; i < (uint32_t)rand() % 300; i++)
		put_event(writer, 1000 + i, i, stamps == MT_RING_FULL || rand() % 9 == 0);
	view.whole =
	    mt_ring_copy(&view, &(struct mt_ring_live){&writer->written, -1, 0}, SIZE, bytes);
	assert_true(view.whole <= writer->written);
	view.bytes = bytes;
	count = read_all(&view, events);
	assert_true(count <= before);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(events[i].site, writer->truth[before - count + i].site);
	free(events);
	free(writer);
}

static void test_a_running_writer(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 1000; seed++)
		written_on(seed % 2 ? MT_RING_FULL : MT_RING_SAMPLED, seed / 2);
}

#define BUSY_SIZE (1u << 20)

struct busy {
	uint8_t ring[BUSY_SIZE];
	uint64_t written;
	bool is_over;
};

/* Each word of its ring is how much had been written before it. */
static void *write_on(void *argument)
{
	struct busy *busy = argument;

	while (!__atomic_load_n(&busy->is_over, __ATOMIC_RELAXED)) {
		uint64_t at = __atomic_fetch_add(&busy->written, 8, __ATOMIC_RELAXED);

		__atomic_store_n((uint64_t *)(busy->ring + at % BUSY_SIZE), at, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* It goes round its ring in less time than a copy takes: the newest is whole, and nothing that is
 * not is taken for it. */
static void test_a_thread_that_writes_on(void **state)
{
	struct busy *busy = calloc(1, sizeof(*busy));
	uint8_t *bytes = malloc(BUSY_SIZE);
	size_t copies_with_something = 0;
	pthread_t thread;

	(void)state;
	assert_true(busy && bytes);
	assert_int_equal(pthread_create(&thread, NULL, write_on, busy), 0);
	while (__atomic_load_n(&busy->written, __ATOMIC_RELAXED) < BUSY_SIZE)
		;
	for (int i = 0; i < 300; i++) {
		struct mt_ring_view view = {.bytes = busy->ring, .size = BUSY_SIZE};

		view.written = __atomic_load_n(&busy->written, __ATOMIC_RELAXED);
		view.written -= view.written >= 8 ? 8 : 0; /* the last may not be there yet */
		view.whole = mt_ring_copy(&view, &(struct mt_ring_live){&busy->written, -1, 0},
					  BUSY_SIZE, bytes);
		uint64_t left = mt_ring_bytes_left(&view);

		assert_true(left <= view.written);
		copies_with_something += left > 0;
		for (uint64_t at = view.written - left; at < view.written; at += 8)
			assert_int_equal(*(uint64_t *)(bytes + at % BUSY_SIZE), at);
	}
	assert_true(copies_with_something > 0);
	__atomic_store_n(&busy->is_over, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	free(bytes);
	free(busy);
}

/* An entry that the tracer puts among the writer's events is read as the writer's own. */
static void put_by_tracer(enum mt_ring_stamps stamps, unsigned int seed)
{
	struct writer *writer = calloc(1, sizeof(*writer));

	assert_non_null(writer);
	srand(seed);
	writer->stamps = stamps;
	writer->tsc = 1000;
	for (uint32_t i = 0; i < 300; i++) {
		const uint32_t site = 2 * i + 1;
		struct mt_call_event event = {.tsc = ++writer->tsc,
					      .site = site,
					      .stack = i,
					      .return_address = 0x7fff00000000 + i};

		if (rand() % 3) {
			put_some(writer, (size_t)rand() % 5);
			continue;
		}
		writer->truth[writer->count++] = event;
		writer->written =
		    mt_ring_put_entry(writer->ring, SIZE, writer->written, stamps, &event);
	}
	check(writer, 20);
	free(writer);
}

static void test_entries_by_the_tracer(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 300; seed++)
		put_by_tracer(seed % 2 ? MT_RING_FULL : MT_RING_SAMPLED, seed / 2);
}

#define PAUSE 1000000

/* A thread that the tracer sees now and then, and that sleeps meanwhile. */
static void write_with_marks(unsigned int seed)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	struct mt_ring_anchor anchors[50];
	struct mt_ring_view view;
	size_t count, anchor = 0;

	assert_true(writer && events);
	srand(seed);
	writer->tsc = 1000;
	view = view_of(writer);
	view.anchors = anchors;
	for (size_t i = 0; i < 200; i++) {
		put_event(writer, 1, (uint32_t)writer->written, rand() % 20 == 0);
		if (rand() % 6 || anchor == 50)
			continue;
		anchors[anchor++] =
		    (struct mt_ring_anchor){writer->written, writer->tsc, writer->tsc + PAUSE};
		writer->tsc += PAUSE;
	}
	view.written = writer->written;
	view.anchor_count = anchor;
	count = read_all(&view, events);
	for (size_t i = 0; i < count; i++) {
		const struct mt_call_event *truth = &writer->truth[writer->count - count + i];

		assert_true(i == 0 || events[i].tsc >= events[i - 1].tsc);
		assert_in_range(events[i].tsc, truth->tsc - 50, truth->tsc + 50);
	}
	free(events);
	free(writer);
}

static void test_marks_part_the_times(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed < 300; seed++)
		write_with_marks(seed);
}

/* A stop is noticed long after the last event: the events before it stay with the others. */
static void test_a_late_mark_draws_no_events(void **state)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	struct mt_ring_anchor anchor;
	struct mt_ring_view view;
	size_t count;

	(void)state;
	assert_true(writer && events);
	writer->tsc = 1000;
	for (int i = 0; i < 40; i++)
		put_event(writer, 1, 1, false);
	view = view_of(writer);
	anchor = (struct mt_ring_anchor){writer->written, writer->tsc + PAUSE, writer->tsc + PAUSE};
	view.anchors = &anchor;
	view.anchor_count = 1;
	count = read_all(&view, events);
	assert_int_equal(count, 40);
	for (size_t i = 0; i < count; i++)
		assert_in_range(events[i].tsc, writer->truth[i].tsc - 2, writer->truth[i].tsc + 2);
	free(events);
	free(writer);
}

/* A thread that runs is looked at: the time of the look may have been read a little too early. */
static void test_nothing_lies_behind_the_end(void **state)
{
	static const enum mt_ring_stamps stamps[] = {MT_RING_SAMPLED, MT_RING_FULL};

	(void)state;
	for (size_t n = 0; n < 2; n++)
		for (uint64_t early = 0; early < 100; early += 7) {
			struct writer *writer = calloc(1, sizeof(*writer));
			struct mt_call_event *events = calloc(MOST, sizeof(*events));

			assert_true(writer && events);
			writer->tsc = 1000;
			writer->stamps = stamps[n];
			for (int i = 0; i < 200; i++)
				put_event(writer, 1, 1, i % 3 == 0);
			struct mt_ring_view view = view_of(writer);
			const uint64_t end = writer->tsc - early;
			const struct mt_ring_anchor anchor = {writer->written, end, end};
			view.anchors = &anchor;
			view.anchor_count = 1;
			const size_t count = read_all(&view, events);
			assert_true(count > 20);
			for (size_t i = 0; i < count; i++)
				assert_in_range(events[i].tsc, i ? events[i - 1].tsc : 0, end);
			free(events);
			free(writer);
		}
}

/* What an anchor says may lie a little behind the thread's own stamps, which go on from there: they
 * are not drawn to the next one, be the line before ever so slow. */
static void test_stamps_catch_up_with_a_mark(void **state)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	struct mt_ring_anchor anchors[2];
	struct mt_ring_view view;
	size_t count;

	(void)state;
	assert_true(writer && events);
	writer->tsc = 1000;
	for (int i = 0; i < 40; i++, writer->tsc += 500)
		put_event(writer, 2, 1, false);
	anchors[0] = (struct mt_ring_anchor){writer->written, writer->tsc, writer->tsc + 50};
	for (int i = 0; i < 150; i++)
		put_event(writer, 2, 1, false);
	anchors[1] =
	    (struct mt_ring_anchor){writer->written, writer->tsc + PAUSE, writer->tsc + PAUSE};
	view = view_of(writer);
	view.anchors = anchors;
	view.anchor_count = 2;
	count = read_all(&view, events);
	assert_int_equal(count, 190);
	for (size_t i = 150; i < 186; i++)
		assert_in_range(events[i].tsc, writer->truth[i].tsc - 2, writer->truth[i].tsc + 2);
	free(events);
	free(writer);
}

/* A signal came in between when a line was begun and when its stamp was read: the handler's events
 * lie behind that stamp, which is later than theirs.  By what is right behind it, an event's own
 * stamp, an anchor or the next line's stamp, that is seen. */
static void read_behind_late_stamp(bool own_stamp, bool is_anchored)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	struct mt_call_event *events = calloc(MOST, sizeof(*events));
	struct mt_ring_anchor anchors[2] = {0};
	struct mt_ring_view view;
	uint64_t late = 0;

	assert_true(writer && events);
	writer->tsc = 1000;
	for (int i = 0; i < 200; i++, writer->tsc += 100) {
		const uint64_t line = writer->written / MT_RING_LINE_BYTES;

		put_event(writer, 2, 1, own_stamp && late && line == late / MT_RING_LINE_BYTES);
		if (!late && writer->written / MT_RING_LINE_BYTES == 3)
			late = 3 * MT_RING_LINE_BYTES;
		if (is_anchored && late && !anchors[0].written)
			anchors[0] =
			    (struct mt_ring_anchor){writer->written, writer->tsc, writer->tsc + 10};
	}
	anchors[1] =
	    (struct mt_ring_anchor){writer->written, writer->tsc + PAUSE, writer->tsc + PAUSE};
	const uint64_t stamp = writer->tsc + PAUSE / 2;
	memcpy(writer->ring + late, &stamp, sizeof(stamp));
	view = view_of(writer);
	view.anchors = is_anchored ? anchors : anchors + 1;
	view.anchor_count = 1 + is_anchored;
	const size_t count = read_all(&view, events);
	assert_int_equal(count, 200);
	for (size_t i = 0; i < 180; i++)
		assert_in_range(events[i].tsc, writer->truth[i].tsc - 600,
				writer->truth[i].tsc + 600);
	free(events);
	free(writer);
}

static void test_a_late_stamp(void **state)
{
	(void)state;
	read_behind_late_stamp(false, false);
	read_behind_late_stamp(true, false);
	read_behind_late_stamp(false, true);
	read_behind_late_stamp(true, true);
}

/* Where slots lie that are to be cleared, a register says that the program may have set. */
static void test_slots_are_cleared_within_the_ring(void **state)
{
	uint8_t bytes[3 * 512];

	(void)state;
	for (uint64_t at = 0; at < 2 * 512; at++) {
		memset(bytes, 0xaa, sizeof(bytes));
		mt_ring_clear(bytes + 512, 512, 1024, at, 16);
		for (size_t i = 0; i < 512; i++) {
			assert_int_equal(bytes[i], 0xaa);
			assert_int_equal(bytes[2 * 512 + i], 0xaa);
		}
	}
}

/* Its file and its memory say the same, also where the copy is smaller and begins elsewhere. */
static void test_copies_from_its_file(void **state)
{
	enum { FILE_SIZE = 128 << 10, OFFSET = 3 * 4096 };
	static uint8_t by_file[FILE_SIZE], by_memory[FILE_SIZE];
	const int fd = memfd_create("ring", MFD_CLOEXEC);
	uint8_t *mapped;
	uint64_t written;

	(void)state;
	assert_int_equal(ftruncate(fd, OFFSET + FILE_SIZE), 0);
	mapped = mmap(NULL, OFFSET + FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(mapped, MAP_FAILED);
	srand(7);
	for (size_t i = 0; i < FILE_SIZE; i++)
		mapped[OFFSET + i] = (uint8_t)rand();
	for (uint64_t size = FILE_SIZE; size >= 4096; size /= 2) {
		struct mt_ring_view view = {.bytes = mapped + OFFSET, .size = FILE_SIZE};
		const struct mt_ring_live live = {&written, fd, OFFSET};

		written = view.written = (uint64_t)rand() * 8;
		memset(by_file, 0, sizeof(by_file));
		memset(by_memory, 0, sizeof(by_memory));
		assert_int_equal(mt_ring_copy(&view, &live, size, by_file), 0);
		assert_int_equal(mt_ring_copy(&view, NULL, size, by_memory), 0);
		assert_memory_equal(by_file, by_memory, size);
	}
	munmap(mapped, OFFSET + FILE_SIZE);
	close(fd);
}

/* The program can write over how far it has come: to where no event begins. */
static void test_nothing_is_read_behind_the_bytes(void **state)
{
	const size_t page = 4096;
	uint8_t *const bytes =
	    mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;

	(void)state;
	assert_ptr_not_equal(bytes, MAP_FAILED);
	for (size_t i = 0; i < page; i++)
		bytes[i] = (uint8_t)(i * 37 >> 2);
	assert_int_equal(mprotect(bytes + page, page, PROT_NONE), 0);
	for (uint64_t begin = 0; begin < 16; begin++)
		for (uint64_t over = 0; over < 16; over++)
			for (int stamps = MT_RING_SAMPLED; stamps <= MT_RING_FULL; stamps++) {
				const struct mt_ring_view view = {
				    .bytes = bytes,
				    .size = page,
				    .written = 2 * page + over,
				    .begin = 2 * page - MT_RING_LINE_BYTES + begin,
				    .stamps = (enum mt_ring_stamps)stamps};
				bool at_end = false;

				mt_ring_cursor_init(&cursor, &view);
				while (!at_end)
					mt_ring_next_line(&cursor, events, &at_end);
			}
	munmap(bytes, 2 * page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_is_read_behind_the_bytes),
	    cmocka_unit_test(test_sampled),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_empty_and_lost),
	    cmocka_unit_test(test_marks_part_the_times),
	    cmocka_unit_test(test_a_late_mark_draws_no_events),
	    cmocka_unit_test(test_nothing_lies_behind_the_end),
	    cmocka_unit_test(test_stamps_catch_up_with_a_mark),
	    cmocka_unit_test(test_a_late_stamp),
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_entries_by_the_tracer),
	    cmocka_unit_test(test_a_running_writer),
	    cmocka_unit_test(test_a_thread_that_writes_on),
	    cmocka_unit_test(test_slots_are_cleared_within_the_ring),
	    cmocka_unit_test(test_copies_from_its_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
