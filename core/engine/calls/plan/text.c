/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the text, each instruction once.  It is read straight on from each symbol; what lies
 * between functions too, since it may branch into them. */
#include "engine/calls/plan/private.h"

#include "elf/references.h"
#include "x86/flags.h"
#include "x86/layout.h"

#include <string.h>

#define ENDBR_BYTES 4
#define INT3        0xcc

struct region {
	struct mt_planner *planner;
	struct mt_plan_range *range;
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint32_t function; /* MT_PLAN_NOWHERE: none */
};

uint64_t mt_plan_entry(const struct mt_plan_range *range, const struct mt_plan_function *function)
{
	static const uint8_t endbr64[ENDBR_BYTES] = {0xf3, 0x0f, 0x1e, 0xfa};

	if (function->end - function->start > ENDBR_BYTES &&
	    memcmp(range->bytes + (function->start - range->start), endbr64, ENDBR_BYTES) == 0)
		return function->start + ENDBR_BYTES;
	return function->start;
}

/* `nop` of any length, and `xchg ax, ax`; not `pause`, which is nop with f3. */
bool mt_plan_is_nop(const uint8_t *bytes, size_t length)
{
	size_t at = 0;

	while (at < length && (bytes[at] == 0x66 || bytes[at] == 0x2e || bytes[at] == 0x48))
		at++;
	if (at + 1 == length)
		return bytes[at] == 0x90;
	return at + 2 < length && bytes[at] == 0x0f && bytes[at + 1] == 0x1f;
}

/* The address that a rip-relative lea takes; 0: BYTES are not one. */
static uint64_t lea_target(const uint8_t *bytes, size_t length, uint64_t address)
{
	const uint8_t *at = bytes + length - 6;
	int32_t distance;

	if (length < 6 || length > 9 || at[0] != 0x8d || (at[1] & 0xc7) != 0x05)
		return 0;
	memcpy(&distance, at + 2, sizeof(distance));
	return address + length + (uint64_t)(int64_t)distance;
}

/* A branch back to where the entry is recorded would record once more each time round.  One from a
 * cold part may be its function's. */
static void note_loop(const struct region *region, uint64_t address, uint64_t target)
{
	const struct mt_plan *plan = region->planner->plan;
	const struct mt_plan_function *own = &plan->functions.items[region->function];
	struct mt_plan_place place = {address, region->function};

	if (own->flags & MT_PLAN_PART)
		place.function = mt_plan_function_at(plan, target);
	if (place.function == MT_PLAN_NOWHERE)
		return;
	own = &plan->functions.items[place.function];
	if ((target == own->start || target == mt_plan_entry(region->range, own)) &&
	    mt_array_push(&region->planner->loops, place))
		region->planner->failed = true;
}

static void note_place(const struct region *region, uint64_t address, bool is_jump)
{
	struct mt_planner *planner = region->planner;
	struct mt_plan_place place = {address, region->function};
	int result = is_jump ? mt_array_push(&planner->jumps, place)
			     : mt_array_push(&planner->tables, place);

	if (result)
		planner->failed = true;
}

static enum mt_map_kind kind_of(const struct mt_insn *insn, const uint8_t *bytes)
{
	switch (insn->class) {
	case MT_INSN_CALL:
	case MT_INSN_CALL_INDIRECT:
		return MT_MAP_CALL;
	case MT_INSN_JUMP:
	case MT_INSN_JUMP_INDIRECT:
		return MT_MAP_JUMP;
	case MT_INSN_BRANCH:
		return MT_MAP_BRANCH;
	case MT_INSN_RETURN:
		return MT_MAP_RETURN;
	case MT_INSN_SYSCALL:
		return bytes[0] == INT3 ? MT_MAP_DEAD : MT_MAP_STUCK;
	case MT_INSN_FAR:
		return MT_MAP_STUCK;
	default:
		return mt_plan_is_nop(bytes, insn->length) ? MT_MAP_DEAD : MT_MAP_PLAIN;
	}
}

static void mark_word(struct mt_planner *planner, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	mt_plan_mark(planner, value);
}

/* Intel SDM vol. 2A, 2.1: behind ModRM come SIB, a displacement, and then what is immediate. */
static size_t behind_modrm(const uint8_t *bytes, size_t modrm, bool *has_displacement)
{
	uint8_t mod = bytes[modrm] >> 6, rm = bytes[modrm] & 7;
	size_t at = modrm + 1;

	*has_displacement = mod == 2;
	if (mod != 3 && rm == 4) {
		*has_displacement |= mod == 0 && (bytes[at] & 7) == 5;
		at++;
	}
	return at;
}

/* In code that is not relocated any displacement, and any immediate value, may be an address. */
static void mark_absolute(struct mt_planner *planner, const uint8_t *bytes,
			  const struct mt_insn *insn)
{
	const size_t size = sizeof(uint32_t);
	struct mt_insn_layout layout;
	size_t at = 1; /* of what may be immediate */

	if (insn->length <= size || insn->target || mt_insn_layout(bytes, insn->length, &layout))
		return;
	if (layout.displacement_offset) {
		at = layout.displacement_offset + size;
	} else if (layout.modrm_offset) {
		bool has_displacement;

		at = behind_modrm(bytes, layout.modrm_offset, &has_displacement);
		if (has_displacement && at + size <= insn->length) {
			mark_word(planner, bytes + at);
			at += size;
		}
	} else if (insn->length > 2 * size) {
		mark_word(planner, bytes + insn->length - 2 * size);
	}
	if (at + size <= insn->length)
		mark_word(planner, bytes + insn->length - size);
}

