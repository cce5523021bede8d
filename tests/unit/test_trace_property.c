/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What holds for every stream of events: of made-up programs, whose truth is known, and of
 * garbage. */
#include "check_sink.h"
#include "toy_machine.h"
#include "trace/rebuild.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <inttypes.h>

static struct mt_error *take(toy_records *records, struct toy_record record)
{
	return mt_array_push(records, record) ? mt_error_no_memory() : NULL;
}

static struct mt_error *on_thread(void *self, const struct mt_thread *thread)
{
	(void)self;
	(void)thread;
	return NULL;
}

static struct mt_error *on_segment_begin(void *self, const struct mt_thread_segment *segment)
{
	(void)segment;
	return take(self, (struct toy_record){.what = TOY_SEGMENT});
}

static struct mt_error *on_begin(void *self, const struct mt_slice *slice)
{
	return take(self, (struct toy_record){.what = TOY_BEGIN,
					      .kind = slice->kind,
					      .flags = slice->flags,
					      .function = slice->function,
					      .time_ns = slice->time_ns});
}

static struct mt_error *on_end(void *self, const struct mt_slice_end *end)
{
	return take(self, (struct toy_record){
			      .what = TOY_END, .flags = end->flags, .time_ns = end->time_ns});
}

static struct mt_error *on_instant(void *self, const struct mt_instant *instant)
{
	(void)self;
	(void)instant;
	return NULL;
}

static struct mt_error *on_segment_end(void *self, const struct mt_thread_segment *segment)
{
	(void)self;
	(void)segment;
	return NULL;
}

static const struct mt_slice_sink_ops recorder_ops = {
    .thread = on_thread,
    .segment_begin = on_segment_begin,
    .begin = on_begin,
    .end = on_end,
    .instant = on_instant,
    .segment_end = on_segment_end,
};

static void no_error(struct mt_error *error)
{
	if (error)
		fail_msg("%s", mt_error_message(error));
}

struct how {
	size_t batch;
	size_t memory; /* 0: plenty */
	bool without_inlines;
	bool is_first; /* each call: none was made before, as far as is known */
};

static void rebuild(struct toy_program *toy, const struct mt_event *events, size_t count,
		    struct how how, toy_records *records)
{
	struct check_sink check = {.next = {&recorder_ops, records}};
	struct mt_symbolizer symbolizer = toy_symbolizer(toy);
	struct mt_rebuild_options options = {.thread = {1, 1, "toy", "toy"},
					     .sink = {&check_sink_ops, &check},
					     .log_memory_bytes = how.memory,
					     .inlines = !how.without_inlines};
	struct mt_rebuild *stack;

	records->count = 0;
	no_error(mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack));
	mt_rebuild_set_symbolizer(stack, &symbolizer);
	for (size_t i = 0; i < count; i += how.batch) {
		const size_t left = count - i;

		if (how.is_first)
			mt_rebuild_set_symbolizer(stack, &symbolizer);
		no_error(mt_rebuild_push(stack, events + i, left < how.batch ? left : how.batch));
	}
	no_error(mt_rebuild_finish(stack));
	mt_rebuild_destroy(stack);
	assert_string_equal(check_sink_failure(&check), "");
	check_sink_deinit(&check);
}

static const uint8_t begin_flags = MT_SLICE_INFERRED | MT_SLICE_TAIL_CALL | MT_SLICE_HANDLER;
static const uint8_t end_flags = MT_SLICE_END_OPEN | MT_SLICE_END_UNWOUND | MT_SLICE_END_LOST;

/* Times of inlined functions lie between two known ones: the truth does not know better. */
static bool same_record(const struct toy_record *truth, const struct toy_record *got, bool times)
{
	uint8_t flags = truth->what == TOY_BEGIN ? begin_flags : end_flags;
	bool exact =
	    times && !(got->flags & (truth->what == TOY_BEGIN ? MT_SLICE_TIME_ESTIMATED
							      : MT_SLICE_END_TIME_ESTIMATED));

	return truth->what == got->what && truth->kind == got->kind &&
	       truth->function == got->function && (truth->flags & flags) == (got->flags & flags) &&
	       (!exact || truth->time_ns == got->time_ns);
}

