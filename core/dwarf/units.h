/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compilation units of an object file and the addresses that each one holds.  Which unit holds
 * an address is found here and not by libdw, which goes by .debug_aranges: clang writes none. */
#ifndef MT_DWARF_UNITS_H
#define MT_DWARF_UNITS_H

#include "dwarf/source.h"
#include "elf/debug_image.h"
#include "elf/objfile_private.h"

#include <elfutils/libdw.h>

struct mt_inlines;
struct mt_unit_functions;

struct mt_unit {
	struct mt_dwarf *dwarf;
	/* Whose children hold the functions: of the split file, if there is one.  What stands below
	 * it is there once mt_unit_tree() or mt_dwarf() was called. */
	Dwarf_Die die;
	Dwarf_Die lines; /* whose line table counts */
	bool rows_read;
	Dwarf_Line **rows; /* of the line table, once they were read, by address; NULL: none */
	size_t row_count;
	bool lists_sought, has_lists;        /* of locations */
	struct mt_inlines *inlines;          /* NULL: not built */
	struct mt_unit_functions *functions; /* likewise */
};

/* A stretch of addresses of one unit. */
struct mt_unit_range {
	uint64_t start; /* [start, end) */
	uint64_t end;
	uint32_t unit;
};

struct mt_inline_names;

struct mt_dwarf {
	Dwarf *dwarf;                /* NULL: no DWARF */
	struct mt_debug_image image; /* that it reads, if there is one */
	bool is_all_there;           /* but for the line tables */
	const Dwarf_CU *lines_of;    /* whose line table was asked for last */
	struct mt_unit *units;
	size_t unit_count;
	size_t unit_capacity;
	struct mt_unit_range *ranges; /* sorted and disjoint */
	size_t range_count;
	size_t range_capacity;
	/* DIEs and ranges still to look at.  No sound file has more of them than bytes that
	 * describe them; in a garbled one many DIEs may share a long list. */
	size_t budget;
	struct mt_absolute_path *paths;       /* by libdw's */
	struct mt_inline_names *inline_names; /* inlines.c's: functions by origin */
};

/* functions.c: the function whose code holds an address, also one of a class or a namespace. False:
 * none, or it stands within another one. */
bool mt_dwarf_function_at(struct mt_unit *unit, uint64_t address, Dwarf_Die *out);
bool mt_dwarf_holds_functions(int tag);
void mt_unit_functions_destroy(struct mt_unit_functions *functions); /* NULL is fine */

/* A path as libdw gives it, made absolute: DWARF 5's may be relative to where the compiler ran.
 * UNIT is the unit's DIE.  NULL: FILE is, or no memory. */
const char *mt_dwarf_path(struct mt_objfile *objfile, Dwarf_Die *unit, const char *file);
/* Where the line table says that the prologue of the function at [START, END) ends: clang's and
 * Go's do.  False: it does not. */
bool mt_prologue_end(struct mt_objfile *objfile, uint64_t start, uint64_t end, uint64_t *out);

/* Built at the first question.  NULL without memory. */
struct mt_dwarf *mt_dwarf(struct mt_objfile *objfile);
/* The same for who looks only at the DIEs of units, and at what reading.c reads for it. */
struct mt_dwarf *mt_dwarf_by_unit(struct mt_objfile *objfile);
/* How many ranges begin at or below an address: the one before may hold it. */
size_t mt_dwarf_search(const struct mt_dwarf *dwarf, uint64_t address);
/* NULL: no unit holds it. */
struct mt_unit *mt_dwarf_unit_at(const struct mt_dwarf *dwarf, uint64_t address);

/* reading.c: what libdw is about to look at is read before. */
/* Reads each unit's header and own DIE.  True: a unit can be read for itself.  False: it may refer
 * to others, or something is garbled. */
bool mt_dwarf_is_by_unit(struct mt_dwarf *dwarf);
/* The unit's DIE, for who looks at what stands below it. */
Dwarf_Die mt_unit_tree(struct mt_unit *unit);
/* As dwarf_getsrclines(), dwarf_getsrcfiles() and dwarf_decl_file(), which nobody else calls. */
int mt_dwarf_lines(struct mt_dwarf *dwarf, Dwarf_Die *unit, Dwarf_Lines **lines, size_t *count);
int mt_dwarf_files(struct mt_dwarf *dwarf, Dwarf_Die *unit, Dwarf_Files **files, size_t *count);
const char *mt_dwarf_decl_file(struct mt_dwarf *dwarf, Dwarf_Die *die);

/* blocks.c: identifies blocks that have names of their own: functions, inlined calls, and blocks
 * within them with variables.  NULL: none holds the address. */
const void *mt_block_at(struct mt_unit *unit, uint64_t address);
/* Any of its variables has a list of locations. */
bool mt_unit_has_lists(struct mt_unit *unit);

/* inlines.c */
void mt_inlines_destroy(struct mt_inlines *inlines);
void mt_inline_names_destroy(struct mt_inline_names *names);

#endif
