/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Held mappings are read once, and again when a thread may have changed them. */
#include "unit.h"

#include "process/maps.h"

#include <string.h>

struct world {
	struct mt_target target;
	unsigned reads; /* of the list: its mapping's start tells which one it was */
	bool fails;
};

static struct mt_error *each_map(struct mt_target *target, pid_t pid,
				 struct mt_error *(*found)(void *context, const struct mt_map *map),
				 void *context)
{
	struct world *world = (struct world *)target;
	char path[] = "/lib/one.so";
	struct mt_map map = {.start = ++world->reads, .end = (uint64_t)pid, .path = path};

	mt_try(found(context, &map));
	if (world->fails)
		return mt_error_new(MT_ERROR_GONE, "gone");
	map.path = "";
	struct mt_error *error = found(context, &map);
	strcpy(path, "overwritten");
	return error;
}

static struct mt_error *call_systems(struct mt_target *target, pid_t lwp,
				     struct mt_system_call *calls, size_t count)
{
	(void)target, (void)lwp, (void)calls, (void)count;
	return NULL;
}

static void release(struct mt_target *target, pid_t pid, pid_t but)
{
	(void)target, (void)pid, (void)but;
}

static struct mt_error *resume(struct mt_target *target, pid_t lwp, enum mt_resume how, int signal)
{
	(void)target, (void)lwp, (void)how, (void)signal;
	return NULL;
}

static const struct mt_run_ops run = {.release = release, .resume = resume};
static const struct mt_target_ops ops = {.each_map = each_map, .call_systems = call_systems};

struct seeing {
	struct world *world;
	bool calls, walks; /* at the first one */
	unsigned count, read;
};

static void change(struct world *world)
{
	struct mt_system_call call = {0};

	assert_no_error(mt_target_call_system(&world->target, 1, &call));
}

static struct mt_error *see(void *context, const struct mt_map *map)
{
	struct seeing *seeing = context, inner = {.world = seeing->world};

	assert_string_equal(map->path, seeing->count ? "" : "/lib/one.so");
	if (!seeing->count)
		seeing->read = (unsigned)map->start;
	assert_int_equal(map->start, seeing->read);
	seeing->count++;
	if (seeing->calls && seeing->count == 1)
		change(seeing->world);
	if (seeing->walks && seeing->count == 1)
		assert_no_error(
		    mt_target_each_map(&seeing->world->target, (pid_t)map->end, see, &inner));
	return NULL;
}

/* Which reading of the list is walked through. */
static unsigned walk(struct world *world, pid_t pid)
{
	struct seeing seeing = {.world = world};

	assert_no_error(mt_target_each_map(&world->target, pid, see, &seeing));
	assert_int_equal(seeing.count, 2);
	return seeing.read;
}

static void test_held(void **state)
{
	struct world world = {.target.ops = &ops};
	struct mt_held_maps maps, inner, other;

	(void)state;
	assert_int_equal(walk(&world, 7), 1);
	assert_int_equal(walk(&world, 7), 2);
	mt_target_hold_maps(&world.target, 7, &maps);
	assert_int_equal(walk(&world, 7), 3);
	assert_int_equal(walk(&world, 7), 3);
	assert_int_equal(walk(&world, 8), 4); /* is not held */
	change(&world);
	assert_int_equal(walk(&world, 7), 5);
	mt_target_hold_maps(&world.target, 7, &inner);
	assert_int_equal(walk(&world, 7), 5);
	mt_target_let_maps_go(&world.target, &inner);
	assert_int_equal(walk(&world, 7), 5);
	mt_target_hold_maps(&world.target, 8, &other);
	assert_int_equal(walk(&world, 8), 6);
	change(&world);
	mt_target_let_maps_go(&world.target, &other);
	assert_int_equal(walk(&world, 7), 7);
	mt_target_let_maps_go(&world.target, &maps);
	assert_int_equal(walk(&world, 7), 8);
	assert_null(world.target.held_maps);
}

static void test_threads_that_go_on(void **state)
{
	struct world world = {.target = {.ops = &ops, .run = &run}};
	struct mt_held_maps maps;

	(void)state;
	mt_target_hold_maps(&world.target, 7, &maps);
	assert_int_equal(walk(&world, 7), 1);
	mt_target_release(&world.target, 7);
	assert_int_equal(walk(&world, 7), 2);
	mt_target_release_others(&world.target, 7, 9);
	assert_int_equal(walk(&world, 7), 3);
	assert_no_error(mt_target_resume(&world.target, 7, MT_RESUME_CONTINUE, 0));
	assert_int_equal(walk(&world, 7), 4);
	mt_target_let_maps_go(&world.target, &maps);
}

/* A walk goes on through what it began with, whatever happens meanwhile. */
static void test_walks_in_walks(void **state)
{
	struct world world = {.target.ops = &ops};
	struct seeing seeing = {.world = &world, .calls = true, .walks = true};
	struct mt_held_maps maps;

	(void)state;
	mt_target_hold_maps(&world.target, 7, &maps);
	assert_int_equal(walk(&world, 7), 1);
	assert_no_error(mt_target_each_map(&world.target, 7, see, &seeing));
	assert_int_equal(seeing.read, 1);
	assert_int_equal(seeing.count, 2);
	assert_int_equal(world.reads, 2); /* the inner one's */
	assert_int_equal(walk(&world, 7), 3);
	mt_target_let_maps_go(&world.target, &maps);
}

static void test_failure(void **state)
{
	struct world world = {.target.ops = &ops, .fails = true};
	struct seeing seeing = {.world = &world};
	struct mt_held_maps maps;

	(void)state;
	mt_target_hold_maps(&world.target, 7, &maps);
	assert_error(mt_target_each_map(&world.target, 7, see, &seeing), MT_ERROR_GONE, "gone");
	assert_int_equal(seeing.count, 0);
	world.fails = false;
	assert_int_equal(walk(&world, 7), 2);
	mt_target_let_maps_go(&world.target, &maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_held),
	    cmocka_unit_test(test_threads_that_go_on),
	    cmocka_unit_test(test_walks_in_walks),
	    cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
