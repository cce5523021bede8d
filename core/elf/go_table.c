/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every number in the table is an offset that anybody may have written: each is checked where it is
 * used, and no walk is longer than the code that it is about. */
#include "elf/go_table.h"

#include "base/cursor.h"
#include "base/search.h"
#include "elf/objfile_private.h"
#include "elf/references.h"
#include "elf/section.h"

#include <string.h>

enum {
	MAGIC_1_16 = 0xfffffffa,
	MAGIC_1_18 = 0xfffffff0,
	MAGIC_1_20 = 0xfffffff1,

	LONGEST_NAME = 16384,
	LONGEST_PATH = 4096,
	NO_FILE = UINT32_MAX,

	TEXT_OFFSET = 24, /* in the header */
	ALIGNMENT = 8,    /* of the header, at the least */
	MOST_TRIES = 16,  /* words that may be the header's first one */

	/* The runtime knows some functions by numbers, wrappers by the last one (internal/abi,
	 * FuncID): so many there are at the least, in all versions. */
	LEAST_WRAPPER = 16,

	/* Of a function (internal/abi, FuncFlag).  Go 1.16 has none, and zeros in their place. */
	FLAG_OUTERMOST = 1,
	FLAG_MOVES_STACK = 2,
};

struct part {
	const uint8_t *bytes; /* up to the table's end */
	size_t size;
};

struct mt_go_table {
	struct mt_code code;
	uint64_t names_address;
	uint64_t text;         /* what offsets of code are relative to */
	size_t field_size;     /* of a number in `functions`: 4 or 8 bytes */
	bool has_first_line;   /* of functions, each */
	size_t count;          /* of functions */
	uint8_t wrapper;       /* the number of those that the compiler made; 0: not known */
	struct part names;     /* texts */
	struct part units;     /* 32-bit offsets in `files` */
	struct part files;     /* texts */
	struct part values;    /* tables from addresses to values */
	struct part functions; /* pairs of an address and an offset in it; structs behind them */
};

/* struct _func, behind its address. */
struct function {
	uint32_t name;
	uint32_t sp_table, file_table, line_table; /* offsets in `values` */
	uint32_t unit;                             /* index in `units` */
	uint8_t id;
	uint8_t flags;
};

/* From OFFSET on; empty, if it lies behind the end. */
static struct part part_at(const struct part *whole, uint64_t offset)
{
	const size_t skip = offset < whole->size ? offset : whole->size;

	return (struct part){whole->bytes + skip, whole->size - skip};
}

/* NULL: there is none. */
static const char *text_at(const struct part *texts, uint64_t offset, size_t longest)
{
	const struct part rest = part_at(texts, offset);

	longest = rest.size < longest ? rest.size : longest;
	return memchr(rest.bytes, 0, longest) ? (const char *)rest.bytes : NULL;
}

static uint64_t field(const struct mt_go_table *table, size_t index)
{
	uint64_t value = 0;

	memcpy(&value, table->functions.bytes + index * table->field_size, table->field_size);
	return value;
}

/* Of the function at INDEX, or for the count, where the last one ends. */
static uint64_t start_of(const struct mt_go_table *table, size_t index)
{
	const uint64_t start = field(table, 2 * index);

	return table->field_size == sizeof(uint64_t) ? start : table->text + start;
}

static bool read_function(const struct mt_go_table *table, size_t index, struct function *out)
{
	const struct part bytes = part_at(&table->functions, field(table, 2 * index + 1));
	struct mt_cursor cursor = mt_cursor_over(bytes.bytes, bytes.size);
	const uint8_t *tail;

	mt_cursor_bytes(&cursor, table->field_size); /* the address again */
	out->name = mt_cursor_u32(&cursor);
	mt_cursor_u32(&cursor); /* the arguments' size */
	mt_cursor_u32(&cursor); /* where deferred calls return to */
	out->sp_table = mt_cursor_u32(&cursor);
	out->file_table = mt_cursor_u32(&cursor);
	out->line_table = mt_cursor_u32(&cursor);
	mt_cursor_u32(&cursor); /* the count of other tables */
	out->unit = mt_cursor_u32(&cursor);
	if (table->has_first_line)
		mt_cursor_u32(&cursor);
	tail = mt_cursor_bytes(&cursor, 2); /* which one the runtime knows it as, and flags */
	if (tail) {
		out->id = tail[0];
		out->flags = tail[1];
	}
	return !cursor.failed;
}

/* Each program has some, of its types' comparisons. */
static void find_wrapper(struct mt_go_table *table)
{
	struct function function = {0};

	for (size_t i = 0; i < table->count; i++)
		if (read_function(table, i, &function) && function.id > table->wrapper)
			table->wrapper = function.id;
	if (table->wrapper < LEAST_WRAPPER)
		table->wrapper = 0;
}

/* ---- Tables from addresses to values: pairs of differences, of the value and of the address at
 * which it ends (runtime/symtab.go, step()) ---- */

struct values {
	struct mt_cursor cursor;
	uint64_t end; /* of the value */
	int32_t value;
	bool begun;
};

