/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a killed tracer left, and what only looks like it; texts without the jumps into it. */
#include "unit.h"

#include "engine/calls/memory/left.h"
#include "engine/calls/private.h"

#include <string.h>
#include <unistd.h>

#define TEXT 0x400000u
#define SIZE 256u
#define ROOM 0x10000000u

static struct mt_calls_left *make_left(void)
{
	const struct mt_calls_left_range range = {
	    .kind = MT_CALLS_LEFT_CODE, .start = ROOM, .end = ROOM + (1u << 24)};
	struct mt_calls_left *left = calloc(1, sizeof(*left));

	assert_non_null(left);
	assert_int_equal(mt_array_push(&left->ranges, range), 0);
	return left;
}

static void make_clean(uint8_t clean[SIZE])
{
	for (size_t i = 0; i < SIZE; i++)
		clean[i] = (uint8_t)(i * 7 % 0x90);
}

static void put_jump(uint8_t *text, size_t at, uint32_t distance, size_t dead)
{
	text[at] = 0xe9;
	memcpy(text + at + 1, &distance, sizeof(distance));
	memset(text + at + 5, 0xcc, dead);
}

static uint32_t distance_to(uint64_t target, size_t at)
{
	return (uint32_t)(target - (TEXT + at + 5));
}

static void test_all_go(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];

	make_clean(clean);
	memcpy(text, clean, SIZE);
	put_jump(text, 0, distance_to(ROOM, 0), 0);
	put_jump(text, 20, distance_to(ROOM + 64, 20), 9);
	put_jump(text, 25, distance_to(ROOM + 128, 25),
		 2); /* in the dead bytes of the one before */
	put_jump(text, SIZE - 5, distance_to(ROOM + 192, SIZE - 5), 0);
	text[100] = 0xeb; /* short, to a long one further on */
	text[101] = 60 - 2;
	text[102] = 0xcc;
	put_jump(text, 160, distance_to(ROOM + 256, 160), 0);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text, clean, SIZE);
	mt_calls_left_destroy(left);
}

/* The distance of one reads as a short jump to the other. */
static void test_one_that_looks_like_two(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];
	uint32_t distance = 0x0feb1000u; /* eb 0f at 43: to 60 */

	make_clean(clean);
	memcpy(text, clean, SIZE);
	put_jump(text, 40, distance, 1);
	put_jump(text, 60, distance_to(ROOM, 60), 0);
	assert_int_equal(text[43], 0xeb);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text, clean, SIZE);
	mt_calls_left_destroy(left);
}

/* What others wrote stays; where it touches a jump of ours, nothing is certain. */
static void test_what_is_not_ours(void **state)
{
	(void)state;

	struct mt_calls_left *left = make_left();
	uint8_t clean[SIZE], text[SIZE];

	make_clean(clean);
	memcpy(text, clean, SIZE);
	text[10] = 0xcc;
	put_jump(text, 100, 0x1000, 3); /* leads elsewhere */
	put_jump(text, 40, distance_to(ROOM, 40), 4);
	assert_true(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	assert_memory_equal(text + 40, clean + 40, 9);
	assert_int_equal(text[10], 0xcc);
	assert_int_equal(text[100], 0xe9);

	put_jump(text, 40, distance_to(ROOM, 40), 4);
	text[49] = 0x90;
	assert_false(mt_calls_left_undo(left, TEXT, text, clean, SIZE));
	mt_calls_left_destroy(left);
}

/* A process whose mappings have the names of ours, and the sizes of nobody's. */
#define CODE        0x100000000000u
#define CODE_BYTES  (1ull << 45)
#define ALIVE       0x200000000000u
#define DIRECTORIES 60000u
#define MOST_READS  1000000u

struct fakes {
	struct mt_target base;
	struct mt_calls_directory directory;
	size_t directories, reads;
};

static size_t read_fake(struct mt_target *base, pid_t pid, uint64_t address, void *buffer,
			size_t size)
{
	struct fakes *fakes = (struct fakes *)base;
	const uint64_t at = (address - ALIVE) % (2 * MT_CALLS_ALIVE_BYTES);

	(void)pid;
	/* Else it is hours before it fails. */
	if (++fakes->reads > MOST_READS)
		return 0;
	memset(buffer, 0, size);
	if (address >= ALIVE && at + size <= sizeof(fakes->directory))
		memcpy(buffer, (const char *)&fakes->directory + at, size);
	return size;
}

static struct mt_error *
each_fake(struct mt_target *base, pid_t pid,
	  struct mt_error *(*found)(void *context, const struct mt_map *map), void *context)
{
	const struct fakes *fakes = (const struct fakes *)base;
	struct mt_map map = {.start = CODE,
			     .end = CODE + CODE_BYTES,
			     .readable = true,
			     .executable = true,
			     .path = ""};
	struct mt_error *error = found(context, &map);

	(void)pid;
	for (size_t i = 0; i < fakes->directories && !error; i++) {
		map.start = ALIVE + i * 2 * MT_CALLS_ALIVE_BYTES;
		map.end = map.start + MT_CALLS_ALIVE_BYTES;
		map.inode = 1;
		map.path = "/memfd:" MT_CALLS_ALIVE_NAME " (deleted)";
		error = found(context, &map);
	}
	return error;
}

static struct fakes *make_fakes(size_t directories, uint32_t items)
{
	static const struct mt_target_ops fake_ops = {.read = read_fake, .each_map = each_fake};
	struct fakes *fakes = calloc(1, sizeof(*fakes));
	struct mt_calls_directory *directory = &fakes->directory;

	assert_non_null(fakes);
	fakes->base.ops = &fake_ops;
	fakes->directories = directories;
	strcpy(directory->magic, MT_CALLS_DIRECTORY_MAGIC);
	memset(directory->mark, 1, sizeof(directory->mark));
	directory->pid = (uint32_t)getpid();
	directory->count = items;
	for (uint32_t i = 0; i < items; i++)
		directory->items[i] =
		    (struct mt_calls_listed){.start = CODE + i * 4096u, .end = CODE + CODE_BYTES};
	return fakes;
}

static void find_fakes(struct fakes *fakes)
{
	struct mt_calls_engine *engine = calloc(1, sizeof(*engine));
	struct mt_calls_space *space = calloc(1, sizeof(*space));
	struct mt_calls_left *left = NULL;

	assert_non_null(engine);
	assert_non_null(space);
	engine->target = &fakes->base;
	space->pid = getpid();
	assert_no_error(mt_calls_left_find(engine, space, &left));
	assert_true(fakes->reads < MOST_READS);
	assert_non_null(left);
	assert_false(left->is_whole);
	mt_calls_left_destroy(left);
	free(space);
	free(engine);
	free(fakes);
}

/* Listed, and not marked yet: blank pages prove it. */
static void test_more_blank_memory_than_anybody_has(void **state)
{
	(void)state;
	find_fakes(make_fakes(1, 1));
}

static void test_more_directories_than_anybody_has(void **state)
{
	(void)state;
	find_fakes(make_fakes(DIRECTORIES, MT_CALLS_DIRECTORY_ITEMS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_go),
	    cmocka_unit_test(test_one_that_looks_like_two),
	    cmocka_unit_test(test_what_is_not_ours),
	    cmocka_unit_test(test_more_blank_memory_than_anybody_has),
	    cmocka_unit_test(test_more_directories_than_anybody_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
