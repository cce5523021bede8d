/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inlined calls of one compilation unit, flattened: for every address that has any, the
 * innermost one, which knows the chain of those around it. */
#ifndef MT_DWARF_INLINES_H
#define MT_DWARF_INLINES_H

#include "dwarf/units.h"

/* A DW_TAG_inlined_subroutine. */
struct mt_inline_node {
	struct mt_inline call; /* first: its address is the instance */
	struct mt_inline_node *parent;
	uint32_t depth;                 /* 1: no parent */
	uint64_t entry;                 /* where its first range begins */
	const struct mt_inline **chain; /* outermost first; NULL: not asked for yet */
};

struct mt_inline_interval {
	uint64_t start; /* [start, end) */
	uint64_t end;
	struct mt_inline_node *node;
};

struct mt_inline_intervals {
	struct mt_inline_interval *items;
	size_t count;
	size_t capacity;
};

struct mt_inlines {
	struct mt_inline_intervals spans; /* sorted and disjoint */
};

/* inline_walk.c: every inlined call of a unit, with each of its ranges.  Returns 0, or -1 without
 * memory. */
int mt_inline_walk(struct mt_objfile *objfile, struct mt_unit *unit,
		   struct mt_inline_intervals *out);

/* inline_names.c: the function that an origin (DW_AT_abstract_origin) describes; one object for the
 * copies of it that several units have.  SCOPE: the namespace or class around it; NULL: not known.
 * NULL without memory. */
const struct mt_function *mt_inline_function(struct mt_objfile *objfile, Dwarf_Die *origin,
					     const char *scope);

#endif
