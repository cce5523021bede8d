/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the encoder tells of random walks, perf must decode to the same instructions. */
#include "perf_fixture.h"
#include "pt_walk.h"

struct files {
	char directory[64];
	char code[96];
	char recording[96];
	char list[96];
};

static void make_files(struct files *files)
{
	snprintf(files->directory, sizeof(files->directory), "/tmp/mtrace-test-XXXXXX");
	assert_non_null(mkdtemp(files->directory));
	snprintf(files->code, sizeof(files->code), "%s/code", files->directory);
	snprintf(files->recording, sizeof(files->recording), "%s/perf.data", files->directory);
	snprintf(files->list, sizeof(files->list), "%s/list", files->directory);
}

static void remove_files(const struct files *files)
{
	unlink(files->code);
	unlink(files->recording);
	unlink(files->list);
	rmdir(files->directory);
}

static void write_code(const struct files *files, const struct program *program)
{
	FILE *file = fopen(files->code, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(program->code, 1, sizeof(program->code), file),
			 sizeof(program->code));
	assert_int_equal(fclose(file), 0);
}

static void put_mappings(struct mt_recording_writer *writer, const struct files *files)
{
	struct mt_sideband comm = record_at(0);

	comm.time_ns = 1;
	assert_no_error(mt_recording_writer_put(writer, &comm));
	for (size_t quarter = 0; quarter < USER_QUARTERS; quarter++) {
		uint64_t offset = quarter * QUARTER * NODE_BYTES;
		struct mt_sideband mapping = {
		    .kind = MT_SIDEBAND_MMAP,
		    .time_ns = 1,
		    .pid = 100,
		    .tid = 100,
		    .cpu = -1,
		    .mmap = {.start = bases[quarter] + offset,
			     .length = QUARTER * NODE_BYTES,
			     .offset = offset,
			     .path = files->code,
			     .executable = true},
		};
		assert_no_error(mt_recording_writer_put(writer, &mapping));
	}
}

static void write_recording(const struct files *files, struct walk *walk, const uint8_t *bytes,
			    size_t size)
{
	const struct mt_pt_encoder_config *config = &walk->options->config;
	struct mt_recording_pt pt = hello_pt;
	const struct mt_recording_writer_options options = {
	    .pt = &pt, .conversion = {.shift = 10, .mult = 512}};
	/* perf 6.1 crashes on a reference of 0. */
	const struct mt_auxtrace piece = {
	    .size = size, .reference = walk->steps[0].tsc, .tid = 100, .cpu = -1};
	struct mt_recording_writer *writer = NULL;

	pt.return_compression = !config->no_return_compression;
	assert_no_error(mt_recording_writer_create(files->recording, &options, &writer));
	write_code(files, &walk->program);
	put_mappings(writer, files);
	assert_no_error(mt_recording_writer_put_aux(writer, &piece, bytes));
	assert_no_error(mt_recording_writer_finish(writer));
	mt_recording_writer_destroy(writer);
}

/* Two TSC ticks are a nanosecond in these recordings. */
static void compare_step(const struct walk *walk, const struct step *perf, const struct step *truth,
			 size_t window)
{
	uint64_t low = walk->told[truth->told > window ? truth->told - window : 0];
	uint64_t high =
	    truth->told + window < walk->told_count ? walk->told[truth->told + window] : walk->tsc;

	if (perf->ip != truth->ip)
		fail_msg("seed %lu: instruction %zu: %#lx, not %#lx",
			 (unsigned long)walk->options->seed, truth - walk->steps,
			 (unsigned long)perf->ip, (unsigned long)truth->ip);
	if (perf->tsc + 2 < low || perf->tsc > high)
		fail_msg("seed %lu: instruction %zu: time %lu, not in %lu … %lu",
			 (unsigned long)walk->options->seed, truth - walk->steps,
			 (unsigned long)perf->tsc, (unsigned long)low, (unsigned long)high);
}

/* Every line that perf prints is the time and address of an instruction; they are the last of those
 * that ran, or all. */
static size_t compare_list(const struct files *files, const struct walk *walk, bool whole)
{
	static char line[256];
	struct step *steps = malloc((walk->count + 1) * sizeof(*steps));
	size_t count = 0;
	FILE *list = fopen(files->list, "r");

	assert_true(steps && list);
	while (fgets(line, sizeof(line), list)) {
		unsigned long seconds, nanoseconds, ip;
		if (sscanf(line, "%lu.%lu: %lx", &seconds, &nanoseconds, &ip) != 3)
			fail_msg("perf says: %s", line);
		if (count == walk->count)
			fail_msg("perf decodes more than the %zu instructions", walk->count);
		steps[count].ip = ip;
		steps[count++].tsc = 2 * (seconds * 1000000000 + nanoseconds);
	}
	fclose(list);
	if (whole)
		assert_int_equal(count, walk->count);
	for (size_t i = 0; i < count; i++)
		compare_step(walk, &steps[i], &walk->steps[walk->count - count + i],
			     walk->options->config.long_tnt ? 60 : 20);
	free(steps);
	return count;
}

static size_t run_walk(const struct walk_options *options)
{
	static struct walk walk;
	struct files files;
	uint8_t *bytes;
	size_t size;
	uint64_t lost;
	char command[512];

	make_files(&files);
	walk_run(&walk, options);
	assert_no_error(mt_pt_encoder_snapshot(walk.encoder, &bytes, &size, &lost));
	write_recording(&files, &walk, bytes, size);
	snprintf(command, sizeof(command),
		 "perf script --itrace=i0nse -F time,ip --ns -i %s >%s 2>&1", files.recording,
		 files.list);
	assert_int_equal(system(command), 0);
	size_t count = compare_list(&files, &walk, lost == 0);
	remove_files(&files);
	free(bytes);
	walk_end(&walk);
	return count;
}

static void test_random_walks(void **state)
{
	(void)state;
	require_perf();
	for (uint64_t seed = 1; seed <= 6; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.user_only = true;
		options.swings = seed % 2;
		options.config.long_tnt = seed % 3 == 0;
		options.config.psb_period_bytes = 1024 << seed;
		options.config.no_return_compression = seed == 4;
		run_walk(&options);
	}
}

static void test_wrapped_rings(void **state)
{
	(void)state;
	require_perf();
	for (uint64_t seed = 11; seed <= 13; seed++) {
		struct walk_options options = plain;
		options.seed = seed;
		options.user_only = true;
		options.config.ring_bytes = 8192 + 777 * (seed - 11);
		assert_true(run_walk(&options) > 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random_walks),
	    cmocka_unit_test(test_wrapped_rings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
