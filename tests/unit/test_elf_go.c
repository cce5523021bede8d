/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Go program's own table, of each layout, and with each of its numbers wrong. */
#include "dwarf/source.h"
#include "elf/go_table.h"

#include "made_go.h"
#include "unit.h"

/* What the table of every test has: main.f at 0x10, of 24 bytes and 8 of padding, and main.g at
 * 0x30, of 16 bytes.  In main.f the first 8 bytes are of line 5, the others of line 7. */
enum {
	F = 0x10,
	G = 0x30,
	END = 0x40,
	NAMES = 0x80,
	UNITS = 0xa0,
	FILES = 0xb0,
	VALUES = 0xc0,
	FUNCTIONS = 0xe0,
	F_STRUCT = 0x60, /* behind FUNCTIONS, as G_STRUCT */
	G_STRUCT = 0xa0,
	SIZE = 0x1e0,
};

struct layout {
	uint32_t magic;
	bool has_text; /* 32-bit numbers then, from the text's start on */
};

static const struct layout layouts[] = {
    {0xfffffffa, false}, {0xfffffff0, true}, {0xfffffff1, true}};

static void put(uint8_t *table, size_t at, uint64_t value, size_t size)
{
	memcpy(table + at, &value, size);
}

static void put_function(uint8_t *table, const struct layout *layout, size_t at, uint64_t start,
			 uint32_t name, const uint32_t tables[3])
{
	const size_t size = layout->has_text ? 4 : 8;

	put(table, at, layout->has_text ? start : MADE_GO_TEXT + start, size);
	put(table, at + size, name, 4);
	for (size_t i = 0; i < 3; i++)
		put(table, at + size + 12 + 4 * i, tables[i], 4);
	put(table, at + size + 28, 1, 4);
}

static void make(uint8_t table[SIZE], const struct layout *layout)
{
	const size_t size = layout->has_text ? 4 : 8;
	const uint64_t base = layout->has_text ? 0 : MADE_GO_TEXT;
	const uint64_t words[] = {2, 1, MADE_GO_TEXT, NAMES, UNITS, FILES, VALUES, FUNCTIONS};
	const uint64_t pairs[] = {F, F_STRUCT, G, G_STRUCT, END};

	memset(table, 0, SIZE);
	put(table, 0, layout->magic, 4);
	memcpy(table + 4, "\0\0\1\10", 4);
	for (size_t i = 0, at = 8; i < 8; i++) {
		if (i == 2 && !layout->has_text)
			continue;
		put(table, at, words[i], 8);
		at += 8;
	}
	memcpy(table + NAMES, "\0main.f\0main.g", 15);
	put(table, UNITS + 4, 3, 4);
	memcpy(table + FILES, "??\0a.go", 8);
	/* At 1: one value for 24 bytes; at 4: file 0; at 7: lines 5 and 7; at 12: 16 bytes. */
	memcpy(table + VALUES, "\0\2\30\0\2\30\0\14\10\4\20\0\2\20\0", 15);
	for (size_t i = 0; i < 5; i++)
		put(table, FUNCTIONS + i * size, pairs[i] + (i % 2 ? 0 : base), size);
	put_function(table, layout, FUNCTIONS + F_STRUCT, F, 1, (uint32_t[]){1, 4, 7});
	put_function(table, layout, FUNCTIONS + G_STRUCT, G, 8, (uint32_t[]){12, 0, 0});
}

static void test_layouts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		uint8_t table[SIZE];
		size_t count;
		struct mt_line_range range;

		make(table, &layouts[i]);
		struct mt_objfile *objfile = made_go_open(".gopclntab", table, sizeof(table));
		const struct mt_symbol *symbols = mt_objfile_symbols(objfile, &count);
		assert_int_equal(count, 2);
		assert_string_equal(symbols[0].raw_name, "main.f");
		assert_int_equal(symbols[0].start, MADE_GO_TEXT + F);
		assert_int_equal(symbols[0].end, MADE_GO_TEXT + F + 24);
		assert_string_equal(symbols[1].raw_name, "main.g");
		assert_int_equal(symbols[1].end, MADE_GO_TEXT + END);
		assert_true(mt_objfile_line_at(objfile, MADE_GO_TEXT + F + 7, &range));
		assert_string_equal(range.source.file, "a.go");
		assert_int_equal(range.source.line, 5);
		assert_int_equal(range.start, MADE_GO_TEXT + F);
		assert_int_equal(range.end, MADE_GO_TEXT + F + 8);
		assert_true(mt_objfile_line_at(objfile, MADE_GO_TEXT + F + 8, &range));
		assert_int_equal(range.source.line, 7);
		assert_int_equal(range.end, MADE_GO_TEXT + F + 24);
		assert_false(mt_objfile_line_at(objfile, MADE_GO_TEXT + F + 24, &range));
		assert_false(mt_objfile_line_at(objfile, MADE_GO_TEXT + G, &range));
		mt_objfile_unref(objfile);
	}
}

