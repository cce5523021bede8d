/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is read is what was written; and whatever else lies there is none, and harms nobody. */
#include "unit.h"

#include "engine/calls/plan/cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define PLANNER 42

struct world {
	char directory[32], path[64];
	struct mt_objfile *objfile;
	struct mt_kept_key key;
	struct mt_plan *plan;
};

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	Dl_info zlib;

	assert_non_null(world);
	strcpy(world->directory, "/tmp/mtrace-cache-XXXXXX");
	assert_non_null(mkdtemp(world->directory));
	snprintf(world->path, sizeof(world->path), "%s/plan", world->directory);
	assert_true(dladdr(dlsym(RTLD_DEFAULT, "crc32_z"), &zlib));
	assert_no_error(mt_objfile_open(zlib.dli_fname, NULL, NULL, &world->objfile));
	assert_int_equal(mt_kept_key(world->objfile, PLANNER, &world->key), 0);
	assert_no_error(mt_plan_create(world->objfile, NULL, &world->plan));
	assert_true(world->plan->patches.count > 50);
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
	free(world);
	return 0;
}

static void store(struct world *world)
{
	world->plan->gs_user = 4711;
	assert_no_error(mt_plan_store(world->plan, &world->key, world->path));
}

static struct mt_plan *load(struct world *world, uint64_t planner)
{
	struct mt_kept_key key = world->key;
	struct mt_plan *plan = NULL;

	key.planner = planner;
	assert_no_error(mt_plan_load(world->objfile, &key, world->path, &plan));
	return plan;
}

/* The first look leaves no belief to the second one. */
static void assert_refused(struct world *world)
{
	for (int i = 0; i < 2; i++)
		assert_null(load(world, PLANNER));
}

static void test_what_is_read_is_what_was_written(void **state)
{
	struct world *world = *state;
	const struct mt_plan *old = world->plan;
	struct mt_plan *plan;

	assert_refused(world); /* there is none */
	store(world);
	plan = load(world, PLANNER);
	assert_non_null(plan);
	assert_int_equal(plan->patches.count, old->patches.count);
	assert_memory_equal(plan->patches.items, old->patches.items,
			    old->patches.count * sizeof(*old->patches.items));
	assert_int_equal(plan->sites.count, old->sites.count);
	assert_memory_equal(plan->sites.items, old->sites.items,
			    old->sites.count * sizeof(*old->sites.items));
	assert_int_equal(plan->functions.count, old->functions.count);
	assert_int_equal(plan->left.count, old->left.count);
	assert_int_equal(plan->redirected, old->redirected);
	assert_int_equal(plan->gs_user, old->gs_user);
	mt_plan_destroy(plan);
}

static void test_of_another_planner(void **state)
{
	store(*state);
	assert_null(load(*state, PLANNER + 1));
}

static void test_of_another_file(void **state)
{
	struct world *world = *state;
	struct mt_objfile *other = NULL;
	struct mt_plan *plan = NULL;
	struct mt_kept_key key;

	store(world);
	assert_no_error(mt_objfile_open("/proc/self/exe", NULL, NULL, &other));
	assert_int_equal(mt_kept_key(other, PLANNER, &key), 0);
	assert_no_error(mt_plan_load(other, &key, world->path, &plan));
	assert_null(plan);
	mt_objfile_unref(other);
}

static void store_numbers(const struct world *world, uint64_t *numbers, size_t count)
{
	const struct mt_kept_part part = {numbers, count, sizeof(*numbers)};

	assert_no_error(mt_kept_store(&world->key, &part, 1, world->path));
}

static bool reads(const struct world *world, uint64_t *number)
{
	return mt_kept_read(&world->key, world->path, number, sizeof(*number));
}

