/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of recordings: one that uses every record, and what a command prints. */
#ifndef PERF_FIXTURE_H
#define PERF_FIXTURE_H

#include "unit.h"

#include "base/array.h"
#include "perf/recording_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HELLO "../shared/recordings/dynamorio-hello"
#define NOW   1385530563887104ull /* when pt.bin of dynamorio-hello was recorded */

/* Returns what COMMAND prints, for free(). */
static inline char *output_of(const char *format, ...)
{
	char command[1024];
	char *text = calloc(1, 1 << 20);
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	FILE *stream = popen(command, "r");
	assert_non_null(stream);
	size_t size = fread(text, 1, (1 << 20) - 1, stream);
	text[size] = '\0';
	pclose(stream);
	return text;
}

static inline void check_contains(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("\"%s\" is not in:\n%s", wanted, text);
}

static inline void check_lacks(const char *text, const char *unwanted)
{
	if (strstr(text, unwanted))
		fail_msg("\"%s\" is in:\n%s", unwanted, text);
}

static inline void require_perf(void)
{
	if (system("perf --version >/dev/null 2>&1")) {
		print_message("perf is not installed: apt-get install linux-perf\n");
		skip();
	}
}

/* A file's bytes, for free(); NULL where it is not there. */
static inline uint8_t *read_bytes(const char *path, size_t *size)
{
	FILE *stream = fopen(path, "rb");

	if (!stream)
		return NULL;
	fseek(stream, 0, SEEK_END);
	*size = (size_t)ftell(stream);
	rewind(stream);
	uint8_t *bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, stream), *size);
	fclose(stream);
	return bytes;
}

static const struct mt_recording_pt hello_pt = {
    .tsc = true,
    .mtc = true,
    .cyc = true,
    .return_compression = true,
    .mtc_period = 3,
    .max_nonturbo_ratio = 37,
    .tsc_ctc_numerator = 308,
    .tsc_ctc_denominator = 2,
    .cpu_is_intel = true,
    .cpu_family = 6,
    .cpu_model = 85,
    .cpu_stepping = 4,
};

static const struct mt_time_conversion hello_conversion = {
    .shift = 31,
    .mult = 581029125,
    .zero_ns = 18444502336406842448ull,
};

/* All kinds of sideband, in the order of their times; 100 is the process, 101 its thread. */
static const struct mt_sideband every_record[] = {
    {.kind = MT_SIDEBAND_COMM, .tid = 100, .comm = {.name = "hello", .exec = true}},
    {.kind = MT_SIDEBAND_MMAP,
     .tid = 100,
     .mmap = {.start = 0x7f0000000000,
	      .length = 0x3000,
	      .offset = 0x2000,
	      .path = "/lib/with-build-id.so",
	      .executable = true,
	      .build_id_size = 20,
	      .build_id = "abcdefghijklmnopqrs"}},
    {.kind = MT_SIDEBAND_MMAP,
     .tid = 100,
     .mmap = {.start = 0x600000, .length = 0x1000, .path = "//anon"}},
    {.kind = MT_SIDEBAND_ITRACE_START, .tid = 100},
    {.kind = MT_SIDEBAND_AUX, .tid = 100, .aux = {.offset = 64, .size = 16, .flags = 1}},
    {.kind = MT_SIDEBAND_FORK, .tid = 101, .fork = {100, 100}},
    {.kind = MT_SIDEBAND_SWITCH, .tid = 100, .context_switch = {true, true, -1, -1}},
    {.kind = MT_SIDEBAND_SWITCH, .tid = 101, .context_switch = {false, false, 100, 100}},
    {.kind = MT_SIDEBAND_SAMPLE,
     .tid = 101,
     .sample = {MT_NOTE_SIGNAL, .ip = 0x401005, .address = 0xdead, .weight = 11}},
    {.kind = MT_SIDEBAND_SAMPLE,
     .tid = 101,
     .sample = {MT_NOTE_TRIGGER, .ip = 0x401005, .weight = 3}},
    {.kind = MT_SIDEBAND_SAMPLE, .tid = 101, .sample = {MT_NOTE_SNAPSHOT, .weight = 4}},
    {.kind = MT_SIDEBAND_SAMPLE, .tid = 101, .sample = {MT_NOTE_EXIT, .weight = 139}},
    {.kind = MT_SIDEBAND_LOST, .tid = 101, .lost = {.lost = 7}},
    {.kind = MT_SIDEBAND_AUXTRACE_ERROR, .tid = 101, .error = {"out of step", 0x401010}},
    {.kind = MT_SIDEBAND_EXIT, .tid = 101, .fork = {100, 100}},
};
#define EVERY_RECORD_COUNT (sizeof(every_record) / sizeof(every_record[0]))

static inline struct mt_sideband record_at(size_t index)
{
	struct mt_sideband record = every_record[index];

	record.pid = 100;
	record.cpu = -1;
	record.time_ns = NOW + 1000 * (index + 1);
	return record;
}

static inline struct mt_recording_writer *start_writer(const char *path)
{
	static const char *const command[] = {"/bin/hello", "with space", NULL};
	const struct mt_recording_writer_options options = {
	    .pt = &hello_pt,
	    .conversion = hello_conversion,
	    .command = command,
	};
	struct mt_recording_writer *writer = NULL;

	assert_no_error(mt_recording_writer_create(path, &options, &writer));
	return writer;
}

/* Whose filters will be told. */
static inline struct mt_recording_writer *start_filtered_writer(const char *path)
{
	struct mt_recording_pt pt = hello_pt;
	const struct mt_recording_writer_options options = {.pt = &pt,
							    .conversion = hello_conversion};
	struct mt_recording_writer *writer = NULL;

	pt.filtered = true;
	assert_no_error(mt_recording_writer_create(path, &options, &writer));
	return writer;
}

static inline void put_every_record(struct mt_recording_writer *writer)
{
	for (size_t i = 0; i < EVERY_RECORD_COUNT; i++) {
		struct mt_sideband record = record_at(i);

		assert_no_error(mt_recording_writer_put(writer, &record));
	}
}

static inline void put_aux(struct mt_recording_writer *writer, uint32_t idx, const void *bytes,
			   size_t size)
{
	const struct mt_auxtrace piece = {
	    .size = size,
	    .reference = 77,
	    .idx = idx,
	    .tid = 100 + (int32_t)idx,
	    .cpu = -1,
	};

	assert_no_error(mt_recording_writer_put_aux(writer, &piece, bytes));
}

static inline void finish(struct mt_recording_writer *writer)
{
	assert_no_error(mt_recording_writer_finish(writer));
	mt_recording_writer_destroy(writer);
}

/* A name in a directory of the test's own. */
static inline char *make_path(void)
{
	char *path = calloc(1, 64);

	strcpy(path, "/tmp/mt-perf-XXXXXX");
	assert_non_null(mkdtemp(path));
	return strcat(path, "/perf.data");
}

static inline void remove_path(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	assert_int_equal(rmdir(path), 0);
	free(path);
}

#endif
