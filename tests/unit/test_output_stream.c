/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "output/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

static char directory[64];

static int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/mtrace-stream-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory); /* fails when something was left in it */
}

static const char *path_of(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* zlib reads both, packed and not. */
static size_t read_back(const char *path, char *bytes, size_t size)
{
	gzFile file = gzopen(path, "rb");

	assert_non_null(file);
	int count = gzread(file, bytes, (unsigned)size);
	assert_true(count >= 0);
	assert_int_equal(gzclose(file), Z_OK);
	return (size_t)count;
}

static int first_byte(const char *path)
{
	FILE *file = fopen(path, "rb");

	assert_non_null(file);
	int byte = fgetc(file);
	fclose(file);
	return byte;
}

#define BIG (300 * 1024)

static void round_trip(const char *name, bool is_packed)
{
	struct mt_stream *stream = NULL;
	char *bytes = malloc(BIG);
	char *back = malloc(BIG + 1);
	uint32_t random = 1;

	for (size_t i = 0; i < BIG; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (char)(random >> 24);
	}
	bytes[0] = 'x';
	const char *path = path_of(name);
	assert_no_error(mt_stream_create(path, &stream));
	assert_no_error(mt_stream_write(stream, bytes, 0));
	for (size_t i = 0; i < 1000; i++)
		assert_no_error(mt_stream_write(stream, bytes + i, 1));
	assert_no_error(mt_stream_write(stream, bytes + 1000, BIG - 1000));
	assert_no_error(mt_stream_finish(stream));
	mt_stream_destroy(stream);
	assert_int_equal(first_byte(path), is_packed ? 0x1f : 'x');
	assert_int_equal(read_back(path, back, BIG + 1), BIG);
	assert_memory_equal(bytes, back, BIG);
	unlink(path);
	free(bytes);
	free(back);
}

static void what_is_written_can_be_read(void **state)
{
	(void)state;
	round_trip("plain.fxt", false);
	round_trip("packed.fxt.gz", true);
	round_trip("gz", false);
}

static void nothing_stays_without_finish(void **state)
{
	struct mt_stream *stream = NULL;

	(void)state;
	const char *path = path_of("unfinished.gz");
	assert_no_error(mt_stream_create(path, &stream));
	assert_no_error(mt_stream_write(stream, "abc", 3));
	mt_stream_destroy(stream);
	assert_int_equal(access(path, F_OK), -1);
}

static void failed_strings_are_told(void **state)
{
	struct mt_stream *stream = NULL;
	struct mt_str str = {.failed = true};

	(void)state;
	assert_no_error(mt_stream_create("/dev/null", &stream));
	assert_error(mt_stream_write_str(stream, &str), MT_ERROR_NO_MEMORY, "memory");
	mt_stream_destroy(stream);
}

static void a_full_disk_is_told(void **state)
{
	struct mt_stream *stream = NULL;

	(void)state;
	assert_no_error(mt_stream_create("/dev/full", &stream));
	assert_no_error(mt_stream_write(stream, "abc", 3));
	assert_error(mt_stream_finish(stream), MT_ERROR_SYSTEM, "/dev/full");
	mt_stream_destroy(stream);
}

static void a_missing_directory_is_told(void **state)
{
	struct mt_stream *stream = NULL;

	(void)state;
	assert_error(mt_stream_create("/nowhere/at/all.fxt.gz", &stream), MT_ERROR_NOT_FOUND,
		     "/nowhere/at/all.fxt.gz");
	assert_null(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_can_be_read),
	    cmocka_unit_test(nothing_stays_without_finish),
	    cmocka_unit_test(failed_strings_are_told),
	    cmocka_unit_test(a_full_disk_is_told),
	    cmocka_unit_test(a_missing_directory_is_told),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
