/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The truth about an image at a place is what is made for that place straight away. */
#include "unit.h"

#include "elf/code.h"
#include "engine/calls/trampoline/cfi.h"
#include "engine/calls/trampoline/image.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096u

struct world {
	char directory[32], path[64];
	struct mt_objfile *objfile;
	struct mt_plan *plan;
	struct mt_kept_key key;
	uint8_t *clean;
	struct mt_image_config config;
};

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct mt_code code = {0};
	uint64_t start = UINT64_MAX, end = 0;
	Dl_info zlib;

	assert_non_null(world);
	strcpy(world->directory, "/tmp/mtrace-image-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	snprintf(world->path, sizeof(world->path), "%s/image", world->directory);
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "crc32_z"), &zlib));
	assert_no_error(mt_objfile_open(zlib.dli_fname, NULL, NULL, &world->objfile));
	assert_no_error(mt_plan_create(world->objfile, NULL, &world->plan));
	assert_int_equal(mt_kept_key(world->objfile, 42, &world->key), 0);
	assert_int_equal(mt_code_read(world->objfile, &code), 0);
	mt_array_each (range, &code) {
		start = range->start < start ? range->start : start;
		end = range->end > end ? range->end : end;
	}
	mt_array_deinit(&code);
	start &= ~(uint64_t)(PAGE - 1);
	world->clean = calloc(1, end - start);
	assert_non_null(world->clean);
	mt_objfile_read(world->objfile, start, world->clean, end - start);
	world->config = (struct mt_image_config){.start = start,
						 .end = end,
						 .clean = world->clean,
						 .base = start,
						 .ring_bytes = 1 << 20,
						 .movable = true};
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;

	mt_plan_destroy(world->plan);
	mt_objfile_unref(world->objfile);
	unlink(world->path);
	rmdir(world->directory);
	free(world->clean);
	free(world);
	return 0;
}

static struct mt_image make(const struct world *world)
{
	struct mt_image image;

	assert_no_error(mt_image_make(world->plan, &world->config, &image));
	assert_true(image.part_count > 50 && image.hole_count > 5);
	return image;
}

/* As far as the end of the trampolines. */
static struct mt_trampolines made_there(const struct world *world, const struct mt_image *image,
					const struct mt_image_place *place)
{
	const struct mt_plan *plan = world->plan;
	struct mt_trampolines made = {0};
	const struct mt_trampoline_config config = {.address = place->room,
						    .shared = place->room,
						    .bias = place->bias,
						    .ring_bytes = world->config.ring_bytes,
						    .alive = place->alive,
						    .stamps = world->config.stamps,
						    .movable = true};

	assert_int_equal(mt_trampolines_share(&made, &config), 0);
	assert_int_equal(image->shared_bytes, made.code.count);
	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		size_t before = made.code.count;
		int result = mt_trampoline_append(
		    &made, &config, patch, world->clean + (patch->address - world->config.start),
		    place->first_site + patch->site);

		assert_true(result == 0 || result == -2);
		assert_int_equal(image->offsets.items[i],
				 result ? MT_TRAMPOLINE_NONE : (uint32_t)before);
	}
	assert_int_equal(mt_trampolines_link(&made, &config, plan, image->offsets.items), 0);
	return made;
}

static void check_tables(const struct world *world, const struct mt_image *image,
			 const struct mt_trampolines *made, const struct mt_image_place *place)
{
	struct mt_cfi_hole *holes = calloc(image->hole_count + 1, sizeof(*holes));
	uint32_t *parts = calloc(image->part_count + 1, sizeof(*parts));
	const uint64_t *addresses = (const uint64_t *)(image->bytes.items + image->holes);
	struct mt_cfi_image cfi;
	size_t count = 0, part_count = image->shared_bytes != 0;

	for (size_t i = 0; i < world->plan->patches.count; i++) {
		if (image->offsets.items[i] != MT_TRAMPOLINE_NONE)
			parts[part_count++] = image->offsets.items[i];
	}
	assert_int_equal(part_count, image->part_count);
	for (count = 0; count < image->hole_count; count++) {
		assert_true(!count || addresses[count] > addresses[count - 1]);
		mt_array_each (patch, &world->plan->patches)
			if (patch->hole && patch->hole + place->bias == addresses[count])
				holes[count] = (struct mt_cfi_hole){addresses[count],
								    patch->address + place->bias};
		assert_true(holes[count].address);
	}
	const struct mt_cfi_config config = {.code = place->room,
					     .address = place->room + image->table,
					     .parts = parts,
					     .part_count = part_count,
					     .holes = holes,
					     .hole_count = count};
	assert_int_equal(mt_cfi_build(made, &config, &cfi), 0);
	if (place->room > place->bias)
		mt_cfi_holes_first(cfi.bytes.items, part_count, count);
	assert_true(image->table + cfi.bytes.count <= image->holes);
	assert_memory_equal(image->bytes.items + image->table, cfi.bytes.items, cfi.bytes.count);
	mt_cfi_image_deinit(&cfi);
	free(holes);
	free(parts);
}

