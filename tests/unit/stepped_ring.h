/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that records, run step by step over a ring of stale slots: rows tell at each instruction
 * which slots are reserved and not filled, also when something was written behind.  Include
 * cmocka.h before. */
#ifndef TESTS_UNIT_STEPPED_RING_H
#define TESTS_UNIT_STEPPED_RING_H

#include <string.h>
#include <ucontext.h>

#include "engine/calls/trampoline/trampoline.h"

#define TRAP_FLAG 0x100
#define STALE     0x5a5a5a5a5a5a5a5aull
#define SLOT      8
#define BEHIND    3 /* slots that are written behind */

/* The next instruction, and those after it, are steps: SIGTRAP. */
#define step_on()                                                                                  \
	__asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq; "            \
			 "lea 128(%%rsp), %%rsp" ::                                                \
			     : "memory", "cc")

struct stepped_ring {
	uint8_t *ring;
	uint64_t size;
	struct mt_ring_position *position;
	uint64_t begin; /* bytes that were written before */
	int left;       /* steps until something writes */
	unsigned steps, seen, behind;
	bool wrong;
};

static inline uint64_t *slot_at(const struct stepped_ring *stepped, uint64_t at)
{
	return (uint64_t *)(void *)(stepped->ring + at % stepped->size);
}

static inline void stepped_begin(struct stepped_ring *stepped, uint64_t written, int left)
{
	memset(stepped->ring, 0x5a, stepped->size);
	stepped->position->written = stepped->begin = written;
	stepped->left = left;
	stepped->steps = 0;
}

static inline void stepped_check(struct stepped_ring *stepped, const struct mt_trampoline_row *row,
				 const greg_t *regs)
{
	const uint64_t written = stepped->position->written;
	uint64_t begin = UINT64_MAX, end = 0, at = 0;

	for (uint64_t i = stepped->begin; i < written; i += SLOT)
		if (*slot_at(stepped, i) == STALE) {
			begin = begin < i ? begin : i;
			end = i + SLOT;
		}
	if (row && row->reserved) {
		at =
		    mt_trampoline_reserved_at(row, (uint64_t)regs[REG_RAX], (uint64_t)regs[REG_RCX],
					      stepped->position->ring, stepped->size, written);
		stepped->wrong |= at < stepped->begin || at + row->reserved * SLOT > written;
	}
	if (begin < end) {
		stepped->seen++;
		stepped->wrong |= !row || at > begin || at + row->reserved * SLOT < end;
		stepped->behind += end < written;
	}
}

/* INSIDE: the step was in code that records. */
static inline void stepped_pass(struct stepped_ring *stepped, bool inside)
{
	stepped->steps++;
	if (inside && stepped->left-- == 0)
		for (unsigned i = 0; i < BEHIND; i++, stepped->position->written += SLOT)
			*slot_at(stepped, stepped->position->written) = 0;
}

#endif
