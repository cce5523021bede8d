/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rebuild by the stack pointer against a machine that knows what is open, and against garbage.
 */
#include "sp_machine.h"

#include <inttypes.h>

enum { EVENTS = 3000, ROUNDS = 100 };

/* What is shown after each time. */
struct chain {
	MT_ARRAY(char) functions;
	MT_ARRAY(struct sp_truth) seen; /* by event */
	uint64_t time_ns;
};

static void settle(struct chain *chain, uint64_t time_ns)
{
	struct sp_truth now = {.depth = (uint32_t)chain->functions.count};

	mt_array_each (function, &chain->functions)
		now.hash = sp_hash(now.hash, *function);
	for (; chain->time_ns < time_ns; chain->time_ns++) {
		struct sp_truth *seen = &chain->seen.items[chain->time_ns - 1000];

		now.handler = seen->handler;
		*seen = now;
	}
}

static struct mt_error *on_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	struct chain *chain = self;

	chain->time_ns = segment->begin_ns;
	return NULL;
}

static struct mt_error *on_begin(void *self, const struct mt_slice *slice)
{
	struct chain *chain = self;

	settle(chain, slice->time_ns);
	assert_int_equal(mt_array_push(&chain->functions, slice->function->name[0]), 0);
	if (slice->flags & MT_SLICE_HANDLER)
		chain->seen.items[slice->time_ns - 1000].handler = true;
	return NULL;
}

static struct mt_error *on_end(void *self, const struct mt_slice_end *end)
{
	struct chain *chain = self;

	settle(chain, end->time_ns);
	if (end->flags & MT_SLICE_END_OPEN)
		settle(chain, end->time_ns + 1);
	chain->functions.count--;
	return NULL;
}

static const struct mt_slice_sink_ops chain_ops = {
    .thread = sp_thread,
    .segment_begin = on_segment_begin,
    .begin = on_begin,
    .end = on_end,
    .instant = NULL,
    .segment_end = sp_segment_begin,
};

static struct mt_error *pass_instant(void *self, const struct mt_instant *instant)
{
	(void)self;
	(void)instant;
	return NULL;
}

static void chain_init(struct chain *chain, size_t events)
{
	*chain = (struct chain){.time_ns = 1000};
	assert_int_equal(mt_array_reserve(&chain->seen, events), 0);
	memset(chain->seen.items, 0, events * sizeof(chain->seen.items[0]));
	chain->seen.count = events;
}

static void chain_deinit(struct chain *chain)
{
	mt_array_deinit(&chain->functions);
	mt_array_deinit(&chain->seen);
}

/* EVENTS, the machine's from its event number FIRST on, perhaps with frames around them. */
static void compare(const struct sp_machine *m, const struct mt_event *events, size_t count,
		    size_t first, uint64_t seed)
{
	struct mt_slice_sink_ops ops = chain_ops;
	struct chain chain;

	ops.instant = pass_instant;
	chain_init(&chain, m->events.count + 1);
	sp_rebuild(events, count, 1 + seed % 700, (struct mt_slice_sink){&ops, &chain});
	for (size_t i = first; i < m->events.count; i++) {
		const struct sp_truth *truth = &m->truth.items[i], *seen = &chain.seen.items[i];

		if (truth->depth != seen->depth || truth->hash != seen->hash)
			fail_msg("seed %" PRIu64 ", event %zu: depth %u is shown as %u", seed, i,
				 truth->depth, seen->depth);
		if (truth->handler && !seen->handler)
			fail_msg("seed %" PRIu64 ", event %zu: no handler", seed, i);
	}
	chain_deinit(&chain);
}

static void check_machine(struct sp_machine *m, uint64_t seed)
{
	sp_run(m, EVENTS);
	compare(m, m->events.items, m->events.count, 0, seed);
	sp_machine_deinit(m);
}

static void plain_calls(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 1 << 16);
		m.tails = true;
		check_machine(&m, seed);
	}
}

static void calls_that_end_unseen(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 1 << 16);
		m.tails = m.misses = m.throws = true;
		check_machine(&m, seed);
	}
}

static void signals(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 1 << 16);
		m.tails = m.misses = m.throws = m.signals = true;
		check_machine(&m, seed);
	}
}

/* Stacks of 8 KiB, next to each other. */
static void coroutines_by_a_function_that_reports(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 8 << 10);
		m.tails = m.coroutines = m.switch_reports = true;
		check_machine(&m, seed);
	}
}

/* A switch that nobody sees: stacks of 64 KiB, next to each other. */
static void coroutines_by_stealth(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 1 << 16);
		m.tails = m.coroutines = true;
		check_machine(&m, seed);
	}
}

static void everything(void **state)
{
	struct sp_machine m;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		sp_machine_init(&m, seed, 1 << 16);
		m.tails = m.misses = m.throws = m.signals = m.coroutines = true;
		m.switch_reports = seed % 2;
		check_machine(&m, seed);
	}
}

