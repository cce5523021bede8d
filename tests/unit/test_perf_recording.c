/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading: what the writer wrote, what real hardware recorded, and what is no recording. */
#include "perf_fixture.h"

#include <linux/perf_event.h>
#include <sys/stat.h>

#define QUIPPER "../shared/recordings/quipper/perf.data.intel_pt-4.14"

static void check_text(const char *is, const char *wanted)
{
	assert_non_null(is);
	assert_string_equal(is, wanted);
}

static void check_mmap(const struct mt_sideband *is, const struct mt_sideband *wanted)
{
	assert_int_equal(is->mmap.start, wanted->mmap.start);
	assert_int_equal(is->mmap.length, wanted->mmap.length);
	assert_int_equal(is->mmap.offset, wanted->mmap.offset);
	assert_int_equal(is->mmap.executable, wanted->mmap.executable);
	assert_int_equal(is->mmap.kernel, wanted->mmap.kernel);
	assert_int_equal(is->mmap.build_id_size, wanted->mmap.build_id_size);
	assert_memory_equal(is->mmap.build_id, wanted->mmap.build_id, 20);
	check_text(is->mmap.path, wanted->mmap.path);
}

static void check_sample(const struct mt_recording *recording, const struct mt_sideband *is,
			 const struct mt_sideband *wanted)
{
	check_text(mt_recording_event_name(recording, is->sample.event),
		   mt_recording_note_names[wanted->sample.event]);
	assert_int_equal(is->sample.ip, wanted->sample.ip);
	assert_int_equal(is->sample.address, wanted->sample.address);
	assert_int_equal(is->sample.weight, wanted->sample.weight);
	assert_true(is->sample.raw_size >= wanted->sample.raw_size);
	if (wanted->sample.raw)
		assert_memory_equal(is->sample.raw, wanted->sample.raw, wanted->sample.raw_size);
	else
		assert_int_equal(is->sample.raw[0], 0);
}

static void check_own_fields(const struct mt_recording *recording, const struct mt_sideband *is,
			     const struct mt_sideband *wanted)
{
	switch (wanted->kind) {
	case MT_SIDEBAND_MMAP:
		check_mmap(is, wanted);
		break;
	case MT_SIDEBAND_COMM:
		check_text(is->comm.name, wanted->comm.name);
		assert_int_equal(is->comm.exec, wanted->comm.exec);
		break;
	case MT_SIDEBAND_FORK:
	case MT_SIDEBAND_EXIT:
		assert_int_equal(is->fork.parent_pid, wanted->fork.parent_pid);
		assert_int_equal(is->fork.parent_tid, wanted->fork.parent_tid);
		break;
	case MT_SIDEBAND_SWITCH:
		assert_int_equal(is->context_switch.out, wanted->context_switch.out);
		assert_int_equal(is->context_switch.preempted, wanted->context_switch.preempted);
		assert_int_equal(is->context_switch.other_pid, wanted->context_switch.other_pid);
		assert_int_equal(is->context_switch.other_tid, wanted->context_switch.other_tid);
		break;
	case MT_SIDEBAND_AUX:
		assert_int_equal(is->aux.offset, wanted->aux.offset);
		assert_int_equal(is->aux.size, wanted->aux.size);
		assert_int_equal(is->aux.flags, wanted->aux.flags);
		break;
	case MT_SIDEBAND_LOST:
		assert_int_equal(is->lost.lost, wanted->lost.lost);
		break;
	case MT_SIDEBAND_SAMPLE:
		check_sample(recording, is, wanted);
		break;
	case MT_SIDEBAND_AUXTRACE_ERROR:
		check_text(is->error.message, wanted->error.message);
		assert_int_equal(is->error.ip, wanted->error.ip);
		break;
	}
}

static void check_every_record(const struct mt_recording *recording)
{
	assert_int_equal(mt_recording_sideband_count(recording), EVERY_RECORD_COUNT);
	for (size_t i = 0; i < EVERY_RECORD_COUNT; i++) {
		const struct mt_sideband *is = &mt_recording_sideband(recording)[i];
		struct mt_sideband wanted = record_at(i);

		assert_int_equal(is->kind, wanted.kind);
		assert_int_equal(is->time_ns, wanted.time_ns);
		assert_int_equal(is->pid, wanted.pid);
		assert_int_equal(is->tid, wanted.tid);
		assert_int_equal(is->cpu, wanted.cpu);
		check_own_fields(recording, is, &wanted);
	}
}

