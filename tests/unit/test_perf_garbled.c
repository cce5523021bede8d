/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings that were cut off, or whose bytes were changed: they open with what is sound, or are
 * refused with a word.  Under ASan and UBSan this is the test that no byte is believed. */
#include "perf_fixture.h"

#include "perf/format.h"

#include <fcntl.h>

#define QUIPPER "../shared/recordings/quipper/perf.data.intel_pt-4.14"

struct file {
	char *path;
	uint8_t *bytes;
	size_t size;
};

/* Every record, and AUX data between them. */
static struct file make_file(void)
{
	struct file file = {.path = make_path()};
	struct mt_recording_writer *writer = start_filtered_writer(file.path);
	uint8_t aux[200] = {1, 2, 3};

	assert_no_error(
	    mt_recording_writer_set_filter(writer, "filter 0x1000/0x10@/a,stop 0x20/0x4@/b"));
	put_aux(writer, 0, aux, sizeof(aux));
	put_every_record(writer);
	put_aux(writer, 1, aux, sizeof(aux));
	put_every_record(writer);
	finish(writer);
	file.bytes = read_bytes(file.path, &file.size);
	return file;
}

static void drop_file(struct file *file)
{
	free(file->bytes);
	remove_path(file->path);
}

static struct mt_error *open_bytes(const char *path, const void *bytes, size_t size,
				   struct mt_recording **recording)
{
	/* Of what was truncated to nothing, some file systems write the data out at close(). */
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	close(fd);
	return mt_recording_open(path, NULL, recording);
}

static struct mt_error *ignore_record(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				      uint64_t size, const char *name)
{
	(void)context;
	(void)offset;
	(void)type;
	(void)misc;
	(void)size;
	assert_non_null(name);
	return NULL;
}

static size_t sum(const uint8_t *bytes, size_t size)
{
	size_t total = 0;

	for (size_t i = 0; i < size; i++)
		total += bytes[i];
	return total;
}

/* Touch all that a recording lends. */
static size_t use(struct mt_recording *recording)
{
	size_t total = 0;

	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++) {
		const struct mt_sideband *record = &mt_recording_sideband(recording)[i];

		if (record->kind == MT_SIDEBAND_MMAP)
			total += strlen(record->mmap.path) +
				 sum(record->mmap.build_id, record->mmap.build_id_size);
		else if (record->kind == MT_SIDEBAND_COMM)
			total += strlen(record->comm.name);
		else if (record->kind == MT_SIDEBAND_SAMPLE)
			total += strlen(mt_recording_event_name(recording, record->sample.event)) +
				 sum(record->sample.raw, record->sample.raw_size);
	}
	for (size_t i = 0; i < mt_recording_filter_count(recording); i++)
		if (mt_recording_filter(recording, i)->path)
			total += strlen(mt_recording_filter(recording, i)->path);
	for (size_t i = 0; i < mt_recording_auxtrace_count(recording); i++) {
		uint64_t size = mt_recording_auxtrace(recording, i)->size;
		uint8_t *bytes = NULL;

		if (!size)
			continue;
		assert_no_error(mt_recording_map_aux(recording, i, 0, size, &bytes));
		total += sum(bytes, size);
		mt_recording_unmap_aux(bytes, size);
	}
	assert_no_error(mt_recording_each_record(recording, ignore_record, NULL));
	return total;
}

static void opens_what_is_there_of_a_cut_off_file(void **state)
{
	struct file file = make_file();
	struct mt_perf_header header;
	size_t last = 0;

	(void)state;
	memcpy(&header, file.bytes, sizeof(header));
	size_t end = header.data.offset + header.data.size;
	for (size_t size = header.data.offset; size < end; size++) {
		struct mt_recording *recording = NULL;

		assert_no_error(open_bytes(file.path, file.bytes, size, &recording));
		use(recording);
		const struct mt_recording_info *info = mt_recording_info(recording);
		size_t count = mt_recording_sideband_count(recording);
		assert_true(info->is_truncated);
		assert_int_equal(info->bad_records, 0);
		assert_true(count == last || count == last + 1);
		last = count;
		mt_recording_close(recording);
	}
	assert_int_equal(last, 2 * EVERY_RECORD_COUNT - 1);
	drop_file(&file);
}

static void a_cut_off_piece_of_aux_data_is_as_long_as_it_is_there(void **state)
{
	struct file file = make_file();
	struct mt_recording *recording = NULL;

	(void)state;
	assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
	size_t start = mt_recording_auxtrace(recording, 1)->file_offset;
	mt_recording_close(recording);
	assert_no_error(open_bytes(file.path, file.bytes, start + 77, &recording));
	assert_int_equal(mt_recording_auxtrace_count(recording), 2);
	assert_int_equal(mt_recording_auxtrace(recording, 1)->size, 77);
	use(recording);
	mt_recording_close(recording);
	drop_file(&file);
}

