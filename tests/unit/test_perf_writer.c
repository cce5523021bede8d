/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What we write, as `perf script` and `perf report` read it. */
#include "perf_fixture.h"

#include "pt/encoder.h"

#include <signal.h>
#include <sys/resource.h>

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
	char hostname[256] = "", event[80];

	(void)state;
	require_perf();
	put_every_record(writer);
	finish(writer);
	char *text = output_of("perf report --header-only -i %s 2>&1", path);
	gethostname(hostname, sizeof(hostname) - 1);
	check_contains(text, hostname);
	check_contains(text, "cpuid : GenuineIntel,6,85,4");
	check_contains(text, "cmdline : /bin/hello with space");
	snprintf(event, sizeof(event), "event : name = intel_pt//u, , id = { %d }, type = 8",
		 MT_NOTE_COUNT + 2); /* behind the sideband's and the notes' */
	check_contains(text, event);
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

/* At 0x401000: a call of a function that returns, a system call, and a loop's branch back to it. */
static const uint8_t code[] = {
    0xe8, 0x05, 0x00, 0x00, 0x00, /* 401000 call 40100a */
    0x0f, 0x05,                   /* 401005 syscall */
    0x75, 0xf7,                   /* 401007 jne 401000 */
    0xf4,                         /* 401009 hlt */
    0xc3,                         /* 40100a ret */
};

static const char decoded_code[] = " 0 => 401000\n"
				   " 401000 => 40100a\n"
				   " 40100a => 401005\n"
				   " 401005 => 0\n"
				   " 0 => 401007\n"
				   " 401007 => 401000\n"
				   " 401000 => 40100a\n"
				   " 40100a => 401005\n"
				   " 401005 => 0\n"
				   " 0 => 401007\n"
				   " 401009 => 0\n";

static void encode_round(struct mt_pt_encoder *encoder, uint64_t tsc, bool again)
{
	mt_pt_encode_call(encoder, tsc + 10, 0x401005, 0x40100a);
	mt_pt_encode_return(encoder, tsc + 20, 0x401005);
	mt_pt_encode_syscall(encoder, tsc + 30);
	mt_pt_encode_start(encoder, tsc + 5000, 0x401007);
	mt_pt_encode_branch(encoder, tsc + 5010, again, again ? 0x401000 : 0x401009);
}

static uint8_t *encode_code(uint64_t tsc, size_t *size)
{
	const struct mt_pt_encoder_config config = {
	    .timing = {.tsc_ctc_numerator = hello_pt.tsc_ctc_numerator,
		       .tsc_ctc_denominator = hello_pt.tsc_ctc_denominator,
		       .mtc_period = hello_pt.mtc_period,
		       .max_nonturbo_ratio = hello_pt.max_nonturbo_ratio,
		       .tsc = true,
		       .mtc = true,
		       .cyc = true},
	};
	struct mt_pt_encoder *encoder = NULL;
	uint8_t *bytes = NULL;
	uint64_t lost = 0;

	assert_no_error(mt_pt_encoder_create(&config, &encoder));
	mt_pt_encode_start(encoder, tsc, 0x401000);
	encode_round(encoder, tsc, true);
	encode_round(encoder, tsc + 6000, false);
	mt_pt_encode_stop(encoder, tsc + 12000, 0x401009);
	assert_no_error(mt_pt_encoder_snapshot(encoder, &bytes, size, &lost));
	mt_pt_encoder_destroy(encoder);
	return bytes;
}

static void put_thread(struct mt_recording_writer *writer, int32_t tid, const char *program,
		       uint64_t time_ns)
{
	const struct mt_sideband records[] = {
	    {.kind = MT_SIDEBAND_COMM,
	     .time_ns = time_ns,
	     .pid = tid,
	     .tid = tid,
	     .cpu = -1,
	     .comm = {"prog", true}},
	    {.kind = MT_SIDEBAND_MMAP,
	     .time_ns = time_ns,
	     .pid = tid,
	     .tid = tid,
	     .cpu = -1,
	     .mmap = {.start = 0x401000, .length = 0x1000, .path = program, .executable = true}},
	};

	assert_no_error(mt_recording_writer_put(writer, &records[0]));
	assert_no_error(mt_recording_writer_put(writer, &records[1]));
}