static void check_info(const struct mt_recording *recording)
{
	const struct mt_recording_info *info = mt_recording_info(recording);

	check_text(info->cmdline, "/bin/hello with space");
	check_text(info->cpuid, "GenuineIntel,6,85,4");
	assert_non_null(info->hostname);
	assert_non_null(info->os_release);
	assert_false(info->is_pipe);
	assert_false(info->is_truncated);
	assert_true(info->has_time);
	assert_int_equal(info->bad_records, 0);
	assert_int_equal(info->events_lost, 7);
	assert_int_equal(info->conversion.shift, hello_conversion.shift);
	assert_int_equal(info->conversion.mult, hello_conversion.mult);
	assert_int_equal(info->conversion.zero_ns, hello_conversion.zero_ns);
}

static void check_pt(const struct mt_recording_pt *is, const struct mt_recording_pt *wanted)
{
	assert_true(is->present);
	assert_int_equal(is->tsc, wanted->tsc);
	assert_int_equal(is->mtc, wanted->mtc);
	assert_int_equal(is->cyc, wanted->cyc);
	assert_int_equal(is->return_compression, wanted->return_compression);
	assert_int_equal(is->kernel, wanted->kernel);
	assert_int_equal(is->per_cpu, wanted->per_cpu);
	assert_int_equal(is->snapshot, wanted->snapshot);
	assert_int_equal(is->mtc_period, wanted->mtc_period);
	assert_int_equal(is->max_nonturbo_ratio, wanted->max_nonturbo_ratio);
	assert_int_equal(is->tsc_ctc_numerator, wanted->tsc_ctc_numerator);
	assert_int_equal(is->tsc_ctc_denominator, wanted->tsc_ctc_denominator);
	assert_int_equal(is->cpu_is_intel, wanted->cpu_is_intel);
	assert_int_equal(is->cpu_family, wanted->cpu_family);
	assert_int_equal(is->cpu_model, wanted->cpu_model);
	assert_int_equal(is->cpu_stepping, wanted->cpu_stepping);
}

static struct mt_recording *open_recording(const char *path)
{
	struct mt_recording *recording = NULL;

	assert_no_error(mt_recording_open(path, NULL, &recording));
	return recording;
}

static void reads_what_was_written(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);

	(void)state;
	put_every_record(writer);
	finish(writer);
	struct mt_recording *recording = open_recording(path);
	check_info(recording);
	check_pt(mt_recording_pt(recording), &hello_pt);
	check_every_record(recording);
	mt_recording_close(recording);
	remove_path(path);
}

static void sorts_by_time_and_keeps_the_order_of_equals(void **state)
{
	const uint64_t times[] = {30, 10, 20, 0, 10, 0, 30};
	const int32_t wanted[] = {3, 5, 1, 4, 2, 0, 6};
	struct mt_recording_writer *writer = start_writer(NULL);
	struct mt_recording *recording = NULL;

	(void)state;
	for (int i = 0; i < 7; i++) {
		const struct mt_sideband comm = {
		    .kind = MT_SIDEBAND_COMM, .time_ns = times[i], .pid = i, .comm = {"x", false}};
		assert_no_error(mt_recording_writer_put(writer, &comm));
	}
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	mt_recording_writer_destroy(writer);
	for (int i = 0; i < 7; i++)
		assert_int_equal(mt_recording_sideband(recording)[i].pid, wanted[i]);
	mt_recording_close(recording);
}

