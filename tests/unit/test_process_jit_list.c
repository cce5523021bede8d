/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What comes and goes in a list of object files that are registered for GDB. */
#include "process/jit_list.h"

#include "base/log.h"
#include "elf/data_symbol.h"
#include "made_jit.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

#define CODE    ((uint64_t)0x7f0000001000)
#define ENDLESS ((uint64_t)0x600000000000) /* lists of entries without bytes */
#define APART   ((uint64_t)1 << 40)

enum { MOST_ENTRIES = 4, MOST_SAID = 8, MOST_SECTIONS = 256, MORE_LISTS = 8 };

struct entry {
	uint64_t next, previous, address, size;
};

/* Its code is a megabyte in each of its sections. */
struct wide {
	Elf64_Ehdr header;
	Elf64_Shdr sections[1 + MOST_SECTIONS];
};

/* The list's process is this one: the descriptor is a variable of a file that this program is. */
struct world {
	struct mt_target target;
	struct mt_jit_list *list;
	struct entry entries[MOST_ENTRIES];
	struct made_jit objects[MOST_ENTRIES];
	struct wide wides[MOST_ENTRIES];
	char said[256]; /* "+0 -1 " */
	unsigned warnings;
	char warning[256];
	size_t reads;
	uint64_t code_read; /* bytes */
};

struct {
	uint32_t version, action;
	uint64_t relevant, first;
} __jit_debug_descriptor = {.version = 1};

static bool is_mine(const struct world *world, uint64_t address, size_t size)
{
	const uint64_t begin = (uintptr_t)world, descriptor = (uintptr_t)&__jit_debug_descriptor;

	return (address >= begin && address - begin <= sizeof(*world) - size) ||
	       (address == descriptor && size == sizeof(__jit_debug_descriptor));
}

/* Those that were added, and their lists: all far from where this program is. */
static bool is_endless(uint64_t address, void *buffer, size_t size)
{
	const uint64_t descriptor = (uintptr_t)&__jit_debug_descriptor;

	for (uint64_t i = 1; i <= MORE_LISTS; i++)
		if (address == descriptor + i * APART && size == sizeof(__jit_debug_descriptor)) {
			memcpy(buffer, &__jit_debug_descriptor, size);
			memcpy((char *)buffer + size - sizeof(uint64_t),
			       &(uint64_t){ENDLESS + (i << 32)}, sizeof(uint64_t));
			return true;
		}
	if (address < ENDLESS || address >= ENDLESS + APART || size != sizeof(struct entry))
		return false;
	memcpy(buffer, &(struct entry){.next = address + size}, size);
	return true;
}

static size_t read_memory(struct mt_target *target, pid_t pid, uint64_t address, void *buffer,
			  size_t size)
{
	struct world *world = (struct world *)target;

	(void)pid;
	world->reads++;
	if (is_endless(address, buffer, size))
		return size;
	if (address >= CODE && address < CODE + 0x10000) {
		memset(buffer, 0xc3, size);
		world->code_read += size;
	} else if (is_mine(world, address, size))
		memcpy(buffer, (void *)(uintptr_t)address, size);
	else
		return 0;
	return size;
}

static const struct mt_target_ops ops = {.read = read_memory};

static void say(struct world *world, char what, uint32_t number)
{
	const size_t length = strlen(world->said);

	snprintf(world->said + length, sizeof(world->said) - length, "%c%u ", what, number);
}

static struct mt_error *came(void *context, uint32_t number, const uint8_t *bytes, size_t size)
{
	assert_true(size > sizeof(struct made_jit));
	assert_memory_equal(bytes, ELFMAG, SELFMAG);
	say(context, '+', number);
	return NULL;
}

static struct mt_error *went(void *context, uint32_t number)
{
	say(context, '-', number);
	return NULL;
}

static void warn(void *context, enum mt_log_level level, const char *text)
{
	struct world *world = context;

	(void)level;
	world->warnings++;
	snprintf(world->warning, sizeof(world->warning), "%s", text);
}

/* What a look says. */
static const char *look(struct world *world)
{
	const struct mt_log log = {.line = warn, .context = world};
	const struct mt_jit_changes changes = {came, went, world, &log};

	world->said[0] = '\0';
	assert_no_error(mt_jit_list_look(world->list, &world->target, 1, &changes));
	return world->said;
}

static void note_main(void *context, uint64_t address, const char *name)
{
	(void)name;
	*(uint64_t *)context = address;
}

int main(void);

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct mt_objfile *objfile = NULL;
	uint64_t in_file = 0;

	world->target.ops = &ops;
	assert_no_error(mt_jit_list_create(&world->list));
	assert_no_error(mt_objfile_open("/proc/self/exe", NULL, NULL, &objfile));
	mt_objfile_find_name(objfile, "main", note_main, &in_file);
	assert_no_error(mt_jit_list_add_file(world->list, objfile, (uintptr_t)&main - in_file));
	mt_objfile_unref(objfile);
	for (unsigned i = 0; i < MOST_ENTRIES; i++) {
		world->objects[i] = made_jit(CODE + 256ull * i);
		world->entries[i] = (struct entry){.address = (uintptr_t)&world->objects[i],
						   .size = sizeof(world->objects[i])};
	}
	__jit_debug_descriptor.first = 0;
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	mt_jit_list_destroy(world->list);
	free(world);
	return 0;
}