/* Two processes, of the second two windows: what perf finds is what was encoded. */
static void perf_decodes_what_was_encoded(void **state)
{
	char *path = make_path();
	char *program = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	uint64_t tsc = mt_ns_to_tsc(&hello_conversion, NOW + 10000);
	const struct mt_sideband note = {.kind = MT_SIDEBAND_SAMPLE,
					 .time_ns = NOW + 1000000,
					 .pid = 101,
					 .tid = 101,
					 .cpu = -1,
					 .sample = {MT_NOTE_SIGNAL, .ip = 0x401009, .weight = 11}};

	(void)state;
	require_perf();
	FILE *stream = fopen(program, "wb");
	assert_int_equal(fwrite(code, 1, sizeof(code), stream), sizeof(code));
	fclose(stream);
	put_thread(writer, 100, program, NOW);
	put_thread(writer, 101, program, NOW);
	for (uint32_t window = 0; window < 3; window++) {
		size_t size = 0;
		uint8_t *bytes = encode_code(tsc + window * 100000, &size);

		put_aux(writer, window ? 1 : 0, bytes, size);
		free(bytes);
	}
	assert_no_error(mt_recording_writer_put(writer, &note));
	finish(writer);

	char *text =
	    output_of("perf script --tid 100 --itrace=b -F ip,addr -i %s 2>&1 | tr -s ' '", path);
	assert_string_equal(text, decoded_code);
	free(text);
	text =
	    output_of("perf script --tid 101 --itrace=b -F ip,addr -i %s 2>&1 | tr -s ' '", path);
	assert_int_equal(strlen(text), 2 * strlen(decoded_code) + strlen(" 0 401009\n"));
	assert_memory_equal(text, decoded_code, strlen(decoded_code));
	assert_memory_equal(text + strlen(decoded_code), decoded_code, strlen(decoded_code));
	assert_string_equal(text + 2 * strlen(decoded_code), " 0 401009\n");
	free(text);
	text = output_of("perf script --itrace=cr -i %s 2>&1 >/dev/null; "
			 "perf report --header-only -i %s 2>&1 >/dev/null",
			 path, path);
	assert_string_equal(text, ""); /* no warning */
	free(text);
	remove_path(program);
	remove_path(path);
}

/* As another engine makes it. */
static void perf_reads_a_recording_without_intel_pt(void **state)
{
	const struct mt_recording_writer_options options = {.conversion = hello_conversion};
	struct mt_recording_writer *writer = NULL;
	char *path = make_path();

	(void)state;
	require_perf();
	assert_no_error(mt_recording_writer_create(path, &options, &writer));
	for (size_t i = 0; i < EVERY_RECORD_COUNT; i++) {
		struct mt_sideband record = record_at(i);

		if (record.kind == MT_SIDEBAND_COMM || record.kind == MT_SIDEBAND_FORK ||
		    record.kind == MT_SIDEBAND_SAMPLE)
			assert_no_error(mt_recording_writer_put(writer, &record));
	}
	finish(writer);
	char *text = output_of("perf script -F comm,tid,event -i %s 2>&1 | tr -s ' '", path);
	assert_string_equal(text, " hello 101 mtrace:signal: \n"
				  " hello 101 mtrace:trigger: \n"
				  " hello 101 mtrace:snapshot: \n"
				  " hello 101 mtrace:exit: \n");
	free(text);
	remove_path(path);
}

static void a_full_disk_leaves_nothing(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	const struct mt_auxtrace piece = {.size = 1 << 20};
	uint8_t *bytes = calloc(1, piece.size);
	struct rlimit was, small = {65536, 0};

	(void)state;
	/* The nearest thing to a full disk that needs no rights. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	small.rlim_max = was.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	struct mt_error *put = mt_recording_writer_put_aux(writer, &piece, bytes);
	struct mt_error *end = mt_recording_writer_finish(writer);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_error(put, MT_ERROR_SYSTEM, path);
	assert_error(end, MT_ERROR_SYSTEM, path);
	mt_recording_writer_destroy(writer);
	free(bytes);
	remove_path(path); /* its directory is empty */
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
		     MT_ERROR_UNSUPPORTED, "give a regular file");
	assert_no_error(mt_recording_writer_create(NULL, &options, &writer));
	assert_error(mt_recording_writer_put(writer, &itrace), MT_ERROR_INTERNAL,
		     "no recording can hold"); /* there is no Intel PT */
	mt_recording_writer_destroy(writer);
}