static void check_piece(const struct mt_recording *recording, size_t index, const uint8_t *wanted,
			size_t size)
{
	const struct mt_auxtrace *piece = mt_recording_auxtrace(recording, index);
	uint8_t *bytes = NULL;

	assert_int_equal(piece->size, size);
	assert_int_equal(piece->idx, index);
	assert_int_equal(piece->tid, 100 + (int)index);
	assert_int_equal(piece->cpu, -1);
	assert_int_equal(piece->reference, 77);
	assert_no_error(mt_recording_map_aux(recording, index, 0, size, &bytes));
	assert_memory_equal(bytes, wanted, size);
	mt_recording_unmap_aux(bytes, size);
	assert_no_error(mt_recording_map_aux(recording, index, size - 5, 4, &bytes));
	assert_memory_equal(bytes, wanted + size - 5, 4);
	mt_recording_unmap_aux(bytes, 4);
	assert_error(mt_recording_map_aux(recording, index, 8, size, &bytes), MT_ERROR_FORMAT,
		     "beyond its end");
	assert_error(mt_recording_map_aux(recording, index, UINT64_MAX, 2, &bytes), MT_ERROR_FORMAT,
		     "beyond its end");
}

static void maps_aux_data_by_pieces(void **state)
{
	struct mt_recording_writer *writer = start_writer(NULL);
	struct mt_recording *recording = NULL;
	uint8_t *bytes = calloc(1, 100008);

	(void)state;
	for (int i = 0; i < 100003; i++)
		bytes[i] = (uint8_t)(i * 7);
	put_aux(writer, 0, bytes, 100003); /* padded with zeros */
	put_aux(writer, 1, bytes, 16);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	mt_recording_writer_destroy(writer);
	assert_int_equal(mt_recording_auxtrace_count(recording), 2);
	check_piece(recording, 0, bytes, 100008);
	check_piece(recording, 1, bytes, 16);
	mt_recording_close(recording);
	free(bytes);
}

static void a_writer_that_died_left_a_readable_file(void **state)
{
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	const uint8_t big[100000] = {1};

	(void)state;
	put_every_record(writer);
	put_aux(writer, 0, big, sizeof(big)); /* pushes what is buffered out */
	char *text = output_of("cp %s.*.tmp %s", path, path);
	free(text);
	mt_recording_writer_destroy(writer);
	struct mt_recording *recording = open_recording(path);
	assert_true(mt_recording_info(recording)->is_truncated);
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	assert_int_equal(mt_recording_sideband_count(recording), EVERY_RECORD_COUNT);
	assert_int_equal(mt_recording_auxtrace_count(recording), 1);
	mt_recording_close(recording);
	remove_path(path);
}

static void reads_real_hardware(void **state)
{
	static const struct mt_recording_pt wanted = {
	    .tsc = true,
	    .mtc = true,
	    .return_compression = true,
	    .kernel = true,
	    .per_cpu = true,
	    .mtc_period = 3,
	    .max_nonturbo_ratio = 12,
	    .tsc_ctc_numerator = 100,
	    .tsc_ctc_denominator = 2,
	    .cpu_is_intel = true,
	    .cpu_family = 6,
	    .cpu_model = 78,
	    .cpu_stepping = 3,
	};
	/* Counted in the output of perf script -D. */
	static const size_t counts[] = {
	    [MT_SIDEBAND_MMAP] = 66,        [MT_SIDEBAND_COMM] = 3, [MT_SIDEBAND_EXIT] = 1,
	    [MT_SIDEBAND_SWITCH] = 152,     [MT_SIDEBAND_AUX] = 10, [MT_SIDEBAND_SAMPLE] = 15,
	    [MT_SIDEBAND_ITRACE_START] = 2,
	};
	size_t found[MT_SIDEBAND_SAMPLE + 1] = {0};

	(void)state;
	if (access(QUIPPER, R_OK)) {
		print_message(QUIPPER " is not there\n");
		skip();
	}
	struct mt_recording *recording = open_recording(QUIPPER);
	check_pt(mt_recording_pt(recording), &wanted);
	assert_int_equal(mt_recording_auxtrace_count(recording), 2);
	assert_int_equal(mt_recording_auxtrace(recording, 1)->size, 0x21a00);
	assert_int_equal(mt_recording_auxtrace(recording, 1)->cpu, 3);
	for (size_t i = 0; i < mt_recording_sideband_count(recording); i++)
		found[mt_recording_sideband(recording)[i].kind]++;
	for (size_t i = 0; i <= MT_SIDEBAND_SAMPLE; i++)
		assert_int_equal(found[i], counts[i]);
	assert_int_equal(mt_recording_info(recording)->bad_records, 0);
	check_text(mt_recording_event_name(recording, 0), "intel_pt//");
	assert_null(mt_recording_event_name(recording, 4));
	mt_recording_close(recording);
}

