/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a recording: an error or a recording, sorted, within what was given; and the frames
 * of the stacks that were sampled, and call events, whatever was recorded of them.  Bytes that do
 * not begin as a file are taken for the records behind the start of one in pipe mode, so that the
 * fuzzer need not find that out first. */
#include "decode/sample_frames.h"
#include "perf/recording_private.h"
#include "perf/stack_sample.h"

#include <sys/mman.h>
#include <unistd.h>

#define ATTR_FIELDS                                                                                \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |            \
	 PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER |               \
	 PERF_SAMPLE_WEIGHT)

struct start {
	char magic[MT_PERF_MAGIC_SIZE];
	uint64_t size;
	struct perf_event_header header;
	struct perf_event_attr attr;
	uint64_t id;
};

static const struct start start = {
    .magic = MT_PERF_MAGIC,
    .size = MT_PERF_PIPE_HEADER_SIZE,
    .header = {.type = MT_PERF_RECORD_HEADER_ATTR,
	       .size = sizeof(struct start) - MT_PERF_PIPE_HEADER_SIZE},
    .attr = {.size = sizeof(struct perf_event_attr),
	     .sample_type = ATTR_FIELDS,
	     .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID,
	     .branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK,
	     .sample_regs_user = 0x1ff, /* to the program counter */
	     .sample_id_all = 1},
    .id = 1,
};

static void check(int holds)
{
	if (!holds)
		abort();
}

static uint64_t sum(const uint8_t *bytes, uint64_t size)
{
	uint64_t total = 0;

	for (uint64_t i = 0; i < size; i++)
		total += bytes[i];
	return total;
}

static void use_filters(const struct mt_recording *recording)
{
	for (size_t i = 0; i < mt_recording_filter_count(recording); i++) {
		const struct mt_recording_filter *filter = mt_recording_filter(recording, i);

		check(filter->size && filter->size <= UINT64_MAX - filter->start);
		check(!filter->path || *filter->path);
	}
}

static void use_sideband(const struct mt_recording *recording)
{
	const struct mt_sideband *records = mt_recording_sideband(recording);

	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++) {
		const struct mt_sideband *record = &records[i];

		check(i == 0 || records[i - 1].time_ns <= record->time_ns);
		if (record->kind == MT_SIDEBAND_MMAP)
			check(strlen(record->mmap.path) < 65536 &&
			      record->mmap.build_id_size <= sizeof(record->mmap.build_id));
		if (record->kind == MT_SIDEBAND_COMM)
			check(strlen(record->comm.name) < 65536);
		if (record->kind == MT_SIDEBAND_SAMPLE) {
			check(mt_recording_event_name(recording, record->sample.event) != NULL);
			sum(record->sample.raw, record->sample.raw_size);
		}
	}
}

/* All memory is code, which has no tables: the unwinder goes by what the stack holds. */
static struct mt_space *all_code(void)
{
	static const struct mt_mapping everywhere = {.end = 1ull << 47, .path = "//anon"};
	static struct mt_space_pool *pool;
	static struct mt_space *space;

	if (!space)
		check(!mt_space_pool_create(NULL, &pool) && !mt_space_create(pool, 1, &space) &&
		      !mt_space_add(space, &everywhere));
	return space;
}

static void use_stacks(struct mt_recording *recording)
{
	const struct mt_sideband *records = mt_recording_sideband(recording);
	static uint8_t buffer[MT_STACK_SAMPLE_BYTES];
	mt_sample_frames frames = {0};
	struct mt_stack_sample sample;

	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++) {
		if (records[i].kind != MT_SIDEBAND_SAMPLE || !records[i].sample.stack.size)
			continue;
		check(!mt_stack_sample_read(recording, &records[i], buffer, &sample));
		sum(sample.memory, sample.memory_size);
		check(!mt_sample_frames_read(&records[i], &sample, all_code(), &frames));
		check(frames.count > 0);
	}
	mt_array_deinit(&frames);
	mt_recording_is_of_samples(recording);
}

/* Whatever is in a batch, no more comes of it than it said. */
static void use_calls(struct mt_recording *recording)
{
	for (size_t i = 0; i < mt_recording_call_thread_count(recording); i++) {
		uint64_t left = mt_recording_call_thread(recording, i)->events;
		struct mt_recording_calls *calls = NULL;
		struct mt_error *error = NULL;
		struct mt_event events[100];
		size_t count = 0;

		check(!mt_recording_calls_open(recording, i, &calls));
		do {
			error = mt_recording_calls_next(calls, events, 100, &count);
			check(count <= left && count <= 100);
			left -= count;
		} while (!error && count);
		check(error || !left);
		mt_error_destroy(error);
		mt_recording_calls_close(calls);
	}
}

static void use_aux(const struct mt_recording *recording)
{
	for (size_t i = 0; i < mt_recording_auxtrace_count(recording); i++) {
		const struct mt_auxtrace *piece = mt_recording_auxtrace(recording, i);
		uint8_t *bytes = NULL;

		check(piece->file_offset + piece->size <= recording->file_size);
		if (!piece->size)
			continue;
		check(!mt_recording_map_aux(recording, i, 0, piece->size, &bytes));
		sum(bytes, piece->size);
		mt_recording_unmap_aux(bytes, piece->size);
	}
}

static struct mt_error *see_record(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				   uint64_t size, const char *name)
{
	(void)context;
	(void)offset;
	(void)type;
	(void)misc;
	check(name && size >= sizeof(struct perf_event_header));
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct mt_recording *recording = NULL;
	int fd = memfd_create("recording", 0);
	bool is_whole =
	    size >= MT_PERF_MAGIC_SIZE && memcmp(bytes, MT_PERF_MAGIC, MT_PERF_MAGIC_SIZE) == 0;

	check(fd >= 0);
	if (!is_whole)
		check(write(fd, &start, sizeof(start)) == sizeof(start));
	check(write(fd, bytes, size) == (ssize_t)size);
	struct mt_error *error = mt_recording_open_fd(fd, "fuzz", NULL, &recording);
	check(!error == !!recording);
	mt_error_destroy(error);
	if (recording) {
		use_filters(recording);
		use_sideband(recording);
		use_stacks(recording);
		use_calls(recording);
		use_aux(recording);
		check(!mt_recording_each_record(recording, see_record, NULL));
	}
	mt_recording_close(recording);
	return 0;
}
