/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands where in an image. */
#include "unit.h"

#include "pt/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct fixture {
	struct mt_pt_image_cache *cache;
	struct mt_pt_image *image;
	char path[32];
};

static struct fixture set_up(void)
{
	struct fixture fixture = {.path = "/tmp/mtrace-image-XXXXXX"};
	uint8_t bytes[256];
	int fd = mkstemp(fixture.path);

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	close(fd);
	assert_no_error(mt_pt_image_cache_create(&fixture.cache));
	assert_no_error(mt_pt_image_create(fixture.cache, &fixture.image));
	return fixture;
}

static void tear_down(struct fixture *fixture)
{
	mt_pt_image_destroy(fixture->image);
	mt_pt_image_cache_destroy(fixture->cache);
	unlink(fixture->path);
}

static void test_reads_up_to_the_end_of_a_section(void **state)
{
	(void)state;
	struct fixture fixture = set_up();
	uint8_t bytes[15];

	assert_no_error(mt_pt_image_add(fixture.image, fixture.path, 16, 32, 0x1000));
	assert_int_equal(mt_pt_image_read(fixture.image, 0x1000, bytes, 15), 15);
	assert_int_equal(bytes[0], 16);
	assert_int_equal(mt_pt_image_read(fixture.image, 0x101e, bytes, 15), 2);
	assert_int_equal(bytes[1], 47);
	assert_int_equal(mt_pt_image_read(fixture.image, 0x1020, bytes, 15), 0);
	assert_int_equal(mt_pt_image_read(fixture.image, 0xfff, bytes, 15), 0);
	tear_down(&fixture);
}

static void test_a_newer_mapping_hides_what_it_overlaps(void **state)
{
	(void)state;
	struct fixture fixture = set_up();
	uint8_t bytes[15];

	assert_no_error(mt_pt_image_add(fixture.image, fixture.path, 0, 64, 0x1000));
	assert_no_error(mt_pt_image_add(fixture.image, fixture.path, 128, 8, 0x1010));
	assert_int_equal(mt_pt_image_read(fixture.image, 0x100c, bytes, 15), 4);
	assert_int_equal(bytes[3], 15);
	assert_int_equal(mt_pt_image_read(fixture.image, 0x1010, bytes, 15), 8);
	assert_int_equal(bytes[0], 128);
	assert_int_equal(mt_pt_image_read(fixture.image, 0x1018, bytes, 15), 15);
	assert_int_equal(bytes[0], 24);
	tear_down(&fixture);
}

static void test_a_mapping_longer_than_its_file_is_cut(void **state)
{
	(void)state;
	struct fixture fixture = set_up();

	assert_no_error(mt_pt_image_add(fixture.image, fixture.path, 128, 4096, 0x1000));
	assert_true(mt_pt_image_has(fixture.image, 0x107f));
	assert_false(mt_pt_image_has(fixture.image, 0x1080));
	assert_no_error(mt_pt_image_add(fixture.image, fixture.path, 0, 256, UINT64_MAX - 15));
	assert_true(mt_pt_image_has(fixture.image, UINT64_MAX - 1));
	tear_down(&fixture);
}

static void test_files_that_cannot_be_used_are_told(void **state)
{
	(void)state;
	struct fixture fixture = set_up();

	assert_error(mt_pt_image_add(fixture.image, "/nonexistent/lib.so", 0, 64, 0x1000),
		     MT_ERROR_NOT_FOUND, "/nonexistent/lib.so");
	assert_error(mt_pt_image_add(fixture.image, "/dev/zero", 0, 64, 0x1000),
		     MT_ERROR_UNSUPPORTED, "not a regular file");
	assert_error(mt_pt_image_add(fixture.image, fixture.path, 256, 64, 0x1000), MT_ERROR_FORMAT,
		     "ends before");
	assert_false(mt_pt_image_has(fixture.image, 0x1000));
	tear_down(&fixture);
}

static void test_what_filters_let_through(void **state)
{
	(void)state;
	struct fixture fixture = set_up();

	assert_true(mt_pt_image_is_traced(fixture.image, 0x1000));
	assert_no_error(mt_pt_image_add_filter(fixture.image, 0x1080, 0x10, true));
	assert_true(mt_pt_image_is_traced(fixture.image, 0x107f));
	assert_false(mt_pt_image_is_traced(fixture.image, 0x1080));
	assert_false(mt_pt_image_is_traced(fixture.image, 0x108f));
	assert_true(mt_pt_image_is_traced(fixture.image, 0x1090));
	assert_no_error(mt_pt_image_add_filter(fixture.image, 0x1000, 0x100, false));
	assert_no_error(mt_pt_image_add_filter(fixture.image, UINT64_MAX - 1, 2, false));
	assert_true(mt_pt_image_is_traced(fixture.image, 0x1000));
	assert_false(mt_pt_image_is_traced(fixture.image, 0x1080));
	assert_true(mt_pt_image_is_traced(fixture.image, 0x10ff));
	assert_false(mt_pt_image_is_traced(fixture.image, 0x1100));
	assert_true(mt_pt_image_is_traced(fixture.image, UINT64_MAX));
	assert_false(mt_pt_image_is_traced(fixture.image, 0));
	tear_down(&fixture);
}

/* In any order, one in the other, many. */
static void test_many_filters(void **state)
{
	enum { BYTES = 4096, FILTERS = 400 };
	uint8_t is_within[BYTES + 32] = {0}, stops[BYTES + 32] = {0};
	struct fixture fixture = set_up();
	uint32_t seed = 1;

	(void)state;
	for (int i = 0; i < FILTERS; i++) {
		seed = seed * 1103515245 + 12345;
		const size_t begin = seed >> 8 & (BYTES - 1), size = seed >> 24 & 15;
		const bool is_stop = seed >> 28 == 0;

		assert_no_error(
		    mt_pt_image_add_filter(fixture.image, 0x1000 + begin, size, is_stop));
		memset((is_stop ? stops : is_within) + begin, 1, size);
		for (size_t at = 0; i % 40 == 39 && at < sizeof(stops); at++)
			assert_int_equal(mt_pt_image_is_traced(fixture.image, 0x1000 + at),
					 is_within[at] && !stops[at]);
	}
	tear_down(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_reads_up_to_the_end_of_a_section),
	    cmocka_unit_test(test_a_newer_mapping_hides_what_it_overlaps),
	    cmocka_unit_test(test_a_mapping_longer_than_its_file_is_cut),
	    cmocka_unit_test(test_files_that_cannot_be_used_are_told),
	    cmocka_unit_test(test_what_filters_let_through),
	    cmocka_unit_test(test_many_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
