/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan takes for a use of the GS register, and what not. */
#include "plan_world.h"

#define WRGSBASE        0xf3, 0x48, 0x0f, 0xae, 0xd8 /* wrgsbase rax */
#define SYSTEM          0x0f, 0x05
#define MOV_EDI(value)  0xbf, (uint8_t)(value), (uint8_t)((value) >> 8), 0, 0
#define MOV_ESI(value)  0xbe, (uint8_t)(value), (uint8_t)((value) >> 8), 0, 0
#define MOV_NUMBER      0xb8, 158, 0, 0, 0
#define ARCH_SET_GS_NOW 0x1001
#define ARCH_SET_FS_NOW 0x1002

/* 0: nothing. */
static void check_user(struct world *world, uint64_t expected)
{
	plan(world);
	assert_int_equal(world->plan->gs_user, expected);
	end(world);
}

static void test_instructions(void **state)
{
	struct world world = {0};

	(void)state;
	function(&world, LEA_5, MOV_EAX, RET);
	uint64_t f = function(&world, LEA_5, WRGSBASE, RET);
	check_user(&world, address(&world, f + 5));
}

static void test_data_in_a_function(void **state)
{
	struct world world = {0};

	(void)state;
	function(&world, LEA_5, RET, WRGSBASE, LEA_5);
	check_user(&world, 0);
}

static void test_behind_a_return_that_is_jumped_over(void **state)
{
	struct world world = {0};

	(void)state;
	uint64_t f = function(&world, TEST_EDI, JE(1), RET, WRGSBASE, RET);
	check_user(&world, address(&world, f + 5));
}

static void test_data_between_functions(void **state)
{
	static const uint8_t bytes[] = {WRGSBASE};
	struct world world = {0};

	(void)state;
	function(&world, LEA_5, MOV_EAX, RET);
	memcpy(world.elf.text + world.elf.text_size, bytes, sizeof(bytes));
	world.elf.text_size += sizeof(bytes);
	check_user(&world, 0);
}

static void test_system_calls(void **state)
{
	struct world gs = {0}, fs = {0};

	(void)state;
	uint64_t f = function(&gs, MOV_EDI(ARCH_SET_GS_NOW), MOV_NUMBER, SYSTEM, RET);
	check_user(&gs, address(&gs, f));
	function(&fs, MOV_EDI(ARCH_SET_FS_NOW), MOV_NUMBER, SYSTEM, RET);
	check_user(&fs, 0);
}

static void test_wrappers(void **state)
{
	struct world gs = {0}, fs = {0}, other = {0};

	(void)state;
	function(&gs, MOV_NUMBER, SYSTEM, RET); /* 8 bytes */
	uint64_t f = function(&gs, MOV_EDI(ARCH_SET_GS_NOW), CALL(-18), RET);
	check_user(&gs, address(&gs, f));
	function(&fs, MOV_NUMBER, SYSTEM, RET);
	function(&fs, MOV_EDI(ARCH_SET_FS_NOW), CALL(-18), RET);
	check_user(&fs, 0);
	/* As malloc(PATH_MAX + 1). */
	function(&other, MOV_EAX, SYSTEM, RET);
	function(&other, MOV_EDI(ARCH_SET_GS_NOW), CALL(-18), RET);
	check_user(&other, 0);
}

static void test_syscall_function(void **state)
{
	struct world gs = {0}, fs = {0};

	(void)state;
	uint64_t f = function(&gs, MOV_EDI(158), MOV_ESI(ARCH_SET_GS_NOW), CALL(100), RET);
	check_user(&gs, address(&gs, f + 10));
	function(&fs, MOV_EDI(158), MOV_ESI(ARCH_SET_FS_NOW), CALL(100), RET);
	check_user(&fs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_instructions),
	    cmocka_unit_test(test_data_in_a_function),
	    cmocka_unit_test(test_behind_a_return_that_is_jumped_over),
	    cmocka_unit_test(test_data_between_functions),
	    cmocka_unit_test(test_system_calls),
	    cmocka_unit_test(test_wrappers),
	    cmocka_unit_test(test_syscall_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