static void refuses_a_file_without_its_attributes(void **state)
{
	struct file file = make_file();
	struct mt_perf_header header;

	(void)state;
	memcpy(&header, file.bytes, sizeof(header));
	for (size_t size = 0; size < header.data.offset; size++) {
		struct mt_recording *recording = NULL;

		assert_error(open_bytes(file.path, file.bytes, size, &recording), MT_ERROR_FORMAT,
			     file.path);
	}
	drop_file(&file);
}

static void refuses_ids_outside_of_the_file(void **state)
{
	struct file file = make_file();
	struct mt_recording *recording = NULL;
	struct mt_perf_header header;
	const struct mt_perf_section ids = {file.size + 8, 8};

	(void)state;
	memcpy(&header, file.bytes, sizeof(header));
	memcpy(file.bytes + header.attrs.offset + header.attr_size - sizeof(ids), &ids,
	       sizeof(ids));
	assert_error(open_bytes(file.path, file.bytes, file.size, &recording), MT_ERROR_FORMAT,
		     "the ids of its events");
	drop_file(&file);
}

/* What features there are of it is used. */
static void opens_a_file_cut_off_within_its_features(void **state)
{
	struct file file = make_file();
	struct mt_perf_header header;

	(void)state;
	memcpy(&header, file.bytes, sizeof(header));
	for (size_t size = header.data.offset + header.data.size; size < file.size; size++) {
		struct mt_recording *recording = NULL;

		assert_no_error(open_bytes(file.path, file.bytes, size, &recording));
		use(recording);
		assert_true(mt_recording_info(recording)->is_truncated);
		assert_int_equal(mt_recording_sideband_count(recording), 2 * EVERY_RECORD_COUNT);
		mt_recording_close(recording);
	}
	drop_file(&file);
}

struct places {
	size_t count;
	uint64_t offsets[64];
};

static struct mt_error *note_place(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				   uint64_t size, const char *name)
{
	struct places *places = context;

	(void)type;
	(void)misc;
	(void)size;
	(void)name;
	assert_true(places->count < 64);
	places->offsets[places->count++] = offset;
	return NULL;
}

static struct places find_places(const struct file *file)
{
	struct mt_recording *recording = NULL;
	struct places places = {0};

	assert_no_error(mt_recording_open(file->path, NULL, &recording));
	assert_no_error(mt_recording_each_record(recording, note_place, &places));
	mt_recording_close(recording);
	return places;
}

/* One bad record costs itself, not those behind it. */
static void goes_on_behind_a_record_of_impossible_size(void **state)
{
	struct file file = make_file();
	struct places places = find_places(&file);

	(void)state;
	for (size_t i = 0; i < places.count; i++) {
		uint8_t *size =
		    file.bytes + places.offsets[i] + offsetof(struct perf_event_header, size);
		const uint8_t was[2] = {size[0], size[1]};
		struct mt_recording *recording = NULL;

		size[0] = 7;
		size[1] = 0;
		assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
		use(recording);
		assert_int_equal(mt_recording_info(recording)->bad_records, 1);
		assert_false(mt_recording_info(recording)->is_truncated);
		assert_true(mt_recording_sideband_count(recording) + 1 >= 2 * EVERY_RECORD_COUNT);
		mt_recording_close(recording);
		memcpy(size, was, sizeof(was));
	}
	drop_file(&file);
}

static void aux_data_that_cannot_be_so_large_is_a_bad_record(void **state)
{
	struct file file = make_file();
	struct mt_recording *recording = NULL;
	const uint64_t huge = UINT64_MAX - 7;

	(void)state;
	assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
	size_t start = mt_recording_auxtrace(recording, 0)->file_offset;
	mt_recording_close(recording);
	memcpy(file.bytes + start - sizeof(struct mt_perf_auxtrace) + 8, &huge, sizeof(huge));
	assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
	assert_int_equal(mt_recording_info(recording)->bad_records, 1);
	assert_int_equal(mt_recording_auxtrace_count(recording), 1);
	assert_int_equal(mt_recording_sideband_count(recording), 2 * EVERY_RECORD_COUNT);
	mt_recording_close(recording);
	drop_file(&file);
}

