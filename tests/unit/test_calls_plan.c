/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One small function for each way to find room, one for each reason to leave something out, and one
 * for each source of jump targets. */
#include "unit.h"

#include "calls/plan.h"
#include "made_elf.h"

#include <dlfcn.h>

struct world {
	struct made_elf elf;
	struct mt_objfile *objfile;
	struct mt_plan *plan;
};

/* A function of these bytes behind what is there; its offset in the text. */
static uint64_t add(struct world *world, const uint8_t *bytes, size_t size)
{
	struct made_elf *elf = &world->elf;
	uint64_t offset = elf->text_size;

	memcpy(elf->text + offset, bytes, size);
	elf->text_size += size;
	elf->symbols[elf->symbol_count++] = (struct made_symbol){offset, size, STT_FUNC};
	return offset;
}

#define function(world, ...)                                                                       \
	add((world), (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* Code that is no function's and that nothing can be made of: it keeps neighbours apart. */
static void wall(struct world *world)
{
	memset(world->elf.text + world->elf.text_size, 0x06, 300); /* no instruction */
	world->elf.text_size += 300;
}

static void padding(struct world *world, size_t size)
{
	memset(world->elf.text + world->elf.text_size, 0x90, size);
	world->elf.text_size += size;
}

static uint64_t address(const struct world *world, uint64_t offset)
{
	return made_base(&world->elf) + MADE_TEXT + offset;
}

static void plan_some(struct world *world, const struct mt_plan_options *options)
{
	struct made_file *file = made_elf_file(&world->elf);

	assert_non_null(file);
	assert_no_error(mt_objfile_open_memory("made.so", file, sizeof(*file), &world->objfile));
	free(file);
	assert_no_error(mt_plan_create(world->objfile, options, &world->plan));
}

static void plan(struct world *world)
{
	plan_some(world, NULL);
}

static void end(struct world *world)
{
	mt_plan_destroy(world->plan);
	mt_objfile_unref(world->objfile);
}

static const struct mt_patch *patch_at(const struct world *world, uint64_t offset)
{
	const struct mt_patch *patch = mt_plan_patch_at(world->plan, address(world, offset));

	assert_non_null(patch);
	assert_int_equal(patch->address, address(world, offset));
	return patch;
}

static void check_patch(const struct world *world, uint64_t offset, uint8_t length, uint8_t flags,
			enum mt_plan_tactic tactic)
{
	const struct mt_patch *patch = patch_at(world, offset);

	assert_int_equal(patch->length, length);
	assert_int_equal(patch->flags, flags);
	assert_string_equal(mt_plan_tactic_name(patch->tactic), mt_plan_tactic_name(tactic));
}

static void check_left(const struct world *world, uint64_t offset, bool is_return,
		       enum mt_plan_reason reason)
{
	mt_array_each (left, &world->plan->left) {
		if (left->address != address(world, offset) || left->is_return != is_return)
			continue;
		assert_string_equal(mt_plan_reason_name(left->reason), mt_plan_reason_name(reason));
		return;
	}
	fail_msg("%#jx is not left out", (uintmax_t)offset);
}

#define ENDBR64  0xf3, 0x0f, 0x1e, 0xfa
#define LEA_5    0x48, 0x8d, 0x44, 0x37, 0x05 /* lea rax, [rdi+rsi+5] */
#define MOV_EAX  0xb8, 0x01, 0x00, 0x00, 0x00
#define XOR_EAX  0x31, 0xc0
#define TEST_EDI 0x85, 0xff
#define RET      0xc3
#define PUSH_RBP 0x55
#define MOV_RBP  0x48, 0x89, 0xe5
#define SUB_RSP  0x48, 0x83, 0xec, 0x10
#define LEAVE    0xc9
#define JMP(to)  0xeb, (uint8_t)(to)
#define JE(to)   0x74, (uint8_t)(to)
#define CALL(to)                                                                                   \
	0xe8, (uint8_t)(to), (uint8_t)((to) >> 8), (uint8_t)((to) >> 16), (uint8_t)((to) >> 24)

static void test_entry_behind_endbr64(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, ENDBR64, LEA_5, MOV_EAX, MOV_EAX, RET);

	(void)state;
	plan(&world);
	check_patch(&world, f + 4, 5, MT_PATCH_ENTRY, MT_TACTIC_ENTRY);
	end(&world);
}

static void test_return_over_padding(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);

	(void)state;
	padding(&world, 15);
	plan(&world);
	check_patch(&world, f, 5, MT_PATCH_ENTRY, MT_TACTIC_ENTRY);
	check_patch(&world, f + 10, 5, MT_PATCH_RETURN, MT_TACTIC_PADDING);
	end(&world);
}