static void check_refused(const char *path, const char *content, size_t size,
			  enum mt_error_code code, const char *word)
{
	struct mt_recording *recording = NULL;

	if (content) {
		FILE *stream = fopen(path, "wb");
		assert_int_equal(fwrite(content, 1, size, stream), size);
		fclose(stream);
	}
	assert_error(mt_recording_open(path, NULL, &recording), code, word);
	assert_null(recording);
}

static void says_what_is_no_recording(void **state)
{
	char *path = make_path();

	(void)state;
	check_refused("/no/such/file", NULL, 0, MT_ERROR_NOT_FOUND, "/no/such/file");
	check_refused("/tmp", NULL, 0, MT_ERROR_FORMAT, "directory");
	check_refused("/dev/zero", NULL, 0, MT_ERROR_FORMAT, "not a recording"); /* without end */
	check_refused("/dev/null", NULL, 0, MT_ERROR_FORMAT, "not a recording");
	check_refused(path, "", 0, MT_ERROR_FORMAT, "not a recording");
	check_refused(path, "\177ELF\2\1\1", 7, MT_ERROR_FORMAT, "not a recording");
	check_refused(path, "PERFILE2", 8, MT_ERROR_FORMAT, "ends early");
	check_refused(path, "2ELIFREP\0\0\0\0\0\0\0\150", 16, MT_ERROR_UNSUPPORTED, "big-endian");
	check_refused(path, "PERFFILE", 8, MT_ERROR_UNSUPPORTED, "Linux 3.2");
	remove_path(path);
}

struct tally {
	size_t records;
	uint64_t bytes;
	uint64_t first;
};

static struct mt_error *count_record(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				     uint64_t size, const char *name)
{
	struct tally *tally = context;

	(void)type;
	(void)misc;
	assert_non_null(name);
	if (!tally->records++)
		tally->first = offset;
	assert_int_equal(offset, tally->first + tally->bytes); /* none is left out */
	tally->bytes += size;
	return NULL;
}

static struct mt_error *refuse_record(void *context, uint64_t offset, uint32_t type, uint16_t misc,
				      uint64_t size, const char *name)
{
	(void)context;
	(void)offset;
	(void)type;
	(void)misc;
	(void)size;
	return mt_error_new(MT_ERROR_INTERRUPTED, "%s", name);
}

static void tells_each_record(void **state)
{
	struct mt_recording_writer *writer = start_writer(NULL);
	struct mt_recording *recording = NULL;
	struct tally tally = {0};

	(void)state;
	put_every_record(writer);
	put_aux(writer, 0, "12345678", 8);
	assert_no_error(mt_recording_writer_finish(writer));
	assert_no_error(mt_recording_writer_reopen(writer, &recording));
	mt_recording_writer_destroy(writer);
	assert_no_error(mt_recording_each_record(recording, count_record, &tally));
	/* TIME_CONV, AUXTRACE_INFO, the names of the events */
	assert_int_equal(tally.records, EVERY_RECORD_COUNT + 3 + MT_NOTE_COUNT + 2);
	assert_error(mt_recording_each_record(recording, refuse_record, NULL), MT_ERROR_INTERRUPTED,
		     "TIME_CONV");
	mt_recording_close(recording);
}

static bool stop(void *context)
{
	(void)context;
	return true;
}

static void can_be_interrupted(void **state)
{
	const struct mt_progress progress = {.interrupted = stop};
	char *path = make_path();
	struct mt_recording_writer *writer = start_writer(path);
	struct mt_recording *recording = NULL;

	(void)state;
	put_every_record(writer);
	finish(writer);
	assert_error(mt_recording_open(path, &progress, &recording), MT_ERROR_INTERRUPTED, "");
	remove_path(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_what_was_written),
	    cmocka_unit_test(sorts_by_time_and_keeps_the_order_of_equals),
	    cmocka_unit_test(maps_aux_data_by_pieces),
	    cmocka_unit_test(a_writer_that_died_left_a_readable_file),
	    cmocka_unit_test(reads_real_hardware),
	    cmocka_unit_test(says_what_is_no_recording),
	    cmocka_unit_test(tells_each_record),
	    cmocka_unit_test(can_be_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
