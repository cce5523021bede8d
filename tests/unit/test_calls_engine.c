/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's book-keeping over a target that is this process itself: its memory is ours, and its
 * system calls are done by us. */
#include "unit.h"

#include "engine/calls/private.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING    (64u << 10)
#define THREADS 40

struct self {
	struct mt_target target;
	struct user_regs_struct registers[THREADS + 1]; /* by LWP, from 1 */
	uint8_t stack[8192];
};

static size_t read_self(struct mt_target *target, pid_t pid, uint64_t address, void *buffer,
			size_t size)
{
	(void)target;
	(void)pid;
	memcpy(buffer, (const void *)address, size);
	return size;
}

static struct mt_error *write_self(struct mt_target *target, pid_t pid, uint64_t address,
				   const void *bytes, size_t size)
{
	(void)target;
	(void)pid;
	memcpy((void *)address, bytes, size);
	return NULL;
}

static struct mt_error *get_registers(struct mt_target *target, pid_t lwp,
				      struct user_regs_struct *registers)
{
	*registers = ((struct self *)target)->registers[lwp];
	return NULL;
}

static struct mt_error *set_gs_base(struct mt_target *target, pid_t lwp, uint64_t base)
{
	((struct self *)target)->registers[lwp].gs_base = base;
	return NULL;
}

static struct mt_error *call_systems(struct mt_target *target, pid_t lwp,
				     struct mt_system_call *calls, size_t count)
{
	(void)target;
	(void)lwp;
	for (struct mt_system_call *call = calls; call < calls + count; call++) {
		const uint64_t *a = call->arguments;

		call->result = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
		if (call->result == -1)
			call->result = -errno;
	}
	return NULL;
}

static const struct mt_target_ops ops = {.read = read_self,
					 .write = write_self,
					 .get_registers = get_registers,
					 .set_gs_base = set_gs_base,
					 .call_systems = call_systems};

struct world {
	struct self self;
	struct mt_calls_engine engine;
	struct mt_calls_space *space;
	struct mt_calls_thread threads[THREADS + 1];
};

static struct mt_ring_position *slot(const struct world *world, int thread)
{
	return (struct mt_ring_position *)world->self.registers[thread].gs_base;
}

static struct world *begin(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->self.target.ops = &ops;
	world->engine.target = &world->self.target;
	world->engine.options.ring_bytes = RING;
	world->space = mt_calls_space_create(getpid());
	assert_non_null(world->space);
	for (int i = 1; i <= THREADS; i++) {
		world->self.registers[i].rsp = (uint64_t)world->self.stack + 4096;
		world->threads[i].pid = getpid();
		world->threads[i].lwp = i;
		world->threads[i].space = world->space;
	}
	assert_null(mt_calls_rings_create(&world->engine, world->space, 1));
	return world;
}

static void end(struct world *world)
{
	for (int i = 1; i <= THREADS; i++) {
		mt_calls_take_ring(&world->threads[i]);
		mt_array_deinit(&world->threads[i].anchors);
	}
	mt_calls_forget_ended(&world->engine);
	munmap((void *)world->space->rings->address, mt_calls_rings_bytes(world->space->rings));
	munmap((void *)world->space->rings->alive_address, MT_CALLS_ALIVE_BYTES);
	mt_calls_space_unref(world->space);
	free(world);
}

static void give(struct world *world, int thread)
{
	assert_null(mt_calls_give_ring(&world->engine, &world->threads[thread], true));
	assert_non_null(world->threads[thread].rings);
}

/* As its trampolines would, with SITE in every event. */
static void write_events(struct world *world, int thread, size_t count, uint32_t site)
{
	struct mt_ring_position *words = slot(world, thread);

	for (; count; words->written += 8) {
		uint64_t *slot = (uint64_t *)(words->ring + words->written % RING);

		*slot = words->written % MT_RING_LINE_BYTES ? site : mt_clock_tsc();
		count -= words->written % MT_RING_LINE_BYTES != 0;
	}
}

