/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From addresses to lines and back. */
#include "base/search.h"
#include "dwarf/go_lines.h"
#include "dwarf/units.h"

#include <string.h>

/* A row of line 0 is of no line (DWARF 5, section 6.2.2): what comes before it goes on. */
static bool is_of_no_line(Dwarf_Line *row)
{
	int line = 0;
	bool ends = false;

	return dwarf_lineno(row, &line) ||
	       (!line && !(dwarf_lineendsequence(row, &ends) == 0 && ends));
}

static void read_rows(struct mt_objfile *objfile, struct mt_unit *unit)
{
	Dwarf_Lines *lines;
	size_t count;

	if (unit->rows_read)
		return;
	unit->rows_read = true;
	if (mt_dwarf_lines(unit->dwarf, &unit->lines, &lines, &count))
		return;
	unit->rows = mt_arena_alloc(&objfile->arena, count * sizeof(*unit->rows));
	for (size_t i = 0; unit->rows && i < count; i++) {
		Dwarf_Line *row = dwarf_onesrcline(lines, i);

		if (row && !is_of_no_line(row))
			unit->rows[unit->row_count++] = row;
	}
}

/* How many rows begin at or below an address. */
static size_t search_rows(const struct mt_unit *unit, uint64_t address)
{
	Dwarf_Addr start;

	return mt_partition_point(i, 0, unit->row_count,
				  dwarf_lineaddr(unit->rows[i], &start) == 0 && start <= address);
}

static bool describe(struct mt_objfile *objfile, struct mt_unit *unit, Dwarf_Line *line,
		     struct mt_source *out)
{
	bool ends = false;
	int number = 0, column = 0;

	if (dwarf_lineendsequence(line, &ends) || ends || dwarf_lineno(line, &number) ||
	    number <= 0)
		return false;
	dwarf_linecol(line, &column);
	*out = (struct mt_source){
	    .file = mt_dwarf_path(objfile, &unit->lines, dwarf_linesrc(line, NULL, NULL)),
	    .line = (uint32_t)number,
	    .column = column > 0 ? (uint32_t)column : 0,
	};
	return true;
}

bool mt_objfile_source_at(struct mt_objfile *objfile, uint64_t address, struct mt_source *out)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;

	*out = (struct mt_source){0};
	if (!unit)
		return mt_go_source_at(objfile, address, out);
	read_rows(objfile, unit);
	size_t behind = search_rows(unit, address);
	return behind && describe(objfile, unit, unit->rows[behind - 1], out);
}

bool mt_prologue_end(struct mt_objfile *objfile, uint64_t start, uint64_t end, uint64_t *out)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, start) : NULL;

	if (!unit)
		return false;
	read_rows(objfile, unit);
	for (size_t i = start ? search_rows(unit, start - 1) : 0; i < unit->row_count; i++) {
		Dwarf_Line *row = unit->rows[i];
		bool is_told = false;

		if (dwarf_lineaddr(row, out) || *out >= end)
			return false;
		if (dwarf_lineprologueend(row, &is_told) == 0 && is_told)
			return true;
	}
	return false;
}

static bool row_at(const struct mt_unit *unit, size_t index, uint64_t *address, bool *statement)
{
	Dwarf_Line *row = unit->rows[index];

	return dwarf_lineaddr(row, address) == 0 && dwarf_linebeginstatement(row, statement) == 0;
}

/* Of several rows at one address the last one that begins a statement, else the last one. */
static size_t choose_row(const struct mt_unit *unit, size_t last)
{
	uint64_t address, other;
	bool statement = false;

	if (!row_at(unit, last, &address, &statement))
		return last;
	for (size_t i = last + 1; i-- > 0;) {
		if (!row_at(unit, i, &other, &statement) || other != address)
			break;
		if (statement)
			return i;
	}
	return last;
}

static unsigned discriminator_of(const struct mt_unit *unit, size_t index)
{
	unsigned discriminator = 0;

	dwarf_linediscriminator(unit->rows[index], &discriminator);
	return discriminator;
}

/* Whether a row goes on with the line of the one before. */
static bool goes_on(const struct mt_unit *unit, size_t index)
{
	Dwarf_Line *row = unit->rows[index];
	Dwarf_Line *former = index ? unit->rows[index - 1] : NULL;
	int line = 0, former_line = 0;
	bool ends = false;

	if (!former || dwarf_lineendsequence(former, &ends) || ends ||
	    dwarf_lineendsequence(row, &ends) || ends)
		return false;
	return dwarf_lineno(row, &line) == 0 && dwarf_lineno(former, &former_line) == 0 &&
	       line == former_line &&
	       dwarf_linesrc(row, NULL, NULL) == dwarf_linesrc(former, NULL, NULL);
}

/* Where a line has several blocks, which discriminators distinguish, its rows count as one from the
 * first that has one. */
static size_t first_row_of_line(const struct mt_unit *unit, size_t index)
{
	size_t first = index, marked;

	while (goes_on(unit, first))
		first--;
	for (marked = first; marked <= index && !discriminator_of(unit, marked);)
		marked++;
	return marked > index ? index : marked > first ? marked - 1 : first;
}

static size_t behind_line(const struct mt_unit *unit, size_t first, size_t index)
{
	bool marked = false;

	while (goes_on(unit, first))
		first--;
	for (size_t i = first; i <= index; i++)
		marked |= discriminator_of(unit, i) != 0;
	for (index++; index < unit->row_count && goes_on(unit, index); index++) {
		marked |= discriminator_of(unit, index) != 0;
		if (!marked)
			break;
	}
	return index;
}

