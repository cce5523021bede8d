/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fuzzer without its engine: nothing at all as its input, and each of its seeds, in
 * tests/fuzz/corpus/NAME.  So what it takes for granted is tried with the unit tests, which need no
 * clang. */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define MOST_BYTES (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void try_seed(const char *directory, const char *name)
{
	static uint8_t bytes[MOST_BYTES];
	char path[512];
	FILE *file;
	size_t size;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	assert_in_range(size, 1, MOST_BYTES - 1);
	LLVMFuzzerTestOneInput(bytes, size);
}

static void test_seeds(void **state)
{
	const char *name = program_invocation_short_name + sizeof("fuzz_") - 1;
	char directory[256];
	struct dirent *entry;
	DIR *seeds;

	(void)state;
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	snprintf(directory, sizeof(directory), "tests/fuzz/corpus/%s", name);
	seeds = opendir(directory);
	if (!seeds)
		return; /* not all have some */
	while ((entry = readdir(seeds)))
		if (entry->d_name[0] != '.')
			try_seed(directory, entry->d_name);
	closedir(seeds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds)};

	return cmocka_run_group_tests_name(program_invocation_short_name, tests, NULL, NULL);
}