static void test_return_with_its_block(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, LEA_5, MOV_EAX, RET);

	(void)state;
	wall(&world);
	plan(&world);
	check_patch(&world, f + 10, 6, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
	end(&world);
}

static void test_entry_and_return_merged(void **state)
{
	struct world world = {0};
	uint64_t short_one = function(&world, XOR_EAX, RET);
	uint64_t long_one;

	(void)state;
	padding(&world, 13);
	long_one = function(&world, LEA_5, XOR_EAX, RET);
	wall(&world);
	plan(&world);
	check_patch(&world, short_one, 5, MT_PATCH_ENTRY | MT_PATCH_RETURN, MT_TACTIC_MERGED);
	check_patch(&world, long_one, 8, MT_PATCH_ENTRY | MT_PATCH_RETURN, MT_TACTIC_MERGED);
	end(&world);
}

static void test_sites_are_numbered_by_address(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, XOR_EAX, RET), g;

	(void)state;
	padding(&world, 13);
	g = function(&world, LEA_5, MOV_EAX, RET);
	padding(&world, 15);
	plan(&world);
	assert_int_equal(world.plan->sites.count, 4);
	assert_int_equal(patch_at(&world, g)->site, 2);
	assert_int_equal(world.plan->sites.items[0].address, address(&world, f));
	assert_false(world.plan->sites.items[0].is_return);
	assert_int_equal(world.plan->sites.items[1].address, address(&world, f + 2));
	assert_true(world.plan->sites.items[1].is_return);
	assert_int_equal(world.plan->sites.items[3].function, 1);
	assert_int_equal(world.plan->functions.items[1].start, address(&world, g));
	end(&world);
}

/* As at -O0: `leave; ret` behind a target, and the next function close by. */
static void test_short_jump_into_a_neighbours_patch(void **state)
{
	struct world world = {0};
	uint64_t f =
	    function(&world, PUSH_RBP, MOV_RBP, SUB_RSP, TEST_EDI, JE(5), MOV_EAX, LEAVE, RET);
	const struct mt_patch *patch, *host;

	(void)state;
	wall(&world);
	plan(&world);
	check_patch(&world, f + 17, 2, MT_PATCH_RETURN, MT_TACTIC_SHORT);
	patch = patch_at(&world, f + 17);
	host = patch_at(&world, f);
	assert_int_equal(patch->hole, host->address + MT_PATCH_JUMP_BYTES);
	assert_true(mt_patch_depends(patch, host));
	assert_false(mt_patch_depends(host, patch));
	assert_true(host->length >= 2 * MT_PATCH_JUMP_BYTES);
	end(&world);
}

static void test_short_jump_into_padding(void **state)
{
	struct world world = {0};
	uint64_t f, dead;

	(void)state;
	function(&world, LEA_5, LEA_5, JMP(-12));
	dead = world.elf.text_size;
	padding(&world, 6);
	f = function(&world, TEST_EDI, JE(5), MOV_EAX, LEAVE, RET);
	wall(&world);
	plan(&world);
	check_patch(&world, f + 9, 2, MT_PATCH_RETURN, MT_TACTIC_SHORT);
	assert_int_equal(patch_at(&world, f + 9)->hole, address(&world, dead));
	end(&world);
}

/* The entry's patch cannot grow over the target behind it. */
static void test_a_neighbour_is_displaced(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, MOV_EAX, TEST_EDI, JE(-4), TEST_EDI, JE(12), LEA_5, LEA_5,
			      TEST_EDI, LEAVE, RET);

	(void)state;
	wall(&world);
	plan(&world);
	check_patch(&world, f + 25, 2, MT_PATCH_RETURN, MT_TACTIC_EVICTED);
	assert_int_equal(world.plan->patches.count, 3);
	assert_int_equal(world.plan->patches.items[1].tactic, MT_TACTIC_HOLE);
	assert_int_equal(world.plan->patches.items[1].flags, 0);
	end(&world);
}

static void test_a_function_that_enters_the_kernel_is_stamped(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, MOV_EAX, 0x0f, 0x05, RET);

	(void)state;
	padding(&world, 8);
	plan(&world);
	check_patch(&world, f, 5, MT_PATCH_ENTRY | MT_PATCH_STAMP, MT_TACTIC_ENTRY);
	check_patch(&world, f + 7, 5, MT_PATCH_RETURN | MT_PATCH_STAMP, MT_TACTIC_PADDING);
	end(&world);
}

