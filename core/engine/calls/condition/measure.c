/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long calls take.  A call that begins is noted, with the time stamp counter, in a table of its
 * thread; where it ends, it is looked up and taken out.
 *
 * The table is a hash table of buckets of four, each a cache line.  The key is made of the call's
 * stack pointer and its return address, so that it finds no other call than this one: recursion,
 * coroutines on other stacks and signal handlers need no order among calls.  A call that never
 * returns (an exception, longjmp()) stays in the table until a call with the same key takes its
 * place, or until its bucket is full: then one of them goes.  Whose beginning is not there any more
 * is not measured, which is counted.
 *
 * A span, from one place to another, needs less: each has a word in the table, which holds when the
 * thread came to its beginning last, and is cleared where the span ends.
 *
 * What the program writes into the table can make it miss calls, or stop for them; the tracer does
 * not read it. */
#include "engine/calls/condition/code.h"

#define KEY_SHIFT  24 /* of the return address: most of what differs does not meet */
#define ITEMS      4  /* of a bucket: a key, and when it began */
#define ITEM_BYTES 16
#define SPREAD     0x9e3779b97f4a7c15ull /* Knuth's multiplicative hashing */

/* rcx: the key, never 0. */
static void make_key(struct mt_asm *to)
{
	mt_asm_stack_address(to, 0);
	mt_asm(to, 0x48, 0x8b, 0x08);            /* mov rcx, [rax] */
	mt_asm(to, 0x48, 0xc1, 0xc1, KEY_SHIFT); /* rol rcx, 24 */
	mt_asm(to, 0x48, 0x01, 0xc1);            /* add rcx, rax */
	mt_asm(to, 0x48, 0xb8);                  /* mov rax, key */
	mt_asm_imm64(to, to->place.measure.key);
	mt_asm(to, 0x48, 0x31, 0xc1);       /* xor rcx, rax */
	mt_asm(to, 0x48, 0x83, 0xc9, 0x01); /* or rcx, 1 */
}

/* rdx: the address of the thread's table.  One without a ring, and one that may not read the time
 * where that is needed, has NONE. */
static void find_table(struct mt_asm *to, struct mt_asm_label *none)
{
	if (!to->place.measure.untimed)
		mt_asm_jump_if_stampless(to, none);
	mt_asm(to, 0x65, 0x48, 0x8b, 0x14, 0x25); /* mov rdx, gs:[open_calls] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, open_calls));
	mt_asm(to, 0x48, 0x85, 0xd2); /* test rdx, rdx */
	mt_asm_jump(to, MT_ASM_EQUAL, none);
}

/* rcx: a key; rax: the address of its bucket. */
static void find_bucket(struct mt_asm *to, struct mt_asm_label *none)
{
	find_table(to, none);
	mt_asm(to, 0x48, 0xb8); /* mov rax, SPREAD */
	mt_asm_imm64(to, SPREAD);
	mt_asm(to, 0x48, 0x0f, 0xaf, 0xc1); /* imul rax, rcx */
	mt_asm(to, 0x48, 0xc1, 0xe8, 64 - MT_MEASURE_BUCKET_BITS);
	mt_asm(to, 0x48, 0x6b, 0xc0, MT_MEASURE_BUCKET_BYTES); /* imul rax, rax, 64 */
	mt_asm(to, 0x48, 0x01, 0xd0);                          /* add rax, rdx */
}

static void compare_key(struct mt_asm *to, unsigned item, struct mt_asm_label *same)
{
	mt_asm(to, 0x48, 0x39, 0x48, (uint8_t)(item * ITEM_BYTES)); /* cmp [rax+…], rcx */
	mt_asm_jump(to, MT_ASM_EQUAL, same);
}

/* rax: the address of the found item. */
static void add_item(struct mt_asm *to, struct mt_asm_label found[ITEMS])
{
	for (unsigned item = ITEMS - 1; item > 0; item--) {
		mt_asm_bind(to, &found[item]);
		mt_asm(to, 0x48, 0x83, 0xc0, ITEM_BYTES); /* add rax, 16: and on */
	}
	mt_asm_bind(to, &found[0]);
}

static void count(struct mt_asm *to, uint8_t offset)
{
	mt_asm(to, 0x48, 0xba); /* mov rdx, errors */
	mt_asm_imm64(to, to->place.errors);
	mt_asm(to, 0xf0, 0xff, 0x42, offset); /* lock inc dword [rdx+…] */
}

void mt_asm_note_begin(struct mt_asm *to)
{
	struct mt_asm_label free_items[ITEMS] = {0}, same[ITEMS] = {0}, ready = {0};

	make_key(to);
	find_bucket(to, &to->miss);
	for (unsigned item = 0; item < ITEMS; item++) {
		mt_asm(to, 0x48, 0x83, 0x78, (uint8_t)(item * ITEM_BYTES), 0); /* cmp qword …, 0 */
		mt_asm_jump(to, MT_ASM_EQUAL, &free_items[item]);
		compare_key(to, item, &same[item]);
	}
	/* One of them goes: by the key, lest it be always the same. */
	mt_asm(to, 0x89, 0xca);                           /* mov edx, ecx */
	mt_asm(to, 0xc1, 0xea, 0x06);                     /* shr edx, 6 */
	mt_asm(to, 0x83, 0xe2, (ITEMS - 1) * ITEM_BYTES); /* and edx, 48 */
	mt_asm(to, 0x48, 0x01, 0xd0);                     /* add rax, rdx */
	mt_asm_jump(to, MT_ASM_ALWAYS, &same[0]);
	add_item(to, same);
	if (!to->place.measure.untimed)
		count(to, offsetof(struct mt_condition_errors, lost));
	mt_asm_jump(to, MT_ASM_ALWAYS, &ready);
	add_item(to, free_items);
	mt_asm_bind(to, &ready);
	mt_asm(to, 0x48, 0x89, 0x08); /* mov [rax], rcx */
	if (to->place.measure.untimed)
		return;
	mt_asm(to, 0x48, 0x89, 0xc1); /* mov rcx, rax */
	mt_asm_read_own_time(to);
	mt_asm(to, 0x48, 0x89, 0x51, 0x08); /* mov [rcx+8], rdx */
}

