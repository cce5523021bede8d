/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/large.h"

#include "unit.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE ((size_t)4096)
#define HUGE ((size_t)2 << 20)

static const size_t sizes[] = {1,    PAGE,     HUGE / 2 - 1,        HUGE / 2, HUGE - 1,
			       HUGE, HUGE + 1, 3 * HUGE + PAGE + 1, 8 * HUGE};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void test_allocates_any_size(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++) {
		char *memory = mt_large_alloc(sizes[i]);

		assert_non_null(memory);
		memset(memory, 1, sizes[i]);
		free(memory);
	}
	free(mt_large_alloc(0));
	assert_null(mt_large_alloc(SIZE_MAX - 1));
}

/* Of address space. */
static size_t count_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

static void test_maps_no_more_than_asked_for(void **state)
{
	(void)state;
	count_pages(); /* what stdio allocates */
	for (size_t i = 0; i < SIZES; i++) {
		const size_t size = sizes[i], before = count_pages();
		char *memory = mt_large_map(size);

		assert_non_null(memory);
		assert_int_equal(count_pages() - before, (size + PAGE - 1) / PAGE);
		assert_true(size < HUGE / 2 || (uintptr_t)memory % HUGE == 0);
		assert_true(memory[0] == 0 && memory[size - 1] == 0);
		memset(memory, 1, size);
		assert_int_equal(munmap(memory, size), 0);
		assert_int_equal(count_pages(), before);
	}
	assert_null(mt_large_map(SIZE_MAX - PAGE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_allocates_any_size),
	    cmocka_unit_test(test_maps_no_more_than_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
