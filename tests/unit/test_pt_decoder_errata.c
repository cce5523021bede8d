/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What processors write that they should not, by their lists of errata. */
#include "pt_stream.h"

static const struct mt_cpu nameless = {true, 6, 0xfe, 0};

static struct stream open_stream_of(struct mt_cpu cpu)
{
	struct stream stream = open_stream();

	stream.config.cpu = cpu;
	return stream;
}

/* BDM70: the PSB+ in front of a TIP.PGE says that tracing is on already. */
static void put_false_start(struct stream *stream)
{
	put_psb(stream, USER + 7, 1000);
	PUT(stream, 0x19, 0xe9, 0x03, 0, 0, 0, 0, 0); /* TSC 1001 */
	put_ip(stream, PGE, USER + 2);
	put_stop(stream, USER + 3);
}

static void test_tracing_begins_where_the_enabling_packet_says(void **state)
{
	static const struct mt_cpu cpus[] = {
	    {false, 0, 0, 0},     /* another's: nothing is known */
	    {true, 6, 0x4e, 3},   /* Skylake */
	    {true, 6, 0xcc, 1},   /* Panther Lake */
	    {true, 6, 0xfe, 0},   /* not there yet */
	    {true, 0x13, 0x7, 0}, /* another family */
	    {true, 6, 0x7a, 1},   /* Goldmont Plus, which is said not to do it */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cpus) / sizeof(*cpus); i++) {
		struct stream stream = open_stream_of(cpus[i]);

		put_false_start(&stream);
		put_false_start(&stream);
		struct pt_events events = close_stream(&stream);

		assert_int_equal(events.events.items[0].time_ns, 1001);
		ASSERT_EVENTS(
		    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		    {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC},
		    {.kind = MT_EVENT_TRACE_START, .to = USER + 2},
		    {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
	}
}

/* What comes behind a PSB+ cannot be looked at. */
static void test_a_start_in_front_of_no_packet(void **state)
{
	static const uint8_t no_cyc[14] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};

	(void)state;
	struct stream stream = open_stream_of(nameless);

	put_psb(&stream, USER + 2, 1000);
	put(&stream, no_cyc, sizeof(no_cyc));
	put_psb(&stream, USER + 12, 1001);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_GAP, .from = 35, .detail = MT_GAP_BAD_TRACE},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* APL12: nor can what comes behind an overflow's FUP. */
static void test_an_overflow_in_front_of_no_packet(void **state)
{
	static const struct mt_cpu goldmont = {true, 6, 0x5c, 9};

	(void)state;
	struct stream stream = open_stream_of(goldmont);

	put_psb(&stream, USER + 2, 1000);
	PUT(&stream, 0x02, 0xf3);
	put_ip(&stream, FUP, USER + 12);
	PUT(&stream, 0x02, 0x73, 0x10, 0, 0xff, 0, 0); /* no TMA */
	put_psb(&stream, USER + 12, 1001);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	assert_true(events.events.count > 2);
	pt_events_free(&events);
}

/* APL12: nor are times believed that cannot be, if the overflow's FUP is one too many. */
static void test_a_time_that_cannot_be_in_an_overflow(void **state)
{
	static const struct mt_cpu goldmont = {true, 6, 0x5c, 9};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct stream stream = open_stream_of(goldmont);

		for (int j = 0; j < 8; j++)
			PUT(&stream, 0x02, 0x82); /* a PSB, and no TSC */
		PUT(&stream, 0x02, 0xf3);
		if (i)
			PUT(&stream, 0x02, 0x73, 0x1c, 0, 0, 0, 0); /* TMA */
		put_ip(&stream, FUP, USER + 2);
		put_ip(&stream, PGE, USER + 12);
		put_stop(&stream, USER + 13);
		put_psb(&stream, USER + 12, 1001);
		put_stop(&stream, USER + 13);
		struct pt_events events = close_stream(&stream);

		assert_int_equal(events.events.items[0].kind, MT_EVENT_GAP);
		assert_int_equal(events.events.items[0].detail,
				 i ? MT_GAP_BAD_TRACE : MT_GAP_OVERFLOW);
		pt_events_free(&events);
	}
}

/* SKD007: a CYC is cut short by an overflow, with which the PSB+ ends: a MODE.Exec behind it may
 * have a FUP of its own. */
