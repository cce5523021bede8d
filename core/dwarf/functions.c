/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of a unit by their addresses: libdw looks at one DIE after the other. */
#include "base/search.h"
#include "dwarf/units.h"

#include <dwarf.h>
#include <stdlib.h>

#define MOST_SIBLINGS (1u << 22)
#define MOST_RANGES   (1u << 20) /* of a unit; more are garbled ones */
#define MOST_DEPTH    64

struct range {
	uint64_t start, end;
	uint32_t order; /* in which they stand */
	Dwarf_Die die;
};

struct mt_unit_functions {
	MT_ARRAY(struct range) ranges; /* by start; of several at one place the last one counts */
};

bool mt_dwarf_holds_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type ||
	       tag == DW_TAG_structure_type || tag == DW_TAG_union_type || tag == DW_TAG_module;
}

static void add(struct mt_unit_functions *functions, Dwarf_Die *die)
{
	struct range range = {.order = (uint32_t)functions->ranges.count, .die = *die};
	ptrdiff_t offset = 0;
	Dwarf_Addr base, start, end;

	while (functions->ranges.count < MOST_RANGES &&
	       (offset = dwarf_ranges(die, offset, &base, &start, &end)) > 0) {
		range.start = start;
		range.end = end;
		if (start < end && mt_array_push(&functions->ranges, range))
			return;
	}
}

static void collect(struct mt_unit_functions *functions, Dwarf_Die *parent, unsigned depth)
{
	size_t budget = MOST_SIBLINGS;
	Dwarf_Die child;

	if (depth > MOST_DEPTH || dwarf_child(parent, &child))
		return;
	do {
		const int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add(functions, &child);
		else if (mt_dwarf_holds_functions(tag))
			collect(functions, &child, depth + 1);
	} while (--budget && dwarf_siblingof(&child, &child) == 0);
}

/* Of several at the same place the first one counts, which comes to stand last. */
static int compare(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->order < right->order ? 1 : left->order > right->order ? -1 : 0;
}

/* An assembler describes one for each name that the code has, and the last one counts, as for GDB.
 */
static int compare_assembled(const void *a, const void *b)
{
	const struct range *left = a, *right = b;

	return left->start == right->start ? -compare(a, b) : compare(a, b);
}

static struct mt_unit_functions *build(struct mt_unit *unit)
{
	struct mt_unit_functions *functions = calloc(1, sizeof(*functions));
	Dwarf_Die die = mt_unit_tree(unit);

	if (!functions)
		return NULL;
	collect(functions, &die, 0);
	if (functions->ranges.count)
		qsort(functions->ranges.items, functions->ranges.count, sizeof(struct range),
		      dwarf_srclang(&unit->die) == DW_LANG_Mips_Assembler ? compare_assembled
									  : compare);
	return functions;
}

bool mt_dwarf_function_at(struct mt_unit *unit, uint64_t address, Dwarf_Die *out)
{
	if (!unit->functions)
		unit->functions = build(unit);
	if (!unit->functions)
		return false;
	const size_t behind = mt_partition_point(i, 0, unit->functions->ranges.count,
						 unit->functions->ranges.items[i].start <= address);
	if (!behind || address >= unit->functions->ranges.items[behind - 1].end)
		return false;
	*out = unit->functions->ranges.items[behind - 1].die;
	return true;
}

void mt_unit_functions_destroy(struct mt_unit_functions *functions)
{
	if (functions)
		mt_array_deinit(&functions->ranges);
	free(functions);
}
