/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks of code and the ways between them, where the code at an address changes. */
#include "pt/decode_code.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BASE   0x400000
#define IMAGES (MT_PT_CODE_TABLES + 2)

#define CODE_BYTES 64

/* Of image number I a jump over 2 * I bytes; all else are jumps to themselves. */
struct world {
	char path[24]; /* libipt opens it by name whenever it maps it */
	struct mt_pt_image_cache *cache;
	struct mt_pt_image *images[IMAGES];
};

static struct world open_world(void)
{
	struct world world = {.path = "/tmp/mtrace-code-XXXXXX"};
	uint8_t code[CODE_BYTES];
	int fd = mkstemp(world.path);

	assert_true(fd >= 0);
	assert_no_error(mt_pt_image_cache_create(&world.cache));
	for (uint8_t i = 0; i < IMAGES; i++) {
		for (size_t at = 0; at < sizeof(code); at += 2)
			memcpy(code + at, (const uint8_t[]){0xeb, 0xfe}, 2);
		code[1] = 2 * i;
		assert_int_equal(write(fd, code, sizeof(code)), sizeof(code));
	}
	close(fd);
	for (uint8_t i = 0; i < IMAGES; i++) {
		assert_no_error(mt_pt_image_create(world.cache, &world.images[i]));
		assert_no_error(mt_pt_image_add(world.images[i], world.path, i * sizeof(code),
						sizeof(code), BASE));
	}
	return world;
}

static void close_world(struct world *world)
{
	for (size_t i = 0; i < IMAGES; i++)
		mt_pt_image_destroy(world->images[i]);
	mt_pt_image_cache_destroy(world->cache);
	unlink(world->path);
}

/* Take the jump, and come back; returns where it leads. */
static uint64_t jump(struct mt_pt_code *code)
{
	struct mt_pt_code_block *from = mt_pt_code_here(code, BASE);

	assert_int_equal(from->ip, BASE);
	assert_int_equal(from->class, MT_INSN_JUMP);
	mt_pt_code_go(code, from, MT_PT_CODE_AWAY, from->target);
	struct mt_pt_code_block *to = mt_pt_code_here(code, from->target);
	assert_int_equal(to->ip, from->target);
	mt_pt_code_go(code, to, MT_PT_CODE_AWAY, BASE);
	assert_ptr_equal(code->at, from);
	return from->target;
}

static void test_another_image_has_other_ways(void **state)
{
	struct world world = open_world();
	struct mt_pt_code code = {0};

	(void)state;
	/* From each to the one before, and back; and more than are kept: the oldest are let go of,
	 * and made anew.
	 */
	for (size_t turn = 0; turn < 6 * IMAGES; turn++) {
		size_t which = (turn / 2 * 3 + turn % 2) % IMAGES;
		uint64_t epoch = code.epoch;

		for (size_t step = 0; step < 3; step++) {
			size_t now = step == 1 ? (which + IMAGES - 1) % IMAGES : which;

			assert_no_error(mt_pt_code_set_image(&code, world.images[now], false));
			assert_int_equal(jump(&code), BASE + 2 + 2 * now);
			assert_int_equal(jump(&code), BASE + 2 + 2 * now);
		}
		assert_true(code.epoch > epoch);
	}
	uint64_t epoch = code.epoch;
	assert_no_error(mt_pt_code_set_image(&code, code.table->image, false));
	assert_int_equal(code.epoch, epoch);
	mt_pt_code_deinit(&code);
	close_world(&world);
}

static void test_a_way_leads_elsewhere_the_next_time(void **state)
{
	struct world world = open_world();
	struct mt_pt_code code = {0};

	(void)state;
	assert_no_error(mt_pt_code_set_image(&code, world.images[1], false));
	struct mt_pt_code_block *from = mt_pt_code_at(&code, BASE);
	for (uint64_t to = BASE + 2; to < BASE + 20; to += 2) {
		mt_pt_code_go(&code, from, MT_PT_CODE_AWAY, to);
		assert_int_equal(code.at->ip, to);
		assert_ptr_equal(from->next[MT_PT_CODE_AWAY], code.at);
		assert_ptr_equal(mt_pt_code_at(&code, to), code.at);
		assert_null(from->next[MT_PT_CODE_ON]);
	}
	mt_pt_code_deinit(&code);
	close_world(&world);
}

/* Or of what cannot be read: what is before it runs first. */
static void test_a_block_ends_in_front_of_what_is_no_instruction(void **state)
{
	static const uint8_t code_bytes[] = {0x90, 0x90, 0x90, 0x06};
	struct mt_pt_image_cache *cache;

	(void)state;
	assert_no_error(mt_pt_image_cache_create(&cache));
	for (uint64_t size = 3; size <= 4; size++) {
		struct mt_pt_image *image;
		struct mt_pt_code code = {0};

		assert_no_error(mt_pt_image_create(cache, &image));
		assert_no_error(mt_pt_image_add_bytes(image, code_bytes, size, BASE));
		assert_no_error(mt_pt_code_set_image(&code, image, false));
		const struct mt_pt_code_block *block = mt_pt_code_at(&code, BASE);
		assert_int_equal(block->instructions, 3);
		assert_int_equal(block->class, MT_INSN_OTHER);
		block = mt_pt_code_at(&code, block->after);
		assert_int_equal(block->class, size == 3 ? MT_PT_CODE_NONE : MT_PT_CODE_BAD);
		mt_pt_code_deinit(&code);
		mt_pt_image_destroy(image);
	}
	mt_pt_image_cache_destroy(cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_another_image_has_other_ways),
	    cmocka_unit_test(test_a_way_leads_elsewhere_the_next_time),
	    cmocka_unit_test(test_a_block_ends_in_front_of_what_is_no_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