static void describe(const char *whose, const struct toy_record *record)
{
	print_error("%s: %s %s flags %x time %" PRIu64 "\n", whose,
		    record->what == TOY_SEGMENT ? "segment"
		    : record->what == TOY_BEGIN ? "begin"
						: "end",
		    record->function ? record->function->name : "", record->flags, record->time_ns);
}

static void compare(const toy_records *truth, const toy_records *got, uint64_t seed, bool times)
{
	size_t count = truth->count < got->count ? truth->count : got->count;

	for (size_t i = 0; i < count; i++) {
		if (same_record(&truth->items[i], &got->items[i], times))
			continue;
		for (size_t k = i > 8 ? i - 8 : 0; k < i + 4 && k < count; k++) {
			describe("truth", &truth->items[k]);
			describe("  got", &got->items[k]);
		}
		fail_msg("seed %" PRIu64 ": record %zu differs", seed, i);
	}
	if (truth->count != got->count)
		fail_msg("seed %" PRIu64 ": %zu records instead of %zu", seed, got->count,
			 truth->count);
}

static void compare_runs(bool estimates)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	toy_records got = {0};

	toy_program_init(toy);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct toy_machine machine;

		toy_machine_run(&machine, toy, seed, estimates, 20 + seed * 2);
		rebuild(toy, machine.events.items, machine.events.count, (struct how){.batch = 64},
			&got);
		compare(&machine.truth, &got, seed, !estimates);
		toy_machine_deinit(&machine);
	}
	mt_array_deinit(&got);
	free(toy);
}

static void made_up_programs_come_out_as_they_were(void **state)
{
	(void)state;
	compare_runs(false);
}

static void estimated_times_change_nothing_else(void **state)
{
	(void)state;
	compare_runs(true);
}

static void memory_and_batches_make_no_difference(void **state)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	toy_records plenty = {0}, tight = {0};
	struct toy_machine machine;

	(void)state;
	toy_program_init(toy);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		toy_machine_run(&machine, toy, seed, seed % 2, 20000);
		rebuild(toy, machine.events.items, machine.events.count,
			(struct how){.batch = 4096}, &plenty);
		rebuild(toy, machine.events.items, machine.events.count,
			(struct how){.batch = 1, .memory = 1}, &tight);
		assert_int_equal(plenty.count, tight.count);
		for (size_t i = 0; i < plenty.count; i++) {
			assert_int_equal(plenty.items[i].time_ns, tight.items[i].time_ns);
			assert_int_equal(plenty.items[i].flags, tight.items[i].flags);
		}
		compare(&plenty, &tight, seed, true);
		toy_machine_deinit(&machine);
	}
	mt_array_deinit(&plenty);
	mt_array_deinit(&tight);
	free(toy);
}

static uint64_t known_address(struct toy_machine *m)
{
	return toy_address((size_t)toy_random(m, TOY_FUNCTIONS)) + toy_random(m, TOY_SIZE);
}

static uint64_t garbage_address(struct toy_machine *m)
{
	switch (toy_random(m, 12)) {
	case 0:
		return toy_random(m, 4);
	case 1:
		return UINT64_MAX - toy_random(m, 4);
	case 2:
		return toy_random(m, 0x20000);
	case 3:
	case 4:
		return toy_address((size_t)toy_random(m, TOY_FUNCTIONS));
	default:
		return known_address(m);
	}
}

static struct mt_event garbage_event(struct toy_machine *m)
{
	m->now_ns += 1 + toy_random(m, 10);
	return (struct mt_event){
	    .time_ns = m->now_ns,
	    .from = garbage_address(m),
	    .to = garbage_address(m),
	    .kind =
		(uint8_t)(toy_random(m, 3) ? toy_random(m, 3) : toy_random(m, MT_EVENT_MARK + 2)),
	    .flags = m->estimates && toy_random(m, 2) ? MT_EVENT_TIME_IS_ESTIMATE : 0,
	    .detail = (uint32_t)toy_random(m, 5),
	};
}