static void check_filters(struct mt_recording *recording, size_t count)
{
	assert_true(mt_recording_pt(recording)->present);
	assert_int_equal(mt_recording_pt(recording)->filtered, count > 0);
	assert_int_equal(mt_recording_filter_count(recording), count);
	if (count) {
		assert_int_equal(mt_recording_filter(recording, 0)->start, 0x1000);
		assert_string_equal(mt_recording_filter(recording, 0)->path, "/bin/hello");
		assert_true(mt_recording_filter(recording, 1)->stops);
	}
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	mt_recording_close(recording);
}

/* They are known once the first thread is. */
static void tells_filters_before_the_data(void **state)
{
	static const char filter[] = "filter 0x1000/0x10@/bin/hello,stop 0x20/0x4@/bin/hello";
	struct mt_recording_writer *writer = start_filtered_writer(NULL), *copy = NULL;
	const struct mt_sideband first = record_at(0);
	struct mt_recording *recording = NULL;

	(void)state;
	assert_no_error(mt_recording_writer_put(writer, &first));
	assert_no_error(mt_recording_writer_set_filter(writer, filter));
	assert_no_error(mt_recording_writer_copy(writer, NULL, &copy)); /* in front of the data */
	put_aux(copy, 0, "12345678", 8);
	assert_no_error(mt_recording_writer_finish(copy));
	assert_no_error(mt_recording_writer_reopen(copy, &recording));
	mt_recording_writer_destroy(copy);
	check_filters(recording, 2);
	put_every_record(writer);
	put_aux(writer, 0, "12345678", 8);
	assert_no_error(mt_recording_writer_set_filter(writer, "filter 0x2000/0x10"));
	assert_no_error(mt_recording_writer_copy(writer, NULL, &copy)); /* and behind it */
	put_aux(copy, 0, "12345678", 8);
	assert_no_error(mt_recording_writer_finish(copy));
	assert_no_error(mt_recording_writer_reopen(copy, &recording));
	mt_recording_writer_destroy(copy);
	assert_int_equal(mt_recording_auxtrace_count(recording), 2);
	check_filters(recording, 2);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	mt_recording_writer_destroy(writer);
	check_filters(recording, 2);
}

static void a_whole_recording_without_data_is_of_intel_pt(void **state)
{
	(void)state;
	for (int is_kept = 0; is_kept < 2; is_kept++) {
		struct mt_recording_writer *writer = start_filtered_writer(NULL);
		struct mt_recording *recording = NULL;

		if (is_kept)
			assert_no_error(mt_recording_writer_keep(writer));
		assert_no_error(mt_recording_writer_finish(writer));
		assert_no_error(mt_recording_writer_reopen(writer, &recording));
		mt_recording_writer_destroy(writer);
		check_filters(recording, 0);
	}
}

/* A copy is what the file would be if it ended there; both go on apart. */
static void a_copy_is_a_recording_of_its_own(void **state)
{
	char *paths[] = {make_path(), make_path(), make_path()};
	struct mt_recording_writer *writer = start_writer(paths[0]), *copy = NULL;
	struct mt_recording_writer *wanted = start_writer(paths[1]);
	size_t sizes[3];
	uint8_t *bytes[3];

	(void)state;
	put_every_record(writer);
	put_every_record(wanted);
	assert_no_error(mt_recording_writer_copy(writer, paths[2], &copy));
	put_every_record(writer);
	finish(writer);
	finish(wanted);
	finish(copy);
	for (int i = 0; i < 3; i++)
		bytes[i] = read_bytes(paths[i], &sizes[i]);
	assert_true(sizes[0] > sizes[1]);
	assert_int_equal(sizes[1], sizes[2]);
	assert_memory_equal(bytes[1], bytes[2], sizes[1]);
	for (int i = 0; i < 3; i++) {
		free(bytes[i]);
		remove_path(paths[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(perf_reads_every_record),
	    cmocka_unit_test(perf_shows_the_notes),
	    cmocka_unit_test(perf_shows_the_header),
	    cmocka_unit_test(perf_decodes_the_aux_data),
	    cmocka_unit_test(perf_decodes_what_was_encoded),
	    cmocka_unit_test(perf_reads_a_recording_without_intel_pt),
	    cmocka_unit_test(a_full_disk_leaves_nothing),
	    cmocka_unit_test(nothing_has_the_name_before_the_end),
	    cmocka_unit_test(refuses_what_it_cannot_write),
	    cmocka_unit_test(a_copy_is_a_recording_of_its_own),
	    cmocka_unit_test(tells_filters_before_the_data),
	    cmocka_unit_test(a_whole_recording_without_data_is_of_intel_pt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
