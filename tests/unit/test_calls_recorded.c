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
#include "trace/recorded_values.h"

#define RING_BYTES 4096u
#define MOST       11u
#define STEPS      2000
#define FIRST_SITE MT_RING_SITE_END
#define ENTRY_SITE 77u
#define STRING     20u /* its site, from the first one on */
#define MOST_TOLD  (MOST + 1 + MT_RECORDED_STRING_WORDS)

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

/* What the ring is to have of the values. */
struct told {
	unsigned count;
	struct {
		uint32_t site;
		uint64_t value;
	} items[MOST_TOLD];
};

static void tell(struct told *told, uint32_t site, uint64_t value)
{
	assert_true(told->count < MOST_TOLD);
	told->items[told->count].site = site;
	told->items[told->count++].value = value;
}

/* One each, in their order, and the ENTRY, in lines that begin with stamps. */
static void check_ring(enum mt_ring_stamps stamps, const struct told *told, bool entry,
		       bool is_alone)
{
	const uint64_t pointer = registers[MT_REGISTER_RSP];
	unsigned next = 0;

	for (uint64_t at = steps.begin; at < slot.written;) {
		const uint64_t *words = slot_at(&steps, at);

		assert_int_not_equal(*words, STALE);
		if (stamps == MT_RING_SAMPLED && at % MT_RING_LINE_BYTES == 0) {
			assert_true(*words > UINT32_MAX || (!*words && !is_alone));
			at += SLOT;
			continue;
		}
		if (!*words) {
			at += SLOT;
			continue;
		}
		if (entry && next == told->count) {
			assert_int_equal(words[0], event_of(ENTRY_SITE, pointer - 8));
			assert_int_equal(words[1], *(uint64_t *)pointer);
			entry = false;
			at += 2 * SLOT;
			continue;
		}
		assert_true(next < told->count);
		assert_int_equal(words[0], event_of(told->items[next].site, pointer));
		if (stamps == MT_RING_SAMPLED) {
			assert_true(at % MT_RING_LINE_BYTES + 2 * SLOT <= MT_RING_LINE_BYTES);
		} else {
			at += 2 * SLOT;
			words = slot_at(&steps, at);
			assert_int_equal((uint32_t)words[0], MT_RING_SITE_CALLER);
		}
		assert_int_equal(words[1], told->items[next++].value);
		at += 2 * SLOT;
	}
	assert_int_equal(next, told->count);
	assert_false(entry);
}

/* The last of the values is a string, if HAS_STRING. */
static void compile_values(enum mt_ring_stamps stamps, unsigned count, bool has_string,
			   uint32_t entry_site, struct mt_expr **exprs)
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
	if (has_string) {
		values[count - 1].is_string = true;
		values[count - 1].site = (FIRST_SITE + STRING) | MT_RING_SITE_ENTRY;
	}
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

/* From places in a line on that lie STEP bytes apart; something writes at each of some steps, which
 * are others from place to place. */
static void check_places(enum mt_ring_stamps stamps, unsigned step, const struct told *told,
			 bool entry)
{
	static unsigned phase;

	for (uint64_t written = RING_BYTES; written < RING_BYTES + MT_RING_LINE_BYTES;
	     written += step) {
		int left = STEPS;

		do {
			record(written, left);
			assert_in_range(steps.steps, 10, STEPS);
			assert_int_equal(outcome, entry);
			check_ring(stamps, told, entry, left == STEPS || left == (int)steps.steps);
			left = left == STEPS ? (int)(steps.steps - phase++ % (1 + steps.steps / 4))
					     : left - 1 - (int)steps.steps / 4;
		} while (left >= 0);
	}
}

static void begin_steps(struct sigaction *old)
{
	const struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

	fill();
	slot.ring = (uintptr_t)ring;
	steps.seen = steps.behind = 0;
	steps.wrong = false;
	assert_int_equal(sigaction(SIGTRAP, &action, old), 0);
}

static void end_steps(const struct sigaction *old)
{
	assert_int_equal(sigaction(SIGTRAP, old, NULL), 0);
	assert_false(steps.wrong);
	assert_true(steps.seen > 1000 && steps.behind > 100);
}

