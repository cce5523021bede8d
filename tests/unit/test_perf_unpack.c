/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packed records (perf record -z): both forms, cut at any place, garbled, and traps. */
#include "perf_fixture.h"

#include "perf/block.h"
#include "perf/recording_private.h"

#include <zstd.h>

#define COMM_COUNT 1000

static void put_comm(struct mt_str *block, uint32_t pid)
{
	const struct perf_event_header header = {.type = PERF_RECORD_COMM};
	size_t start = block->length;

	mt_block_put(block, &header, sizeof(header));
	mt_block_put_u32(block, pid);
	mt_block_put_u32(block, pid);
	mt_block_put_text(block, "packed");
	mt_block_end_record(block, start);
}

/* Pipe mode: no header to get right. */
static void put_start(struct mt_str *block)
{
	const struct perf_event_header header = {.type = MT_PERF_RECORD_HEADER_ATTR};
	const struct perf_event_attr attr = {.size = sizeof(attr), .sample_type = 0};

	mt_block_put(block, MT_PERF_MAGIC, MT_PERF_MAGIC_SIZE);
	mt_block_put_u64(block, MT_PERF_PIPE_HEADER_SIZE);
	size_t start = block->length;
	mt_block_put(block, &header, sizeof(header));
	mt_block_put(block, &attr, sizeof(attr));
	mt_block_end_record(block, start);
}

static void put_packed(struct mt_str *block, uint32_t type, const void *data, size_t size)
{
	const struct perf_event_header header = {.type = type};
	size_t start = block->length;

	mt_block_put(block, &header, sizeof(header));
	if (type == MT_PERF_RECORD_COMPRESSED2)
		mt_block_put_u64(block, size);
	mt_block_put(block, data, size);
	if (type == MT_PERF_RECORD_COMPRESSED2)
		mt_block_pad(block, MT_PERF_ALIGNMENT);
	mt_block_end_record(block, start);
}

static struct mt_str pack(const struct mt_str *records)
{
	struct mt_str packed = {0};
	size_t room = ZSTD_compressBound(records->length);
	char *bytes = malloc(room);
	size_t size = ZSTD_compress(bytes, room, records->text, records->length, 3);

	assert_false(ZSTD_isError(size));
	mt_str_append_bytes(&packed, bytes, size);
	free(bytes);
	return packed;
}

/* Packed data in records of STEP bytes each. */
static struct mt_str make_file(uint32_t type, const struct mt_str *packed, size_t step)
{
	struct mt_str file = {0};

	put_start(&file);
	for (size_t at = 0; at < packed->length; at += step)
		put_packed(&file, type, packed->text + at,
			   packed->length - at < step ? packed->length - at : step);
	return file;
}

static struct mt_recording *open_file(const struct mt_str *file)
{
	char name[] = "/tmp/mt-unpack-XXXXXX";
	struct mt_recording *recording = NULL;
	int fd = mkstemp(name);

	unlink(name);
	assert_int_equal(write(fd, file->text, file->length), file->length);
	assert_no_error(mt_recording_open_fd(fd, name, NULL, &recording));
	return recording;
}

static struct mt_str many_comms(void)
{
	struct mt_str records = {0};

	for (uint32_t pid = 1; pid <= COMM_COUNT; pid++)
		put_comm(&records, pid);
	return records;
}

static void check_all_there(const struct mt_str *file)
{
	struct mt_recording *recording = open_file(file);

	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	assert_false(mt_recording_info(recording)->is_truncated);
	assert_int_equal(mt_recording_sideband_count(recording), COMM_COUNT);
	for (int i = 0; i < COMM_COUNT; i++) {
		assert_int_equal(mt_recording_sideband(recording)[i].pid, i + 1);
		assert_string_equal(mt_recording_sideband(recording)[i].comm.name, "packed");
	}
	mt_recording_close(recording);
}

static void unpacks_whatever_the_cuts(void **state)
{
	const uint32_t types[] = {MT_PERF_RECORD_COMPRESSED, MT_PERF_RECORD_COMPRESSED2};
	const size_t steps[] = {1, 7, 100, 60000};
	struct mt_str records = many_comms();
	struct mt_str packed = pack(&records);

	(void)state;
	for (int i = 0; i < 2; i++) {
		for (int j = 0; j < 4; j++) {
			struct mt_str file = make_file(types[i], &packed, steps[j]);

			check_all_there(&file);
			mt_str_deinit(&file);
		}
	}
	mt_str_deinit(&packed);
	mt_str_deinit(&records);
}

static void counts_what_cannot_be_unpacked(void **state)
{
	struct mt_str packed = {0};

	(void)state;
	mt_str_append(&packed, "this is not what zstd makes");
	struct mt_str file = make_file(MT_PERF_RECORD_COMPRESSED, &packed, 100);
	put_comm(&file, 5);
	struct mt_recording *recording = open_file(&file);
	assert_int_equal(mt_recording_info(recording)->bad_records, 1);
	assert_int_equal(mt_recording_sideband_count(recording), 1);
	mt_recording_close(recording);
	mt_str_deinit(&file);
	mt_str_deinit(&packed);
}

/* 1 GiB of zeros in 32 KiB: neither unpacked nor kept. */
static void is_not_trapped(void **state)
{
	const size_t size = 1u << 30;
	struct mt_str zeros = {.text = calloc(1, size), .length = size};

	(void)state;
	struct mt_str packed = pack(&zeros);
	free(zeros.text);
	struct mt_str file = make_file(MT_PERF_RECORD_COMPRESSED2, &packed, 60000);
	struct mt_recording *recording = open_file(&file);
	assert_true(mt_recording_info(recording)->bad_records > 0);
	assert_int_equal(mt_recording_sideband_count(recording), 0);
	mt_recording_close(recording);
	mt_str_deinit(&file);
	mt_str_deinit(&packed);
}

/* A record with data behind it has no place there: it would point outside of the file. */
static void believes_no_packed_aux_data(void **state)
{
	const struct mt_perf_auxtrace auxtrace = {
	    .header = {.type = MT_PERF_RECORD_AUXTRACE, .size = sizeof(auxtrace)},
	    .size = 1u << 20,
	};
	struct mt_str records = {0};

	(void)state;
	mt_block_put(&records, &auxtrace, sizeof(auxtrace));
	struct mt_str packed = pack(&records);
	struct mt_str file = make_file(MT_PERF_RECORD_COMPRESSED, &packed, 100);
	struct mt_recording *recording = open_file(&file);
	assert_int_equal(mt_recording_info(recording)->bad_records, 1);
	assert_int_equal(mt_recording_auxtrace_count(recording), 0);
	mt_recording_close(recording);
	mt_str_deinit(&file);
	mt_str_deinit(&packed);
	mt_str_deinit(&records);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(unpacks_whatever_the_cuts),
	    cmocka_unit_test(counts_what_cannot_be_unpacked),
	    cmocka_unit_test(is_not_trapped),
	    cmocka_unit_test(believes_no_packed_aux_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
