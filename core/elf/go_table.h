/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table that Go's runtime has of its program's functions, .gopclntab: names, files and lines,
 * and how frames lie on the stack.  It is there in a stripped program, too.  Known are the layouts
 * of Go 1.16 and 1.17, of 1.18 and 1.19, and of 1.20 and later; of other ones, and of garbled
 * tables, nothing is said. Source: Go's runtime/symtab.go (pcHeader), runtime2.go (_func), and
 * debug/gosym.
 *
 * What is lent lives as long as the objfile. */
#ifndef MT_ELF_GO_TABLE_H
#define MT_ELF_GO_TABLE_H

#include "elf/objfile.h"

struct mt_go_table;

struct mt_go_function {
	uint64_t start; /* [start, end), without the padding behind */
	uint64_t end;
	const char *name; /* "main.(*T).Method", "main.f[...]" */
	bool is_wrapper;  /* the compiler made it to call another: `go f(x)` begins with one */
};

/* A stretch of a function's code that is of one line, be it of an inlined call. */
struct mt_go_row {
	uint64_t start; /* [start, end) */
	uint64_t end;
	const char *file;
	uint32_t line;
};

/* How a function's frame lies on the stack at an instruction. */
struct mt_go_frame {
	uint64_t size;  /* bytes from the stack pointer up to the return address's slot */
	bool outermost; /* nobody called it */
};

/* NULL: it is no program of Go's, or of an unknown version. */
const struct mt_go_table *mt_go_table(struct mt_objfile *objfile);

/* Functions by rising addresses, without overlaps; not every one below the count need be sound. */
size_t mt_go_function_count(const struct mt_go_table *table);
/* False: it is garbled. */
bool mt_go_function_at(const struct mt_go_table *table, size_t index, struct mt_go_function *out);
/* The index of the function that holds an address; the count: none. */
size_t mt_go_function_of(const struct mt_go_table *table, uint64_t address);
/* Each row of a function, by rising addresses, until `see` says false. */
void mt_go_each_row(const struct mt_go_table *table, size_t index,
		    bool (*see)(void *context, const struct mt_go_row *row), void *context);
/* False: none is known, as in functions that change to another stack, behind their first
 * instruction. */
bool mt_go_frame_at(const struct mt_go_table *table, uint64_t address, struct mt_go_frame *out);
/* The address of the runtime's data on the program's file (runtime.firstmoduledata, which begins
 * with the address of this table); 0: none was found. */
uint64_t mt_go_module(struct mt_objfile *objfile);

#endif
