/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tells that something jumps to an instruction, one test for each, and what is refused as a
 * whole. */
#include "plan_world.h"

/* Two of them: lea rax, [rdi+rsi+5]; mov eax, 1; ret.  With a target between the last two, the
 * return has no room. */
static void check_target(struct world *world, uint64_t f)
{
	plan(world);
	check_left(world, f + 10, true, MT_LEFT_TARGET);
	end(world);
}

static void test_a_relocation_is_a_target(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);

	(void)state;
	wall(&world);
	world.elf.relocations[world.elf.relocation_count++] = f + 10;
	world.elf.data_size = 8;
	check_target(&world, f);
}

static void test_a_label_is_a_target(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);

	(void)state;
	wall(&world);
	world.elf.symbols[world.elf.symbol_count++] = (struct made_symbol){f + 10, 0, STT_NOTYPE};
	check_target(&world, f);
}

static void test_a_word_of_data_is_a_target_where_nothing_is_relocated(void **state)
{
	struct world world = {.elf = {.is_fixed = true}};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET), word = address(&world, f + 10);

	(void)state;
	wall(&world);
	memcpy(world.elf.data + 16, &word, sizeof(word));
	world.elf.data_size = 24;
	check_target(&world, f);
}

static void test_an_immediate_is_a_target_where_nothing_is_relocated(void **state)
{
	struct world world = {.elf = {.is_fixed = true}};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);
	uint32_t word = (uint32_t)address(&world, f + 10);

	(void)state;
	wall(&world);
	uint64_t g = function(&world, MOV_EAX, LEA_5, RET);
	memcpy(world.elf.text + g + 1, &word, sizeof(word));
	check_target(&world, f);
}

/* lea rax, [rip+distance] */
static void put_lea(struct world *world, uint64_t offset, uint64_t target)
{
	uint8_t bytes[7] = {0x48, 0x8d, 0x05};
	uint32_t distance = (uint32_t)(target - (address(world, offset) + sizeof(bytes)));

	memcpy(bytes + 3, &distance, sizeof(distance));
	memcpy(world->elf.text + offset, bytes, sizeof(bytes));
}

#define LEA_RIP 0x48, 0x8d, 0x05, 0, 0, 0, 0

static void test_what_a_lea_takes_is_a_target(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);

	(void)state;
	wall(&world);
	uint64_t g = function(&world, LEA_RIP, RET);
	put_lea(&world, g, address(&world, f + 10));
	check_target(&world, f);
}

/* lea rax, table; movsxd rcx, [rax+rcx*4]; add rcx, rax; jmp rcx */
static void test_a_switch_table_is_understood(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_RIP, 0x48, 0x63, 0x0c, 0x88, 0x48, 0x01, 0xc1, 0xff, 0xe1,
			      MOV_EAX, RET, LEA_5, LEA_5, RET, LEA_5, MOV_EAX, RET);
	const uint64_t cases[] = {f + 16, f + 22, f + 33, f + 43};

	(void)state;
	wall(&world);
	put_lea(&world, f, MADE_DATA);
	for (size_t i = 0; i < 4; i++) {
		int32_t distance = (int32_t)(address(&world, cases[i]) - MADE_DATA);
		memcpy(world.elf.data + 4 * i, &distance, sizeof(distance));
	}
	world.elf.data_size = 16;
	plan(&world);
	check_patch(&world, f + 16, 6, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
	check_patch(&world, f + 27, 6, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
	check_left(&world, f + 43, true, MT_LEFT_TARGET);
	end(&world);
}

static void test_code_that_is_relocated_is_refused(void **state)
{
	struct world world = {0};
	struct made_file *file;

	(void)state;
	function(&world, LEA_5, MOV_EAX, RET);
	world.elf.relocation_count = 1;
	file = made_elf_file(&world.elf);
	file->relocations[0].r_offset = address(&world, 1);
	assert_no_error(mt_objfile_open_memory("made.so", file, sizeof(*file), &world.objfile));
	free(file);
	assert_error(mt_plan_create(world.objfile, NULL, &world.plan), MT_ERROR_UNSUPPORTED,
		     "relocations in its code");
	end(&world);
}

static void test_a_file_without_sections_is_refused(void **state)
{
	struct world world = {0};
	struct made_file *file;

	(void)state;
	function(&world, LEA_5, MOV_EAX, RET);
	file = made_elf_file(&world.elf);
	file->header.e_shnum = 0;
	file->header.e_shoff = 0;
	file->header.e_shstrndx = 0;
	assert_no_error(mt_objfile_open_memory("made.so", file, sizeof(*file), &world.objfile));
	free(file);
	assert_error(mt_plan_create(world.objfile, NULL, &world.plan), MT_ERROR_UNSUPPORTED,
		     "no section table");
	end(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_relocation_is_a_target),
	    cmocka_unit_test(test_a_label_is_a_target),
	    cmocka_unit_test(test_a_word_of_data_is_a_target_where_nothing_is_relocated),
	    cmocka_unit_test(test_an_immediate_is_a_target_where_nothing_is_relocated),
	    cmocka_unit_test(test_what_a_lea_takes_is_a_target),
	    cmocka_unit_test(test_a_switch_table_is_understood),
	    cmocka_unit_test(test_code_that_is_relocated_is_refused),
	    cmocka_unit_test(test_a_file_without_sections_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