static void end_thread(struct world *world, int thread)
{
	struct mt_calls_thread *its = &world->threads[thread];
	struct mt_calls_history history;
	struct mt_ring_view view;

	mt_calls_anchor(its, mt_clock_tsc());
	view = mt_calls_ring_view(&world->engine, its);
	its->used = view.written;
	if (view.written) {
		assert_int_equal(mt_calls_history_create(its, &view, mt_clock_tsc(), &history), 0);
		assert_int_equal(mt_calls_keep_ended(&world->engine, &history), 0);
	}
	mt_calls_take_ring(its);
}

static bool is_zero(const struct world *world, int thread)
{
	const uint64_t *words = (const uint64_t *)slot(world, thread)->ring;

	for (size_t i = 0; i < RING / 8; i++)
		if (words[i])
			return false;
	return true;
}

static void test_rings_are_given_and_reused(void **state)
{
	struct world *world = begin();

	(void)state;
	for (int round = 0; round < 3; round++) {
		for (int i = 1; i <= THREADS; i++) {
			give(world, i);
			for (int k = 1; k < i; k++)
				assert_true(slot(world, i)->ring != slot(world, k)->ring);
			assert_int_equal(slot(world, i)->written, 0);
			assert_true(is_zero(world, i));
		}
		for (int i = 1; i <= THREADS; i++)
			write_events(world, i, (size_t)i * 700, 1);
		for (int i = 1; i <= THREADS; i++)
			end_thread(world, i);
		assert_in_range(world->space->rings->spare, 1, 8);
	}
	end(world);
}

/* A thread that comes when another has gone gets its ring: the pages are there. */
static void test_the_same_ring_again(void **state)
{
	struct world *world = begin();
	uint64_t ring;

	(void)state;
	give(world, 1);
	give(world, 2);
	ring = slot(world, 2)->ring;
	write_events(world, 2, 10, 1);
	end_thread(world, 2);
	give(world, 3);
	assert_int_equal(slot(world, 3)->ring, ring);
	end(world);
}

static void test_rings_are_made_ready(void **state)
{
	struct world *world = begin();
	struct mt_calls_rings *rings = world->space->rings;

	(void)state;
	assert_int_equal(rings->spare, 1);
	give(world, 1);
	assert_int_equal(rings->spare, 0);
	for (int i = 0; i < 5; i++)
		mt_calls_warm_ring(rings);
	assert_in_range(rings->spare, 0, 1); /* 0: a kernel before Linux 5.14 */
	give(world, 2);
	for (int i = 0; i < 5; i++)
		mt_calls_warm_ring(rings);
	assert_in_range(rings->spare, 0, 2);
	end(world);
}

static size_t count_events(const struct mt_calls_history *history, uint32_t site)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	bool at_end = false;
	size_t count = 0;

	mt_ring_cursor_init(&cursor, &history->view);
	while (!at_end) {
		size_t more = mt_ring_next_line(&cursor, events, &at_end);

		for (size_t i = 0; i < more; i++)
			assert_int_equal(events[i].site, site);
		count += more;
	}
	return count;
}

/* Few events are kept whole, of many the last, and all together take no more than eight rings. */
static void test_ended_threads_share_room(void **state)
{
	struct world *world = begin();
	uint64_t used = 0;

	(void)state;
	for (uint32_t n = 1; n <= 100; n++) {
		size_t count = n % 5 ? 20 : 50000;

		give(world, 1);
		write_events(world, 1, count, n);
		end_thread(world, 1);
	}
	assert_int_equal(world->engine.forgotten, 0);
	assert_int_equal(world->engine.ended.count, 100);
	for (uint32_t n = 1; n <= 100; n++) {
		const struct mt_calls_history *history = &world->engine.ended.items[n - 1];

		used += history->view.size;
		if (n % 5)
			assert_int_equal(count_events(history, n), 20);
		else
			assert_true(count_events(history, n) > 1000);
	}
	assert_true(used <= 8 * RING);
	end(world);
}