static void push_frames(struct mt_event *events, size_t *count, const struct sp_sim_stack *stack,
			uint64_t time_ns)
{
	for (size_t i = stack->count; i-- > 0;)
		events[(*count)++] = (struct mt_event){
		    .time_ns = time_ns,
		    .kind = MT_EVENT_FRAME,
		    .from = stack->frames[i].sp,
		    .to = sp_address(stack->frames[i].function) + 0x20,
		};
}

/* A ring that wrapped: the beginning is gone, an unwinder tells what was open then. */
static void a_start_with_frames(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct mt_event *events = calloc(EVENTS + SP_DEPTH, sizeof(*events));
		size_t count = 0, lost = 500 + seed * 7;
		struct sp_machine m;

		sp_machine_init(&m, seed, 1 << 16);
		sp_run(&m, lost);
		push_frames(events, &count, sp_current(&m), 1000 + m.events.count);
		lost = m.events.count;
		m.tails = m.throws = m.misses = m.signals = true;
		while (m.events.count < EVENTS)
			sp_step(&m);
		memcpy(events + count, m.events.items + lost,
		       (m.events.count - lost) * sizeof(*events));
		count += m.events.count - lost;
		compare(&m, events, count, lost, seed);
		sp_machine_deinit(&m);
		free(events);
	}
}

/* Nothing tells what was open at the start, but an unwinder does at the end. */
static void an_end_with_frames(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct mt_event *events = calloc(EVENTS + 2 * SP_DEPTH, sizeof(*events));
		size_t count, lost = 500 + seed * 7;
		struct sp_machine m;

		sp_machine_init(&m, seed, 1 << 16);
		sp_run(&m, EVENTS);
		count = m.events.count - lost;
		memcpy(events, m.events.items + lost, count * sizeof(*events));
		push_frames(events, &count, sp_current(&m), 1000 + m.events.count);
		compare(&m, events, count, lost, seed);
		sp_machine_deinit(&m);
		free(events);
	}
}

/* Any events at all: the sink's promises hold (sp_rebuild looks). */
static void garbage(void **state)
{
	static const uint64_t bases[] = {0, 0x1000, 0x9000, SP_HEAP, SP_FIRST_BASE, UINT64_MAX};
	struct sp_machine random = {.seed = 77};

	(void)state;
	for (int round = 0; round < 200; round++) {
		struct mt_event events[1000];
		uint64_t time_ns = 5;

		for (size_t i = 0; i < 1000; i++) {
			time_ns += sp_random(&random, 3);
			events[i] = (struct mt_event){
			    .time_ns = time_ns - sp_random(&random, 2),
			    .kind = (uint8_t)(sp_random(&random, 4)
						  ? MT_EVENT_ENTRY + sp_random(&random, 2)
						  : MT_EVENT_GAP + sp_random(&random, 7)),
			    .flags = (uint8_t)sp_random(&random, 2),
			    .from = bases[sp_random(&random, 6)] - 16 * sp_random(&random, 400),
			    .to = sp_address((char)('a' + sp_random(&random, 27))),
			    .detail = (uint32_t)sp_random(&random, 5),
			};
		}
		sp_rebuild(events, 1000, 1 + sp_random(&random, 1000),
			   (struct mt_slice_sink){NULL, NULL});
	}
}

/* A thousand and more stacks, each switched to again and again. */
static void many_stacks(void **state)
{
	enum { STACKS = 3000, DEPTH = 300, SWITCHES = 100000 };
	size_t count = 0, room = (size_t)STACKS * DEPTH + 2 * SWITCHES;
	struct mt_event *events = calloc(room, sizeof(*events)), *next = events;
	struct sp_machine random = {.seed = 5};

	(void)state;
	for (uint64_t i = 0; i < STACKS; i++)
		for (uint64_t depth = 0; depth < DEPTH; depth++)
			*next++ = (struct mt_event){.time_ns = count++,
						    .kind = MT_EVENT_ENTRY,
						    .from = (i << 20) + 0xf0000 - 16 * depth,
						    .to = sp_address('a')};
	for (int i = 0; i < SWITCHES; i++) {
		uint64_t base = (sp_random(&random, STACKS) << 20) + 0xf0000 - 16 * DEPTH;

		*next++ = (struct mt_event){.time_ns = count++,
					    .kind = MT_EVENT_ENTRY,
					    .from = base,
					    .to = sp_address('b')};
		*next++ = (struct mt_event){.time_ns = count++,
					    .kind = MT_EVENT_LEAVE,
					    .from = base,
					    .to = sp_address('b')};
	}
	sp_rebuild(events, count, 4096, (struct mt_slice_sink){NULL, NULL});
	free(events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_calls),
	    cmocka_unit_test(calls_that_end_unseen),
	    cmocka_unit_test(signals),
	    cmocka_unit_test(coroutines_by_a_function_that_reports),
	    cmocka_unit_test(coroutines_by_stealth),
	    cmocka_unit_test(everything),
	    cmocka_unit_test(a_start_with_frames),
	    cmocka_unit_test(an_end_with_frames),
	    cmocka_unit_test(garbage),
	    cmocka_unit_test(many_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
