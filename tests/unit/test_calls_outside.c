/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread that stands in what trampolines share, at each of its instructions: where it comes to be
 * is known by what lies on its stack.  The process is this one itself, with trampolines for zlib
 * that nobody comes to. */
#include "unit.h"

#include "engine/calls/private.h"
#include "process/proc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CALL       0xe8
#define CALL_BYTES 5
#define ENOUGH     40 /* patches */
#define WORDS      64
#define TOP        48 /* where the trampoline's stack pointer is */

enum { RAX = 0x1111, RDX, RCX };

struct world {
	struct mt_target target;
	struct mt_calls_engine engine;
	struct mt_calls_space *space;
	struct mt_calls_thread thread;
	struct mt_calls_module *module;
	struct mt_map map;
	struct user_regs_struct registers;
	uint64_t stack[WORDS];
};

static size_t read_self(struct mt_target *target, pid_t pid, uint64_t address, void *buffer,
			size_t size)
{
	(void)target, (void)pid;
	memcpy(buffer, (const void *)address, size);
	return size;
}

static struct mt_error *write_self(struct mt_target *target, pid_t pid, uint64_t address,
				   const void *bytes, size_t size)
{
	(void)target, (void)pid;
	memcpy((void *)address, bytes, size);
	return NULL;
}

static struct mt_error *get_registers(struct mt_target *target, pid_t lwp,
				      struct user_regs_struct *registers)
{
	(void)lwp;
	*registers = ((struct world *)target)->registers;
	return NULL;
}

static struct mt_error *set_registers(struct mt_target *target, pid_t lwp,
				      const struct user_regs_struct *registers)
{
	(void)lwp;
	((struct world *)target)->registers = *registers;
	return NULL;
}

static const struct mt_target_ops ops = {.read = read_self,
					 .write = write_self,
					 .get_registers = get_registers,
					 .set_registers = set_registers};

static struct mt_error *see_map(void *context, const struct mt_map *map)
{
	struct world *world = context;
	const uint64_t wanted = (uintptr_t)dlsym(RTLD_DEFAULT, "crc32_z");

