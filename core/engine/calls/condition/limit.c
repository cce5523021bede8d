/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of a condition's hits count: all threads count in one place, so that each hit has a number
 * of its own, and of those that come too early none changes the time. */
#include "engine/calls/condition/code.h"

static void load_counts(struct mt_asm *to)
{
	mt_asm_set(to, MT_ASM_RCX, to->place.limits.counts);
}

static void number(struct mt_asm *to)
{
	const struct mt_condition_limits *limits = &to->place.limits;

	load_counts(to);
	mt_asm_set(to, MT_ASM_RAX, 1);
	mt_asm(to, 0xf0, 0x48, 0x0f, 0xc1, 0x41, /* lock xadd [rcx+hits], rax */
	       offsetof(struct mt_condition_errors, hits));
	mt_asm_set(to, MT_ASM_RCX, limits->ignore);
	mt_asm(to, 0x48, 0x29, 0xc8); /* sub rax, rcx */
	mt_asm_jump(to, MT_ASM_BELOW, &to->miss);
	if (limits->every < 2)
		return;
	mt_asm_set(to, MT_ASM_RCX, limits->every);
	mt_asm(to, 0x31, 0xd2);       /* xor edx, edx */
	mt_asm(to, 0x48, 0xf7, 0xf1); /* div rcx */
	mt_asm(to, 0x48, 0xff, 0xc2); /* inc rdx */
	mt_asm(to, 0x48, 0x39, 0xca); /* cmp rdx, rcx */
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, &to->miss);
}

/* Who may not read the time is not held up. */
static void check_time(struct mt_asm *to)
{
	struct mt_asm_label counts = {0};

	mt_asm_jump_if_stampless(to, &counts);
	mt_asm_read_time(to);
	load_counts(to);
	mt_asm(to, 0x48, 0x8b, 0x41, /* mov rax, [rcx+next_tsc] */
	       offsetof(struct mt_condition_errors, next_tsc));
	mt_asm(to, 0x48, 0x39, 0xc2); /* cmp rdx, rax */
	mt_asm_jump(to, MT_ASM_BELOW, &to->miss);
	mt_asm_set(to, MT_ASM_RCX, to->place.limits.interval_ticks);
	mt_asm(to, 0x48, 0x01, 0xca); /* add rdx, rcx */
	load_counts(to);
	mt_asm(to, 0xf0, 0x48, 0x0f, 0xb1, 0x51, /* lock cmpxchg [rcx+next_tsc], rdx */
	       offsetof(struct mt_condition_errors, next_tsc));
	mt_asm_jump(to, MT_ASM_NOT_EQUAL, &to->miss);
	mt_asm_bind(to, &counts);
}

void mt_asm_limit(struct mt_asm *to)
{
	const struct mt_condition_limits *limits = &to->place.limits;

	if (limits->can_end) {
		load_counts(to);
		mt_asm(to, 0x83, 0x79, /* cmp dword [rcx+is_over], 0 */
		       offsetof(struct mt_condition_errors, is_over), 0);
		mt_asm_jump(to, MT_ASM_NOT_EQUAL, &to->miss);
	}
	if (limits->ignore || limits->every > 1)
		number(to);
	if (limits->interval_ticks)
		check_time(to);
}
