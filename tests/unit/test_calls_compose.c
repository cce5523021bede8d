/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whatever the pieces are, a text that is composed of them is the one that is composed at once. */
#include "unit.h"

#include "elf/code.h"
#include "engine/calls/private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define BIAS 0x7f1234567000ull
#define PAGE 4096u

struct world {
	struct mt_calls_file file;
	struct mt_calls_module module;
	struct mt_calls_place place;
	struct mt_calls_space space;
	size_t size;
	uint8_t *clean, *whole;
};

static void find_text(struct world *world)
{
	struct mt_code code = {0};
	uint64_t start = UINT64_MAX, end = 0;

	assert_int_equal(mt_code_read(world->file.objfile, &code), 0);
	mt_array_each (range, &code) {
		start = range->start < start ? range->start : start;
		end = range->end > end ? range->end : end;
	}
	mt_array_deinit(&code);
	start &= ~(uint64_t)(PAGE - 1);
	world->size = end - start;
	world->module.start = start + BIAS;
	world->module.end = end + BIAS;
	world->clean = calloc(1, world->size);
	world->whole = calloc(1, world->size);
	assert_true(world->clean && world->whole);
	mt_objfile_read(world->file.objfile, start, world->clean, world->size);
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	Dl_info zlib;

	assert_non_null(world);
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "crc32_z"), &zlib));
	assert_no_error(mt_objfile_open(zlib.dli_fname, NULL, NULL, &world->file.objfile));
	assert_no_error(mt_plan_create(world->file.objfile, NULL, &world->file.plan));
	find_text(world);
	const size_t count = world->file.plan->patches.count;
	world->module.file = &world->file;
	world->module.bias = BIAS;
	world->module.room = BIAS + (300 << 20);
	uint32_t *offsets = calloc(count, sizeof(*offsets));
	world->module.offsets = world->module.own_offsets = offsets;
	world->place.module = &world->module;
	world->place.off = calloc(count, sizeof(*world->place.off));
	world->place.held = calloc(count, sizeof(*world->place.held));
	assert_true(world->module.offsets && world->place.off && world->place.held);
	for (size_t i = 0; i < count; i++) {
		offsets[i] = (uint32_t)i * 128;
		world->place.off[i] = i % 11 == 3;
		world->place.held[i] = i % 13 == 5;
	}
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;

	free(world->place.off);
	free(world->place.held);
	free(world->module.own_offsets);
	mt_plan_destroy(world->file.plan);
	mt_objfile_unref(world->file.objfile);
	free(world->clean);
	free(world->whole);
	free(world);
	return 0;
}

static void compose(const struct world *world, uint8_t *bytes, size_t at, size_t size)
{
	const struct mt_calls_piece piece = {world->module.start + at, size, bytes};

	memcpy(bytes, world->clean + at, size);
	mt_calls_compose(&world->space, &world->place, &piece);
}

static void test_pieces(void **state)
{
	const size_t sizes[] = {1, 2, 3, 4, 5, 7, 64, 129, 255, 1000, PAGE, 3 * PAGE};
	struct world *world = *state;
	uint8_t *bytes = malloc(3 * PAGE + 1);

	assert_non_null(bytes);
	compose(world, world->whole, 0, world->size);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t at = 0; at < world->size; at += sizes[i]) {
			size_t left = world->size - at, size = left < sizes[i] ? left : sizes[i];

			bytes[size] = 0x5a;
			compose(world, bytes, at, size);
			assert_memory_equal(bytes, world->whole + at, size);
			assert_int_equal(bytes[size], 0x5a);
		}
	free(bytes);
}

/* What is there is a jump to the trampoline, over a hole where there is one, and nothing where the
 * patch is out. */
static void test_jumps(void **state)
{
	struct world *world = *state;
	const struct mt_plan *plan = world->file.plan;
	size_t holes = 0, jumps = 0, out = 0;

	compose(world, world->whole, 0, world->size);
	for (size_t i = 0; i < plan->patches.count; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];
		const uint64_t text = world->module.start - BIAS;
		const uint8_t *at = world->whole + (patch->address - text);
		uint64_t from = patch->hole ? patch->hole : patch->address;
		int32_t distance;

		if (!mt_calls_is_on(&world->place, i)) {
			out += memcmp(at, world->clean + (patch->address - text), 2) == 0;
			continue;
		}
		memcpy(&distance, world->whole + (from - text) + 1, sizeof(distance));
		assert_int_equal(world->whole[from - text], 0xe9);
		assert_int_equal(from + BIAS + 5 + (uint64_t)(int64_t)distance,
				 world->module.room + world->module.offsets[i]);
		if (patch->hole) {
			assert_int_equal(at[0], 0xeb);
			assert_int_equal(patch->address + 2 + (uint64_t)(int8_t)at[1], patch->hole);
		}
		holes += patch->hole != 0;
		jumps += patch->hole == 0;
	}
	assert_true(holes > 5 && jumps > 50 && out > 5);
}