/* A second stream of the same thread would begin its time anew. */
static void aux_data_of_no_cpu_is_a_bad_record(void **state)
{
	struct file file = make_file();
	struct mt_recording *recording = NULL;
	const int32_t cpu = -257;

	(void)state;
	assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
	size_t start = mt_recording_auxtrace(recording, 1)->file_offset;
	mt_recording_close(recording);
	memcpy(file.bytes + start - sizeof(struct mt_perf_auxtrace) +
		   offsetof(struct mt_perf_auxtrace, cpu),
	       &cpu, sizeof(cpu));
	assert_no_error(open_bytes(file.path, file.bytes, file.size, &recording));
	assert_int_equal(mt_recording_info(recording)->bad_records, 1);
	assert_int_equal(mt_recording_auxtrace_count(recording), 1);
	assert_int_equal(mt_recording_sideband_count(recording), 2 * EVERY_RECORD_COUNT);
	mt_recording_close(recording);
	drop_file(&file);
}

/* xorshift: the same numbers every time. */
static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

static void change_bytes(const struct file *file, size_t within, int rounds)
{
	uint8_t *changed = malloc(file->size);
	uint32_t seed = 2463534242;

	for (int round = 0; round < rounds; round++) {
		struct mt_recording *recording = NULL;

		memcpy(changed, file->bytes, file->size);
		for (uint32_t count = 1 + next_random(&seed) % 8; count; count--)
			changed[next_random(&seed) % within] = (uint8_t)next_random(&seed);
		struct mt_error *error = open_bytes(file->path, changed, file->size, &recording);
		if (!error)
			use(recording);
		mt_error_destroy(error);
		mt_recording_close(recording);
	}
	free(changed);
}

/* Bytes that this process has read so far; 0: the kernel does not count them. */
static unsigned long bytes_read(void)
{
	FILE *stream = fopen("/proc/self/io", "r");
	unsigned long bytes = 0;

	if (stream && fscanf(stream, "rchar: %lu", &bytes) != 1)
		bytes = 0;
	if (stream)
		fclose(stream);
	return bytes;
}

/* Behind a bad record 1000 that each claim to end elsewhere, in the midst of rubbish. */
static void liars_do_not_make_it_read_the_file_again_and_again(void **state)
{
	const size_t liars = 1000, rubbish = 4 << 20;
	struct file file = make_file();
	struct mt_recording *recording = NULL;
	struct mt_perf_header header;

	(void)state;
	memcpy(&header, file.bytes, sizeof(header));
	size_t begin = header.data.offset, size = begin + 8 + 24 * liars + rubbish;
	uint8_t *bytes = malloc(size);
	assert_non_null(bytes);
	memset(bytes, 0xff, size);
	memcpy(bytes, file.bytes, begin);
	header.data.size = size - begin;
	memcpy(bytes, &header, sizeof(header));
	memset(bytes + begin, 0, 8);
	for (size_t i = 0; i < liars; i++) {
		const struct perf_event_header liar = {.type = MT_PERF_RECORD_AUXTRACE, .size = 16};
		const uint64_t following = rubbish / 2;

		memcpy(bytes + begin + 8 + 24 * i, &liar, sizeof(liar));
		memcpy(bytes + begin + 16 + 24 * i, &following, sizeof(following));
	}
	unsigned long before = bytes_read();
	assert_no_error(open_bytes(file.path, bytes, size, &recording));
	if (before)
		assert_true(bytes_read() - before < 8 * size);
	assert_int_equal(mt_recording_info(recording)->bad_records, 1);
	mt_recording_close(recording);
	free(bytes);
	drop_file(&file);
}

static void survives_changed_bytes(void **state)
{
	struct file file = make_file();

	(void)state;
	change_bytes(&file, file.size, 3000);
	drop_file(&file);
}

static void survives_changed_bytes_of_real_hardware(void **state)
{
	struct file file = {.path = make_path()};

	(void)state;
	file.bytes = read_bytes(QUIPPER, &file.size);
	if (!file.bytes) {
		print_message(QUIPPER " is not there\n");
		remove_path(file.path);
		skip();
	}
	change_bytes(&file, 12000, 300); /* before the AUX data */
	drop_file(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(opens_what_is_there_of_a_cut_off_file),
	    cmocka_unit_test(a_cut_off_piece_of_aux_data_is_as_long_as_it_is_there),
	    cmocka_unit_test(refuses_a_file_without_its_attributes),
	    cmocka_unit_test(refuses_ids_outside_of_the_file),
	    cmocka_unit_test(opens_a_file_cut_off_within_its_features),
	    cmocka_unit_test(goes_on_behind_a_record_of_impossible_size),
	    cmocka_unit_test(aux_data_that_cannot_be_so_large_is_a_bad_record),
	    cmocka_unit_test(aux_data_of_no_cpu_is_a_bad_record),
	    cmocka_unit_test(liars_do_not_make_it_read_the_file_again_and_again),
	    cmocka_unit_test(survives_changed_bytes),
	    cmocka_unit_test(survives_changed_bytes_of_real_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
