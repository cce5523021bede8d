/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of a Go program by its own table (elf/go_table.h), for code of which there is no DWARF. */
#ifndef MT_DWARF_GO_LINES_H
#define MT_DWARF_GO_LINES_H

#include "dwarf/source.h"

/* As mt_objfile_source_at() and mt_objfile_line_at(). */
bool mt_go_source_at(struct mt_objfile *objfile, uint64_t address, struct mt_source *out);
bool mt_go_line_at(struct mt_objfile *objfile, uint64_t address, struct mt_line_range *out);

/* Where code of a line begins.  FUNCTION is the same for all of one function, and never 0. */
struct mt_go_statement {
	const char *file;
	uint64_t address;
	uint32_t line;
	size_t function;
};
/* Each of the whole program, by rising addresses. */
void mt_go_each_statement(struct mt_objfile *objfile,
			  void (*see)(void *context, const struct mt_go_statement *statement),
			  void *context);

#endif
