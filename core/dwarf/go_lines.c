/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dwarf/go_lines.h"

#include "elf/go_table.h"

#include <string.h>

struct row_search {
	uint64_t address;
	struct mt_go_row found; /* all of the line's rows around the address; line 0: none yet */
};

static bool is_same_line(const struct mt_go_row *one, const struct mt_go_row *other)
{
	return one->line == other->line && strcmp(one->file, other->file) == 0;
}

/* One line may be told in several rows that follow one another. */
static bool see_row(void *context, const struct mt_go_row *row)
{
	struct row_search *search = context;
	struct mt_go_row *found = &search->found;

	if (found->line && found->end == row->start && is_same_line(found, row))
		found->end = row->end;
	else if (row->start > search->address)
		return false;
	else
		*found = *row;
	return true;
}

static bool find_row(struct mt_objfile *objfile, uint64_t address, struct mt_go_row *out)
{
	const struct mt_go_table *table = mt_go_table(objfile);
	const size_t index = table ? mt_go_function_of(table, address) : 0;
	struct row_search search = {.address = address};

	if (!table || index == mt_go_function_count(table))
		return false;
	mt_go_each_row(table, index, see_row, &search);
	*out = search.found;
	return out->line && address - out->start < out->end - out->start;
}

bool mt_go_source_at(struct mt_objfile *objfile, uint64_t address, struct mt_source *out)
{
	struct mt_go_row row;

	if (!find_row(objfile, address, &row))
		return false;
	*out = (struct mt_source){.file = row.file, .line = row.line};
	return true;
}

bool mt_go_line_at(struct mt_objfile *objfile, uint64_t address, struct mt_line_range *out)
{
	struct mt_go_row row;

	if (!find_row(objfile, address, &row))
		return false;
	*out = (struct mt_line_range){
	    .start = row.start,
	    .end = row.end,
	    .source = {.file = row.file, .line = row.line},
	    .statement = true,
	};
	return true;
}

struct statement_walk {
	size_t index;
	struct mt_go_row last; /* line 0: none yet */
	void (*see)(void *context, const struct mt_go_statement *statement);
	void *context;
};

static bool see_statement(void *context, const struct mt_go_row *row)
{
	struct statement_walk *walk = context;

	if (!walk->last.line || walk->last.end != row->start || walk->last.line != row->line ||
	    walk->last.file != row->file)
		walk->see(walk->context, &(struct mt_go_statement){row->file, row->start, row->line,
								   walk->index + 1});
	walk->last = *row;
	return true;
}

void mt_go_each_statement(struct mt_objfile *objfile,
			  void (*see)(void *context, const struct mt_go_statement *statement),
			  void *context)
{
	const struct mt_go_table *table = mt_go_table(objfile);

	for (size_t i = 0; table && i < mt_go_function_count(table); i++) {
		struct statement_walk walk = {.index = i, .see = see, .context = context};

		mt_go_each_row(table, i, see_statement, &walk);
	}
}
