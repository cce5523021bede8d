/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read of the panics of a Go program that dies, in a memory of our own. */
#include "runtime/go.h"

#include "made_go.h"
#include "unit.h"

#define VERSION "go1.22.1"
#define MEMORY  0x10000 /* address */
#define SIZE    0x1000

/* Addresses. */
enum {
	FIRST = MEMORY,
	SECOND = MEMORY + 0x100,
	THIRD = MEMORY + 0x200,
	STRING_TYPE = MEMORY + 0x300,
	STRING = MEMORY + 0x400,
	TEXT = MEMORY + 0x500
};
/* Of runtime._panic in Go 1.22, and of internal/abi.Type. */
enum { ARG = 8, LINK = 24, RECOVERED = 96, GOEXIT = 97, KIND = 23, KIND_STRING = 24 };

struct world {
	uint8_t bytes[SIZE];
	struct mt_mapping program;
	struct mt_go_memory memory;
	struct mt_str out;
};

static size_t read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	const struct world *world = context;

	if (address < MEMORY || address >= MEMORY + SIZE)
		return 0;
	if (size > MEMORY + SIZE - address)
		size = MEMORY + SIZE - address;
	memcpy(buffer, world->bytes + (address - MEMORY), size);
	return size;
}

static void put(struct world *world, uint64_t address, uint64_t value, size_t size)
{
	memcpy(world->bytes + (address - MEMORY), &value, size);
}

static int set_up(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	uint8_t info[64] =
	    "\xff Go buildinf:\x08\x02"; /* pointers of 8 bytes; the version is here */

	info[32] = sizeof(VERSION) - 1;
	memcpy(info + 33, VERSION, sizeof(VERSION) - 1);
	world->program.objfile = made_go_open(".go.buildinfo", info, sizeof(info));
	assert_non_null(world->program.objfile);
	world->memory = (struct mt_go_memory){
	    .read = read_memory, .context = world, .program = &world->program};
	put(world, STRING_TYPE + KIND, KIND_STRING, 1);
	put(world, STRING, TEXT, 8);
	put(world, STRING + 8, 4, 8);
	memcpy(world->bytes + (TEXT - MEMORY), "boom", 4);
	*state = world;
	return 0;
}

static int tear_down(void **state)
{
	struct world *world = *state;

	mt_objfile_unref(world->program.objfile);
	mt_str_deinit(&world->out);
	free(world);
	return 0;
}

/* One of panic("boom"), within LINK. */
static void put_panic(struct world *world, uint64_t address, uint64_t link)
{
	put(world, address + ARG, STRING_TYPE, 8);
	put(world, address + ARG + 8, STRING, 8);
	put(world, address + LINK, link, 8);
}

/* One of runtime.Goexit(). */
static void put_goexit(struct world *world, uint64_t address, uint64_t link)
{
	put(world, address + LINK, link, 8);
	put(world, address + GOEXIT, 1, 1);
}

static void assert_told(struct world *world, uint64_t panic, const char *words)
{
	mt_str_deinit(&world->out);
	mt_go_append_panics(&world->memory, panic, &world->out);
	assert_non_null(world->out.text);
	assert_string_equal(world->out.text, words);
}

static void panics_are_told_from_the_first_on(void **state)
{
	struct world *world = *state;

	put_panic(world, FIRST, 0);
	put_panic(world, SECOND, FIRST);
	assert_told(world, SECOND, "panic: boom panic: boom");
	put(world, FIRST + RECOVERED, 1, 1);
	assert_told(world, SECOND, "panic: boom [recovered] panic: boom");
	assert_told(world, FIRST, "panic: boom [recovered]");
}

static void those_of_goexit_are_left_out(void **state)
{
	struct world *world = *state;

	put_goexit(world, FIRST, 0);
	put_panic(world, SECOND, FIRST);
	put_goexit(world, THIRD, SECOND);
	assert_told(world, SECOND, "panic: boom");
	assert_told(world, THIRD, "panic: boom");
}

/* There is a reason all the same, which is no empty line. */
static void there_may_be_those_of_goexit_alone(void **state)
{
	struct world *world = *state;

	put_goexit(world, FIRST, 0);
	assert_told(world, FIRST, "panic");
	put_goexit(world, SECOND, FIRST);
	put_goexit(world, THIRD, SECOND);
	assert_told(world, THIRD, "panic");
	put_goexit(world, FIRST, FIRST); /* round and round */
	assert_told(world, THIRD, "panic");
}

/* Nor are flags believed where it is not known where they are. */
static void a_version_that_is_not_known(void **state)
{
	struct world *world = *state;

	world->memory.program = NULL;
	put_goexit(world, FIRST, 0);
	assert_told(world, FIRST, "panic: nil");
	assert_told(world, MEMORY - 0x1000, "panic: nil");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(panics_are_told_from_the_first_on, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(those_of_goexit_are_left_out, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(there_may_be_those_of_goexit_alone, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_version_that_is_not_known, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("runtime/go_panic.c", tests, NULL, NULL);
}