/* What no machine does. */
static void garble(struct toy_machine *m)
{
	const size_t i = (size_t)toy_random(m, m->events.count);
	struct mt_event *event = &m->events.items[i];

	switch (toy_random(m, 6)) {
	case 0:
		event->to = known_address(m);
		break;
	case 1:
		event->from = known_address(m);
		break;
	case 2:
		event->kind = (uint8_t)toy_random(m, MT_EVENT_JUMP + 1);
		break;
	case 3:
		event->kind = (uint8_t)(MT_EVENT_TX_BEGIN + toy_random(m, 3));
		break;
	default:
		event->to += toy_random(m, 16);
		break;
	}
}

/* Calls that were made before go a shorter way.  Where the names are given anew before each event,
 * no call was made before: that must make no difference. */
static void known_calls_make_no_difference(void **state)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	toy_records known = {0}, first = {0};

	(void)state;
	toy_program_init(toy);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		const bool estimates = seed % 4 == 0;
		struct toy_machine machine;

		toy_machine_run(&machine, toy, seed, estimates, 2000);
		for (uint64_t i = 0; i < seed % 3 * 40; i++)
			garble(&machine);
		rebuild(toy, machine.events.items, machine.events.count,
			(struct how){.batch = 1 + seed % 100, .without_inlines = true}, &known);
		rebuild(toy, machine.events.items, machine.events.count,
			(struct how){.batch = 1, .without_inlines = true, .is_first = true},
			&first);
		compare(&first, &known, seed, !estimates);
		toy_machine_deinit(&machine);
	}
	mt_array_deinit(&known);
	mt_array_deinit(&first);
	free(toy);
}

/* Where control was found at this time; times of garbage are all different. */
static uint64_t address_at(const struct toy_machine *m, uint64_t time_ns)
{
	mt_array_each (event, &m->events) {
		if (event->time_ns != time_ns)
			continue;
		return event->kind == MT_EVENT_TRACE_START || event->kind == MT_EVENT_GAP
			   ? event->to
			   : event->from;
	}
	return 0;
}

static bool same_function(const struct mt_function *a, const struct mt_function *b)
{
	return strtoul(a->name + 1, NULL, 10) == strtoul(b->name + 1, NULL, 10);
}

/* Whatever lives through a gap does so because control is in it afterwards. */
static void nothing_spans_a_gap_for_no_reason(struct toy_machine *m, const toy_records *got)
{
	MT_ARRAY(const struct toy_record *) open = {0};

	mt_array_each (record, got) {
		const struct mt_function *here;
		size_t i;

		if (record->what == TOY_BEGIN && record->kind == MT_SLICE_GAP && open.count) {
			here = toy_function_at(m->toy, address_at(m, record[1].time_ns));
			i = open.count - 1;
			while (i > 0 && open.items[i]->kind == MT_SLICE_INLINED)
				i--;
			/* A stub has no slice. */
			assert_true(here->kind == MT_FUNCTION_PLT ||
				    same_function(open.items[i]->function, here));
		}
		if (record->what == TOY_BEGIN)
			(void)mt_array_push(&open, record);
		else if (record->what == TOY_END)
			open.count--;
	}
	mt_array_deinit(&open);
}

static void garbage_keeps_the_promises(void **state)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	toy_records got = {0};

	(void)state;
	toy_program_init(toy);
	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct toy_machine machine = {.toy = toy, .random = seed * 2 + 1};

		machine.estimates = seed % 3 == 0;
		for (int i = 0; i < 500; i++)
			(void)mt_array_push(&machine.events, garbage_event(&machine));
		rebuild(toy, machine.events.items, machine.events.count,
			(struct how){.batch = 100, .memory = 1}, &got);
		if (!machine.estimates)
			nothing_spans_a_gap_for_no_reason(&machine, &got);
		toy_machine_deinit(&machine);
	}
	mt_array_deinit(&got);
	free(toy);
}

