/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which AUXTRACE records are one stream, and whose it is. */
#include "perf_fixture.h"

#include "decode/pt_stream.h"

#include <linux/perf_event.h>

static void put_piece(struct mt_recording_writer *writer, int32_t tid, int32_t cpu)
{
	static const uint8_t bytes[8];
	const struct mt_auxtrace piece = {
	    .size = sizeof(bytes),
	    .reference = 1,
	    .idx = cpu < 0 ? 0 : (uint32_t)cpu,
	    .tid = tid,
	    .cpu = cpu,
	};

	assert_no_error(mt_recording_writer_put_aux(writer, &piece, bytes));
}

/* A recording of thread 100 with a piece of each of these CPUs. */
static struct mt_recording *recording_of(const char *path, bool switches, const int *cpus,
					 size_t count)
{
	struct mt_recording_writer *writer = start_writer(path);
	struct mt_sideband change = {.kind = MT_SIDEBAND_SWITCH,
				     .time_ns = NOW,
				     .pid = 100,
				     .tid = 101,
				     .context_switch = {false, false, 0, 0}};
	struct mt_recording *recording = NULL;

	if (switches)
		assert_no_error(mt_recording_writer_put(writer, &change));
	for (size_t i = 0; i < count; i++)
		put_piece(writer, 100, cpus[i]);
	finish(writer);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	return recording;
}

static void check_streams(bool switches, const int *cpus, size_t count, size_t streams_expected,
			  int32_t tid_expected)
{
	char *path = make_path();
	struct mt_recording *recording = recording_of(path, switches, cpus, count);
	mt_pt_streams streams = {0};

	assert_no_error(mt_pt_streams_read(recording, &streams));
	assert_int_equal(streams.count, streams_expected);
	mt_array_each (stream, &streams)
		assert_int_equal(stream->tid, tid_expected);
	mt_pt_streams_deinit(&streams);
	mt_recording_close(recording);
	remove_path(path);
}

static void a_thread_has_one(void **state)
{
	const int cpus[] = {-1, -1, -1};

	(void)state;
	check_streams(false, cpus, 3, 1, 100);
}

/* perf record ./program: the program's number, and the CPU's. */
static void a_cpu_that_names_a_thread_is_a_cpu(void **state)
{
	const int cpus[] = {0, 1, 0};

	(void)state;
	check_streams(true, cpus, 3, 2, -1);
}

static void without_switches_it_is_the_thread(void **state)
{
	const int cpus[] = {0, 1, 0};

	(void)state;
	check_streams(false, cpus, 3, 2, 100);
}

/* A piece of 8 bytes, of which the kernel says that what came behind byte END was lost. */
static void check_loss(uint64_t end, size_t pieces_expected, uint64_t last_expected)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	struct mt_recording *recording = NULL;
	struct mt_pt_piece piece = {0};
	mt_pt_streams streams = {0};
	struct mt_sideband aux = {.kind = MT_SIDEBAND_AUX,
				  .time_ns = NOW,
				  .pid = 100,
				  .tid = 100,
				  .cpu = -1,
				  .aux = {.size = end, .flags = PERF_AUX_FLAG_TRUNCATED}};

	assert_no_error(mt_recording_writer_put(writer, &aux));
	put_piece(writer, 100, -1);
	finish(writer);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_no_error(mt_pt_streams_read(recording, &streams));
	assert_int_equal(streams.items[0].pieces.count, pieces_expected);
	for (size_t i = 0; i < pieces_expected; i++) {
		assert_int_equal(mt_pt_stream_next_piece(&streams.items[0], &piece), 1);
		assert_int_equal(piece.has_gap, i > 0);
	}
	assert_int_equal(piece.size, last_expected);
	assert_int_equal(mt_pt_stream_next_piece(&streams.items[0], &piece), 0);
	assert_null(streams.items[0].error);
	mt_pt_streams_deinit(&streams);
	mt_recording_close(recording);
	remove_path(path);
}

static void a_loss_is_a_gap_wherever_it_is(void **state)
{
	(void)state;
	check_loss(5, 2, 3);
	check_loss(8, 2, 0);
}

/* perf record pads its records to 8 bytes, which the offsets do not count. */
static void put_padded(struct mt_recording_writer *writer, uint64_t offset, uint64_t size)
{
	static const uint8_t bytes[24];
	const struct mt_auxtrace piece = {
	    .size = (size + 7) & ~7ull, .offset = offset, .reference = 1, .tid = 100, .cpu = -1};

	assert_no_error(mt_recording_writer_put_aux(writer, &piece, bytes));
}

static void check_padding(bool with_loss)
{
	static const uint64_t sizes[] = {13, 8, 17, 24};
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	struct mt_recording *recording = NULL;
	struct mt_pt_piece piece = {0};
	mt_pt_streams streams = {0};
	struct mt_sideband aux = {.kind = MT_SIDEBAND_AUX,
				  .time_ns = NOW,
				  .pid = 100,
				  .tid = 100,
				  .cpu = -1,
				  .aux = {.size = 13, .flags = PERF_AUX_FLAG_TRUNCATED}};
	uint64_t offset = 0;

	if (with_loss)
		assert_no_error(mt_recording_writer_put(writer, &aux));
	for (size_t i = 0; i < 4; offset += sizes[i++])
		put_padded(writer, offset, sizes[i]);
	finish(writer);
	assert_no_error(mt_recording_open(path, NULL, &recording));
	assert_no_error(mt_pt_streams_read(recording, &streams));
	assert_int_equal(streams.count, 1);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(mt_pt_stream_next_piece(&streams.items[0], &piece), 1);
		if (with_loss && i == 1) {
			assert_int_equal(piece.size, 0);
			assert_true(piece.has_gap);
			assert_int_equal(mt_pt_stream_next_piece(&streams.items[0], &piece), 1);
		}
		assert_int_equal(piece.size, sizes[i]);
		assert_int_equal(piece.joined, i > 0);
		assert_false(piece.has_gap);
	}
	assert_int_equal(mt_pt_stream_next_piece(&streams.items[0], &piece), 0);
	mt_pt_streams_deinit(&streams);
	mt_recording_close(recording);
	remove_path(path);
}

static void padding_is_no_overlap(void **state)
{
	(void)state;
	check_padding(false);
	check_padding(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_thread_has_one),
	    cmocka_unit_test(a_cpu_that_names_a_thread_is_a_cpu),
	    cmocka_unit_test(without_switches_it_is_the_thread),
	    cmocka_unit_test(a_loss_is_a_gap_wherever_it_is),
	    cmocka_unit_test(padding_is_no_overlap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
