/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the encoder was told is what the decoder tells: whole, in pieces, with parts missing. */
#include "pt_event_walk.h"

#include "pt/packet.h"

static const struct mt_pt_timing timing = {
    .tsc_ctc_numerator = 168,
    .tsc_ctc_denominator = 2,
    .mtc_period = 3,
    .max_nonturbo_ratio = 20,
    .tsc = true,
    .mtc = true,
    .cyc = true,
};

static struct walk_options usual_options(uint64_t seed)
{
	return (struct walk_options){
	    .seed = seed,
	    .blocks = 20000,
	    .weights = {4, 6, 3, 1, 4, 1, 2, 4, 1},
	    .stop_per_mille = 5,
	    .wrong_return_percent = 2,
	    .encoder = {.timing = timing, .psb_period_bytes = 512},
	};
}

struct fixture {
	struct walk *walk;
	struct mt_pt_image_cache *cache;
	struct pt_pieces *pieces;
	struct mt_pt_decoder_config config;
	uint8_t *trace;
	size_t size;
	uint64_t bytes_lost;
};

static struct fixture set_up(const struct walk_options *options, unsigned int halves)
{
	struct fixture fixture = {.walk = walk_create(options)};

	fixture.config.timing = options->encoder.timing;
	fixture.pieces = calloc(1, sizeof(*fixture.pieces));
	assert_null(mt_pt_image_cache_create(&fixture.cache));
	fixture.pieces->image = walk_image(fixture.walk, fixture.cache, halves);
	assert_null(mt_pt_encoder_snapshot(fixture.walk->encoder, &fixture.trace, &fixture.size,
					   &fixture.bytes_lost));
	return fixture;
}

static void tear_down(struct fixture *fixture)
{
	mt_pt_image_destroy(fixture->pieces->image);
	mt_pt_image_cache_destroy(fixture->cache);
	walk_destroy(fixture->walk);
	free(fixture->pieces);
	free(fixture->trace);
}

static void add_piece(struct fixture *fixture, size_t from, size_t to, bool joined)
{
	struct pt_pieces *pieces = fixture->pieces;

	assert_true(pieces->count < sizeof(pieces->items) / sizeof(*pieces->items));
	pieces->items[pieces->count++] = (struct mt_pt_piece){
	    .bytes = fixture->trace + from, .size = to - from, .joined = joined};
}

static struct pt_events decode(struct fixture *fixture, size_t batch)
{
	fixture->pieces->next = 0;
	return pt_decode(fixture->config, fixture->pieces, batch);
}

/* FROM: the first of the wanted events. */
static void assert_walk(const struct fixture *fixture, const struct pt_events *events, size_t from)
{
	const struct walk *walk = fixture->walk;
	size_t wanted = walk->wanted.count - from, count = events->events.count;

	for (size_t i = 0; i < wanted && i < count; i++) {
		const struct mt_event *event = &walk->wanted.items[from + i];

		if (walk_same(&events->events.items[i], event))
			continue;
		print_message("wanted %s %lx -> %lx\n", pt_kind_name(event->kind),
			      (unsigned long)event->from, (unsigned long)event->to);
		pt_print(events, i > 4 ? i - 4 : 0, i + 4);
		fail_msg("seed %lu: event %zu of %zu differs", (unsigned long)walk->options->seed,
			 i, wanted);
	}
	assert_int_equal(count, wanted);
}

/* CYC tells the time of a packet to a cycle or so; a TNT packet is six branches of up to 40 ticks.
 */
static void assert_times(const struct fixture *fixture, const struct pt_events *events)
{
	for (size_t i = 0; i < events->events.count; i++) {
		int64_t wanted = (int64_t)fixture->walk->wanted.items[i].time_ns;

		assert_true(llabs((int64_t)events->events.items[i].time_ns - wanted) < 400);
	}
}

static void check_whole(const struct walk_options *options, size_t batch)
{
	struct fixture fixture = set_up(options, 3);

	add_piece(&fixture, 0, fixture.size, false);
	struct pt_events events = decode(&fixture, batch);
	assert_walk(&fixture, &events, 0);
	if (options->encoder.timing.cyc)
		assert_times(&fixture, &events);
	assert_int_equal(events.stats.instructions, fixture.walk->instructions);
	assert_int_equal(events.stats.bytes, fixture.size);
	pt_events_free(&events);
	tear_down(&fixture);
}