bool mt_objfile_line_at(struct mt_objfile *objfile, uint64_t address, struct mt_line_range *out)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;

	*out = (struct mt_line_range){0};
	if (!unit)
		return mt_go_line_at(objfile, address, out);
	read_rows(objfile, unit);
	size_t behind = search_rows(unit, address);
	if (!behind || behind == unit->row_count)
		return false;
	size_t chosen = choose_row(unit, behind - 1), first = first_row_of_line(unit, chosen);
	behind = behind_line(unit, first, behind - 1);
	return behind < unit->row_count && row_at(unit, first, &out->start, &out->statement) &&
	       dwarf_lineaddr(unit->rows[behind], &out->end) == 0 &&
	       describe(objfile, unit, unit->rows[first], &out->source);
}

bool mt_objfile_lines_begin_at(struct mt_objfile *objfile, uint64_t address)
{
	const struct mt_dwarf *dwarf = mt_dwarf_by_unit(objfile);
	struct mt_unit *unit = dwarf ? mt_dwarf_unit_at(dwarf, address) : NULL;
	unsigned count = 0;
	bool statement, ends;
	uint64_t other;

	if (!unit)
		return false;
	read_rows(objfile, unit);
	for (size_t i = search_rows(unit, address); i-- > 0 && row_at(unit, i, &other, &statement);)
		if (other != address)
			break;
		else if (dwarf_lineendsequence(unit->rows[i], &ends) == 0 && !ends)
			count++;
	return count > 1;
}

static bool file_matches(const char *path, const char *wanted)
{
	size_t path_length = path ? strlen(path) : 0, length = strlen(wanted);

	if (!path || path_length < length || strcmp(path + path_length - length, wanted) != 0)
		return false;
	return path_length == length || wanted[0] == '/' || path[path_length - length - 1] == '/';
}

struct place {
	uint64_t address;
	const void *block;
};

struct statement {
	struct mt_unit *unit; /* NULL: it is Go's own table that tells of it */
	uint64_t address;
	uint32_t line;
	size_t go_function;
};

struct line_search {
	struct mt_objfile *objfile;
	const struct mt_dwarf *dwarf;
	const char *file;
	uint32_t line;
	/* Called for every statement at or behind the line. */
	void (*visit)(struct line_search *search, const struct statement *statement);
	uint32_t best; /* the nearest line with code; 0: none */
	MT_ARRAY(struct place) places;
	const char *go_file; /* that was compared last */
	bool go_file_matches;
};

static bool unit_has_file(struct line_search *search, struct mt_unit *unit)
{
	Dwarf_Files *files;
	size_t count;

	if (mt_dwarf_files(unit->dwarf, &unit->lines, &files, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (file_matches(mt_dwarf_path(search->objfile, &unit->lines,
					       dwarf_filesrc(files, i, NULL, NULL)),
				 search->file))
			return true;
	return false;
}

/* A row of the wanted file at which a statement begins. */
static bool read_statement(struct line_search *search, struct mt_unit *unit, Dwarf_Line *row,
			   struct statement *out)
{
	Dwarf_Addr address;
	bool begins = false;
	struct mt_source source;

	if (dwarf_linebeginstatement(row, &begins) || !begins ||
	    !describe(search->objfile, unit, row, &source) || source.line < search->line ||
	    dwarf_lineaddr(row, &address) || !file_matches(source.file, search->file))
		return false;
	*out = (struct statement){.unit = unit, .address = address, .line = source.line};
	return mt_dwarf_unit_at(search->dwarf, address) == unit;
}

static void visit_unit(struct line_search *search, struct mt_unit *unit)
{
	struct statement statement;

	if (!unit_has_file(search, unit))
		return;
	read_rows(search->objfile, unit);
	for (size_t i = 0; i < unit->row_count; i++)
		if (read_statement(search, unit, unit->rows[i], &statement))
			search->visit(search, &statement);
}

static void visit_go(void *context, const struct mt_go_statement *row)
{
	struct line_search *search = context;

	if (row->file != search->go_file) {
		search->go_file = row->file;
		search->go_file_matches = file_matches(row->file, search->file);
	}
	if (!search->go_file_matches || row->line < search->line ||
	    (search->dwarf && mt_dwarf_unit_at(search->dwarf, row->address)))
		return;
	search->visit(search, &(struct statement){.address = row->address,
						  .line = row->line,
						  .go_function = row->function});
}

static void visit_units(struct line_search *search)
{
	for (size_t i = 0; search->dwarf && i < search->dwarf->unit_count; i++)
		visit_unit(search, &search->dwarf->units[i]);
	mt_go_each_statement(search->objfile, visit_go, search);
}

static void find_best(struct line_search *search, const struct statement *statement)
{
	if (!search->best || statement->line < search->best)
		search->best = statement->line;
}

static void add_place(struct line_search *search, const struct statement *statement)
{
	if (statement->line != search->best)
		return;
	struct place place = {statement->address,
			      statement->unit ? mt_block_at(statement->unit, statement->address)
					      : (const void *)statement->go_function};
	mt_array_each (known, &search->places) {
		if (known->block != place.block || !place.block)
			continue;
		if (place.address < known->address)
			known->address = place.address;
		return;
	}
	/* Without memory a place is missed. */
	(void)mt_array_push(&search->places, place);
}

void mt_objfile_find_line(struct mt_objfile *objfile, const char *file, uint32_t line,
			  void (*found)(void *context, uint64_t address, uint32_t line),
			  void *context)
{
	struct line_search search = {
	    .objfile = objfile,
	    .dwarf = mt_dwarf_by_unit(objfile),
	    .file = file,
	    .line = line,
	    .visit = find_best,
	};

	visit_units(&search);
	search.visit = add_place;
	if (search.best)
		visit_units(&search);
	mt_array_each (place, &search.places)
		found(context, place->address, search.best);
	mt_array_deinit(&search.places);
}
