/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Intel PT that real processors made, with answers that libipt's own tools give. */
#include "pt_decode.h"

#define RECORDINGS "../shared/recordings/"

struct recording {
	uint8_t *trace;
	size_t size;
	struct mt_pt_image_cache *cache;
	struct pt_pieces *pieces;
	struct mt_pt_decoder_config config;
};

static struct recording open_recording(const char *trace)
{
	struct recording recording = {0};

	recording.trace = pt_read_file(trace, &recording.size);
	if (!recording.trace) {
		print_message("%s is not here: skipped\n", trace);
		skip();
	}
	recording.pieces = calloc(1, sizeof(*recording.pieces));
	assert_null(mt_pt_image_cache_create(&recording.cache));
	assert_null(mt_pt_image_create(recording.cache, &recording.pieces->image));
	recording.pieces->items[0] =
	    (struct mt_pt_piece){.bytes = recording.trace, .size = recording.size};
	recording.pieces->count = 1;
	return recording;
}

static void close_recording(struct recording *recording)
{
	mt_pt_image_destroy(recording->pieces->image);
	mt_pt_image_cache_destroy(recording->cache);
	free(recording->pieces);
	free(recording->trace);
}

static void test_a_loop(void **state)
{
	(void)state;
	struct recording recording = open_recording(RECORDINGS "lldb-intelpt-trace/3842849.trace");

	recording.config.cpu = (struct mt_cpu){true, 6, 79, 1};
	assert_null(mt_pt_image_add(recording.pieces->image, RECORDINGS "lldb-intelpt-trace/a.out",
				    0, 0x6fc, 0x400000));
	struct pt_events events = pt_decode(recording.config, recording.pieces, 16);

	assert_int_equal(events.stats.instructions, 21);
	assert_int_equal(pt_count(&events, MT_EVENT_GAP), 0);
	assert_int_equal(pt_count(&events, MT_EVENT_JUMP), 5);
	pt_events_free(&events);
	close_recording(&recording);
}

static void test_calls_into_libraries_with_the_loader_missing(void **state)
{
	(void)state;
	const char *folder = RECORDINGS "lldb-intelpt-trace-multi-file/";
	struct recording recording =
	    open_recording(RECORDINGS "lldb-intelpt-trace-multi-file/multi-file.trace");
	char path[200];

	recording.config.cpu = (struct mt_cpu){true, 6, 79, 1};
	snprintf(path, sizeof(path), "%sa.out", folder);
	assert_null(mt_pt_image_add(recording.pieces->image, path, 0, 0x8a4, 0x400000));
	snprintf(path, sizeof(path), "%slibfoo.so", folder);
	assert_null(mt_pt_image_add(recording.pieces->image, path, 0, 0x794, 140737349783552));
	snprintf(path, sizeof(path), "%slibbar.so", folder);
	assert_null(mt_pt_image_add(recording.pieces->image, path, 0, 0x794, 140737347678208));
	struct pt_events events = pt_decode(recording.config, recording.pieces, 16);

	assert_int_equal(events.stats.instructions, 45);
	assert_int_equal(pt_count(&events, MT_EVENT_GAP), 1);
	/* On the second time round the libraries are bound and all is seen. */
	assert_int_equal(pt_count(&events, MT_EVENT_RETURN), 2);
	const struct mt_event *gap = NULL;
	mt_array_each (event, &events.events)
		if (event->kind == MT_EVENT_GAP)
			gap = event;
	assert_int_equal(gap->detail, MT_GAP_NO_CODE);
	assert_int_equal(gap[-1].kind, MT_EVENT_JUMP);
	assert_int_equal(gap[-1].to, 0x7ffff7df1950);
	assert_int_equal(gap[1].kind, MT_EVENT_TRACE_START);
	pt_events_free(&events);
	close_recording(&recording);
}

static void test_hello_with_times(void **state)
{
	(void)state;
	struct recording recording = open_recording(RECORDINGS "dynamorio-hello/pt.bin");

	recording.config.cpu = (struct mt_cpu){true, 6, 85, 4};
	recording.config.timing = (struct mt_pt_timing){.tsc_ctc_numerator = 308,
							.tsc_ctc_denominator = 2,
							.mtc_period = 3,
							.max_nonturbo_ratio = 37,
							.tsc = true,
							.mtc = true,
							.cyc = true};
	recording.config.conversion =
	    (struct mt_time_conversion){31, 581029125, 18444502336406842448ull};
	assert_null(mt_pt_image_add(recording.pieces->image, RECORDINGS "dynamorio-hello/hello",
				    0x1000, 0x1000, 0x401000));
	struct pt_events events = pt_decode(recording.config, recording.pieces, 16);

	assert_int_equal(events.stats.instructions, 8);
	static const struct mt_event wanted[] = {
	    {.kind = MT_EVENT_TRACE_START, .to = 0x401000},
	    {.kind = MT_EVENT_TRACE_END, .from = 0x401000, .detail = MT_TRACE_END_ASYNC},
	    {.kind = MT_EVENT_TRACE_START, .to = 0x401000},
	    {.kind = MT_EVENT_TRACE_END, .from = 0x401019, .detail = MT_TRACE_END_SYSCALL},
	    {.kind = MT_EVENT_TRACE_START, .to = 0x40101b},
	    {.kind = MT_EVENT_TRACE_END, .from = 0x401025, .detail = MT_TRACE_END_SYSCALL},
	};
	assert_int_equal(events.events.count, 6);
	for (size_t i = 0; i < 6; i++) {
		const struct mt_event *event = &events.events.items[i];

		assert_int_equal(event->kind, wanted[i].kind);
		assert_int_equal(event->from, wanted[i].from);
		assert_int_equal(event->to, wanted[i].to);
		assert_int_equal(event->detail, wanted[i].detail);
		assert_int_equal(event->flags, 0);
		if (i)
			assert_true(event->time_ns > event[-1].time_ns);
	}
	pt_events_free(&events);
	close_recording(&recording);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_loop),
	    cmocka_unit_test(test_calls_into_libraries_with_the_loader_missing),
	    cmocka_unit_test(test_hello_with_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