/* rcx: when it began, by the thread's own time; rdx: now.  Straight on if it took long enough. */
static void take_time(struct mt_asm *to)
{
	mt_asm(to, 0x48, 0x89, 0xd0); /* mov rax, rdx */
	mt_asm(to, 0x48, 0x29, 0xc8); /* sub rax, rcx */
	if (to->place.measure.ticks) {
		mt_asm(to, 0x48, 0xba); /* mov rdx, ticks */
		mt_asm_imm64(to, to->place.measure.ticks);
		mt_asm(to, 0x48, 0x39, 0xd0); /* cmp rax, rdx */
		/* Signed: two processors' counters may differ. */
		mt_asm_jump(to, MT_ASM_LESS_EQUAL, &to->miss);
	}
	mt_asm(to, 0x65, 0x48, 0x89, 0x0c, 0x25); /* mov gs:[slow_begin], rcx */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, slow_begin));
	mt_asm(to, 0x65, 0x48, 0x89, 0x04, 0x25); /* mov gs:[slow_ticks], rax */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, slow_ticks));
}

void mt_asm_find_begin(struct mt_asm *to)
{
	const struct mt_measure *measure = &to->place.measure;
	struct mt_asm_label found[ITEMS] = {0}, go_on = {0};
	struct mt_asm_label *unknown = measure->is_own ? &go_on : &to->miss;

	make_key(to);
	find_bucket(to, unknown);
	for (unsigned item = 0; item < ITEMS; item++)
		compare_key(to, item, &found[item]);
	if (measure->counts)
		count(to, offsetof(struct mt_condition_errors, unmatched));
	mt_asm_jump(to, MT_ASM_ALWAYS, unknown);
	add_item(to, found);
	if (!measure->untimed)
		mt_asm(to, 0x48, 0x8b, 0x48, 0x08); /* mov rcx, [rax+8] */
	mt_asm(to, 0x48, 0xc7, 0x00, 0, 0, 0, 0);   /* mov qword [rax], 0 */
	mt_asm_bind(to, &go_on);
	if (measure->untimed)
		return;
	mt_asm_read_own_time(to);
	take_time(to);
}

void mt_asm_begin_span(struct mt_asm *to)
{
	find_table(to, &to->miss);
	mt_asm(to, 0x48, 0x89, 0xd1); /* mov rcx, rdx */
	mt_asm_read_own_time(to);
	mt_asm(to, 0x48, 0x89, 0x91); /* mov [rcx+…], rdx */
	mt_asm_imm32(to, to->place.measure.word);
}

void mt_asm_end_span(struct mt_asm *to)
{
	const bool begins_anew = to->place.measure.part == MT_MEASURE_SPAN_AGAIN;

	find_table(to, &to->miss);
	mt_asm(to, 0x48, 0x8d, 0x8a); /* lea rcx, [rdx+…] */
	mt_asm_imm32(to, to->place.measure.word);
	if (!begins_anew) {                      /* what did not begin needs no time stamp */
		mt_asm(to, 0x48, 0x83, 0x39, 0); /* cmp qword [rcx], 0 */
		mt_asm_jump(to, MT_ASM_EQUAL, &to->miss);
	}
	mt_asm_read_own_time(to);
	mt_asm(to, 0x48, 0x8b, 0x01); /* mov rax, [rcx] */
	if (begins_anew)
		mt_asm(to, 0x48, 0x89, 0x11); /* mov [rcx], rdx */
	else
		mt_asm(to, 0x48, 0xc7, 0x01, 0, 0, 0, 0); /* mov qword [rcx], 0 */
	mt_asm(to, 0x48, 0x89, 0xc1);                     /* mov rcx, rax */
	mt_asm(to, 0x48, 0x85, 0xc9);                     /* test rcx, rcx */
	mt_asm_jump(to, MT_ASM_EQUAL, &to->miss);
	take_time(to);
}

void mt_asm_duration(struct mt_asm *to)
{
	const struct mt_measure *measure = &to->place.measure;

	mt_asm(to, 0x65, 0x48, 0x8b, 0x04, 0x25); /* mov rax, gs:[slow_ticks] */
	mt_asm_imm32(to, offsetof(struct mt_ring_position, slow_ticks));
	if (!measure->mult)
		return;
	mt_asm(to, 0xba); /* mov edx, mult */
	mt_asm_imm32(to, measure->mult);
	mt_asm(to, 0x48, 0xf7, 0xe2);                                /* mul rdx */
	mt_asm(to, 0x48, 0x0f, 0xac, 0xd0, (uint8_t)measure->shift); /* shrd rax, rdx, shift */
}