static void test_a_walk_is_decoded_event_by_event(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct walk_options options = usual_options(seed);

		check_whole(&options, 16 + seed * 16);
	}
}

static void test_without_return_compression_and_times(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct walk_options options = usual_options(seed);

		options.encoder.no_return_compression = true;
		options.encoder.timing = (struct mt_pt_timing){0};
		check_whole(&options, 64);
	}
}

/* ---- pieces ---- */

static void test_split_at_every_psb(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct walk_options options = usual_options(seed);
		struct fixture fixture = set_up(&options, 3);
		size_t from = 0;

		while (from < fixture.size) {
			size_t to = mt_pt_find_psb(fixture.trace, fixture.size, from + 1);
			add_piece(&fixture, from, to, from != 0);
			from = to;
		}
		assert_true(fixture.pieces->count > 20);
		struct pt_events events = decode(&fixture, 64);
		assert_walk(&fixture, &events, 0);
		assert_int_equal(events.stats.bytes, fixture.size);
		pt_events_free(&events);
		tear_down(&fixture);
	}
}

static void split_anywhere(struct fixture *fixture, size_t longest)
{
	size_t from = 0;

	while (from < fixture->size) {
		size_t to = from + walk_random(fixture->walk, longest);
		if (to > fixture->size)
			to = fixture->size;
		add_piece(fixture, from, to, from != 0);
		from = to;
	}
}

static void test_split_anywhere(void **state)
{
	(void)state;
	static const size_t longest[] = {20, 100, 600, 5000};

	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct walk_options options = usual_options(seed);

		options.blocks = longest[seed % 4] < 100 ? 5000 : 20000;
		struct fixture fixture = set_up(&options, 3);
		split_anywhere(&fixture, longest[seed % 4]);
		struct pt_events events = decode(&fixture, 16);
		assert_walk(&fixture, &events, 0);
		pt_events_free(&events);
		tear_down(&fixture);
	}
}

/* Larger than what is copied at a time: decoded as it lies, and joined with what follows. */
static void test_large_pieces(void **state)
{
	(void)state;
	struct walk_options options = usual_options(77);

	options.blocks = 2000000;
	options.weights[WALK_JUMP_INDIRECT] = 20;
	options.stop_per_mille = 30;
	options.encoder.psb_period_bytes = 4096;
	struct fixture fixture = set_up(&options, 3);
	size_t half = fixture.size - 70000;
	assert_true(half > 8u << 20);
	add_piece(&fixture, 0, half, false);
	add_piece(&fixture, half, fixture.size, true);
	struct pt_events events = decode(&fixture, 512);
	assert_walk(&fixture, &events, 0);
	pt_events_free(&events);
	tear_down(&fixture);
}

/* The same stream twice, as two snapshots, with a loss between. */
static void test_pieces_that_stand_alone(void **state)
{
	(void)state;
	struct walk_options options = usual_options(5);
	struct fixture fixture = set_up(&options, 3);
	struct mt_pt_piece *pieces = fixture.pieces->items;

	add_piece(&fixture, 0, fixture.size, false);
	add_piece(&fixture, 0, fixture.size, false);
	pieces[0].snapshot = 1;
	pieces[1].snapshot = 2;
	pieces[1].has_gap = true;
	pieces[1].gap_cause = MT_GAP_AUX_LOST;
	pieces[1].bytes_lost = 4711;
	struct pt_events events = decode(&fixture, 64);
	size_t wanted = fixture.walk->wanted.count;
	const struct mt_event *all = events.events.items;

	assert_int_equal(events.events.count, 2 * wanted + 3);
	assert_int_equal(all[wanted].kind, MT_EVENT_MARK);
	assert_int_equal(all[wanted].detail, MT_MARK_SNAPSHOT);
	assert_int_equal(all[wanted].to, 1);
	assert_int_equal(all[wanted + 1].kind, MT_EVENT_GAP);
	assert_int_equal(all[wanted + 1].detail, MT_GAP_AUX_LOST);
	assert_int_equal(all[wanted + 1].from, 4711);
	for (size_t i = 0; i < wanted; i++)
		assert_true(walk_same(&all[wanted + 2 + i], &fixture.walk->wanted.items[i]));
	assert_int_equal(all[2 * wanted + 2].to, 2);
	pt_events_free(&events);
	tear_down(&fixture);
}