static void test_an_overflow_within_a_cyc(void **state)
{
	static const struct mt_cpu skylake = {true, 6, 0x5e, 3};

	(void)state;
	struct stream stream = open_stream_of(skylake);

	for (int j = 0; j < 8; j++)
		PUT(&stream, 0x02, 0x82);
	PUT(&stream, 0xd7);
	PUT(&stream, 0x02, 0xf3);
	PUT(&stream, 0x99, 0x05); /* MODE.Exec, interrupts on */
	put_ip(&stream, FUP, USER + 2);
	put_ip(&stream, PGE, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_GAP, .detail = MT_GAP_OVERFLOW},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* SKD010: the PSB+ that tells whether tracing is on is decoded behind the overflow, with its times.
 */
static void test_an_overflow_in_front_of_times_that_cannot_be(void **state)
{
	static const struct mt_cpu skylake = {true, 6, 0x5e, 3};

	(void)state;
	struct stream stream = open_stream_of(skylake);

	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 8; j++)
			PUT(&stream, 0x02, 0x82); /* a PSB, and no TSC */
		PUT(&stream, 0x02, 0xf3);
	}
	PUT(&stream, 0x02, 0x73, 0, 0, 0, 0, 1); /* TMA */
	put_psb(&stream, USER + 12, 1001);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.events.items[0].kind, MT_EVENT_GAP);
	assert_int_equal(events.events.items[0].detail, MT_GAP_OVERFLOW);
	pt_events_free(&events);
}

/* SKZ84: in a virtual machine a TMA may be corrupted, and a byte too many stand behind it. */
static void test_a_corrupted_tma(void **state)
{
	static const struct mt_cpu cpus[] = {{true, 6, 0x8f, 8}, {true, 6, 0x9e, 9}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct stream stream = open_stream_of(cpus[i]);

		put_psb(&stream, USER + 7, 1000);
		PUT(&stream, 0x02, 0x73, 0x10, 0, 0xff, 0, 0, 0x99);
		put_ip(&stream, TIP, USER + 2);
		put_stop(&stream, USER + 3);
		struct pt_events events = close_stream(&stream);

		if (i) {
			assert_int_equal(pt_count(&events, MT_EVENT_GAP), 1);
			pt_events_free(&events);
			continue;
		}
		ASSERT_EVENTS(
		    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 7},
		    {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
		    {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
		    {.kind = MT_EVENT_TRACE_END, .from = USER + 3, .detail = MT_TRACE_END_ASYNC});
	}
}

static void test_an_end_that_was_lost(void **state)
{
	(void)state;
	struct stream stream = open_stream_of(nameless);

	put_psb(&stream, USER + 7, 1000);
	put_ip(&stream, TIP, USER + 2);
	put_ip(&stream, PGE, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 7},
	    {.kind = MT_EVENT_CALL, .from = USER + 7, .to = USER + 13},
	    {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 2},
	    {.kind = MT_EVENT_GAP, .detail = MT_GAP_BAD_TRACE},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* SKD022: entering a virtual machine, which ends the trace, looks like an interrupt of it. */
static void test_an_entry_into_a_virtual_machine(void **state)
{
	(void)state;
	struct stream stream = open_stream_of(nameless);

	put_psb(&stream, USER + 15, 1000);
	put_stop(&stream, USER + 16);
	put_ip(&stream, PGE, USER + 19);
	put_stop(&stream, USER + 20);
	struct pt_events events = close_stream(&stream);

	assert_int_equal(events.stats.instructions, 3);
	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 15},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 16, .detail = MT_TRACE_END_FILTER},
	    {.kind = MT_EVENT_TRACE_START, .to = USER + 19},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 20, .detail = MT_TRACE_END_ASYNC});
}

/* BDM64: of a branch right before a transaction's abort the target may be wrong. */
static void test_an_abort_behind_a_branch(void **state)
{
	static const struct mt_cpu broadwell = {true, 6, 0x4f, 1};

	(void)state;
	struct stream stream = open_stream_of(broadwell);

	put_psb(&stream, USER + 13, 1000);
	put_ip(&stream, TIP, USER + 4); /* which spins, and never gets to the abort's address */
	PUT(&stream, 0x99, 0x22);
	put_ip(&stream, FUP, USER + 2);
	put_ip(&stream, TIP, USER + 12);
	put_stop(&stream, USER + 13);
	struct pt_events events = close_stream(&stream);

	ASSERT_EVENTS(
	    &events, {.kind = MT_EVENT_TRACE_START, .to = USER + 13},
	    {.kind = MT_EVENT_JUMP, .from = USER + 13, .to = USER + 4},
	    {.kind = MT_EVENT_TX_ABORT, .from = USER + 2, .to = USER + 12},
	    {.kind = MT_EVENT_TRACE_END, .from = USER + 13, .detail = MT_TRACE_END_ASYNC});
}

/* SKL014: a direct branch out of the traced range may not say where it went. */
#define RANGE 0x500000ull
static const uint8_t range_code[64] = {
    [0x00] = 0xe8, 0x0b,          0,    0, 0, /* call 0x10 */
    [0x05] = 0x90, [0x10] = 0xeb, 0x0e,       /* jmp 0x20 */
    [0x20] = 0xeb, 0x0e,                      /* jmp 0x30 */
    [0x24] = 0x74, 0xda,                      /* jz 0 */
    [0x30] = 0xff, 0xe0,                      /* jmp *%rax */
};