/* FIRST: what the trampoline begins with. */
static void check_all(enum mt_ring_stamps stamps, uint32_t entry_site, uint8_t first)
{
	struct mt_expr *exprs[MOST];
	struct sigaction old;

	begin_steps(&old);
	parse_all(exprs);
	for (unsigned count = 1; count <= MOST; count += 1 + count / 2) {
		struct told told = {0};

		for (unsigned i = 0; i < count; i++)
			tell(&told, FIRST_SITE + i, registers[MT_REGISTER_RDI] + i);
		compile_values(stamps, count, false, entry_site, exprs);
		code_page[TRAMPOLINE] = first;
		check_places(stamps, stamps == MT_RING_FULL ? 2 * SLOT : SLOT, &told,
			     first == MT_CONDITION_RECORDS);
		mt_condition_deinit(&code);
	}
	end_steps(&old);
	for (unsigned i = 0; i < MOST; i++)
		mt_expr_destroy(exprs[i]);
}

/* The words that hold the bytes of TEXT up to its NUL, or as many as are recorded; what stands
 * before it are ones. */
static void tell_text(struct told *told, const char *text)
{
	const uint64_t before = (uintptr_t)text % 8;
	const uint64_t *words = (const uint64_t *)(const void *)(text - before);
	const size_t count = (before + strlen(text)) / 8 + 1;

	for (unsigned i = 0; text && i < count && i < MT_RECORDED_STRING_WORDS; i++)
		tell(told, FIRST_SITE + STRING + 1 + i,
		     i ? words[i] : words[0] | ((1ull << 8 * before) - 1));
}

static void check_text(const char *text, unsigned before, bool entry, struct mt_expr **exprs)
{
	struct told told = {0};

	registers[MT_REGISTER_RDI] = (uintptr_t)text;
	for (unsigned i = 0; i < before; i++)
		tell(&told, FIRST_SITE + i, (uintptr_t)text + i);
	tell(&told, FIRST_SITE + STRING, (uintptr_t)text);
	if (text)
		tell_text(&told, text);
	compile_values(MT_RING_SAMPLED, before + 1, true, ENTRY_SITE, exprs);
	code_page[TRAMPOLINE] = MT_CONDITION_RECORDS;
	record(RING_BYTES, STEPS); /* its page is noted */
	check_places(MT_RING_SAMPLED, 7 * SLOT, &told, entry);
	mt_condition_deinit(&code);
}

/* The bytes of a string, with the entry where its page is known to be there and holds as many as
 * are recorded at the most. */
static void test_a_string(void **state)
{
	static const char *const texts[] = {"",
					    "abc",
					    "abcdefg",
					    "abcdefgh",
					    "twenty bytes of text",
					    "more bytes than are recorded of one string"};
	const uint64_t trusts[] = {MT_CONDITION_TRUST, 0};
	struct mt_expr *exprs[MOST];
	struct sigaction old;

	(void)state;
	begin_steps(&old);
	for (unsigned before = 0; before <= 3; before += 1 + before) {
		parse_all(exprs);
		mt_expr_destroy(exprs[before]);
		assert_no_error(mt_expr_parse(program, &frame, "(char *)$rdi", &exprs[before]));
		for (unsigned i = 0; i < 2; i++) {
			/* No more is earned. */
			errors = (struct mt_condition_errors){.trust = trusts[i],
							      .proved = MT_CONDITION_PROOFS};
			check_text(NULL, before, true, exprs);
			for (size_t t = 0; t < sizeof(texts) / sizeof(*texts); t++) {
				/* Just below the page's end, and so far that there is no room. */
				char *at = (char *)edge - PAGE + 8 + t;
				char *last = (char *)edge - strlen(texts[t]) - 1;

				strcpy(at, texts[t]);
				check_text(at, before, trusts[i], exprs);
				strcpy(last, texts[t]);
				check_text(last, before,
					   trusts[i] &&
					       ((uintptr_t)last & -8ul) <= (uintptr_t)edge - 40,
					   exprs);
			}
		}
		for (unsigned i = 0; i < MOST; i++)
			mt_expr_destroy(exprs[i]);
	}
	end_steps(&old);
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
	    cmocka_unit_test(test_sampled),        cmocka_unit_test(test_full),
	    cmocka_unit_test(test_with_the_entry), cmocka_unit_test(test_with_a_muted_entry),
	    cmocka_unit_test(test_a_string),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
