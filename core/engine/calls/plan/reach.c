/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the targets of all but direct branches, and code that cannot be reached at all.  A pointer
 * to code is in the data, where a relocation shows it (or in a program that is not relocated, its
 * mere value), or is taken by a lea.  Addresses that a program computes come from tables of
 * distances: a compiler's switch adds to a table's own address an entry of it.  A jump whose
 * register was computed in any other way has unknown targets. */
#include "engine/calls/plan/private.h"

#include "elf/references.h"
#include "x86/writer.h"

#include <string.h>

#define WRITER_SEARCH  4096 /* bytes back for what wrote a jump's register */
#define NOP            0x90
#define CALL           0xe8 /* rel32 */
#define LANDING_SEARCH 4    /* instructions back for what set the stack pointer */

static void see(void *context, uint64_t place, uint64_t address)
{
	(void)place;
	mt_plan_mark(context, address);
}

static void see_relocation(void *context, uint64_t place, uint64_t address)
{
	struct mt_planner *planner = context;

	if (mt_plan_range_at(planner, place))
		planner->relocated_code = true;
	mt_plan_mark(planner, address);
}

/* Runtimes put the address behind a leading nop on a new stack, as if that function had called the
 * stack's first one: unwinders look it up by a byte less.  Go's runtime.goexit. */
static bool is_returned_to(struct mt_planner *planner, uint64_t start)
{
	const struct mt_plan_range *range = mt_plan_range_at(planner, start);

	return range && range->end - start > 1 && range->bytes[start - range->start] == NOP &&
	       range->bytes[start - range->start + 1] == CALL;
}