/* A call is displaced only as the last. */
static void test_a_call_ends_a_patch(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, PUSH_RBP, CALL(100), LEAVE, RET);

	(void)state;
	wall(&world);
	plan(&world);
	check_patch(&world, f, 6, MT_PATCH_ENTRY, MT_TACTIC_ENTRY);
	check_left(&world, f + 7, true, MT_LEFT_NO_ROOM);
	end(&world);
}

/* The branch records instead of the return, which then is no target any more. */
static void test_branches_are_redirected(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, LEA_5, TEST_EDI, JE(5), MOV_EAX, RET);
	const struct mt_patch *patch;

	(void)state;
	wall(&world);
	plan(&world);
	patch = mt_plan_patch_at(world.plan, address(&world, f + 12));
	assert_non_null(patch);
	assert_int_equal(patch->redirect, address(&world, f + 19));
	assert_true(patch->flags & MT_PATCH_REDIRECT);
	assert_int_equal(world.plan->sites.items[patch->site].address, address(&world, f + 19));
	assert_true(mt_patch_depends(mt_plan_patch_at(world.plan, address(&world, f + 19)), patch));
	assert_int_equal(world.plan->left.count, 0);
	end(&world);
}

/* jmp over a call: no one falls into the return. */
static void test_a_return_that_is_only_branched_to(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, LEA_5, TEST_EDI, JE(7), LEA_5, JMP(-16), RET);
	struct mt_plan_coverage entries, returns;

	(void)state;
	wall(&world);
	plan(&world);
	mt_plan_count(world.plan, &entries, &returns);
	assert_int_equal(returns.all, 1);
	assert_int_equal(returns.by_tactic[MT_TACTIC_REDIRECT], 1);
	assert_null(mt_plan_patch_at(world.plan, address(&world, f + 21)));
	end(&world);
}

static void test_left_for_a_target(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, TEST_EDI, JE(5), CALL(-14), RET);
	uint64_t g;

	(void)state;
	wall(&world);
	g = function(&world, PUSH_RBP, MOV_EAX, JE(-7), LEA_5, RET);
	wall(&world);
	plan(&world);
	check_left(&world, f + 14, true, MT_LEFT_TARGET);
	check_left(&world, g, false, MT_LEFT_TARGET);
	end(&world);
}

static void test_a_loop_to_the_entry(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, JE(-7), LEA_5, LEA_5, RET);
	const struct mt_patch *back, *entry;

	(void)state;
	wall(&world);
	plan(&world);
	entry = patch_at(&world, f);
	back = mt_plan_patch_at(world.plan, address(&world, f + 5));
	assert_int_equal(entry->flags, MT_PATCH_ENTRY);
	assert_non_null(back);
	assert_int_equal(back->flags, MT_PATCH_AGAIN);
	assert_int_equal(back->redirect, address(&world, f));
	assert_true(mt_patch_depends(entry, back));
	assert_true(mt_patch_depends(back, entry));
	check_patch(&world, f + 12, 6, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
	assert_int_equal(world.plan->left.count, 0);
	end(&world);
}

/* Both in one patch. */
static void test_a_short_loop_to_the_entry(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, TEST_EDI, JE(-4), LEA_5, RET);

	(void)state;
	wall(&world);
	plan(&world);
	assert_int_equal(patch_at(&world, f)->flags & ~MT_PATCH_RETURN,
			 MT_PATCH_ENTRY | MT_PATCH_AGAIN);
	assert_int_equal(patch_at(&world, f)->redirect, address(&world, f));
	assert_false(mt_patch_depends(patch_at(&world, f), patch_at(&world, f)));
	end(&world);
}

/* The branch has no room; loop has no long form. */
static void test_left_for_a_loop_to_the_entry(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, JE(-7), LEA_5, RET);
	uint64_t g;

	(void)state;
	wall(&world);
	g = function(&world, LEA_5, 0xe2, 0xf9, LEA_5, LEA_5, RET);
	wall(&world);
	plan(&world);
	check_left(&world, f, false, MT_LEFT_LOOP);
	check_patch(&world, f + 7, 6, MT_PATCH_RETURN, MT_TACTIC_BLOCK);
	check_left(&world, g, false, MT_LEFT_LOOP);
	end(&world);
}

static void test_left_for_what_cannot_be_read_or_moved(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, 0x06, 0x06, 0x06, 0x06, 0x06, 0x06);
	uint64_t g;

	(void)state;
	wall(&world);
	g = function(&world, 0x0f, 0x05, LEA_5, RET);
	wall(&world);
	plan(&world);
	check_left(&world, f, false, MT_LEFT_NOT_DECODED);
	check_left(&world, g, false, MT_LEFT_NOT_MOVABLE);
	end(&world);
}