/* Words that lie across the ends of pieces are whole, and nothing is written beside a piece. */
static void check_code(const struct mt_image *image, const struct mt_trampolines *made,
		       const struct mt_image_place *place, uint32_t size)
{
	const uint32_t before = MT_IMAGE_MARGIN;
	uint8_t *bytes = malloc(size + 2 * (size_t)before + 2);

	assert_non_null(bytes);
	bytes[0] = bytes[1 + before + size + before] = 0x5a;
	for (uint32_t at = 0; at < image->code_bytes; at += size) {
		uint32_t end = at + size < image->code_bytes ? at + size : image->code_bytes;

		mt_image_copy_code(image, place, at, end, bytes + 1 + before);
		assert_memory_equal(bytes + 1 + before, made->code.items + at, end - at);
		assert_int_equal(bytes[0], 0x5a);
		assert_int_equal(bytes[1 + before + size + before], 0x5a);
	}
	free(bytes);
}

static void check_at(const struct world *world, struct mt_image *image,
		     const struct mt_image_place *place)
{
	assert_true(mt_image_reaches(image, place));
	mt_image_fix_tables(image, place);
	struct mt_trampolines made = made_there(world, image, place);
	assert_int_equal(image->code_bytes, made.code.count);
	check_code(image, &made, place, image->code_bytes);
	for (uint32_t size = 990; size < 1010; size++)
		check_code(image, &made, place, size);
	check_tables(world, image, &made, place);
	mt_trampolines_deinit(&made);
}

#define BIAS 0x7f1234567000ull

static const struct mt_image_place places[] = {
    {.room = BIAS - (300 << 20), .bias = BIAS, .first_site = 0},
    {.room = BIAS + (300 << 20), .bias = BIAS, .first_site = 12345},
    {.room = 0x555500000000, .bias = 0x555555554000, .first_site = 77},
};

static void test_anywhere(void **state)
{
	struct world *world = *state;

	for (unsigned stamps = 0; stamps < 2; stamps++) {
		world->config.stamps = stamps ? MT_RING_FULL : MT_RING_SAMPLED;
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			struct mt_image image = make(world);

			check_at(world, &image, &places[i]);
			mt_image_deinit(&image);
		}
	}
}

/* As it is kept for a place, it fits there but for absolute addresses. */
static void test_for_a_place(void **state)
{
	struct world *world = *state;
	const uint64_t bases[] = {world->config.start - (300 << 20), 1 << 30};

	world->config.first_site = 77;
	for (size_t i = 0; i < 2; i++) {
		struct mt_image_place place = {
		    .room = BIAS + bases[i], .bias = BIAS, .first_site = 77};

		world->config.base = bases[i];
		struct mt_image image = make(world);
		check_at(world, &image, &place);
		mt_image_deinit(&image);
		image = make(world);
		check_at(world, &image, &places[1]);
		mt_image_deinit(&image);
	}
}

static void test_for_what_outlives_us(void **state)
{
	struct world *world = *state;
	struct mt_image_place place = places[0];

	world->config.outlives_us = true;
	place.alive = 0x7eeeeeeeeff8;
	struct mt_image image = make(world);
	check_at(world, &image, &place);
	mt_image_deinit(&image);
}

static void test_too_far(void **state)
{
	const struct mt_image_place far = {.room = BIAS + (1ull << 31), .bias = BIAS};
	const struct mt_image_place below = {.room = BIAS - (1ull << 31), .bias = BIAS};
	struct mt_image image = make(*state);

	assert_false(mt_image_reaches(&image, &far));
	assert_false(mt_image_reaches(&image, &below));
	mt_image_deinit(&image);
}

static void store(const struct world *world, const struct mt_image *image)
{
	assert_no_error(mt_image_store(image, &world->key, world->path));
}

static int load(const struct world *world, struct mt_image *image)
{
	return mt_image_load(world->plan, &world->key, world->path, image);
}

