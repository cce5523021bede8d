/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source behind an object file's code, as its DWARF has it: lines, prologues, inlined calls.
 * Without DWARF a Go program's lines are known by its own table (elf/go_table.h), and else there is
 * none; nothing fails. */
#ifndef MT_DWARF_SOURCE_H
#define MT_DWARF_SOURCE_H

#include "elf/objfile.h"

/* The line table's row for an address.  False: none. */
bool mt_objfile_source_at(struct mt_objfile *objfile, uint64_t address, struct mt_source *out);
/* The addresses around one that a row of the line table stands for.  Neighbours may be of the same
 * line.  False: there is none. */
struct mt_line_range {
	uint64_t start; /* [start, end) */
	uint64_t end;
	struct mt_source source;
	bool statement; /* a statement begins at start, and a debugger may stop there */
};
bool mt_objfile_line_at(struct mt_objfile *objfile, uint64_t address, struct mt_line_range *out);
/* Several lines begin there at once. */
bool mt_objfile_lines_begin_at(struct mt_objfile *objfile, uint64_t address);
/* The directory to which the file names of the unit at ADDRESS are relative, as they were given
 * to the compiler.  NULL: they were not. */
const char *mt_objfile_directory_at(struct mt_objfile *objfile, uint64_t address);
/* The file that was compiled to the code at ADDRESS, headers included, as it was given to the
 * compiler.  NULL: not known. */
const char *mt_objfile_unit_at(struct mt_objfile *objfile, uint64_t address);
/* The function that holds ADDRESS as its source names it, without what it stands in; in Rust with
 * the types that a generic one was made for, "largest<i32>", of which symbols say nothing.  NULL:
 * not known. */
const char *mt_objfile_own_name_at(struct mt_objfile *objfile, uint64_t address);
/* Its own code is Rust's, whose main function is not called `main`. */
bool mt_objfile_is_rust(struct mt_objfile *objfile);
/* Where a debugger stops at a function that begins at START: behind its prologue, as GDB has it;
 * START itself where DWARF has the locations of variables at each instruction. */
uint64_t mt_objfile_skip_prologue(struct mt_objfile *objfile, uint64_t start);
/* Where it stops in a function that it steps into: behind the making of a frame pointer. */
uint64_t mt_objfile_frame_made(struct mt_objfile *objfile, uint64_t start);
/* Inlined functions; function->start and end are 0. Never fails: without DWARF the span is wide
 * and its depth 0. */
void mt_objfile_inlines_at(struct mt_objfile *objfile, uint64_t address,
			   struct mt_inline_span *out);

/* As mt_objfile_find_name(), for functions that were inlined: the address at which each instance is
 * entered. */
void mt_objfile_find_inlined(struct mt_objfile *objfile, const char *name,
			     void (*found)(void *context, uint64_t address,
					   const struct mt_inline *instance),
			     void *context);
/* The addresses at which a statement of FILE:LINE begins (one a block with variables of its own,
 * the lowest); a line without code means the next one that has some.  FILE matches a whole path's
 * end at a slash. */
void mt_objfile_find_line(struct mt_objfile *objfile, const char *file, uint32_t line,
			  void (*found)(void *context, uint64_t address, uint32_t line),
			  void *context);

#endif