/* With FLAGS, at OFFSET of main.g, whose frame is of 0 bytes and then of 32. */
static bool frame_at(const struct layout *layout, uint8_t flags, uint64_t offset,
		     struct mt_go_frame *out)
{
	const size_t flags_at = (layout->has_text ? 4 : 8) + 33 + 4 * (layout->magic == 0xfffffff1);
	uint8_t bytes[SIZE];

	make(bytes, layout);
	memcpy(bytes + VALUES + 12, "\2\4\100\14", 5);
	bytes[FUNCTIONS + G_STRUCT + flags_at] = flags;
	struct mt_objfile *objfile = made_go_open(".gopclntab", bytes, sizeof(bytes));
	const bool is_found = mt_go_frame_at(mt_go_table(objfile), MADE_GO_TEXT + offset, out);
	mt_objfile_unref(objfile);
	return is_found;
}

static void test_frames(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		struct mt_go_frame frame;

		assert_true(frame_at(&layouts[i], 0, G + 3, &frame));
		assert_int_equal(frame.size, 0);
		assert_false(frame.outermost);
		assert_true(frame_at(&layouts[i], 0, G + 4, &frame));
		assert_int_equal(frame.size, 32);
		assert_true(frame_at(&layouts[i], 1, G + 15, &frame));
		assert_int_equal(frame.size, 32);
		assert_true(frame.outermost);
		/* It changes to another stack. */
		assert_true(frame_at(&layouts[i], 2, G, &frame));
		assert_false(frame_at(&layouts[i], 2, G + 1, &frame));
		/* Padding, and no function's. */
		assert_false(frame_at(&layouts[i], 0, F + 24, &frame));
		assert_false(frame_at(&layouts[i], 0, END, &frame));
		assert_false(frame_at(&layouts[i], 0, 0, &frame));
	}
}

static void find(void *context, uint64_t address, uint32_t line)
{
	assert_int_equal(address, MADE_GO_TEXT + F + 8);
	*(uint32_t *)context = line;
}

static void test_line(void **state)
{
	uint8_t table[SIZE];
	uint32_t line = 0;

	(void)state;
	make(table, &layouts[1]);
	struct mt_objfile *objfile = made_go_open(".gopclntab", table, sizeof(table));
	mt_objfile_find_line(objfile, "a.go", 6, find, &line);
	assert_int_equal(line, 7);
	mt_objfile_find_line(objfile, "b.go", 6, find, NULL);
	mt_objfile_find_line(objfile, "a.go", 8, find, NULL);
	mt_objfile_unref(objfile);
}

static bool see_nothing(void *context, const struct mt_go_row *row)
{
	(void)context;
	return row->line != 0;
}

/* Each byte in turn is another one, and each length a shorter one: what is said stays in bounds. */
static void test_garbled(void **state)
{
	static const uint8_t others[] = {0, 1, 0x7f, 0x80, 0xff};

	(void)state;
	for (size_t at = 0; at < SIZE * sizeof(others); at++) {
		uint8_t bytes[SIZE];

		make(bytes, &layouts[at % 3]);
		bytes[at % SIZE] = others[at / SIZE];
		struct mt_objfile *objfile =
		    made_go_open(".gopclntab", bytes, at < SIZE ? SIZE - at : sizeof(bytes));
		const struct mt_go_table *table = mt_go_table(objfile);
		for (size_t i = 0; table && i < mt_go_function_count(table); i++) {
			struct mt_go_function function;

			if (!mt_go_function_at(table, i, &function))
				continue;
			assert_in_range(function.start, MADE_GO_TEXT,
					MADE_GO_TEXT + MADE_GO_TEXT_SIZE - 1);
			assert_in_range(function.end, function.start + 1,
					MADE_GO_TEXT + MADE_GO_TEXT_SIZE);
			mt_go_each_row(table, i, see_nothing, NULL);
		}
		for (uint64_t offset = 0; table && offset < END; offset++) {
			struct mt_go_frame frame;

			if (mt_go_frame_at(table, MADE_GO_TEXT + offset, &frame))
				assert_in_range(frame.size, 0, INT32_MAX);
		}
		mt_objfile_unref(objfile);
	}
}

static void test_unknown_layout(void **state)
{
	static const struct layout future = {0xffffffef, true};
	uint8_t table[SIZE];

	(void)state;
	make(table, &future);
	struct mt_objfile *objfile = made_go_open(".gopclntab", table, sizeof(table));
	assert_null(mt_go_table(objfile));
	mt_objfile_unref(objfile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_layouts),        cmocka_unit_test(test_frames),
	    cmocka_unit_test(test_line),           cmocka_unit_test(test_garbled),
	    cmocka_unit_test(test_unknown_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