static void test_a_loss_at_the_end(void **state)
{
	(void)state;
	struct walk_options options = usual_options(1);
	struct fixture fixture = set_up(&options, 3);
	size_t wanted = fixture.walk->wanted.count;

	add_piece(&fixture, 0, fixture.size, false);
	add_piece(&fixture, fixture.size, fixture.size, false);
	fixture.pieces->items[1].has_gap = true;
	fixture.pieces->items[1].gap_cause = MT_GAP_AUX_LOST;
	struct pt_events events = decode(&fixture, 64);
	assert_int_equal(events.events.count, wanted + 1);
	assert_int_equal(events.events.items[wanted].kind, MT_EVENT_GAP);
	assert_int_equal(events.events.items[wanted].detail, MT_GAP_AUX_LOST);
	pt_events_free(&events);
	tear_down(&fixture);
}

static void test_nothing_but_a_snapshot_and_a_gap(void **state)
{
	(void)state;
	struct walk_options options = usual_options(1);
	struct fixture fixture = set_up(&options, 3);

	add_piece(&fixture, 0, 0, false);
	fixture.pieces->items[0].snapshot = 3;
	add_piece(&fixture, 100, 120, false);
	fixture.pieces->items[1].has_gap = true;
	fixture.pieces->items[1].gap_cause = MT_GAP_PARTIAL;
	struct pt_events events = decode(&fixture, 16);
	assert_int_equal(events.events.count, 2);
	assert_int_equal(events.events.items[0].kind, MT_EVENT_MARK);
	assert_int_equal(events.events.items[1].kind, MT_EVENT_GAP);
	assert_int_equal(events.events.items[1].detail, MT_GAP_PARTIAL);
	pt_events_free(&events);
	tear_down(&fixture);
}

/* ---- parts missing ---- */

/* How many of the wanted events, from the end, the events are; a start that stands for the ones
 * before is left out. */
static void assert_tail(const struct fixture *fixture, const struct pt_events *events)
{
	const struct walk *walk = fixture->walk;
	const struct mt_event *all = events->events.items;
	size_t count = events->events.count;

	assert_true(count > 100 && count < walk->wanted.count);
	assert_int_equal(all[0].kind, MT_EVENT_TRACE_START);
	const struct mt_event *wanted = &walk->wanted.items[walk->wanted.count - count];
	for (size_t i = 1; i < count; i++)
		assert_true(walk_same(&all[i], &wanted[i]));
}

static void test_a_wrapped_ring_begins_at_its_first_psb(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct walk_options options = usual_options(seed);

		options.encoder.ring_bytes = 8192;
		struct fixture fixture = set_up(&options, 3);
		assert_true(fixture.bytes_lost > 0);
		add_piece(&fixture, 0, fixture.size, false);
		struct pt_events events = decode(&fixture, 64);
		assert_tail(&fixture, &events);
		pt_events_free(&events);
		tear_down(&fixture);
	}
}

/* Cut off anywhere: a prefix of the walk, then the end of the trace where control was last seen. */
static void test_a_stream_cut_off_tells_nothing_that_did_not_happen(void **state)
{
	(void)state;
	struct walk_options options = usual_options(9);
	struct fixture fixture = set_up(&options, 3);

	for (size_t i = 0; i < 400; i++) {
		fixture.pieces->count = 0;
		add_piece(&fixture, 0, 16 + walk_random(fixture.walk, fixture.size - 16), false);
		struct pt_events events = decode(&fixture, 64);
		const struct mt_event *wanted = fixture.walk->wanted.items;
		size_t count = events.events.count;

		for (size_t k = 0; k + 1 < count; k++)
			assert_true(walk_same(&events.events.items[k], &wanted[k]));
		if (count)
			assert_int_equal(events.events.items[count - 1].kind, MT_EVENT_TRACE_END);
		pt_events_free(&events);
	}
	tear_down(&fixture);
}