/* The entries of these indexes are the list; -1 ends it. */
static void list(struct world *world, const int *indexes)
{
	uint64_t *link = &__jit_debug_descriptor.first;

	for (; *indexes >= 0; indexes++) {
		*link = (uintptr_t)&world->entries[*indexes];
		link = &world->entries[*indexes].next;
	}
	*link = 0;
}

static void test_tells_what_came_and_went(void **state)
{
	struct world *world = *state;

	assert_string_equal(look(world), "");
	list(world, (int[]){0, 1, -1});
	assert_string_equal(look(world), "+0 +1 ");
	assert_string_equal(look(world), "");
	list(world, (int[]){2, 1, -1});
	assert_string_equal(look(world), "+2 -0 ");
	list(world, (int[]){0, 2, 1, -1});
	assert_string_equal(look(world), "+3 ");
	list(world, (int[]){-1});
	assert_int_equal(strlen(look(world)), strlen("-0 -1 -2 "));
	assert_int_equal(world->warnings, 0);
}

static void test_another_object_in_the_same_memory(void **state)
{
	struct world *world = *state;

	list(world, (int[]){0, -1});
	assert_string_equal(look(world), "+0 ");
	memcpy(world->objects[0].names, "\0other", 7);
	assert_string_equal(look(world), "-0 +1 ");
}

static void test_an_object_that_is_registered_twice(void **state)
{
	struct world *world = *state;

	world->entries[1] = world->entries[0];
	list(world, (int[]){0, 1, -1});
	assert_string_equal(look(world), "+0 ");
}

static void check_warned(struct world *world, const char *wanted, const char *why)
{
	assert_string_equal(look(world), wanted);
	look(world);
	assert_int_equal(world->warnings, 1);
	assert_non_null(strstr(world->warning, why));
}

static void test_a_circular_list(void **state)
{
	struct world *world = *state;

	list(world, (int[]){0, 1, 2, -1});
	world->entries[2].next = (uintptr_t)&world->entries[1];
	check_warned(world, "+0 +1 +2 ", "circular");
}

static void test_wild_entries(void **state)
{
	struct world *world = *state;

	list(world, (int[]){0, 1, -1});
	world->entries[0].size = (uint64_t)1 << 63;
	check_warned(world, "+0 ", "larger than 64 MiB");
}

static void test_wild_links(void **state)
{
	struct world *world = *state;

	list(world, (int[]){0, 1, -1});
	world->entries[0].next = UINT64_MAX - 3;
	check_warned(world, "+0 ", "cannot be read");
}

/* Each is small, and what it says of the process's code is not. */
static void test_much_code_of_small_objects(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < MOST_ENTRIES; i++) {
		struct wide *wide = &world->wides[i];

		wide->header = world->objects[i].header;
		wide->header.e_shoff = offsetof(struct wide, sections);
		wide->header.e_shnum = 1 + MOST_SECTIONS;
		for (unsigned k = 1; k <= MOST_SECTIONS; k++)
			wide->sections[k] = (Elf64_Shdr){.sh_type = SHT_NOBITS,
							 .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
							 .sh_addr = CODE,
							 .sh_size = 1 << 20};
		world->entries[i].address = (uintptr_t)wide;
		world->entries[i].size = sizeof(*wide);
	}
	list(world, (int[]){0, 1, 2, 3, -1});
	assert_string_equal(look(world), "");
	assert_int_equal(world->warnings, 1);
	assert_true(world->code_read <= (uint64_t)MOST_SECTIONS << 20);
}

/* As of a program that has mapped a file with a list again and again. */
static void test_many_lists_without_an_end(void **state)
{
	struct world *world = *state;
	struct mt_objfile *objfile = NULL;
	uint64_t in_file = 0;

	assert_no_error(mt_objfile_open("/proc/self/exe", NULL, NULL, &objfile));
	mt_objfile_find_name(objfile, "main", note_main, &in_file);
	for (uint64_t i = 1; i <= MORE_LISTS; i++)
		assert_no_error(mt_jit_list_add_file(world->list, objfile,
						     (uintptr_t)&main - in_file + i * APART));
	mt_objfile_unref(objfile);
	assert_string_equal(look(world), "");
	assert_true(world->reads < 2 * 65536);
}

static void test_another_version(void **state)
{
	struct world *world = *state;

	list(world, (int[]){0, -1});
	__jit_debug_descriptor.version = 2;
	assert_string_equal(look(world), "");
	__jit_debug_descriptor.version = 1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_tells_what_came_and_went, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_another_object_in_the_same_memory, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(test_an_object_that_is_registered_twice, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(test_a_circular_list, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_wild_entries, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_wild_links, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_much_code_of_small_objects, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_many_lists_without_an_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_another_version, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
