/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "engine/calls/texts/texts.h"

#include "base/search.h"
#include "engine/calls/modules/modules.h"
#include "engine/calls/state/state.h"

#include <string.h>

#define JUMP       0xe9
#define SHORT_JUMP 0xeb
#define INT3       0xcc

void mt_calls_make_jump(uint8_t bytes[MT_PATCH_JUMP_BYTES], uint64_t at, uint64_t target)
{
	uint32_t distance = (uint32_t)(target - (at + MT_PATCH_JUMP_BYTES));

	bytes[0] = JUMP;
	memcpy(bytes + 1, &distance, sizeof(distance));
}

/* As much of it as lies in the piece. */
static inline void put(const struct mt_calls_piece *piece, uint64_t at, const uint8_t *bytes,
		       size_t length)
{
	if (mt_calls_piece_holds(piece, at, length)) {
		memcpy(piece->bytes + (at - piece->start), bytes, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		if (at + i - piece->start < piece->size)
			piece->bytes[at + i - piece->start] = bytes[i];
}

static uint64_t trampoline_of(const struct mt_calls_module *module, size_t index)
{
	return module->room + module->offsets[index];
}

/* The patch's jump to TARGET. */
static void put_jump(const struct mt_calls_module *module, size_t index,
		     const struct mt_calls_piece *piece, uint64_t target)
{
	const struct mt_patch *patch = &module->file->plan->patches.items[index];
	uint64_t at = patch->address + module->bias, from = at;
	uint8_t bytes[MT_PATCH_JUMP_BYTES];

	if (patch->hole) {
		from = patch->hole + module->bias;
		bytes[0] = SHORT_JUMP;
		bytes[1] = (uint8_t)(from - (at + MT_PATCH_SHORT_BYTES));
		put(piece, at, bytes, MT_PATCH_SHORT_BYTES);
	}
	mt_calls_make_jump(bytes, from, target);
	put(piece, from, bytes, sizeof(bytes));
}

size_t mt_calls_first_patch(const struct mt_plan *plan, uint64_t address)
{
	return mt_partition_point(i, 0, plan->patches.count,
				  plan->patches.items[i].address < address);
}

/* Dead bytes first: long jumps may stand among them. */
static void put_patches(const struct mt_calls_place *place, const struct mt_calls_piece *piece)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const uint64_t start = piece->start - module->bias;
	const size_t first =
	    mt_calls_first_patch(plan, start > MT_CALLS_NEAR ? start - MT_CALLS_NEAR : 0);
	const size_t end = mt_calls_first_patch(plan, start + piece->size + MT_CALLS_NEAR);
	uint8_t dead[MT_PATCH_MAX_BYTES];

	memset(dead, INT3, sizeof(dead));
	for (size_t i = first; i < end; i++) {
		const struct mt_patch *patch = &plan->patches.items[i];

		if (mt_calls_is_on(place, i) &&
		    patch->length > (patch->hole ? MT_PATCH_SHORT_BYTES : MT_PATCH_JUMP_BYTES))
			put(piece, mt_calls_patch_address(module, i), dead, patch->length);
	}
	for (size_t i = first; i < end; i++)
		if (mt_calls_is_on(place, i))
			put_jump(module, i, piece, trampoline_of(module, i));
}

/* A patch there may have bytes in the piece. */
static bool is_near(const struct mt_calls_piece *piece, uint64_t address)
{
	return address + MT_CALLS_NEAR >= piece->start &&
	       address < piece->start + piece->size + MT_CALLS_NEAR;
}

/* A breakpoint that has no bytes of its own: the jump of the patch that it stands at leads to it.
 */
static void turn_patch(const struct mt_calls_space *space, const struct mt_calls_place *place,
		       const struct mt_calls_piece *piece, uint64_t address)
{
	const struct mt_calls_module *module = place->module;
	const struct mt_plan *plan = module->file->plan;
	const size_t index = mt_calls_first_patch(plan, address - module->bias);

	if (index < plan->patches.count && mt_calls_patch_address(module, index) == address &&
	    mt_calls_is_on(place, index))
		put_jump(module, index, piece,
			 mt_calls_stub_before(space, address, trampoline_of(module, index)));
}

void mt_calls_compose(const struct mt_calls_space *space, const struct mt_calls_place *place,
		      const struct mt_calls_piece *piece)
{
	put_patches(place, piece);
	/* Others have bytes of their own, which may lie over a patch: they come last. */
	mt_array_each (one, &space->breaks)
		if (!one->length && is_near(piece, one->address))
			turn_patch(space, place, piece, one->address);
	mt_array_each (one, &space->breaks) {
		uint8_t bytes[MT_CALLS_BREAK_BYTES];

		if (one->held)
			continue;
		mt_calls_break_bytes(one, bytes);
		put(piece, one->address, bytes, one->length);
	}
}