	if (wanted < map->start || wanted >= map->end)
		return NULL;
	world->map = *map;
	world->map.path = strdup(map->path);
	return NULL;
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	world->target.ops = &ops;
	world->engine.target = &world->target;
	world->engine.options.ring_bytes = 64 << 10;
	world->space = mt_calls_space_create(getpid());
	assert_non_null(world->space);
	world->thread = (struct mt_calls_thread){.space = world->space, .lwp = 1};
	assert_no_error(mt_proc_each_map(getpid(), see_map, world));
	assert_non_null(world->map.path);
	assert_no_error(mt_calls_module_make(&world->engine, &world->map, false, &world->module));
	assert_non_null(world->module);
	world->module->room_bytes = (world->module->image.bytes.count + 4095) & ~4095ull;
	void *room = mmap(NULL, world->module->room_bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(room != MAP_FAILED);
	world->module->room = (uintptr_t)room;
	assert_no_error(mt_calls_module_write(&world->engine, world->space, world->module));
	assert_int_equal(mt_calls_add_place(world->space, world->module), 0);
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;

	munmap((void *)world->module->room, world->module->room_bytes);
	mt_calls_space_unref(world->space);
	mt_calls_module_destroy(world->module);
	mt_array_deinit(&world->engine.modules);
	for (struct mt_calls_file *file = world->engine.files, *next; file; file = next) {
		next = file->hh.next;
		HASH_DEL(world->engine.files, file);
		mt_calls_file_destroy(file);
	}
	free(world->engine.scratch);
	free((char *)world->map.path);
	free(world);
	return 0;
}

/* As a thread has it that has come by the call at RETURNS to where ROW begins. */
static void stand(struct world *world, const struct mt_trampoline_row *row, uint64_t returns)
{
	for (size_t i = 0; i < WORDS; i++)
		world->stack[i] = 0x5a5a5a5a;
	world->stack[TOP] = RAX;
	world->stack[TOP - 1] = returns;
	world->stack[TOP - 2] = RDX;
	world->stack[TOP - 3] = RCX;
	world->registers =
	    (struct user_regs_struct){.rip = world->module->room + row->offset,
				      .rsp = (uintptr_t)&world->stack[TOP] - (uint64_t)row->below,
				      .rax = 1,
				      .rdx = row->saved & MT_SAVED_RDX ? 2 : RDX,
				      .rcx = row->saved & MT_SAVED_RCX ? 3 : RCX};
}

/* For each row of what is shared, and calls of it in several trampolines: FOUND. */
static size_t each_place(struct world *world,
			 void (*found)(struct world *world, const struct mt_trampoline_row *row,
				       size_t patch, uint64_t returns))
{
	const struct mt_calls_module *module = world->module;
	const struct mt_plan *plan = module->file->plan;
	uint32_t at;
	const struct mt_trampolines *shared = mt_calls_trampoline_at(module, module->room, &at);
	size_t calls = 0;

	assert_true(shared && at == 0 && shared->code.count == module->shared_bytes);
	assert_memory_equal(shared->code.items, (const void *)module->room, shared->code.count);
	for (size_t i = 0; i < plan->patches.count && i < ENOUGH; i++) {
		const struct mt_trampolines *one = mt_calls_trampoline_again(module, i);

		for (size_t k = 0; one && k < one->rows.count; k++) {
			const uint32_t offset = one->rows.items[k].offset;

			if (one->rows.items[k].phase != MT_PHASE_RECORDING ||
			    one->code.items[offset] != CALL)
				continue;
			calls++;
			mt_array_each (row, &shared->rows)
				found(world, row, i,
				      module->room + module->offsets[i] + offset + CALL_BYTES);
		}
	}
	return calls;
}

static void check_shared(struct world *world, const struct mt_trampoline_row *row, size_t patch,
			 uint64_t returns)
{
	const struct mt_patch *one = &world->module->file->plan->patches.items[patch];

	stand(world, row, returns);
	assert_int_equal(row->phase, MT_PHASE_SHARED);
	mt_calls_leave_shared(&world->engine, world->space, &world->registers);
	assert_int_equal(world->registers.rip, returns);
	assert_int_equal(world->registers.rsp, (uintptr_t)&world->stack[TOP]);
	assert_int_equal(world->registers.rdx, RDX);
	assert_int_equal(world->registers.rcx, RCX);
	const struct mt_trampoline_row *its = mt_calls_row_at(world->module, returns);
	assert_int_equal(its->phase, MT_PHASE_RECORDING);
	assert_in_range(its->original, one->address + world->module->bias,
			one->address + world->module->bias + one->length);
}

static void test_back_to_the_trampoline(void **state)
{
	assert_in_range(each_place(*state, check_shared), ENOUGH / 2, 10 * ENOUGH);
}

static void check_outside(struct world *world, const struct mt_trampoline_row *row, size_t patch,
			  uint64_t returns)
{
	const struct mt_trampoline_row its = *mt_calls_row_at(world->module, returns);

	(void)patch;
	stand(world, row, returns);
	assert_no_error(mt_calls_leave_trampoline(&world->engine, &world->thread));
	assert_int_equal(world->registers.rip, its.original);
	assert_int_equal(world->registers.rsp, (uintptr_t)&world->stack[TOP] + (uint64_t)its.below);
	if (its.saved == MT_SAVED_RAX)
		assert_int_equal(world->registers.rax, RAX);
}

static void test_out_of_it(void **state)
{
	assert_in_range(each_place(*state, check_outside), ENOUGH / 2, 10 * ENOUGH);
}

static void check_garbage(struct world *world, const struct mt_trampoline_row *row, size_t patch,
			  uint64_t returns)
{
	const uint64_t wrong[] = {0, world->module->room, world->map.start, UINT64_MAX};

	(void)patch, (void)returns;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		stand(world, row, wrong[i]);
		const struct user_regs_struct before = world->registers;
		mt_calls_leave_shared(&world->engine, world->space, &world->registers);
		assert_memory_equal(&world->registers, &before, sizeof(before));
		assert_no_error(mt_calls_leave_trampoline(&world->engine, &world->thread));
		assert_memory_equal(&world->registers, &before, sizeof(before));
	}
}

static void test_what_is_no_address(void **state)
{
	assert_true(each_place(*state, check_garbage) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_back_to_the_trampoline, begin, end),
	    cmocka_unit_test_setup_teardown(test_out_of_it, begin, end),
	    cmocka_unit_test_setup_teardown(test_what_is_no_address, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
