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

#include "trampoline_world.h"

#define TRAP_FLAG  0x100
#define STALE      0x5a5a5a5a5a5a5a5aull
#define SLOT       8
#define MOST_STEPS 200

static struct {
	struct world *world;
	uint64_t begin; /* bytes that were written before the call */
	int left;       /* steps until something writes */
	unsigned steps, seen, behind;
	bool runs, wrong;
} steps;

static uint64_t *slot_at(uint64_t at)
{
	return (uint64_t *)(void *)(steps.world->ring + at % RING_BYTES);
}

static void check(const struct mt_trampoline_row *row, const greg_t *registers)
{
	uint64_t begin = UINT64_MAX, end = 0, at = 0;

	for (uint64_t i = steps.begin; i < position.written; i += SLOT)
		if (*slot_at(i) == STALE) {
			begin = begin < i ? begin : i;
			end = i + SLOT;
		}
	if (row && row->reserved)
		at = mt_trampoline_reserved_at(row, (uint64_t)registers[REG_RAX],
					       (uint64_t)registers[REG_RCX], position.ring,
					       RING_BYTES, position.written);
	if (begin < end) {
		steps.seen++;
		steps.wrong |= !row || at > begin || at + row->reserved * SLOT < end;
		steps.behind += end < position.written;
	}
	if (row && row->reserved)
		steps.wrong |= at < steps.begin || at + row->reserved * SLOT > position.written;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t at = (uint64_t)registers[REG_RIP] - (uintptr_t)steps.world->trampoline_page;

	(void)signal;
	(void)info;
	if (!steps.runs) {
		registers[REG_EFL] &= ~TRAP_FLAG;
		return;
	}
	const bool inside = at < steps.world->trampolines.code.count;
	check(inside ? mt_trampoline_row_at(&steps.world->trampolines, (uint32_t)at) : NULL,
	      registers);
	steps.steps++;
	if (inside && steps.left-- == 0)
		for (unsigned i = 0; i < 3; i++, position.written += SLOT)
			*slot_at(position.written) = 0;
}

static void call_by_steps(struct world *world, uint64_t function, uint64_t written, int left)
{
	for (uint64_t i = 0; i < RING_BYTES; i += SLOT)
		memset(world->ring + i, 0x5a, SLOT);
	position.written = steps.begin = written;
	steps.left = left;
	steps.runs = true;
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "
			 "lea 128(%%rsp), %%rsp" ::
			     : "memory", "cc");
	call(world, function, 1, 1);
	steps.runs = false;
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
	steps.world = &world;
	steps.seen = steps.behind = 0;
	steps.wrong = false;
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	for (uint64_t written = RING_BYTES; written < RING_BYTES + MT_RING_LINE_BYTES;
	     written += slot) {
		int left = MOST_STEPS;

		do {
			steps.steps = 0;
			call_by_steps(&world, f, written, left);
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