static uint32_t read_number(struct mt_cursor *cursor)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		const uint8_t *byte = mt_cursor_bytes(cursor, 1);

		if (!byte)
			return 0;
		value |= (uint32_t)(*byte & 0x7f) << shift;
		if (!(*byte & 0x80))
			return value;
	}
	cursor->failed = true;
	return 0;
}

static struct values values_of(const struct mt_go_table *table, uint32_t offset, uint64_t start)
{
	const struct part bytes = part_at(&table->values, offset);

	/* At 0 is what stands for no table. */
	return (struct values){
	    .cursor = mt_cursor_over(bytes.bytes, offset ? bytes.size : 0),
	    .end = start,
	    .value = -1,
	};
}

/* False: that was the last value.  Each lasts a byte of code at least. */
static bool next_value(struct values *values)
{
	const uint32_t by = read_number(&values->cursor);
	uint32_t length;

	if ((!by && values->begun) || !(length = read_number(&values->cursor)) ||
	    values->cursor.failed)
		return false;
	values->value = (int32_t)((uint32_t)values->value + (by & 1 ? ~(by >> 1) : by >> 1));
	values->end += length;
	values->begun = true;
	return true;
}

/* Padding is not in the tables of values. */
static uint64_t end_of(const struct mt_go_table *table, size_t index, const struct function *of)
{
	const uint64_t start = start_of(table, index), next = start_of(table, index + 1);
	struct values values = values_of(table, of->sp_table, start);

	while (values.end < next && next_value(&values))
		;
	return values.end > start && values.end < next ? values.end : next;
}

/* ---- Functions ---- */

size_t mt_go_function_count(const struct mt_go_table *table)
{
	return table->count;
}

bool mt_go_function_at(const struct mt_go_table *table, size_t index, struct mt_go_function *out)
{
	const struct mt_code_range *range;
	struct function function;

	out->start = start_of(table, index);
	range = mt_code_at(&table->code, out->start);
	if (!range || start_of(table, index + 1) <= out->start ||
	    start_of(table, index + 1) > range->end || !read_function(table, index, &function))
		return false;
	out->name = text_at(&table->names, function.name, LONGEST_NAME);
	out->end = end_of(table, index, &function);
	out->is_wrapper = table->wrapper && function.id == table->wrapper;
	return out->name && *out->name;
}

size_t mt_go_function_of(const struct mt_go_table *table, uint64_t address)
{
	const size_t behind = mt_partition_point(i, 0, table->count, start_of(table, i) <= address);
	struct mt_go_function found;

	return behind && mt_go_function_at(table, behind - 1, &found) && address >= found.start &&
		       address < found.end
		   ? behind - 1
		   : table->count;
}

static const char *file_of(const struct mt_go_table *table, const struct function *function,
			   int32_t number)
{
	const struct part units =
	    part_at(&table->units, ((uint64_t)function->unit + (uint32_t)number) * 4);
	uint32_t offset = NO_FILE;

	if (number < 0 || units.size < sizeof(offset))
		return NULL;
	memcpy(&offset, units.bytes, sizeof(offset));
	return offset == NO_FILE ? NULL : text_at(&table->files, offset, LONGEST_PATH);
}

void mt_go_each_row(const struct mt_go_table *table, size_t index,
		    bool (*see)(void *context, const struct mt_go_row *row), void *context)
{
	struct mt_go_function function;
	struct function of;

	if (!mt_go_function_at(table, index, &function) || !read_function(table, index, &of))
		return;
	struct values files = values_of(table, of.file_table, function.start);
	struct values lines = values_of(table, of.line_table, function.start);
	struct mt_go_row row = {.end = function.start};
	while (row.end < function.end) {
		row.start = row.end;
		if (files.end <= row.start) {
			if (!next_value(&files))
				return;
			row.file = file_of(table, &of, files.value);
		}
		if (lines.end <= row.start && !next_value(&lines))
			return;
		row.end = files.end < lines.end ? files.end : lines.end;
		row.end = row.end < function.end ? row.end : function.end;
		row.line = lines.value > 0 ? (uint32_t)lines.value : 0;
		if (row.file && row.line && !see(context, &row))
			return;
	}
}

bool mt_go_frame_at(const struct mt_go_table *table, uint64_t address, struct mt_go_frame *out)
{
	const size_t index = mt_go_function_of(table, address);
	struct function function;

	if (index == table->count || !read_function(table, index, &function))
		return false;
	const uint64_t start = start_of(table, index);
	struct values values = values_of(table, function.sp_table, start);
	while (values.end <= address)
		if (!next_value(&values))
			return false;
	if (values.value < 0 || (function.flags & FLAG_MOVES_STACK && address != start))
		return false;
	*out = (struct mt_go_frame){.size = (uint64_t)values.value,
				    .outermost = function.flags & FLAG_OUTERMOST};
	return true;
}

/* ---- The header (runtime/symtab.go, pcHeader) ---- */

struct search {
	uint64_t wanted; /* a place, or what stands there */
	uint64_t found;
};

static void see_text(void *context, uint64_t place, uint64_t address)
{
	struct search *search = context;

	if (place == search->wanted)
		search->found = address;
}