static void test_a_number(void **state)
{
	struct world *world = *state;
	uint64_t numbers[] = {4711, 4712}, number = 0;
	struct stat file;
	int fd;

	assert_false(reads(world, &number)); /* there is none */
	store_numbers(world, numbers, 1);
	assert_true(reads(world, &number));
	assert_int_equal(number, 4711);
	world->key.planner++;
	assert_false(reads(world, &number));
	world->key.planner--;
	fd = open(world->path, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &file) == 0);
	for (off_t at = file.st_size - 9; at < file.st_size; at++) {
		uint8_t byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 1;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_false(reads(world, &number));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_int_equal(ftruncate(fd, file.st_size - 1), 0);
	assert_false(reads(world, &number));
	close(fd);
	store_numbers(world, numbers, 2);
	assert_false(reads(world, &number));
	store_numbers(world, numbers, 0);
	assert_false(reads(world, &number));
}

/* Any byte, and any length. */
static void test_garbled(void **state)
{
	struct world *world = *state;
	struct stat file;
	int fd;

	store(world);
	fd = open(world->path, O_RDWR);
	assert_true(fd >= 0 && fstat(fd, &file) == 0);
	srand(1);
	for (off_t i = 0; i < 600; i++) {
		off_t at = i < 200 ? i : rand() % file.st_size;
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
	assert_int_equal(ftruncate(fd, file.st_size * 2), 0);
	assert_refused(world);
	close(fd);
}

/* A file that was found whole is not read as a whole again, unless somebody wrote into it. */
static void test_written_to_later(void **state)
{
	struct world *world = *state;
	struct mt_plan *plan;
	uint8_t byte;

	store(world);
	for (int i = 0; i < 2; i++) {
		plan = load(world, PLANNER);
		assert_non_null(plan);
		mt_plan_destroy(plan);
	}
	int fd = open(world->path, O_RDWR);
	assert_int_equal(pread(fd, &byte, 1, MT_KEPT_HEAD_BYTES + 100), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, MT_KEPT_HEAD_BYTES + 100), 1);
	close(fd);
	assert_refused(world);
}

#define refuses(world, field, value)                                                               \
	do {                                                                                       \
		__typeof__(field) before = (field);                                                \
		(field) = (value);                                                                 \
		store(world);                                                                      \
		assert_refused(world);                                                             \
		(field) = before;                                                                  \
	} while (0)

/* Whole, but no planner's. */
static void test_unsound(void **state)
{
	struct world *world = *state;
	struct mt_patch *patch = &world->plan->patches.items[10];

	refuses(world, patch->address, 8);
	refuses(world, patch->address, UINT64_MAX - 2);
	refuses(world, patch->address, patch[-1].address + 1);
	refuses(world, patch->length, 200);
	refuses(world, patch->length, 0);
	refuses(world, patch->function, (uint32_t)world->plan->functions.count);
	refuses(world, patch->site, (uint32_t)world->plan->sites.count);
	refuses(world, patch->site, UINT32_MAX);
	refuses(world, patch->tactic, MT_TACTIC_COUNT);
	refuses(world, patch->flags, 0x80);
	refuses(world, patch->hole, patch->address + 1000);
	refuses(world, patch->redirect, 8);
	refuses(world, world->plan->sites.items[3].function,
		(uint32_t)world->plan->functions.count);
}

static void test_somebody_elses(void **state)
{
	struct world *world = *state;

	store(world);
	assert_int_equal(chmod(world->path, 0666), 0);
	assert_refused(world);
	assert_int_equal(chmod(world->path, 0600), 0);
	if (geteuid() != 0 || chown(world->path, 1, (gid_t)-1))
		skip();
	assert_refused(world);
}

static void test_no_file(void **state)
{
	struct world *world = *state;

	assert_int_equal(mkdir(world->path, 0700), 0);
	assert_refused(world);
	assert_int_equal(rmdir(world->path), 0);
	assert_int_equal(mkfifo(world->path, 0600), 0);
	assert_refused(world);
	unlink(world->path);
	assert_int_equal(symlink("/dev/zero", world->path), 0);
	assert_refused(world);
}

#define test(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    test(test_what_is_read_is_what_was_written),
	    test(test_of_another_planner),
	    test(test_of_another_file),
	    test(test_a_number),
	    test(test_garbled),
	    test(test_written_to_later),
	    test(test_unsound),
	    test(test_somebody_elses),
	    test(test_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
