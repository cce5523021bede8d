/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "base/pool.h"
#include "output/compress.h"
#include "output/stream.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

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

/* Packed by workers: all sizes around a block's, and more blocks than are packed at once. */

#define MANY (9 * MT_COMPRESSOR_BLOCK + 12345)

struct bytes {
	uint8_t *items;
	size_t count;
};

/* Every other piece cannot be made smaller. */
static struct bytes make_bytes(size_t count)
{
	struct bytes bytes = {malloc(count + 1), count};
	uint32_t random = 1;

	for (size_t i = 0; i < count; i++) {
		random = random * 1664525 + 1013904223;
		bytes.items[i] = i / 100000 % 2 ? (uint8_t)(random >> 24) : (uint8_t)(i / 7);
	}
	return bytes;
}

static struct bytes read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	struct bytes bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	bytes.count = (size_t)ftell(file);
	bytes.items = malloc(bytes.count + 1);
	rewind(file);
	assert_int_equal(fread(bytes.items, 1, bytes.count, file), bytes.count);
	fclose(file);
	return bytes;
}

static struct bytes pack(const char *name, struct bytes bytes)
{
	struct mt_stream *stream = NULL;
	const char *path = path_of(name);

	assert_no_error(mt_stream_create(path, &stream));
	for (size_t done = 0, piece; done < bytes.count; done += piece) {
		piece = bytes.count - done < 54321 ? bytes.count - done : 54321;
		assert_no_error(mt_stream_write(stream, bytes.items + done, piece));
	}
	assert_no_error(mt_stream_finish(stream));
	mt_stream_destroy(stream);
	struct bytes packed = read_file(path);
	unlink(path);
	return packed;
}

/* Of one member, as older importers of Perfetto want it, with nothing behind. */
static void assert_is_gzip_of(struct bytes packed, struct bytes bytes)
{
	z_stream stream = {.next_in = packed.items, .avail_in = (uInt)packed.count};
	uint8_t *back = malloc(bytes.count + 1);

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	stream.next_out = back;
	stream.avail_out = (uInt)bytes.count + 1;
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.avail_in, 0);
	assert_int_equal(stream.total_out, bytes.count);
	assert_memory_equal(back, bytes.items, bytes.count);
	inflateEnd(&stream);
	free(back);
}

static void assert_is_zstd_of(struct bytes packed, struct bytes bytes)
{
	uint8_t *back = malloc(bytes.count + 1);

	assert_int_equal(ZSTD_findFrameCompressedSize(packed.items, packed.count), packed.count);
	assert_int_equal(ZSTD_decompress(back, bytes.count + 1, packed.items, packed.count),
			 bytes.count);
	assert_memory_equal(back, bytes.items, bytes.count);
	free(back);
}

static void what_is_packed_can_be_read(void **state)
{
	const size_t counts[] = {0,
				 1,
				 MT_COMPRESSOR_BLOCK - 1,
				 MT_COMPRESSOR_BLOCK,
				 MT_COMPRESSOR_BLOCK + 1,
				 2 * MT_COMPRESSOR_BLOCK,
				 MANY};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct bytes bytes = make_bytes(counts[i]);
		struct bytes gzip = pack("a.gz", bytes), zstd = pack("a.zst", bytes);

		assert_is_gzip_of(gzip, bytes);
		assert_is_zstd_of(zstd, bytes);
		if (bytes.count == MANY) {
			assert_true(gzip.count < MANY * 3 / 4);
			assert_true(zstd.count < MANY * 3 / 4);
		}
		free(bytes.items);
		free(gzip.items);
		free(zstd.items);
	}
}

static bool there_are_no_threads;
struct mt_error *__real_mt_pool_create(unsigned int threads, size_t queue_limit,
				       struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned int threads, size_t queue_limit,
				       struct mt_pool **out);
struct mt_error *__wrap_mt_pool_create(unsigned int threads, size_t queue_limit,
				       struct mt_pool **out)
{
	if (there_are_no_threads)
		return mt_error_new(MT_ERROR_SYSTEM, "no threads to be had");
	return __real_mt_pool_create(threads, queue_limit, out);
}

static void threads_do_not_change_the_bytes(void **state)
{
	struct bytes bytes = make_bytes(MANY);
	struct bytes one = pack("a.gz", bytes);

	(void)state;
	there_are_no_threads = true;
	struct bytes other = pack("a.gz", bytes);
	there_are_no_threads = false;
	assert_int_equal(one.count, other.count);
	assert_memory_equal(one.items, other.items, one.count);
	free(bytes.items);
	free(one.items);
	free(other.items);
}

