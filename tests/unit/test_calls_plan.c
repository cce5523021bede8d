/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One small function for each way to find room, and one for each reason to leave something out. */
#include "plan_world.h"

#include <dlfcn.h>

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
	g = function(&world, PUSH_RBP, ADD_EAX, JE(-7), LEA_5, RET);
	wall(&world);
	plan(&world);
	check_left(&world, f + 14, true, MT_LEFT_TARGET);
	check_left(&world, g, false, MT_LEFT_TARGET);
	end(&world);
}

static void test_a_loop_to_the_entry(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, ADD_EAX, JE(-7), LEA_5, LEA_5, RET);
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
	uint64_t f = function(&world, ADD_EAX, JE(-7), LEA_5, RET);
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

/* push rbp; pushf; mov rbp, rsp; mov eax, 1; popf; pop r12; pop rbp; ret, and the same with
 * instructions that set the flags before pushf and behind popf. */
static void test_left_for_the_flags(void **state)
{
	struct world world = {0};
	uint64_t f =
	    function(&world, PUSH_RBP, 0x9c, MOV_RBP, MOV_EAX, 0x9d, 0x41, 0x5c, 0x5d, RET);
	uint64_t g =
	    function(&world, TEST_EDI, PUSH_RBP, 0x9c, MOV_RBP, MOV_EAX, 0x9d, XOR_EAX, 0x5d, RET);

	(void)state;
	plan(&world);
	check_left(&world, f, false, MT_LEFT_FLAGS);
	check_left(&world, f + 14, true, MT_LEFT_FLAGS);
	assert_true(patch_at(&world, g)->flags & MT_PATCH_ENTRY);
	end(&world);
}

/* mov eax, 1; ret, which three others call: flags are read behind the call; or behind one that does
 * not return, where control came from elsewhere; or written first. */
static uint64_t callee(struct world *world)
{
	uint64_t f = function(world, MOV_EAX, RET);

	padding(world, 10);
	return f;
}

#define CALL_OF(world, offset, f) CALL((uint32_t)((f) - ((world)->elf.text_size + (offset) + 5)))

static void test_left_for_flags_that_it_returns(void **state)
{
	struct world world = {0};
	uint64_t f = callee(&world), g = callee(&world), h = callee(&world), k = callee(&world);

	(void)state;
	function(&world, CALL_OF(&world, 0, f), LEA_5, JE(0), MOV_EAX, RET);
	function(&world, TEST_EDI, JE(5), CALL_OF(&world, 4, g), JE(0), MOV_EAX, RET);
	function(&world, CALL_OF(&world, 0, h), TEST_EDI, JE(0), MOV_EAX, RET);
	/* Of what it calls behind that one, perhaps. */
	function(&world, CALL_OF(&world, 0, k), CALL_OF(&world, 5, f), JE(0), MOV_EAX, RET);
	plan(&world);
	check_left(&world, f, false, MT_LEFT_FLAGS);
	check_left(&world, f + 5, true, MT_LEFT_FLAGS);
	assert_true(patch_at(&world, g)->flags & MT_PATCH_ENTRY);
	assert_true(patch_at(&world, h)->flags & MT_PATCH_ENTRY);
	assert_true(patch_at(&world, k)->flags & MT_PATCH_ENTRY);
	end(&world);
}

/* mov eax, 1; adc eax, edi; and with test edi, edi before that. */
static void test_left_for_flags_that_it_takes(void **state)
{
	struct world world = {0};
	uint64_t f = function(&world, ENDBR64, MOV_EAX, 0x11, 0xf8, RET), g;

	(void)state;
	padding(&world, 10);
	g = function(&world, TEST_EDI, MOV_EAX, 0x11, 0xf8, RET);
	padding(&world, 10);
	plan(&world);
	check_left(&world, f, false, MT_LEFT_FLAGS);
	check_left(&world, f + 11, true, MT_LEFT_FLAGS);
	assert_true(patch_at(&world, g)->flags & MT_PATCH_ENTRY);
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
	    cmocka_unit_test(test_left_for_the_flags),
	    cmocka_unit_test(test_left_for_flags_that_it_returns),
	    cmocka_unit_test(test_left_for_flags_that_it_takes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