/* Where the text begins, which the loader writes into the header of a program that can be
 * relocated; without either where the code does, as in what Go's own linker makes. */
static uint64_t text_start(const struct mt_objfile *objfile, const struct mt_code *code,
			   uint64_t place, uint64_t told)
{
	struct search search = {place, told};

	if (!mt_code_at(code, told))
		mt_objfile_each_relocation(objfile, see_text, &search);
	if (mt_code_at(code, search.found))
		return search.found;
	return code->count ? code->items[0].start : 0;
}

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_1_16 || magic == MAGIC_1_18 || magic == MAGIC_1_20;
}

/* WHOLE begins with the header, whose address is ADDRESS. */
static bool read_header(const struct mt_objfile *objfile, const struct part *whole,
			uint64_t address, struct mt_go_table *table)
{
	struct mt_cursor cursor = mt_cursor_over(whole->bytes, whole->size);
	const uint32_t magic = mt_cursor_u32(&cursor);
	static const uint8_t x86_64[] = {0, 0, 1, 8}; /* the least instruction, a pointer */
	const uint8_t *machine = mt_cursor_bytes(&cursor, sizeof(x86_64));
	const bool has_text = magic != MAGIC_1_16;
	uint64_t text;

	if (!is_magic(magic) || !machine || memcmp(machine, x86_64, sizeof(x86_64)) != 0)
		return false;
	table->count = mt_cursor_u64(&cursor);
	mt_cursor_u64(&cursor); /* the count of files */
	text = has_text ? mt_cursor_u64(&cursor) : 0;
	table->names = part_at(whole, mt_cursor_u64(&cursor));
	table->names_address = address + (uint64_t)(table->names.bytes - whole->bytes);
	table->units = part_at(whole, mt_cursor_u64(&cursor));
	table->files = part_at(whole, mt_cursor_u64(&cursor));
	table->values = part_at(whole, mt_cursor_u64(&cursor));
	table->functions = part_at(whole, mt_cursor_u64(&cursor));
	table->has_first_line = magic == MAGIC_1_20;
	table->field_size = has_text ? sizeof(uint32_t) : sizeof(uint64_t);
	/* The address behind the last function stands behind the pairs. */
	if (cursor.failed || !table->count ||
	    table->count >= table->functions.size / table->field_size / 2)
		return false;
	if (has_text)
		table->text = text_start(objfile, &table->code, address + TEXT_OFFSET, text);
	return true;
}

static void destroy(void *data)
{
	struct mt_go_table *table = data;

	mt_array_deinit(&table->code);
	free(table);
}

/* Rising addresses are what look-ups need. */
static bool is_sorted(const struct mt_go_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		if (start_of(table, i + 1) < start_of(table, i))
			return false;
	return true;
}

/* The linkers for C put it among other constants, where its first words are what shows it. */
static bool find_header(const struct mt_objfile *objfile, const struct mt_section *section,
			bool is_own, struct mt_go_table *table)
{
	const struct part all = {section->data->d_buf, section->data->d_size};
	unsigned tries = 0;

	for (size_t at = 0; at + 8 <= all.size && tries < MOST_TRIES; at += ALIGNMENT) {
		const struct part whole = part_at(&all, at);
		uint32_t magic;

		memcpy(&magic, whole.bytes, sizeof(magic));
		if (is_magic(magic)) {
			tries++;
			if (read_header(objfile, &whole, section->header.sh_addr + at, table) &&
			    is_sorted(table))
				return true;
		}
		if (is_own)
			break;
	}
	return false;
}

static struct mt_go_table *create(const struct mt_objfile *objfile)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab",
					       ".data.rel.ro"};
	struct mt_go_table *table = calloc(1, sizeof(*table));
	struct mt_section section;

	if (table && !mt_code_read(objfile, &table->code))
		for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
			if (mt_section_find(objfile->main.elf, sections[i], &section) &&
			    section.data->d_buf && find_header(objfile, &section, i < 2, table)) {
				find_wrapper(table);
				return table;
			}
	if (table)
		destroy(table);
	return NULL;
}

const struct mt_go_table *mt_go_table(struct mt_objfile *objfile)
{
	if (!objfile->go_sought) {
		objfile->go_sought = true;
		objfile->go = (struct mt_objfile_attachment){create(objfile), destroy};
	}
	return objfile->go.data;
}

/* ---- The module's data (runtime/symtab.go, moduledata): the table's address, and that of the
 * names in it, to which nothing else refers ---- */

static void see_module(void *context, uint64_t place, uint64_t address)
{
	struct search *search = context;

	if (address == search->wanted && !search->found)
		search->found = place - sizeof(address);
}

uint64_t mt_go_module(struct mt_objfile *objfile)
{
	const struct mt_go_table *table = mt_go_table(objfile);

	if (!table)
		return 0;
	struct search search = {.wanted = table->names_address};
	mt_objfile_each_relocation(objfile, see_module, &search);
	if (!search.found)
		mt_objfile_each_word(objfile, see_module, &search);
	return search.found;
}
