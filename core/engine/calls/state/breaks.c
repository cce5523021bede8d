/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where breakpoints stand, and where threads that come to them go. */
#include "engine/calls/state/state.h"

#include <string.h>

#define JUMP 0xe9
#define INT3 0xcc

struct mt_calls_break *mt_calls_break_trap(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (one, &space->breaks)
		if (!one->stub && one->address == address)
			return one;
	return NULL;
}

struct mt_calls_break *mt_calls_break_of_stub(struct mt_calls_space *space, uint64_t address)
{
	mt_array_each (one, &space->breaks)
		if (one->stub && address >= one->stub && address <= one->copy)
			return one;
	return NULL;
}

uint64_t mt_calls_stub_entry(const struct mt_calls_break *one)
{
	return mt_calls_break_is_compiled(one) ? one->condition->address : one->stub;
}

uint64_t mt_calls_stub_before(const struct mt_calls_space *space, uint64_t address,
			      uint64_t trampoline)
{
	mt_array_each (one, &space->breaks)
		if (one->stub && !one->length && !one->behind && !one->hook && !one->retired &&
		    one->address == address)
			return mt_calls_stub_entry(one);
	return trampoline;
}

void mt_calls_break_bytes(const struct mt_calls_break *one, uint8_t bytes[MT_CALLS_BREAK_BYTES])
{
	uint32_t distance =
	    (uint32_t)(mt_calls_stub_entry(one) - (one->address + MT_PATCH_JUMP_BYTES));

	memset(bytes, INT3, one->length);
	if (!one->stub)
		return;
	bytes[0] = JUMP;
	memcpy(bytes + 1, &distance, sizeof(distance));
}

uint64_t mt_calls_line_copy_in(const struct mt_calls_break *one, uint64_t address)
{
	if (!mt_calls_break_is_line(one) || address <= one->address ||
	    address >= one->address + one->length)
		return 0;
	const struct mt_condition *code = &one->condition->code;
	const uint32_t copy = mt_trampoline_copy_of(
	    &code->trampolines, code->miss, (uint32_t)code->trampolines.code.count, address);
	return copy == MT_TRAMPOLINE_NONE ? 0 : one->condition->address + copy;
}

uint64_t mt_calls_line_copy_of(const struct mt_calls_space *space, uint64_t address)
{
	uint64_t copy = 0;

	mt_array_each (one, &space->breaks)
		if (!copy && one->written)
			copy = mt_calls_line_copy_in(one, address);
	return copy;
}
