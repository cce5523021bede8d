/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What we write, as `perf script` and `perf report` read it. */
#include "perf_fixture.h"

static void perf_reads_every_record(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);

	(void)state;
	require_perf();
	put_every_record(writer);
	finish(writer);
	char *text = output_of("perf script -D -i %s 2>&1 | tr -s ' '", path);
	check_contains(text, "PERF_RECORD_COMM exec: hello:100/100");
	check_contains(text, "PERF_RECORD_MMAP2 100/100: [0x7f0000000000(0x3000) @ 0x2000 "
			     "<6162636465666768696a6b6c6d6e6f7071727300>]: r-xp "
			     "/lib/with-build-id.so");
	check_contains(text, "[0x600000(0x1000) @ 0 00:00 0 0]: r--p //anon");
	check_contains(text, "PERF_RECORD_ITRACE_START pid: 100 tid: 100");
	check_contains(text, "PERF_RECORD_AUX offset: 0x40 size: 0x10 flags: 0x1 [T]");
	check_contains(text, "PERF_RECORD_FORK(100:101):(100:100)");
	check_contains(text, "PERF_RECORD_SWITCH OUT preempt");
	check_contains(text, "PERF_RECORD_SWITCH_CPU_WIDE IN prev pid/tid: 100/100");
	check_contains(text, "PERF_RECORD_LOST: id:1: lost:7");
	check_contains(text, "out of step");
	check_contains(text, "PERF_RECORD_EXIT(100:101):(100:100)");
	free(text);
	remove_path(path);
}

static void perf_shows_the_notes(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);

	(void)state;
	require_perf();
	for (size_t i = 0; i < EVERY_RECORD_COUNT; i++) {
		struct mt_sideband record = record_at(i);

		if (record.kind == MT_SIDEBAND_SAMPLE)
			assert_no_error(mt_recording_writer_put(writer, &record));
	}
	finish(writer);
	char *text =
	    output_of("perf script -F tid,event,ip,addr,weight -i %s 2>&1 | tr -s ' '", path);
	assert_string_equal(text, " 101 mtrace:signal: dead 11 401005\n"
				  " 101 mtrace:trigger: 0 3 401005\n"
				  " 101 mtrace:snapshot: 0 4 0\n"
				  " 101 mtrace:exit: 0 139 0\n");
	free(text);
	remove_path(path);
}

static void perf_shows_the_header(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	char hostname[256] = "";

	(void)state;
	require_perf();
	put_every_record(writer);
	finish(writer);
	char *text = output_of("perf report --header-only -i %s 2>&1", path);
	gethostname(hostname, sizeof(hostname) - 1);
	check_contains(text, hostname);
	check_contains(text, "cpuid : GenuineIntel,6,85,4");
	check_contains(text, "cmdline : /bin/hello with space");
	check_contains(text, "event : name = intel_pt//u, , id = { 6 }, type = 8");
	check_contains(text, "event : name = mtrace:signal");
	check_contains(text, "contains AUX area data");
	check_contains(text, "time of first sample : 1385530.563888");
	check_contains(text, "time of last sample : 1385530.563902");
	free(text);
	text = output_of("perf buildid-list -i %s 2>&1", path);
	check_contains(text, "6162636465666768696a6b6c6d6e6f7071727300 /lib/with-build-id.so\n");
	free(text);
	remove_path(path);
}

static void put_hello(struct mt_recording_writer *writer, const char *program, const uint8_t *bytes,
		      size_t size)
{
	struct mt_sideband comm = record_at(0);
	struct mt_sideband mapping = {
	    .kind = MT_SIDEBAND_MMAP,
	    .time_ns = NOW,
	    .pid = 100,
	    .tid = 100,
	    .cpu = -1,
	    .mmap = {.start = 0x401000,
		     .length = 0x1000,
		     .offset = 0x1000,
		     .path = program,
		     .executable = true},
	};

	assert_no_error(mt_recording_writer_put(writer, &comm));
	assert_no_error(mt_recording_writer_put(writer, &mapping));
	put_aux(writer, 0, bytes, size);
}

/* Packets of real hardware, with 8 known instructions and 2 system calls. */
static void perf_decodes_the_aux_data(void **state)
{
	size_t size = 0;
	uint8_t *bytes = read_bytes(HELLO "/pt.bin", &size);
	char *program = realpath(HELLO "/hello", NULL);

	(void)state;
	require_perf();
	if (!bytes || !program) {
		print_message(HELLO " is not there\n");
		skip();
	}
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	put_hello(writer, program, bytes, size);
	finish(writer);

	char *text = output_of("perf script --itrace=b -F ip,addr -i %s 2>&1 | tr -s ' '", path);
	assert_string_equal(text, " 0 => 401000\n 401000 => 0\n"
				  " 0 => 401000\n 401019 => 0\n"
				  " 0 => 40101b\n 401025 => 0\n");
	free(text);
	text = output_of("perf script --itrace=i0ns -F ip -i %s 2>&1 | tr -d ' '", path);
	assert_string_equal(text,
			    "401000\n401005\n40100a\n401014\n401019\n40101b\n401020\n401025\n");
	free(text);
	remove_path(path);
	free(program);
	free(bytes);
}

static void nothing_has_the_name_before_the_end(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);

	(void)state;
	put_every_record(writer);
	assert_int_not_equal(access(path, F_OK), 0);
	mt_recording_writer_destroy(writer);
	assert_int_not_equal(access(path, F_OK), 0);
	remove_path(path);
}

static void refuses_what_it_cannot_write(void **state)
{
	const struct mt_recording_writer_options options = {0};
	const struct mt_sideband itrace = {.kind = MT_SIDEBAND_ITRACE_START};
	struct mt_recording_writer *writer = NULL;

	(void)state;
	assert_error(mt_recording_writer_create("/no/such/place", &options, &writer),
		     MT_ERROR_NOT_FOUND, "its directory must exist");
	assert_error(mt_recording_writer_create("/dev/full", &options, &writer),
		     MT_ERROR_UNSUPPORTED, "name a regular file");
	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	assert_error(mt_recording_writer_put(writer, &itrace), MT_ERROR_INTERNAL,
		     "no recording can hold"); /* there is no Intel PT */
	mt_recording_writer_destroy(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(perf_reads_every_record),
	    cmocka_unit_test(perf_shows_the_notes),
	    cmocka_unit_test(perf_shows_the_header),
	    cmocka_unit_test(perf_decodes_the_aux_data),
	    cmocka_unit_test(nothing_has_the_name_before_the_end),
	    cmocka_unit_test(refuses_what_it_cannot_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
