/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any bytes as a Go program's own table of functions and lines, in a small, sound object file. */
#include "dwarf/source.h"
#include "elf/go_table.h"

#include "made_go.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

static bool check_row(void *context, const struct mt_go_row *row)
{
	uint64_t *end = context;

	check(row->start >= *end && row->start < row->end);
	check(row->line > 0 && strlen(row->file) < MADE_GO_SIZE);
	*end = row->end;
	return true;
}

static void check_table(struct mt_objfile *objfile)
{
	const struct mt_go_table *table = mt_go_table(objfile);

	for (size_t i = 0; table && i < mt_go_function_count(table); i++) {
		struct mt_go_function function;
		uint64_t end;

		if (!mt_go_function_at(table, i, &function))
			continue;
		end = function.start;
		check(MADE_GO_TEXT <= function.start && function.start < function.end);
		check(function.end <= MADE_GO_TEXT + MADE_GO_TEXT_SIZE && *function.name);
		mt_go_each_row(table, i, check_row, &end);
		check(end <= function.end);
	}
}

static void check_frame(struct mt_objfile *objfile, uint64_t address)
{
	const struct mt_go_table *table = mt_go_table(objfile);
	struct mt_go_frame frame;

	if (table && mt_go_frame_at(table, address, &frame))
		check(mt_go_function_of(table, address) < mt_go_function_count(table) &&
		      frame.size <= INT32_MAX);
}

static void check_place(void *context, uint64_t address, uint32_t line)
{
	(void)context;
	check(address - MADE_GO_TEXT < MADE_GO_TEXT_SIZE && line >= 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct mt_objfile *objfile =
	    made_go_open(".gopclntab", bytes, size < MADE_GO_SIZE ? size : MADE_GO_SIZE);
	struct mt_source source;
	size_t count;

	if (!objfile)
		return 0;
	check_table(objfile);
	mt_objfile_symbols(objfile, &count);
	for (uint64_t at = MADE_GO_TEXT; at < MADE_GO_TEXT + MADE_GO_TEXT_SIZE; at += 13) {
		mt_objfile_source_at(objfile, at, &source);
		check_frame(objfile, at);
	}
	mt_objfile_find_line(objfile, "a.go", 1, check_place, NULL);
	mt_objfile_unref(objfile);
	return 0;
}