struct range {
	uint64_t begin, size; /* from RANGE on; 0: there is none */
	bool stops;
};

/* From START on, over TAKEN conditional jumps, up to where tracing ends, and behind the call. */
static struct pt_events leave_ranges(const struct mt_cpu *cpu, const struct range *ranges,
				     uint64_t start, bool taken)
{
	struct stream stream = open_stream_of(*cpu);

	assert_no_error(
	    mt_pt_image_add_bytes(stream.pieces->image, range_code, sizeof(range_code), RANGE));
	for (size_t i = 0; i < 2 && ranges[i].size; i++)
		assert_no_error(mt_pt_image_add_filter(stream.pieces->image,
						       RANGE + ranges[i].begin, ranges[i].size,
						       ranges[i].stops));
	put_psb(&stream, RANGE + start, 1000);
	if (taken)
		PUT(&stream, 0x06); /* TNT */
	PUT(&stream, 0x01);         /* TIP.PGD without IP */
	put_ip(&stream, PGE, RANGE + 5);
	put_stop(&stream, RANGE + 6);
	return close_stream(&stream);
}

static void test_a_branch_out_of_the_traced_range(void **state)
{
	static const struct mt_cpu skylake = {true, 6, 0x4e, 3};
	static const struct {
		struct range ranges[2];
		uint64_t start, from, to; /* where tracing ends */
		bool taken;
	} cases[] = {
	    {{{0, 0x10, false}}, 0, 0, 0x10, false},
	    {{{0, 0x20, false}}, 0, 0x10, 0x20, false},
	    {{{0, 0x30, false}}, 0, 0x20, 0x30, false},
	    {{{0, 5, false}, {0x10, 2, false}}, 0, 0x10, 0x20, false},
	    {{{0x10, 2, false}, {0, 5, false}}, 0, 0x10, 0x20, false},
	    {{{0, 0x10, false}, {0x20, 0x10, false}}, 0x24, 0, 0x10, true},
	    {{{0x20, 1, true}}, 0, 0x10, 0x20, false},
	    {{{0, 0x40, false}, {0x20, 0x10, true}}, 0, 0x10, 0x20, false},
	    {{{0x20, 0x10, true}, {0, 0x40, false}}, 0, 0x10, 0x20, false},
	    /* None of the direct branches leaves: */
	    {{{0}}, 0, 0x30, 0, false},
	    {{{0, 0x40, false}}, 0, 0x30, 0, false},
	    {{{0x1000, 0x40, true}}, 0, 0x30, 0, false},
	    /* Control is nowhere that is known to be traced: */
	    {{{0x1000, 0x40, false}}, 0, 0x30, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(*cases); i++) {
		bool has_erratum = i % 2;
		uint64_t from = RANGE + (has_erratum ? cases[i / 2].from : 0x30);
		uint64_t to = has_erratum && cases[i / 2].to ? RANGE + cases[i / 2].to : 0;
		struct pt_events events =
		    leave_ranges(has_erratum ? &skylake : &nameless, cases[i / 2].ranges,
				 cases[i / 2].start, cases[i / 2].taken);
		const struct mt_event *end = NULL;

		mt_array_each (event, &events.events)
			if (!end && event->kind == MT_EVENT_TRACE_END)
				end = event;
		if (!end || end->from != from || end->to != to) {
			pt_print(&events, 0, 20);
			fail_msg("case %zu%s", i / 2, has_erratum ? "" : " without the erratum");
		}
		assert_int_equal(end->detail, MT_TRACE_END_FILTER);
		assert_int_equal(events.stats.gaps, 0);
		assert_int_equal(end[1].kind, MT_EVENT_TRACE_START);
		assert_int_equal(end[1].to, RANGE + 5);
		pt_events_free(&events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_tracing_begins_where_the_enabling_packet_says),
	    cmocka_unit_test(test_a_start_in_front_of_no_packet),
	    cmocka_unit_test(test_an_overflow_in_front_of_no_packet),
	    cmocka_unit_test(test_an_overflow_within_a_cyc),
	    cmocka_unit_test(test_a_time_that_cannot_be_in_an_overflow),
	    cmocka_unit_test(test_an_overflow_in_front_of_times_that_cannot_be),
	    cmocka_unit_test(test_a_corrupted_tma),
	    cmocka_unit_test(test_an_end_that_was_lost),
	    cmocka_unit_test(test_an_entry_into_a_virtual_machine),
	    cmocka_unit_test(test_an_abort_behind_a_branch),
	    cmocka_unit_test(test_a_branch_out_of_the_traced_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