static bool *written(const struct world *world)
{
	const size_t count = world->file.plan->patches.count;
	bool *patches = calloc(count, sizeof(*patches));

	assert_non_null(patches);
	for (size_t i = 0; i < count; i++)
		patches[i] = mt_calls_is_on(&world->place, i);
	return patches;
}

/* How many patches are found in MEMORY. */
static size_t intact(struct world *world, const uint8_t *memory)
{
	bool *patches = written(world);
	size_t count = 0;

	world->module.clean = world->clean;
	world->module.room_bytes = (uint64_t)world->file.plan->patches.count * 128;
	bool any = mt_calls_keep_intact(&world->space, &world->module, memory, patches);
	for (size_t i = 0; i < world->file.plan->patches.count; i++)
		count += patches[i];
	assert_int_equal(any, count != 0);
	free(patches);
	return count;
}

static size_t number_of(const struct world *world)
{
	bool *patches = written(world);
	size_t count = 0;

	for (size_t i = 0; i < world->file.plan->patches.count; i++)
		count += patches[i];
	free(patches);
	return count;
}

static uint8_t *random_bytes(size_t size)
{
	uint8_t *bytes = malloc(size);
	uint64_t random = 88172645463325252ull;

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		bytes[i] = (uint8_t)random;
	}
	return bytes;
}

/* The first one without a hole becomes what looks like a jump to a trampoline. */
static size_t put_chance(const struct world *world, uint8_t *bytes, uint8_t first)
{
	for (size_t i = 0; i < world->file.plan->patches.count; i++) {
		const struct mt_patch *patch = &world->file.plan->patches.items[i];
		const uint64_t from = patch->address + BIAS;
		const int32_t distance = (int32_t)(world->module.room + 7 - (from + 5));

		if (patch->hole || !mt_calls_is_on(&world->place, i))
			continue;
		bytes[from - world->module.start] = first;
		memcpy(bytes + (from - world->module.start) + 1, &distance, sizeof(distance));
		return from - world->module.start;
	}
	fail();
	return 0;
}

/* Another's memory lies where a library was. */
static void test_what_is_like_a_jump_by_chance(void **state)
{
	struct world *world = *state;
	uint8_t *bytes = random_bytes(world->size);

	put_chance(world, bytes, 0xe9);
	assert_int_equal(intact(world, bytes), 0);
	put_chance(world, bytes, 0xcc);
	assert_int_equal(intact(world, bytes), 0);
	free(bytes);
}

static void test_what_is_there(void **state)
{
	struct world *world = *state;
	const size_t all = number_of(world);

	compose(world, world->whole, 0, world->size);
	assert_int_equal(intact(world, world->whole), all);
	/* A debugger's breakpoints. */
	world->whole[put_chance(world, world->whole, 0xe9)] = 0xcc;
	assert_int_equal(intact(world, world->whole), all);
	/* A page of the text is mapped anew: the others' are found. */
	uint8_t *bytes = random_bytes(PAGE);
	const size_t at = put_chance(world, world->whole, 0xe9), page = at & ~(size_t)(PAGE - 1);
	const size_t left = world->size - page, size = left < PAGE ? left : PAGE;
	memcpy(world->whole + page, bytes, size);
	put_chance(world, world->whole, 0xe9);
	const size_t found = intact(world, world->whole);
	assert_true(found < all && found > all / 2);
	/* Or one patch of many was overwritten. */
	compose(world, world->whole, 0, world->size);
	world->whole[at] ^= 0x40;
	assert_int_equal(intact(world, world->whole), all - 1);
	free(bytes);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {test(test_pieces), test(test_jumps),
					   test(test_what_is_like_a_jump_by_chance),
					   test(test_what_is_there)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