static void test_too_many_ended_threads(void **state)
{
	struct world *world = begin();

	(void)state;
	for (uint32_t n = 1; n <= 200; n++) {
		give(world, 1);
		write_events(world, 1, 50000, n);
		end_thread(world, 1);
	}
	assert_in_range(world->engine.forgotten, 200 - 8 * RING / 16384, 199);
	assert_true(count_events(mt_array_last(&world->engine.ended), 200) > 1000);
	end(world);
}

static void test_marks(void **state)
{
	struct world *world = begin();
	const struct mt_calls_thread *thread = &world->threads[1];
	const mt_calls_anchors *anchors = &thread->anchors;

	(void)state;
	give(world, 1);
	assert_int_equal(anchors->count, 1);
	write_events(world, 1, 6, 1);
	mt_calls_anchor(&world->threads[1], 100);
	mt_calls_anchor(&world->threads[1], 200);
	assert_int_equal(anchors->count, 2);
	assert_int_equal(mt_array_last(anchors)->first, 100);
	assert_int_equal(mt_array_last(anchors)->last, 200);
	/* The last event is taken back at a stop, and recorded again. */
	slot(world, 1)->written -= 8;
	mt_calls_anchor(&world->threads[1], 300);
	assert_int_equal(anchors->count, 2);
	assert_int_equal(mt_array_last(anchors)->written, slot(world, 1)->written);
	assert_int_equal(mt_array_last(anchors)->first, 100);
	assert_int_equal(mt_array_last(anchors)->last, 300);
	/* However often it stops, they are few. */
	for (uint64_t i = 0; i < 100000; i++) {
		write_events(world, 1, 1, 1);
		mt_calls_anchor(&world->threads[1], 1000 + i);
	}
	assert_in_range(anchors->count, 2, 16384);
	for (size_t i = 2; i < anchors->count; i++)
		assert_true(anchors->items[i].written > anchors->items[i - 1].written);
	end(world);
}

static size_t count_any(const struct mt_calls_history *history)
{
	struct mt_call_event events[MT_RING_LINE_EVENTS];
	struct mt_ring_cursor cursor;
	bool at_end = false;
	size_t count = 0;

	mt_ring_cursor_init(&cursor, &history->view);
	while (!at_end)
		count += mt_ring_next_line(&cursor, events, &at_end);
	return count;
}

/* The program can write to all of it. */
static void test_garbage_is_bounded(void **state)
{
	const uint64_t garbage[] = {UINT64_MAX, UINT64_MAX - 7, 1ull << 63, 1ull << 51, 12345};
	struct world *world = begin();

	(void)state;
	for (int round = 0; round < 20; round++) {
		for (int i = 1; i <= 5; i++) {
			give(world, i);
			memset((void *)slot(world, i)->ring, 0x80 | rand(), RING);
			*slot(world, i) =
			    (struct mt_ring_position){.ring = rand(), .written = garbage[i - 1]};
		}
		for (int i = 1; i <= 5; i++) {
			/* What is read from there on begins with a whole event. */
			assert_int_equal(mt_calls_written(&world->threads[i]) % 8, 0);
			end_thread(world, i);
		}
		mt_array_each (history, &world->engine.ended)
			assert_in_range(count_any(history), 0, RING / 8);
	}
	end(world);
}

/* What tells that we live is not the program's to change. */
static void test_the_word_of_life_is_sealed(void **state)
{
	struct world *world = begin();
	const struct mt_calls_rings *rings = world->space->rings;
	uint32_t *word = (uint32_t *)mt_calls_alive_word(rings);

	(void)state;
	assert_int_equal(*word & 0x3fffffff, syscall(SYS_gettid));
	assert_int_equal(mprotect((void *)rings->alive_address, 4096, PROT_READ | PROT_WRITE), -1);
	end(world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_garbage_is_bounded),
	    cmocka_unit_test(test_the_word_of_life_is_sealed),
	    cmocka_unit_test(test_rings_are_given_and_reused),
	    cmocka_unit_test(test_the_same_ring_again),
	    cmocka_unit_test(test_rings_are_made_ready),
	    cmocka_unit_test(test_ended_threads_share_room),
	    cmocka_unit_test(test_too_many_ended_threads),
	    cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
