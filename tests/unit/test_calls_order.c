/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text that changes is a program's after each single write, as the system does them: page by
 * page. */
#include "engine/calls/private.h"

#include "unit.h"

#include <string.h>

#define PAGE  4096u
#define PAGES 3u
#define SIZE  (PAGES * PAGE)
#define START 0x10000u
#define COUNT 8u
#define INT3  0xcc

/* In file addresses, which begin at 0. */
static struct mt_patch patches[COUNT] = {
    {.address = 0x100, .length = 12},
    {.address = 0x120, .length = 3, .hole = 0x106},   /* among dead bytes */
    {.address = 0x130, .length = 2, .hole = 0xffd},   /* in padding, across a page's end */
    {.address = 0x1fe0, .length = 2, .hole = 0x1ffd}, /* among dead bytes, across a page's end */
    {.address = 0x1ff8, .length = 12},                /* dead bytes across a page's end */
    {.address = 0x20fc, .length = 6},                 /* branches of the next one lead here */
    {.address = 0x2110, .length = 3, .hole = 0x2120, .redirect = 0x2100},
    {.address = 0x2ff0, .length = 16},
};

static struct mt_plan_function function = {.start = 0, .end = SIZE};

struct world {
	struct mt_target target;
	struct mt_calls_engine engine;
	struct mt_calls_space space;
	struct mt_plan plan;
	struct mt_calls_file file;
	struct mt_calls_module module;
	uint8_t clean[SIZE], text[SIZE], memory[SIZE], known[SIZE];
	size_t writes, most_writes; /* 0: any number */
};

static void put_jump(uint8_t *text, uint64_t at)
{
	const uint8_t jump[] = {0xe9, 0x12, 0x34, 0x56, 0x78};

	memcpy(text + at, jump, sizeof(jump));
}

static void put(uint8_t *text, const struct mt_patch *patch)
{
	if (patch->hole) {
		text[patch->address] = 0xeb;
		text[patch->address + 1] = (uint8_t)(patch->hole - patch->address - 2);
	}
	put_jump(text, patch->hole ? patch->hole : patch->address);
}

static void make_text(const struct world *world, const bool *is, uint8_t *text)
{
	memcpy(text, world->clean, SIZE);
	for (size_t i = 0; i < COUNT; i++)
		if (is[i])
			memset(text + patches[i].address, INT3, patches[i].length);
	for (size_t i = 0; i < COUNT; i++)
		if (is[i])
			put(text, &patches[i]);
}

static bool is_in(const struct world *world, const struct mt_patch *patch)
{
	uint8_t text[SIZE];

	put(text, patch);
	return memcmp(world->memory + patch->address, text + patch->address,
		      patch->hole ? 2 : MT_PATCH_JUMP_BYTES) == 0;
}

static bool is_out(const struct world *world, const struct mt_patch *patch)
{
	return memcmp(world->memory + patch->address, world->clean + patch->address,
		      patch->length) == 0;
}

static void check(const struct world *world)
{
	uint8_t jump[SIZE];

	for (size_t i = 0; i < COUNT; i++) {
		const struct mt_patch *patch = &patches[i];

		if (!is_in(world, patch)) {
			assert_true(is_out(world, patch));
			continue;
		}
		put(jump, patch);
		if (patch->hole)
			assert_memory_equal(world->memory + patch->hole, jump + patch->hole,
					    MT_PATCH_JUMP_BYTES);
		for (size_t other = 0; other < COUNT; other++)
			if (mt_patch_depends(patch, &patches[other]))
				assert_true(is_in(world, &patches[other]));
	}
}

static struct mt_error *write_memory(struct mt_target *target, pid_t pid, uint64_t address,
				     const void *bytes, size_t size)
{
	struct world *world = (struct world *)target;
	size_t at = address - START, part;

	(void)pid;
	for (size_t done = 0; done < size; done += part) {
		part = PAGE - (at + done) % PAGE;
		if (part > size - done || size <= MT_PATCH_JUMP_BYTES)
			part = size - done;
		if (world->most_writes && world->writes == world->most_writes)
			return mt_error_new(MT_ERROR_GONE, "killed");
		memcpy(world->memory + at + done, (const uint8_t *)bytes + done, part);
		world->writes++;
		check(world);
	}
	return NULL;
}

static const struct mt_target_ops ops = {.write = write_memory};

static struct world *begin(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	world->target.ops = &ops;
	world->engine.target = &world->target;
	world->plan.patches.items = patches;
	world->plan.patches.count = COUNT;
	world->plan.functions.items = &function;
	world->plan.functions.count = 1;
	world->file.plan = &world->plan;
	world->space.attached = true;
	world->module = (struct mt_calls_module){.file = &world->file,
						 .bias = START,
						 .start = START,
						 .end = START + SIZE,
						 .clean = world->clean};
	for (size_t i = 0; i < SIZE; i++)
		world->clean[i] = (uint8_t)(i * 7 % 200);
	memcpy(world->memory, world->clean, SIZE);
	memcpy(world->known, world->clean, SIZE);
	assert_int_equal(mt_calls_order_levels(&world->plan, &world->module.levels), 0);
	return world;
}

static void end(struct world *world)
{
	free(world->module.levels);
	free(world);
}

static void change(struct world *world, const bool *was, const bool *is)
{
	const struct mt_calls_text_change what = {
	    .memory = world->known, .text = world->text, .was = was, .is = is};

	make_text(world, is, world->text);
	assert_null(mt_calls_text_change(&world->engine, &world->space, 1, &world->module, &what));
	assert_memory_equal(world->memory, world->text, SIZE);
	assert_memory_equal(world->known, world->text, SIZE);
}

static const bool none[COUNT];
static const bool all[COUNT] = {true, true, true, true, true, true, true, true};
static const bool some[COUNT] = {true, false, true, false, true, false, true, false};

static void test_levels(void **state)
{
	struct world *world = begin();
	const uint8_t levels[COUNT] = {0, 1, 0, 1, 0, 1, 0, 0};

	(void)state;
	assert_memory_equal(world->module.levels, levels, COUNT);
	end(world);
}

static void test_each_write_leaves_a_program(void **state)
{
	struct world *world = begin();

	(void)state;
	change(world, none, all);
	change(world, all, some);
	change(world, some, all);
	change(world, all, none);
	assert_true(world->writes > 4 * PAGES);
	end(world);
}

static void test_what_is_there_is_not_written(void **state)
{
	struct world *world = begin();

	(void)state;
	change(world, none, all);
	world->writes = 0;
	change(world, all, all);
	assert_int_equal(world->writes, 0);
	end(world);
}

/* A tracer was killed after so many writes, and the next one takes out whatever may be there. */
static void test_what_another_left(void **state)
{
	bool was_killed = true;

	(void)state;
	for (size_t most = 1; was_killed; most++) {
		struct world *world = begin();
		const struct mt_calls_text_change coming = {
		    .memory = world->known, .text = world->text, .was = none, .is = all};

		world->most_writes = most;
		make_text(world, all, world->text);
		struct mt_error *error =
		    mt_calls_text_change(&world->engine, &world->space, 1, &world->module, &coming);
		was_killed = error != NULL;
		mt_error_destroy(error);
		world->most_writes = 0;
		memcpy(world->known, world->memory, SIZE);
		change(world, all, none);
		end(world);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_levels),
	    cmocka_unit_test(test_each_write_leaves_a_program),
	    cmocka_unit_test(test_what_is_there_is_not_written),
	    cmocka_unit_test(test_what_another_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