/* Every event but starts and gaps must be one that happened, in order. */
static size_t assert_happened(const struct fixture *fixture, const struct pt_events *events)
{
	const struct walk *walk = fixture->walk;
	size_t at = 0, matched = 0;

	mt_array_each (event, &events->events) {
		if (event->kind == MT_EVENT_GAP || event->kind == MT_EVENT_TRACE_START)
			continue;
		while (at < walk->wanted.count && !walk_same(event, &walk->wanted.items[at]))
			at++;
		if (at == walk->wanted.count)
			fail_msg("seed %lu: %s %lx -> %lx never happened",
				 (unsigned long)walk->options->seed, pt_kind_name(event->kind),
				 (unsigned long)event->from, (unsigned long)event->to);
		at++;
		matched++;
	}
	return matched;
}

static void test_code_that_is_missing_is_a_gap_and_decoding_goes_on(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct walk_options options = usual_options(seed);

		options.encoder.psb_period_bytes = 100000;
		options.encoder.no_return_compression = seed % 2;
		struct fixture fixture = set_up(&options, 1);
		add_piece(&fixture, 0, fixture.size, false);
		struct pt_events events = decode(&fixture, 64);
		size_t matched = assert_happened(&fixture, &events);
		size_t no_code = 0;

		mt_array_each (event, &events.events)
			no_code += event->kind == MT_EVENT_GAP && event->detail == MT_GAP_NO_CODE;
		assert_true(no_code > 50);
		/* A compressed return whose call was in a gap cannot be followed. */
		if (options.encoder.no_return_compression)
			assert_int_equal(no_code, events.stats.gaps);
		/* Half of the code is there: about half of the events, though there is one PSB. */
		if (options.encoder.no_return_compression)
			assert_true(matched > fixture.walk->wanted.count / 3);
		pt_events_free(&events);
		tear_down(&fixture);
	}
}

static void test_no_code_at_all(void **state)
{
	(void)state;
	struct walk_options options = usual_options(4);
	struct fixture fixture = set_up(&options, 0);

	add_piece(&fixture, 0, fixture.size, false);
	struct pt_events events = decode(&fixture, 64);
	assert_true(pt_count(&events, MT_EVENT_GAP) > 10);
	assert_int_equal(pt_count(&events, MT_EVENT_CALL), 0);
	pt_events_free(&events);
	mt_pt_image_destroy(fixture.pieces->image);
	fixture.pieces->image = NULL;
	events = decode(&fixture, 64);
	assert_true(pt_count(&events, MT_EVENT_GAP) > 10);
	pt_events_free(&events);
	tear_down(&fixture);
}

static void test_garbled_bytes_are_gaps(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct walk_options options = usual_options(seed);

		options.blocks = 5000;
		struct fixture fixture = set_up(&options, 3);
		size_t garbled = 1 + walk_random(fixture.walk, 50);
		for (size_t i = 0; i < garbled; i++)
			fixture.trace[walk_random(fixture.walk, fixture.size)] =
			    (uint8_t)walk_random(fixture.walk, 256);
		split_anywhere(&fixture, seed % 2 ? 1000 : 100000);
		struct pt_events events = decode(&fixture, 16 + seed);
		assert_true(garbled < 5 || pt_count(&events, MT_EVENT_GAP) > 0);
		pt_events_free(&events);
		tear_down(&fixture);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_walk_is_decoded_event_by_event),
	    cmocka_unit_test(test_without_return_compression_and_times),
	    cmocka_unit_test(test_split_at_every_psb),
	    cmocka_unit_test(test_split_anywhere),
	    cmocka_unit_test(test_large_pieces),
	    cmocka_unit_test(test_pieces_that_stand_alone),
	    cmocka_unit_test(test_a_loss_at_the_end),
	    cmocka_unit_test(test_nothing_but_a_snapshot_and_a_gap),
	    cmocka_unit_test(test_a_wrapped_ring_begins_at_its_first_psb),
	    cmocka_unit_test(test_a_stream_cut_off_tells_nothing_that_did_not_happen),
	    cmocka_unit_test(test_code_that_is_missing_is_a_gap_and_decoding_goes_on),
	    cmocka_unit_test(test_no_code_at_all),
	    cmocka_unit_test(test_garbled_bytes_are_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