static void test_left_for_an_unknown_jump(void **state)
{
	struct world world = {0};
	/* add rdi, rsi; jmp rdi */
	uint64_t f = function(&world, TEST_EDI, JE(5), 0x48, 0x01, 0xf7, 0xff, 0xe7, LEA_5, RET);

	(void)state;
	wall(&world);
	plan(&world);
	check_left(&world, f + 14, true, MT_LEFT_INDIRECT);
	end(&world);
}

static void test_left_because_nothing_leads_there(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, LEA_5, RET, LEA_5, RET);

	(void)state;
	padding(&world, 10);
	plan(&world);
	check_left(&world, f + 11, true, MT_LEFT_UNREACHED);
	end(&world);
}

static bool is_not_a(void *context, const struct mt_symbol *symbol)
{
	(void)context;
	return strcmp(symbol->raw_name, "a") != 0;
}

static void test_left_by_choice_and_as_the_start(void **state)
{
	struct world world = {0};
	const struct mt_plan_options options = {.wanted = is_not_a};
	uint64_t f = function(&world, LEA_5, MOV_EAX, RET);
	uint64_t g = function(&world, LEA_5, MOV_EAX, RET);

	(void)state;
	world.elf.entry = address(&world, g);
	plan_some(&world, &options);
	check_left(&world, f, false, MT_LEFT_CHOSEN);
	check_left(&world, f + 10, true, MT_LEFT_CHOSEN);
	check_left(&world, g, false, MT_LEFT_START);
	assert_int_equal(world.plan->patches.count, 0);
	end(&world);
}

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

struct found {
	const struct mt_plan *plan;
	size_t patch, count;
};

static void count_dependent(void *context, size_t dependent)
{
	struct found *found = context;
	const struct mt_patch *patches = found->plan->patches.items;

	assert_true(mt_patch_depends(&patches[dependent], &patches[found->patch]));
	found->count++;
}

/* Of a whole library: each patch against all others. */
static void test_all_dependents_are_found(void **state)
{
	struct mt_objfile *objfile = NULL;
	struct mt_plan *plan = NULL;
	size_t all = 0;
	Dl_info libc;

	(void)state;
	assert_true(dladdr((void *)(uintptr_t)qsort, &libc));
	assert_null(mt_objfile_open(libc.dli_fname, NULL, NULL, &objfile));
	assert_null(mt_plan_create(objfile, NULL, &plan));
	for (size_t i = 0; i < plan->patches.count; i++) {
		struct found found = {.plan = plan, .patch = i};
		size_t depend = 0;

		for (size_t k = 0; k < plan->patches.count; k++)
			depend +=
			    mt_patch_depends(&plan->patches.items[k], &plan->patches.items[i]);
		mt_plan_each_dependent(plan, i, count_dependent, &found);
		assert_int_equal(found.count, depend);
		all += depend;
	}
	assert_true(all > 0);
	mt_plan_destroy(plan);
	mt_objfile_unref(objfile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_all_dependents_are_found),
	    cmocka_unit_test(test_entry_behind_endbr64),
	    cmocka_unit_test(test_return_over_padding),
	    cmocka_unit_test(test_return_with_its_block),
	    cmocka_unit_test(test_entry_and_return_merged),
	    cmocka_unit_test(test_sites_are_numbered_by_address),
	    cmocka_unit_test(test_short_jump_into_a_neighbours_patch),
	    cmocka_unit_test(test_short_jump_into_padding),
	    cmocka_unit_test(test_a_neighbour_is_displaced),
	    cmocka_unit_test(test_a_function_that_enters_the_kernel_is_stamped),
	    cmocka_unit_test(test_a_call_ends_a_patch),
	    cmocka_unit_test(test_branches_are_redirected),
	    cmocka_unit_test(test_a_return_that_is_only_branched_to),
	    cmocka_unit_test(test_left_for_a_target),
	    cmocka_unit_test(test_a_loop_to_the_entry),
	    cmocka_unit_test(test_a_short_loop_to_the_entry),
	    cmocka_unit_test(test_left_for_a_loop_to_the_entry),
	    cmocka_unit_test(test_left_for_what_cannot_be_read_or_moved),
	    cmocka_unit_test(test_left_for_an_unknown_jump),
	    cmocka_unit_test(test_left_because_nothing_leads_there),
	    cmocka_unit_test(test_left_by_choice_and_as_the_start),
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