static int compare_places(const void *left, const void *right)
{
	const struct mt_plan_place *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* A label behind a function's last instruction is in no range, but ends a case that is never
 * taken. */
static bool is_code(struct mt_planner *planner, uint64_t address)
{
	return mt_plan_range_at(planner, address) || mt_plan_range_at(planner, address - 1);
}

/* The table at ADDRESS, up to LIMIT.  False: there is none. */
static bool mark_table(struct mt_planner *planner, uint64_t address, uint64_t limit)
{
	size_t size = 0, at = 0;
	const uint8_t *bytes = mt_objfile_bytes(planner->objfile, address, &size);

	if (size > limit - address)
		size = limit - address;
	for (; bytes && at + sizeof(int32_t) <= size; at += sizeof(int32_t)) {
		int32_t distance;

		memcpy(&distance, bytes + at, sizeof(distance));
		if (!is_code(planner, address + (uint64_t)(int64_t)distance))
			break;
		mt_plan_mark(planner, address + (uint64_t)(int64_t)distance);
	}
	return at > 0;
}

/* Straight back through the text, as compilers lay it out, to what wrote the register. */
static bool is_understood(const struct mt_plan_range *range, uint64_t address, uint64_t begin,
			  bool has_table)
{
	size_t at = address - range->start, before;
	size_t least = begin - range->start;
	int number = mt_insn_jump_register(range->bytes + at, range->map[at] & MT_MAP_LENGTH);

	if (number < 0)
		return true;
	if (at - least > WRITER_SEARCH)
		least = at - WRITER_SEARCH;
	for (; at > least; at = before) {
		before = mt_plan_before(range, at);
		if (before == at)
			return false;
		if (mt_map_kind(range->map[before]) == MT_MAP_CALL && number == 0)
			return true;
		switch (mt_insn_write(range->bytes + before, at - before, number)) {
		case MT_WRITE_NONE:
			continue;
		case MT_WRITE_COPY:
			return true;
		case MT_WRITE_ADD:
			return has_table;
		default:
			return false;
		}
	}
	return least + range->start == begin; /* what the caller gave */
}

/* mov rsp, from anywhere but rbp: 48 89 /r with rsp as r/m, or 48 8b /r with rsp as reg. */
static bool sets_stack_pointer(const uint8_t *bytes, size_t length)
{
	if (length < 3 || (bytes[0] & 0xfa) != 0x48)
		return false;
	if (bytes[1] == 0x89) /* REX.B would make it r12, REX.R makes rbp r13 */
		return !(bytes[0] & 1) && (bytes[2] & 0xc7) == 0xc4 &&
		       (bytes[0] & 4 || bytes[2] != 0xec);
	return bytes[1] == 0x8b && !(bytes[0] & 4) && (bytes[2] & 0x38) == 0x20 && bytes[2] != 0xe5;
}

/* The end of longjmp(), and of an unwinder that lets an exception land: it sets the stack pointer
 * to that of a function further out, and jumps into it. */
static bool is_landing(const struct mt_plan_range *range, uint64_t address)
{
	size_t at = address - range->start, before;

	for (int i = 0; i < LANDING_SEARCH; i++, at = before) {
		before = mt_plan_before(range, at);
		if (before == at || mt_map_kind(range->map[before]) == MT_MAP_CALL ||
		    mt_map_kind(range->map[before]) == MT_MAP_JUMP)
			return false;
		if (sets_stack_pointer(range->bytes + before, at - before))
			return true;
	}
	return false;
}

static void set_dead(const struct mt_plan_range *range, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		range->map[i] = (uint8_t)(1 | MT_MAP_DEAD << MT_MAP_KIND_SHIFT |
					  (range->map[i] & MT_MAP_TARGET));
}

static bool has_target(const struct mt_plan_range *range, size_t begin, size_t end)
{
	for (size_t i = begin; i < end; i++)
		if (range->map[i] & MT_MAP_TARGET)
			return true;
	return false;
}

static void leave_unreached(struct mt_planner *planner, uint64_t address)
{
	uint32_t function = mt_plan_function_at(planner->plan, address);

	if (function == MT_PLAN_NOWHERE)
		return;
	mt_plan_leave(planner, function, address, true,
		      planner->facts.items[function] & MT_FACT_UNKNOWN ? MT_LEFT_INDIRECT
								       : MT_LEFT_UNREACHED);
}

/* Padding is dead behind what does not go on, as long as nothing jumps to it.  What else is not
 * reached may be data. */
static void settle(struct mt_planner *planner, const struct mt_plan_range *range)
{
	bool reached = false;
	size_t size = range->end - range->start;

	for (size_t at = 0, next; at < size; at = next) {
		uint8_t *map = &range->map[at];
		enum mt_map_kind kind = mt_map_kind(*map);
		size_t length = *map & MT_MAP_LENGTH;

		next = at + (length ? length : 1);
		reached = reached || *map & MT_MAP_TARGET;
		if (kind == MT_MAP_DEAD && !reached && !has_target(range, at, next))
			set_dead(range, at, next);
		else if (kind == MT_MAP_DEAD)
			mt_map_set_kind(map,
					range->bytes[at] == 0xcc ? MT_MAP_STUCK : MT_MAP_PLAIN);
		else if (!reached) {
			if (kind == MT_MAP_RETURN)
				leave_unreached(planner, range->start + at);
			mt_map_set_kind(map, MT_MAP_STUCK);
		}
		if (kind == MT_MAP_JUMP || kind == MT_MAP_RETURN)
			reached = false;
	}
}

/* The kernel restarts what it interrupts between START and END, and knows nothing of copies. */
static void stay(void *context, uint64_t start, uint64_t end)
{
	const struct mt_plan_range *range = mt_plan_range_at(context, start);

	for (uint64_t at = start; range && at < end && at < range->end; at++)
		if (range->map[at - range->start] & MT_MAP_LENGTH)
			mt_map_set_kind(&range->map[at - range->start], MT_MAP_STUCK);
}

void mt_plan_mark_reach(struct mt_planner *planner)
{
	mt_array_each (function, &planner->plan->functions)
		if (is_returned_to(planner, function->start))
			mt_plan_mark(planner, function->start + 1);

	mt_objfile_each_symbol(planner->objfile, see, planner);
	mt_array_each (fde, &planner->fdes)
		mt_plan_mark(planner, fde->start);
	mt_objfile_each_landing_pad(planner->objfile, &planner->fdes, see, planner);
	mt_objfile_each_relocation(planner->objfile, see_relocation, planner);
	if (!mt_objfile_is_pie(planner->objfile))
		mt_objfile_each_word(planner->objfile, see, planner);
	/* From the last to the first: each ends at the latest at what another lea takes. */
	const struct mt_plan_place *items = planner->tables.items;
	uint64_t limit = UINT64_MAX;
	if (planner->tables.count)
		qsort(planner->tables.items, planner->tables.count, sizeof(*items), compare_places);
	for (size_t behind = planner->tables.count, first; behind > 0; behind = first) {
		uint64_t address = items[behind - 1].address;

		for (first = behind - 1; first > 0 && items[first - 1].address == address;)
			first--;
		/* Those that take the address at FIRST and have the table behind it; false: what
		 * was read as lea is in no function, and may be none. */
		bool is_known = false;
		for (size_t i = first; i < behind; i++) {
			uint32_t function = planner->tables.items[i].function;

			if (function == MT_PLAN_NOWHERE)
				continue;
			is_known = true;
			if (mark_table(planner, address, limit))
				planner->facts.items[function] |= MT_FACT_TABLE;
		}
		if (is_known)
			limit = address;
	}
	mt_array_each (jump, &planner->jumps) {
		uint16_t *facts = &planner->facts.items[jump->function];
		const struct mt_plan_range *range = mt_plan_range_at(planner, jump->address);
		uint64_t begin = planner->plan->functions.items[jump->function].start;

		if (is_landing(range, jump->address))
			mt_map_set_kind(&range->map[jump->address - range->start], MT_MAP_RETURN);
		else if (!is_understood(range, jump->address, begin, *facts & MT_FACT_TABLE))
			*facts |= MT_FACT_UNKNOWN;
	}
	mt_array_each (range, &planner->ranges)
		settle(planner, range);
	mt_objfile_each_restartable(planner->objfile, stay, planner);
}