static void test_what_is_read_is_what_was_written(void **state)
{
	struct world *world = *state;
	struct mt_image image = make(world), again;

	assert_int_equal(load(world, &again), 0); /* there is none */
	store(world, &image);
	assert_int_equal(load(world, &again), 1);
	check_at(world, &again, &places[1]);
	mt_image_deinit(&again);
	world->key.variant++;
	assert_int_equal(load(world, &again), 0);
	mt_image_deinit(&image);
}

/* Of a large one the file stays open until it was copied; what cannot be read there is in memory.
 */
static void test_read_from_the_file(void **state)
{
	struct world *world = *state;
	struct mt_image image = make(world), again;

	store(world, &image);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(load(world, &again), 1);
		assert_int_equal(again.kept.fd, -1);
		again.kept.fd = open(i ? "/dev/null" : world->path, O_RDONLY);
		assert_true(again.kept.fd >= 0);
		check_at(world, &again, &places[1]);
		mt_kept_close(&again.kept);
		assert_int_equal(again.kept.fd, -1);
		mt_image_deinit(&again);
	}
	mt_image_deinit(&image);
}

/* The first look leaves no belief to the second one. */
static void assert_refused(const struct world *world)
{
	for (int i = 0; i < 2; i++) {
		struct mt_image image;

		assert_int_equal(load(world, &image), 0);
		assert_null(image.bytes.items);
	}
}

static void test_garbled(void **state)
{
	struct world *world = *state;
	struct mt_image image = make(world);
	struct stat file;

	store(world, &image);
	int fd = open(world->path, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &file) == 0);
	srand(1);
	for (off_t i = 0; i < 500; i++) {
		off_t at = i < 280 ? i : rand() % file.st_size;
		uint8_t byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ (uint8_t)(1 << rand() % 8);
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_refused(world);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	for (int i = 0; i < 50; i++) {
		assert_int_equal(ftruncate(fd, rand() % file.st_size), 0);
		assert_refused(world);
	}
	close(fd);
	mt_image_deinit(&image);
}

#define refuses(world, image, field, value)                                                        \
	do {                                                                                       \
		__typeof__(field) before = (field);                                                \
		(field) = (value);                                                                 \
		store(world, image);                                                               \
		assert_refused(world);                                                             \
		(field) = before;                                                                  \
	} while (0)

/* Whole, but no image that anybody made. */
static void test_unsound(void **state)
{
	struct world *world = *state;
	struct mt_image image = make(world);

	refuses(world, &image, image.code_bytes, UINT32_MAX);
	refuses(world, &image, image.spare, image.spare + 8);
	refuses(world, &image, image.table, UINT32_MAX);
	refuses(world, &image, image.holes, UINT32_MAX - 7);
	refuses(world, &image, image.hole_count, UINT32_MAX);
	refuses(world, &image, image.shared_bytes, 0);
	refuses(world, &image, image.shared_bytes, image.shared_bytes + 1);
	refuses(world, &image, image.part_count, 0);
	refuses(world, &image, image.part_count, UINT32_MAX);
	refuses(world, &image, image.offsets.count, image.offsets.count - 1);
	refuses(world, &image, image.offsets.items[3], image.code_bytes);
	refuses(world, &image, image.offsets.items[3], 0);
	refuses(world, &image, image.bytes.count, image.bytes.count - 8);
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		if (image.fixes.at[kind].count)
			refuses(world, &image, image.fixes.at[kind].items[0],
				(uint32_t)image.bytes.count - 3);
	for (unsigned kind = 0; kind < MT_FIX_KINDS; kind++)
		if (image.code_fixes[kind] > 1)
			refuses(world, &image, image.fixes.at[kind].items[1], 0);
	mt_image_deinit(&image);
}

/* Of what was good at a look before, too. */
static void test_of_another_plan(void **state)
{
	struct world *world = *state;
	struct mt_image image = make(world), again;

	store(world, &image);
	assert_int_equal(load(world, &again), 1);
	mt_image_deinit(&again);
	world->plan->patches.count--;
	assert_refused(world);
	world->plan->patches.count++;
	assert_int_equal(load(world, &again), 1);
	mt_image_deinit(&again);
	mt_image_deinit(&image);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test(test_anywhere),
	    test(test_for_a_place),
	    test(test_for_what_outlives_us),
	    test(test_too_far),
	    test(test_what_is_read_is_what_was_written),
	    test(test_read_from_the_file),
	    test(test_garbled),
	    test(test_unsound),
	    test(test_of_another_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