/* Searches down a million frames that find nothing, again and again, would take hours. */
static void a_million_frames_deep(void **state)
{
	enum { DEPTH = 1000000 };
	struct toy_program *toy = malloc(sizeof(*toy));
	struct toy_machine machine = {.toy = toy, .random = 1};
	uint64_t from = toy_address(1) + 0x90;
	toy_records got = {0};

	(void)state;
	toy_program_init(toy);
	toy_branch(&machine, MT_EVENT_TRACE_START, 0, toy_address(2) + 8);
	toy_branch(&machine, MT_EVENT_CALL, toy_address(2) + 0x90, toy_address(1));
	for (int i = 0; i < DEPTH; i++)
		toy_branch(&machine, MT_EVENT_CALL, from, toy_address(1));
	for (int i = 0; i < 20000; i++)
		toy_branch(&machine, MT_EVENT_JUMP, toy_address(1 + (i % 2) * 4) + 0x90,
			   toy_address(1 + (i + 1) % 2 * 4) + 0x20);
	for (int i = 0; i < 20000; i++) {
		toy_branch(&machine, MT_EVENT_CALL, toy_address(1) + 0x90, toy_address(7));
		toy_branch(&machine, MT_EVENT_RETURN, toy_address(7) + 8, toy_address(1) + 0xd0);
	}
	toy_branch(&machine, MT_EVENT_RETURN, toy_address(1) + 0x90, toy_address(2) + 0x95);
	rebuild(toy, machine.events.items, machine.events.count,
		(struct how){.batch = 4096, .memory = 1 << 16}, &got);
	assert_true(got.count > 2 * DEPTH);
	assert_int_equal(got.items[got.count - 1].flags, MT_SLICE_END_OPEN);
	assert_int_equal(got.items[got.count - 2].flags, MT_SLICE_END_UNWOUND);
	toy_machine_deinit(&machine);
	mt_array_deinit(&got);
	free(toy);
}

static struct mt_error *refuse(void *self, const struct mt_slice *slice)
{
	(void)self;
	(void)slice;
	return mt_error_new(MT_ERROR_SYSTEM, "the disk is full");
}

static void a_sinks_error_comes_back(void **state)
{
	struct mt_slice_sink_ops ops = recorder_ops;
	toy_records got = {0};
	struct mt_rebuild_options options = {.sink = {&ops, &got}};
	struct mt_event start = {.kind = MT_EVENT_TRACE_START, .to = 1};
	struct mt_rebuild *stack;
	struct mt_error *error;

	(void)state;
	ops.begin = refuse;
	no_error(mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack));
	no_error(mt_rebuild_push(stack, &start, 1));
	error = mt_rebuild_finish(stack);
	assert_non_null(error);
	assert_string_equal(mt_error_message(error), "the disk is full");
	mt_error_destroy(error);
	mt_rebuild_destroy(stack);
	mt_array_deinit(&got);
}

static void nowhere_to_spill(void **state)
{
	struct toy_program *toy = malloc(sizeof(*toy));
	struct toy_machine machine;
	toy_records got = {0};
	struct mt_rebuild_options options = {.sink = {&recorder_ops, &got}, .log_memory_bytes = 1};
	struct mt_rebuild *stack;
	struct mt_error *error;

	(void)state;
	toy_program_init(toy);
	toy_machine_run(&machine, toy, 1, false, 20000);
	setenv("TMPDIR", "/nowhere/at/all", 1);
	no_error(mt_rebuild_create(&mt_rebuild_from_branches, &options, &stack));
	error = mt_rebuild_push(stack, machine.events.items, machine.events.count);
	unsetenv("TMPDIR");
	assert_non_null(error);
	assert_non_null(strstr(mt_error_message(error), "/nowhere/at/all"));
	assert_non_null(strstr(mt_error_message(error), "TMPDIR"));
	mt_error_destroy(error);
	mt_rebuild_destroy(stack);
	toy_machine_deinit(&machine);
	mt_array_deinit(&got);
	free(toy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(made_up_programs_come_out_as_they_were),
	    cmocka_unit_test(estimated_times_change_nothing_else),
	    cmocka_unit_test(memory_and_batches_make_no_difference),
	    cmocka_unit_test(known_calls_make_no_difference),
	    cmocka_unit_test(garbage_keeps_the_promises),
	    cmocka_unit_test(a_million_frames_deep),
	    cmocka_unit_test(a_sinks_error_comes_back),
	    cmocka_unit_test(nowhere_to_spill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