/* How many threads there are beside this one; each has all signals blocked that can be. */
static unsigned count_workers(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *task;
	unsigned count = 0;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		char path[512], line[256];
		unsigned long blocked = 0;

		if (task->d_name[0] == '.' || atoi(task->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		FILE *file = fopen(path, "r");
		if (!file)
			continue; /* one that has been joined may be there a little longer */
		while (fgets(line, sizeof(line), file))
			sscanf(line, "SigBlk: %lx", &blocked);
		fclose(file);
		/* SIGKILL, SIGSTOP, and two that the C library keeps for itself. */
		assert_int_equal(blocked | 1ul << 8 | 1ul << 18 | 3ul << 31, ~0ul);
		count++;
	}
	closedir(tasks);
	return count;
}

static void workers_come_late_and_take_no_signals(void **state)
{
	const char *const names[] = {"a.gz", "a.zst"};
	struct bytes bytes = make_bytes(MANY);
	const unsigned others = count_workers(); /* a sanitizer's */

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct mt_stream *stream = NULL;

		assert_no_error(mt_stream_create(path_of(names[i]), &stream));
		assert_no_error(mt_stream_write(stream, bytes.items, MT_COMPRESSOR_BLOCK));
		assert_int_equal(count_workers(), others);
		assert_no_error(mt_stream_write(stream, bytes.items, MANY));
		assert_in_range(count_workers(), others + 1, others + MT_COMPRESSOR_WORKERS);
		mt_stream_destroy(stream); /* in the midst of it */
		while (count_workers() > others)
			usleep(1000);
	}
	free(bytes.items);
}

static void a_full_disk_is_told_behind_workers(void **state)
{
	struct bytes bytes = make_bytes(MANY);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct mt_stream *stream = NULL;
		const char *link = path_of(i ? "full.gz" : "full.zst");
		struct mt_error *error;

		assert_int_equal(symlink("/dev/full", link), 0);
		assert_no_error(mt_stream_create(link, &stream));
		error = mt_stream_write(stream, bytes.items, bytes.count);
		if (!error)
			error = mt_stream_finish(stream);
		assert_error(error, MT_ERROR_SYSTEM, "No space left");
		mt_stream_destroy(stream);
		unlink(link);
	}
	free(bytes.items);
}

static void workers_write_what_is_not_packed(void **state)
{
	const unsigned others = count_workers();
	struct bytes bytes = make_bytes(MANY);
	struct mt_stream *stream = NULL;
	struct bytes back = pack("a.fxt", bytes);

	(void)state;
	assert_int_equal(back.count, bytes.count);
	assert_memory_equal(back.items, bytes.items, bytes.count);
	free(back.items);
	if (mt_pool_processors() == 1) {
		free(bytes.items);
		return;
	}
	/* As much as it takes until there is one, and then something larger than it writes. */
	assert_no_error(mt_stream_create(path_of("b.fxt"), &stream));
	for (size_t i = 0; i < MANY / 1000; i++)
		assert_no_error(mt_stream_write(stream, bytes.items + i * 1000, 1000));
	assert_int_equal(count_workers(), others + 1);
	assert_no_error(mt_stream_write(stream, bytes.items, MANY));
	assert_no_error(mt_stream_write(stream, "end", 3));
	assert_no_error(mt_stream_finish(stream));
	mt_stream_destroy(stream);
	while (count_workers() > others)
		usleep(1000);
	back = read_file(path_of("b.fxt"));
	assert_int_equal(back.count, MANY / 1000 * 1000 + MANY + 3);
	assert_memory_equal(back.items, bytes.items, MANY / 1000 * 1000);
	assert_memory_equal(back.items + MANY / 1000 * 1000, bytes.items, MANY);
	assert_memory_equal(back.items + back.count - 3, "end", 3);
	unlink(path_of("b.fxt"));
	free(back.items);
	free(bytes.items);
}

static void what_a_worker_cannot_write_is_told(void **state)
{
	struct bytes bytes = make_bytes(MANY);
	struct rlimit was, small = {2u << 20, 0};
	struct mt_stream *stream = NULL;
	struct mt_error *error = NULL;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	assert_no_error(mt_stream_create(path_of("a.fxt"), &stream));
	for (size_t i = 0; i < MANY / 1000 && !error; i++)
		error = mt_stream_write(stream, bytes.items + i * 1000, 1000);
	if (!error)
		error = mt_stream_finish(stream);
	mt_stream_destroy(stream);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_error(error, MT_ERROR_SYSTEM, "a.fxt");
	free(bytes.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_can_be_read),
	    cmocka_unit_test(nothing_stays_without_finish),
	    cmocka_unit_test(failed_strings_are_told),
	    cmocka_unit_test(a_full_disk_is_told),
	    cmocka_unit_test(a_missing_directory_is_told),
	    cmocka_unit_test(what_is_packed_can_be_read),
	    cmocka_unit_test(threads_do_not_change_the_bytes),
	    cmocka_unit_test(workers_come_late_and_take_no_signals),
	    cmocka_unit_test(a_full_disk_is_told_behind_workers),
	    cmocka_unit_test(workers_write_what_is_not_packed),
	    cmocka_unit_test(what_a_worker_cannot_write_is_told),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