static uint64_t read_instruction(const struct region *region, uint64_t address,
				 struct mt_plan_flags *flags)
{
	const struct mt_plan_range *range = region->range;
	const uint8_t *bytes = range->bytes + (address - range->start);
	uint8_t *map = range->map + (address - range->start);
	uint64_t room = region->end - address, taken;
	struct mt_insn insn;

	if (mt_insn_decode(bytes, room < MT_INSN_MAX_BYTES ? room : MT_INSN_MAX_BYTES, address,
			   &insn)) {
		*map |= 1 | MT_MAP_STUCK << MT_MAP_KIND_SHIFT;
		flags->kept = 0;
		return address + 1;
	}
	*map |= (uint8_t)(insn.length | kind_of(&insn, bytes) << MT_MAP_KIND_SHIFT);
	struct mt_planner *planner = region->planner;
	bool is_known = region->function != MT_PLAN_NOWHERE;
	const struct mt_plan_place place = {address, region->function};
	if (is_known)
		mt_plan_see_gs(planner, place, bytes, &insn);
	mt_plan_see_flags(planner, flags, place, bytes, room, &insn);
	if (insn.flags & MT_INSN_ENDBR)
		mt_plan_mark(planner, address);
	switch (insn.class) {
	case MT_INSN_JUMP:
	case MT_INSN_BRANCH:
		if (is_known)
			note_loop(region, address, insn.target);
		if (is_known && insn.target - region->start < region->end - region->start)
			mt_plan_mark_near(planner, insn.target);
		else
			mt_plan_mark(planner, insn.target);
		break;
	case MT_INSN_CALL:
		mt_plan_mark(planner, insn.target);
		break;
	case MT_INSN_JUMP_INDIRECT:
		if (is_known)
			note_place(region, address, true);
		break;
	case MT_INSN_SYSCALL:
		if (is_known && insn.length == 2)
			planner->plan->functions.items[region->function].flags |= MT_PLAN_KERNEL;
		break;
	}
	taken = insn.class == MT_INSN_OTHER ? lea_target(bytes, insn.length, address) : 0;
	if (taken && !mt_plan_range_at(region->planner, taken))
		note_place(region, taken, false);
	else if (taken)
		mt_plan_mark(region->planner, taken);
	if (!mt_objfile_is_pie(region->planner->objfile))
		mark_absolute(region->planner, bytes, &insn);
	return address + insn.length;
}

static void read_region(struct mt_planner *planner, struct mt_plan_range *range, uint64_t start,
			uint64_t end, uint32_t function)
{
	const struct region region = {planner, range, start, end, function};
	struct mt_plan_flags flags = {.kept = function == MT_PLAN_NOWHERE ? 0 : MT_STATUS_FLAGS};

	for (uint64_t at = start; at < end;)
		at = read_instruction(&region, at, &flags);
}

static int add_range(struct mt_planner *planner, const struct mt_code_range *code)
{
	struct mt_plan_range range = {.start = code->start, .end = code->end};
	size_t size = 0;

	range.bytes = mt_objfile_bytes(planner->objfile, code->start, &size);
	if (!range.bytes)
		return 0;
	if (size < range.end - range.start)
		range.end = range.start + size;
	range.map = calloc(1, range.end - range.start);
	if (!range.map)
		return -1;
	if (mt_array_push(&planner->ranges, range)) {
		free(range.map);
		return -1;
	}
	return 0;
}

int mt_plan_read_text(struct mt_planner *planner)
{
	struct mt_code code = {0};
	int result = mt_code_read(planner->objfile, &code);
	for (size_t i = 0; i < code.count && !result; i++)
		result = add_range(planner, &code.items[i]);
	mt_array_deinit(&code);
	if (result)
		return -1;
	mt_array_each (range, &planner->ranges) {
		/* Symbols stand for where reading has to begin anew, functions or not. */
		size_t count = 0;
		const struct mt_symbol *symbols = mt_objfile_symbols(planner->objfile, &count);
		const struct mt_plan *plan = planner->plan;
		uint64_t at = range->start;
		size_t function = 0;

		for (size_t i = 0; i < count && symbols[i].start < range->end; i++) {
			uint64_t end = symbols[i].end < range->end ? symbols[i].end : range->end;

			while (function < plan->functions.count &&
			       plan->functions.items[function].symbol < i)
				function++;
			if (symbols[i].start < at)
				continue;
			bool is_one = function < plan->functions.count &&
				      plan->functions.items[function].symbol == i;
			read_region(planner, range, at, symbols[i].start, MT_PLAN_NOWHERE);
			read_region(planner, range, symbols[i].start, end,
				    is_one ? (uint32_t)function : MT_PLAN_NOWHERE);
			at = end;
		}
		read_region(planner, range, at, range->end, MT_PLAN_NOWHERE);
	}
	return planner->failed ? -1 : 0;
}
