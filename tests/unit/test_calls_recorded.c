/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values that are recorded together, from each place in a line on: what the ring has of them, and,
 * step by step, that rows tell which slots are reserved and not filled, also while something writes
 * behind. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "condition_world.h"
#include "stepped_ring.h"

#include "engine/calls/ring/ring.h"

#define RING_BYTES 4096u
#define MOST       11u
#define STEPS      2000
#define FIRST_SITE MT_RING_SITE_END
#define ENTRY_SITE 77u

static _Alignas(RING_BYTES) uint8_t ring[RING_BYTES];
static struct mt_condition code;
static struct stepped_ring steps = {.ring = ring, .size = RING_BYTES, .position = &slot};

static uint64_t event_of(uint32_t site, uint64_t pointer)
{
	return (site | MT_RING_SITE_ENTRY) | (uint64_t)(uint32_t)pointer << 32;
}

/* The entry is in the ring just where rows say so. */
static void check_phase(const struct mt_trampoline_row *row)
{
	const uint64_t entry = event_of(ENTRY_SITE, registers[MT_REGISTER_RSP] - 8);
	bool has_entered = false;

	for (uint64_t i = steps.begin; i < slot.written; i += SLOT)
		has_entered |= *slot_at(&steps, i) == entry;
	steps.wrong |= !row || has_entered != (row->phase == MT_PHASE_RECORDED);
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t at = (uint64_t)regs[REG_RIP] - code_address;

	(void)signal;
	(void)info;
	const bool inside = at < code.trampolines.code.count;
	if (!inside && steps.steps)
		regs[REG_EFL] &= ~TRAP_FLAG;
	if (!inside)
		return;
	const struct mt_trampoline_row *row = mt_trampoline_row_at(&code.trampolines, (uint32_t)at);
	stepped_check(&steps, row, regs);
	check_phase(row);
	stepped_pass(&steps, true);
}

static void record(uint64_t written, int left)
{
	stepped_begin(&steps, written, left);
	step_on();
	run();
}

/* COUNT values, one each, in their order, and the ENTRY, in lines that begin with stamps. */
static void check_ring(enum mt_ring_stamps stamps, unsigned count, bool entry, bool is_alone)
{
	const uint64_t pointer = registers[MT_REGISTER_RSP];
	unsigned next = 0;

	for (uint64_t at = steps.begin; at < slot.written;) {
		const uint64_t *words = slot_at(&steps, at);
		const uint64_t event = event_of(FIRST_SITE + next, pointer);

		assert_int_not_equal(*words, STALE);
		if (stamps == MT_RING_SAMPLED && at % MT_RING_LINE_BYTES == 0) {
			assert_true(*words > UINT32_MAX || (!*words && !is_alone));
			at += SLOT;
		} else if (!*words) {
			at += SLOT;
		} else if (entry && next == count) {
			assert_int_equal(words[0], event_of(ENTRY_SITE, pointer - 8));
			assert_int_equal(words[1], *(uint64_t *)pointer);
			entry = false;
			at += 2 * SLOT;
		} else if (stamps == MT_RING_SAMPLED) {
			assert_true(at % MT_RING_LINE_BYTES + 2 * SLOT <= MT_RING_LINE_BYTES);
			assert_int_equal(words[0], event);
			assert_int_equal(words[1], registers[MT_REGISTER_RDI] + next++);
			at += 2 * SLOT;
		} else {
			assert_int_equal(words[0], event);
			words = slot_at(&steps, at + 2 * SLOT);
			assert_int_equal((uint32_t)words[0], MT_RING_SITE_CALLER);
			assert_int_equal(words[1], registers[MT_REGISTER_RDI] + next++);
			at += 4 * SLOT;
		}
	}
	assert_int_equal(next, count);
	assert_false(entry);
}

static void compile_values(enum mt_ring_stamps stamps, unsigned count, uint32_t entry_site,
			   struct mt_expr **exprs)
{
	struct mt_condition_value values[MOST] = {0};
	const struct mt_condition_place place = {.entry = frame.pc,
						 .alive = (uintptr_t)&alive,
						 .errors = (uintptr_t)&errors,
						 .values = values,
						 .value_count = count,
						 .entry_site = entry_site,
						 .ring_bytes = RING_BYTES,
						 .stamps = stamps};

	for (unsigned i = 0; i < count; i++)
		values[i] = (struct mt_condition_value){
		    .expr = exprs[i], .site = (FIRST_SITE + i) | MT_RING_SITE_ENTRY};
	assert_no_error(mt_condition_compile(NULL, &place, &code));
	place_code(&code);
}

static void parse_all(struct mt_expr **exprs)
{
	for (unsigned i = 0; i < MOST; i++) {
		char text[32];

		snprintf(text, sizeof(text), "(long)$rdi + %u", i);
		assert_no_error(mt_expr_parse(program, &frame, text, &exprs[i]));
	}
}

/* FIRST: what the trampoline begins with. */
static void check_all(enum mt_ring_stamps stamps, uint32_t entry_site, uint8_t first)
{
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	struct mt_expr *exprs[MOST];
	struct sigaction old;
	const bool entry = first == MT_CONDITION_RECORDS;
	const unsigned least = stamps == MT_RING_FULL ? 2 * SLOT : SLOT;

	fill();
	slot.ring = (uintptr_t)ring;
	parse_all(exprs);
	steps.seen = steps.behind = 0;
	steps.wrong = false;
	assert_int_equal(sigaction(SIGTRAP, &action, &old), 0);
	for (unsigned count = 1; count <= MOST; count += 1 + count / 2) {
		compile_values(stamps, count, entry_site, exprs);
		code_page[TRAMPOLINE] = first;
		for (uint64_t written = RING_BYTES; written < RING_BYTES + MT_RING_LINE_BYTES;
		     written += least) {
			int left = STEPS;

			do {
				record(written, left);
				assert_in_range(steps.steps, 10, STEPS);
				assert_int_equal(outcome, entry);
				check_ring(stamps, count, entry,
					   left == STEPS || left == (int)steps.steps);
				left = left == STEPS ? (int)steps.steps
						     : left - 1 - (int)steps.steps / 12;
			} while (left >= 0);
		}
		mt_condition_deinit(&code);
	}
	assert_int_equal(sigaction(SIGTRAP, &old, NULL), 0);
	assert_false(steps.wrong);
	assert_true(steps.seen > 1000 && steps.behind > 100);
	for (unsigned i = 0; i < MOST; i++)
		mt_expr_destroy(exprs[i]);
}

static void test_sampled(void **state)
{
	(void)state;
	check_all(MT_RING_SAMPLED, 0, 0);
}

static void test_full(void **state)
{
	(void)state;
	check_all(MT_RING_FULL, 0, 0);
}

/* The function's entry is recorded with them, unless its trampoline records nothing. */
static void test_with_the_entry(void **state)
{
	(void)state;
	check_all(MT_RING_SAMPLED, ENTRY_SITE, MT_CONDITION_RECORDS);
}

static void test_with_a_muted_entry(void **state)
{
	(void)state;
	check_all(MT_RING_SAMPLED, ENTRY_SITE, 0xe9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sampled),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_with_the_entry),
	    cmocka_unit_test(test_with_a_muted_entry),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
