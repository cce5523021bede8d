/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of trampolines tell at each instruction which slots are reserved and not filled: functions
 * are run step by step over a ring of stale slots, and once a call something writes behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "stepped_ring.h"
#include "trampoline_world.h"

#define MOST_STEPS 200

static struct world *stepped_world;
static struct stepped_ring steps;
static bool runs;

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const struct mt_trampolines *code = &stepped_world->trampolines;
	const uint64_t at =
	    (uint64_t)registers[REG_RIP] - (uintptr_t)stepped_world->trampoline_page;
	const bool inside = at < code->code.count;

	(void)signal;
	(void)info;
	if (!runs) {
		registers[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	stepped_check(&steps, inside ? mt_trampoline_row_at(code, (uint32_t)at) : NULL, registers);
	stepped_pass(&steps, inside);
}

static void call_by_steps(uint64_t function, uint64_t written, int left)
{
	stepped_begin(&steps, written, left);
	runs = true;
	step_on();
	call(stepped_world, function, 1, 1);
	runs = false;
	__asm__ volatile("nop" ::: "memory");
}

/* From each place in a line on, with something written behind at each step, or never. */
static void check_all(enum mt_ring_stamps stamps, uint8_t flags)
{
	struct world world = world_make(stamps);
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct sigaction old;
	const unsigned slot = stamps == MT_RING_FULL ? 2 * SLOT : SLOT;

	/* lea rax, [rdi+rsi]; nop; ret */
	uint64_t f = function(&world, 0x48, 0x8d, 0x04, 0x37, 0x90, 0xc3);
	patch(&world, f, 6, MT_PATCH_ENTRY | MT_PATCH_RETURN | flags, 1);
	stepped_world = &world;
	steps =
	    (struct stepped_ring){.ring = world.ring, .size = RING_BYTES, .position = &position};
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	for (uint64_t written = RING_BYTES; written < RING_BYTES + MT_RING_LINE_BYTES;
	     written += slot) {
		int left = MOST_STEPS;

		do {
			call_by_steps(f, written, left);
			assert_in_range(steps.steps, 10, MOST_STEPS);
			left = left == MOST_STEPS ? (int)steps.steps : left - 1;
		} while (left >= 0);
	}
	assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
	assert_false(steps.wrong);
	assert_true(steps.seen > 1000 && steps.behind > 100);
	world_end(&world);
}

static void test_sampled(void **state)
{
	(void)state;
	check_all(MT_RING_SAMPLED, 0);
}

static void test_stamps_of_events(void **state)
{
	(void)state;
	check_all(MT_RING_SAMPLED, MT_PATCH_STAMP);
}

static void test_full(void **state)
{
	(void)state;
	check_all(MT_RING_FULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sampled),
	    cmocka_unit_test(test_stamps_of_events),
	    cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
