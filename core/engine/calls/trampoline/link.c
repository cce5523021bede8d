/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links from one trampoline to another. */
#include "engine/calls/trampoline/trampoline.h"

#include <string.h>

#define JUMP       0xe9 /* rel32 */
#define LONG_JCC   0x0f /* 8x rel32 */
#define REL32_SIZE 4

uint32_t mt_trampoline_copy_of(const struct mt_trampolines *trampolines, uint32_t begin,
			       uint32_t end, uint64_t original)
{
	const struct mt_trampoline_row *row = mt_trampoline_row_at(trampolines, begin);
	const struct mt_trampoline_row *rows_end =
	    trampolines->rows.items + trampolines->rows.count;

	for (; row && row < rows_end && row->offset < end; row++)
		if (row->phase == MT_PHASE_DISPLACED && row->original == original)
			return row->offset;
	return MT_TRAMPOLINE_NONE;
}

/* Of the patches' trampolines the next one that there is. */
static uint32_t end_of(const struct mt_trampolines *trampolines, const uint32_t *offsets,
		       size_t count, size_t patch)
{
	while (++patch < count)
		if (offsets[patch] != MT_TRAMPOLINE_NONE)
			return offsets[patch];
	return (uint32_t)trampolines->code.count;
}

/* Offsets of distances that lead to another trampoline: these are the same wherever the code lies.
 */
struct inner {
	MT_ARRAY(uint32_t) at; /* by offset */
	bool failed;
};

/* Branches in [begin, end) that go to an address of the text go to an offset in the code instead. A
 * displaced call has pushed its return address: it stays a call. */
static void lead(struct mt_trampolines *trampolines, const struct mt_trampoline_config *config,
		 uint32_t begin, uint32_t end, uint64_t from, uint32_t to, struct inner *inner)
{
	const struct mt_trampoline_row *row = mt_trampoline_row_at(trampolines, begin);
	const struct mt_trampoline_row *rows_end =
	    trampolines->rows.items + trampolines->rows.count;

	for (; row && row < rows_end && row->offset < end; row++) {
		uint8_t *code = trampolines->code.items + row->offset;
		uint32_t at = row->offset + (*code == JUMP ? 1 : 2);
		int32_t distance;

		if (row->phase != MT_PHASE_DISPLACED || row->below ||
		    at + REL32_SIZE > trampolines->code.count ||
		    (*code != JUMP && (*code != LONG_JCC || (code[1] & 0xf0) != 0x80)))
			continue;
		memcpy(&distance, trampolines->code.items + at, REL32_SIZE);
		if (config->address + at + REL32_SIZE + (uint64_t)(int64_t)distance != from)
			continue;
		distance = (int32_t)(to - (at + REL32_SIZE));
		memcpy(trampolines->code.items + at, &distance, REL32_SIZE);
		if (mt_array_push(&inner->at, at))
			inner->failed = true;
	}
}

static void drop_inner(struct mt_fixes *fixes, const struct inner *inner)
{
	size_t kept = 0, next = 0;

	mt_array_each (at, &fixes->at[MT_FIX_TEXT]) {
		while (next < inner->at.count && inner->at.items[next] < *at)
			next++;
		if (next == inner->at.count || inner->at.items[next] != *at)
			fixes->at[MT_FIX_TEXT].items[kept++] = *at;
	}
	fixes->at[MT_FIX_TEXT].count = kept;
}

int mt_trampolines_link(struct mt_trampolines *trampolines,
			const struct mt_trampoline_config *config, const struct mt_plan *plan,
			const uint32_t *offsets)
{
	const struct mt_patch *patches = plan->patches.items, *other;
	size_t count = plan->patches.count;
	struct inner inner = {0};

	for (size_t i = 0; i < count; i++) {
		uint64_t from = patches[i].redirect + config->bias;
		uint32_t to;

		if (!(patches[i].flags & MT_PATCH_AGAIN) || offsets[i] == MT_TRAMPOLINE_NONE)
			continue;
		other = mt_plan_patch_at(plan, patches[i].redirect);
		if (!other || offsets[other - patches] == MT_TRAMPOLINE_NONE)
			continue;
		to = mt_trampoline_copy_of(
		    trampolines, offsets[other - patches],
		    end_of(trampolines, offsets, count, (size_t)(other - patches)), from);
		if (to != MT_TRAMPOLINE_NONE)
			lead(trampolines, config, offsets[i],
			     end_of(trampolines, offsets, count, i), from, to, &inner);
	}
	if (config->fixes)
		drop_inner(config->fixes, &inner);
	mt_array_deinit(&inner.at);
	return inner.failed ? -1 : 0;
}
