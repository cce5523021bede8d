/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A resolver asks what the processor has, and takes one of some addresses.  They stand in its
 * instructions: `lea f(%rip)`, `mov $f` in a program that is not relocated, or a word of the GOT.
 */
#include "space/implementations.h"

#include "base/array.h"
#include "elf/references.h"
#include "x86/insn.h"
#include "x86/layout.h"

#include <string.h>

/* Of calls, below the resolver. */
#define MAX_DEPTH 3

struct addresses {
	uint64_t *items;
	size_t count;
	size_t capacity;
};

struct scan {
	struct mt_objfile *objfile;
	struct addresses seen; /* functions whose code was looked at */
	struct addresses implementations;
	struct addresses slots; /* words that the last one reads */
	bool failed;
};

static void add_once(struct scan *scan, struct addresses *all, uint64_t address)
{
	mt_array_each (known, all)
		if (*known == address)
			return;
	if (mt_array_push(all, address))
		scan->failed = true;
}

static void see_address(struct scan *scan, uint64_t address)
{
	const struct mt_symbol *symbol = mt_objfile_symbol_at(scan->objfile, address);

	if (!symbol || symbol->start != address || symbol->kind == MT_FUNCTION_PLT)
		return;
	mt_array_each (known, &scan->seen)
		if (*known == address)
			return;
	add_once(scan, &scan->implementations, address);
}

static void see_relocation(void *context, uint64_t place, uint64_t address)
{
	struct scan *scan = context;

	mt_array_each (slot, &scan->slots)
		if (*slot == place)
			see_address(scan, address);
}

static bool is_move_of_number(uint8_t opcode)
{
	return (opcode >= 0xb8 && opcode <= 0xbf) || opcode == 0xc7;
}

static void see_operands(struct scan *scan, const uint8_t *bytes, const struct mt_insn *insn,
			 uint64_t next)
{
	struct mt_insn_layout layout;
	int32_t number;

	if (mt_insn_layout(bytes, insn->length, &layout))
		return;
	if (layout.displacement_offset && (layout.opcode == 0x8d || layout.opcode == 0x8b)) {
		memcpy(&number, bytes + layout.displacement_offset, sizeof(number));
		const uint64_t address = next + (uint64_t)(int64_t)number;

		if (layout.opcode == 0x8d)
			see_address(scan, address);
		else
			add_once(scan, &scan->slots, address);
	} else if (is_move_of_number(layout.opcode) && insn->length > sizeof(number)) {
		memcpy(&number, bytes + insn->length - sizeof(number), sizeof(number));
		see_address(scan, (uint32_t)number);
	}
}

/* CALLED: where its code goes otherwise. */
static void see_code(struct scan *scan, const struct mt_symbol *function, struct addresses *called)
{
	size_t size = 0;
	const uint8_t *bytes = mt_objfile_bytes(scan->objfile, function->start, &size);
	const uint64_t length = function->end - function->start;
	struct mt_insn insn;

	size = size < length ? size : (size_t)length;
	scan->slots.count = 0;
	for (size_t at = 0; bytes && at < size; at += insn.length) {
		const uint64_t pc = function->start + at;

		if (mt_insn_decode(bytes + at, size - at, pc, &insn) || insn.length > size - at)
			break;
		see_operands(scan, bytes + at, &insn, pc + insn.length);
		if (insn.target && (insn.target < function->start || insn.target >= function->end))
			add_once(scan, called, insn.target);
	}
	if (scan->slots.count)
		mt_objfile_each_relocation(scan->objfile, see_relocation, scan);
}

static void see_function(struct scan *scan, uint64_t address, unsigned depth)
{
	const struct mt_symbol *function = mt_objfile_symbol_at(scan->objfile, address);
	struct addresses called = {0};

	if (!function || function->kind == MT_FUNCTION_PLT)
		return;
	mt_array_each (known, &scan->seen)
		if (*known == function->start)
			return;
	add_once(scan, &scan->seen, function->start);
	see_code(scan, function, &called);
	for (size_t i = 0; i < called.count && depth && !scan->failed; i++)
		if (!scan->implementations.count)
			see_function(scan, called.items[i], depth - 1);
	mt_array_deinit(&called);
}

int mt_objfile_each_implementation(struct mt_objfile *objfile, uint64_t address,
				   void (*found)(void *context, uint64_t address), void *context)
{
	struct scan scan = {.objfile = objfile};

	see_function(&scan, address, MAX_DEPTH);
	for (size_t i = 0; i < scan.implementations.count && !scan.failed; i++)
		found(context, scan.implementations.items[i]);
	mt_array_deinit(&scan.seen);
	mt_array_deinit(&scan.implementations);
	mt_array_deinit(&scan.slots);
	return scan.failed ? -1 : 0;
}
