/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The writer's contract; what its formats say is tested in tests/output. */
#include "unit.h"

#include "output/args.h"
#include "output/trace_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[64];
static char path[96];

static int make_directory(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/mtrace-writer-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return rmdir(directory); /* fails when something was left in it */
}

static const char *path_of(const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static const struct mt_function function = {.name = "f", .module = "/bin/x"};
static const struct mt_thread thread = {.pid = 1, .tid = 2, .name = "t", .process = "p"};
static const struct mt_thread_segment segment = {.begin_ns = 10, .end_ns = 20};

static void send_call(struct mt_slice_sink sink, uint8_t end_flags)
{
	const struct mt_slice slice = {.time_ns = 11, .function = &function};
	const struct mt_slice_end end = {.time_ns = 12, .flags = end_flags};

	assert_no_error(sink.ops->thread(sink.self, &thread));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	assert_no_error(sink.ops->begin(sink.self, &slice));
	assert_no_error(sink.ops->end(sink.self, &end));
	assert_no_error(sink.ops->segment_end(sink.self, &segment));
}

static void formats_are_named(void **state)
{
	const char *const *formats = mt_trace_writer_formats();

	(void)state;
	assert_string_equal(formats[0], "fxt");
	for (; *formats; formats++) {
		struct mt_trace_writer *writer = NULL;

		assert_no_error(mt_trace_writer_create(path_of("a"), *formats, NULL, &writer));
		send_call(mt_trace_writer_sink(writer), 0);
		assert_no_error(mt_trace_writer_finish(writer));
		mt_trace_writer_destroy(writer);
		assert_int_equal(unlink(path), 0);
	}
}

static void nothing_has_its_name_before_it_is_finished(void **state)
{
	struct mt_trace_writer *writer = NULL;

	(void)state;
	assert_no_error(mt_trace_writer_create(path_of("a.fxt.gz"), NULL, NULL, &writer));
	send_call(mt_trace_writer_sink(writer), MT_SLICE_END_OPEN);
	assert_int_equal(access(path, F_OK), -1);
	mt_trace_writer_destroy(writer);
	assert_int_equal(access(path, F_OK), -1);
}

static void errors_are_told(void **state)
{
	struct mt_trace_writer *writer = NULL;

	(void)state;
	assert_error(mt_trace_writer_create(path_of("a"), "xml", NULL, &writer), MT_ERROR_USAGE,
		     "\"xml\"");
	assert_null(writer);
	assert_error(mt_trace_writer_create("/no/where.fxt", NULL, NULL, &writer),
		     MT_ERROR_NOT_FOUND, "/no/where.fxt");
	assert_null(writer);
	mt_trace_writer_destroy(NULL);
}

/* More than any buffer holds, so that the error comes from the sink. */
static void a_full_disk_ends_the_run(void **state)
{
	struct mt_trace_writer *writer = NULL;
	const struct mt_slice slice = {.time_ns = 11, .function = &function};
	struct mt_error *error = NULL;

	(void)state;
	assert_no_error(mt_trace_writer_create("/dev/full", NULL, NULL, &writer));
	struct mt_slice_sink sink = mt_trace_writer_sink(writer);
	assert_no_error(sink.ops->thread(sink.self, &thread));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	for (int i = 0; i < 100000 && !error; i++)
		error = sink.ops->begin(sink.self, &slice);
	for (int i = 0; i < 100000 && !error; i++)
		error = sink.ops->end(sink.self, &(struct mt_slice_end){.time_ns = 12});
	assert_error(error ? error : mt_trace_writer_finish(writer), MT_ERROR_SYSTEM, "/dev/full");
	assert_error(mt_trace_writer_finish(writer), MT_ERROR_SYSTEM, "/dev/full");
	mt_trace_writer_destroy(writer);
}

/* An end too many, depths that lie: not what a sink should get, but no reason to break. */
static void odd_slices_do_no_harm(void **state)
{
	const struct mt_slice slice = {.time_ns = 11, .kind = 77, .depth = 4000000000};
	const struct mt_slice_end end = {.time_ns = 11, .depth = 123};
	const struct mt_instant instant = {.time_ns = 11, .kind = 99, .detail = 4000000000};
	const char *const *formats = mt_trace_writer_formats();

	(void)state;
	for (; *formats; formats++) {
		struct mt_trace_writer *writer = NULL;

		assert_no_error(mt_trace_writer_create("/dev/null", *formats, NULL, &writer));
		struct mt_slice_sink sink = mt_trace_writer_sink(writer);
		send_call(sink, 0);
		assert_no_error(sink.ops->segment_begin(sink.self, &segment));
		assert_no_error(sink.ops->end(sink.self, &end));
		assert_no_error(sink.ops->begin(sink.self, &slice));
		assert_no_error(sink.ops->instant(sink.self, &instant));
		assert_no_error(mt_trace_writer_finish(writer));
		mt_trace_writer_destroy(writer);
	}
}

/* Of a garbled recording, whose timeline must still be one. */
static void numbers_are_never_shown_as_negative(void **state)
{
	const struct mt_instant instant = {.kind = MT_INSTANT_TRIGGER, .value = 1ull << 63};
	struct mt_args args;

	(void)state;
	mt_args_of_instant(&args, &instant);
	assert_int_equal(args.items[0].name, MT_ARG_NUMBER);
	assert_int_equal(args.items[0].type, MT_ARG_TYPE_POINTER);
}

/* What is kept of a begin serves the others of its kind: with the flag of an estimated time or
 * without it, and other flags in between. */

enum { WRITTEN_MAX = 1 << 16 };

static size_t write_begins(const char *name, const uint8_t *flags, size_t count, uint8_t *bytes)
{
	struct mt_trace_writer *writer = NULL;
	FILE *file;

	assert_no_error(mt_trace_writer_create(path_of(name), NULL, NULL, &writer));
	struct mt_slice_sink sink = mt_trace_writer_sink(writer);
	assert_no_error(sink.ops->thread(sink.self, &thread));
	assert_no_error(sink.ops->segment_begin(sink.self, &segment));
	for (size_t i = 0; i < count; i++) {
		const struct mt_slice slice = {
		    .time_ns = 11, .function = &function, .address = 0x401000, .flags = flags[i]};

		assert_no_error(sink.ops->begin(sink.self, &slice));
	}
	assert_no_error(mt_trace_writer_finish(writer));
	mt_trace_writer_destroy(writer);
	file = fopen(path, "rb");
	assert_non_null(file);
	size_t size = fread(bytes, 1, WRITTEN_MAX, file);
	fclose(file);
	unlink(path);
	return size;
}

static void a_kept_begin_serves_all_of_its_kind(void **state)
{
	enum { ALL = MT_SLICE_INFERRED | MT_SLICE_TAIL_CALL | MT_SLICE_HANDLER };
	static uint8_t one[WRITTEN_MAX], more[WRITTEN_MAX];
	const uint8_t estimated = MT_SLICE_TIME_ESTIMATED;
	const char *const names[] = {"a.fxt", "a.pftrace"};

	(void)state;
	for (size_t n = 0; n < 2; n++) {
		for (uint8_t flags = 0; flags < 2 * MT_SLICE_HANDLER; flags++) {
			const uint8_t three[] = {flags ^ estimated, flags | ALL, flags};
			size_t begun = write_begins(names[n], three, 2, one);
			size_t all = write_begins(names[n], three, 3, more);
			size_t alone = write_begins(names[n], &flags, 1, one);

			assert_true(all > begun);
			assert_memory_equal(more + begun, one + alone - (all - begun), all - begun);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_never_shown_as_negative),
	    cmocka_unit_test(formats_are_named),
	    cmocka_unit_test(nothing_has_its_name_before_it_is_finished),
	    cmocka_unit_test(errors_are_told),
	    cmocka_unit_test(a_full_disk_ends_the_run),
	    cmocka_unit_test(a_kept_begin_serves_all_of_its_kind),
	    cmocka_unit_test(odd_slices_do_no_harm),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
