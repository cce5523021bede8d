/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jitdump files, written here as the specification has them. */
#include "elf/jitdump.h"

#include "base/arena.h"
#include "unit.h"

#include <elf.h>
#include <string.h>

enum { LOAD, MOVE, DEBUG_INFO, CLOSE, MOST_BYTES = 4096 };

struct dump {
	uint8_t bytes[MOST_BYTES];
	size_t size;
	size_t record; /* where the last one begins */
	struct mt_arena arena;
	struct mt_text_symbols symbols;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct dump));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct dump *dump = *state;

	mt_text_symbols_deinit(&dump->symbols);
	mt_arena_deinit(&dump->arena);
	free(dump);
	return 0;
}

static void put(struct dump *dump, const void *bytes, size_t size)
{
	assert_true(size <= sizeof(dump->bytes) - dump->size);
	memcpy(dump->bytes + dump->size, bytes, size);
	dump->size += size;
}

static void put32(struct dump *dump, uint32_t value)
{
	put(dump, &value, sizeof(value));
}

static void put64(struct dump *dump, uint64_t value)
{
	put(dump, &value, sizeof(value));
}

static void put_text(struct dump *dump, const char *text)
{
	put(dump, text, strlen(text) + 1);
}

static void begin_file(struct dump *dump)
{
	put32(dump, 0x4a695444);
	put32(dump, 1);
	put32(dump, 48); /* longer than today's */
	put32(dump, EM_X86_64);
	put32(dump, 0);
	put32(dump, 1234);
	put64(dump, 0);
	put64(dump, 0);
	put64(dump, 0xabcdef);
}

static void begin_record(struct dump *dump, uint32_t id)
{
	dump->record = dump->size;
	put32(dump, id);
	put32(dump, 0);
	put64(dump, 77);
}

static void end_record(struct dump *dump)
{
	uint32_t size = (uint32_t)(dump->size - dump->record);

	memcpy(dump->bytes + dump->record + 4, &size, sizeof(size));
}

static void load(struct dump *dump, uint64_t address, uint64_t size, uint64_t index,
		 const char *name)
{
	begin_record(dump, LOAD);
	put32(dump, 1234);
	put32(dump, 1234);
	put64(dump, address);
	put64(dump, address);
	put64(dump, size);
	put64(dump, index);
	put_text(dump, name);
	put(dump, "code", 4);
	end_record(dump);
}

static void move(struct dump *dump, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
	begin_record(dump, MOVE);
	put32(dump, 1234);
	put32(dump, 1234);
	put64(dump, to);
	put64(dump, from);
	put64(dump, to);
	put64(dump, size);
	put64(dump, index);
	end_record(dump);
}

struct line {
	uint64_t address;
	uint32_t line;
	const char *file;
};

static void lines(struct dump *dump, uint64_t address, const struct line *items, size_t count)
{
	begin_record(dump, DEBUG_INFO);
	put64(dump, address);
	put64(dump, count);
	for (size_t i = 0; i < count; i++) {
		put64(dump, items[i].address);
		put32(dump, items[i].line);
		put32(dump, 0);
		put_text(dump, items[i].file);
	}
	end_record(dump);
}

static const char *keep(void *context, const char *text)
{
	return mt_arena_text(context, text, strlen(text));
}

static void read_bytes(struct dump *dump, size_t size)
{
	const struct mt_text_store store = {keep, &dump->arena};
	FILE *file = fmemopen(dump->bytes, size, "r");

	assert_non_null(file);
	mt_text_symbols_deinit(&dump->symbols);
	assert_no_error(mt_jitdump_read(file, &store, &dump->symbols));
	fclose(file);
}

/* "": none. */
static const char *name_at(const struct dump *dump, uint64_t address)
{
	size_t behind = mt_text_symbols_search(&dump->symbols, address);

	return behind && address < dump->symbols.items[behind - 1].end
		   ? dump->symbols.items[behind - 1].name
		   : "";
}

static void assert_line(const struct dump *dump, uint64_t address, const char *file, uint32_t line)
{
	struct mt_source source;

	assert_true(mt_text_symbols_source_at(&dump->symbols, address, &source));
	assert_string_equal(source.file, file);
	assert_int_equal(source.line, line);
}

static void code_has_names(void **state)
{
	struct dump *dump = *state;

	begin_file(dump);
	load(dump, 0x1000, 0x100, 0, "one");
	load(dump, 0x2000, 0x100, 1, "two");
	load(dump, 0x1080, 0x100, 2, "in its place");
	load(dump, 0x3000, 0, 3, "empty");
	load(dump, UINT64_MAX, 0x100, 4, "wraps");
	load(dump, 0x4000, 0x100, 5, "");
	begin_record(dump, CLOSE);
	end_record(dump);
	read_bytes(dump, dump->size);
	assert_string_equal(name_at(dump, 0xfff), "");
	assert_string_equal(name_at(dump, 0x1000), "one");
	assert_string_equal(name_at(dump, 0x1080), "in its place");
	assert_string_equal(name_at(dump, 0x117f), "in its place");
	assert_string_equal(name_at(dump, 0x20ff), "two");
	assert_string_equal(name_at(dump, 0x2100), "");
	assert_int_equal(dump->symbols.count, 3);
}

static void code_moves_with_its_lines(void **state)
{
	struct dump *dump = *state;

	begin_file(dump);
	lines(dump, 0x1000, (struct line[]){{0x1008, 4, "a.js"}}, 1);
	load(dump, 0x1000, 0x100, 7, "wanders");
	move(dump, 0x1000, 0x5000, 0x100, 7);
	move(dump, 0x1000, 0x6000, 0x100, 7); /* where it is no more */
	move(dump, 0x5000, 0x7000, 0x100, 8); /* which was never loaded */
	read_bytes(dump, dump->size);
	assert_string_equal(name_at(dump, 0x5000), "wanders");
	assert_line(dump, 0x5010, "a.js", 4);
	assert_string_equal(name_at(dump, 0x6000), "");
	assert_string_equal(name_at(dump, 0x7000), "");
}

static void code_has_lines(void **state)
{
	struct dump *dump = *state;
	struct mt_source source;

	begin_file(dump);
	/* Out of order; the same file again. */
	lines(dump, 0x1000,
	      (struct line[]){{0x1004, 10, "a.js"}, {0x1020, 12, "\xff"}, {0x1010, 11, "b.js"}}, 3);
	load(dump, 0x1000, 0x30, 0, "one");
	load(dump, 0x2000, 0x30, 1, "without");
	lines(dump, 0x9000, (struct line[]){{0x9000, 1, "c.js"}}, 1);
	load(dump, 0x3000, 0x30, 2, "not meant");
	load(dump, 0x1018, 0x08, 3, "new");
	read_bytes(dump, dump->size);
	assert_false(mt_text_symbols_source_at(&dump->symbols, 0x1003, &source));
	assert_line(dump, 0x1004, "a.js", 10);
	assert_line(dump, 0x1017, "b.js", 11);
	assert_false(mt_text_symbols_source_at(&dump->symbols, 0x1018, &source));
	assert_false(mt_text_symbols_source_at(&dump->symbols, 0x1030, &source));
	assert_false(mt_text_symbols_source_at(&dump->symbols, 0x2000, &source));
	assert_false(mt_text_symbols_source_at(&dump->symbols, 0x3000, &source));
}

/* Of what is newer and lies in front, the rest keeps its own lines. */
static void lines_count_from_where_the_code_began(void **state)
{
	struct dump *dump = *state;

	begin_file(dump);
	load(dump, 0x1000, 0x10, 1, "old");
	lines(dump, 0x0ff0, (struct line[]){{0x0ff0, 1, "a.js"}, {0x1008, 2, "a.js"}}, 2);
	load(dump, 0x0ff0, 0x30, 0, "whole");
	read_bytes(dump, dump->size);
	assert_line(dump, 0x1007, "a.js", 1);
	assert_line(dump, 0x1008, "a.js", 2);
}

static void lines_of_v8_are_put_right(void **state)
{
	struct dump *dump = *state;

	begin_file(dump);
	lines(dump, 0x1000, (struct line[]){{0x1040, 1, "a.js"}, {0x1050, 2, "a.js"}}, 2);
	load(dump, 0x1000, 0x20, 0, "one");
	lines(dump, 0x2000, (struct line[]){{0x2060, 3, "a.js"}}, 1);
	load(dump, 0x2000, 0x80, 1, "two");
	read_bytes(dump, dump->size);
	assert_line(dump, 0x1000, "a.js", 1);
	assert_line(dump, 0x1010, "a.js", 2);
	assert_line(dump, 0x2020, "a.js", 3);
	/* Another compiler's, by one line that it cannot be V8's with. */
	lines(dump, 0x3000, (struct line[]){{0x3004, 5, "a.js"}}, 1);
	load(dump, 0x3000, 0x20, 2, "three");
	read_bytes(dump, dump->size);
	assert_line(dump, 0x3004, "a.js", 5);
	assert_line(dump, 0x2060, "a.js", 3);
}

static void other_files_have_nothing(void **state)
{
	struct dump *dump = *state;

	for (size_t at = 0; at < 16; at += 4) {
		if (at == 8)
			continue;
		dump->size = 0;
		begin_file(dump);
		load(dump, 0x1000, 0x100, 0, "one");
		dump->bytes[at] ^= 0x40;
		read_bytes(dump, dump->size);
		assert_int_equal(dump->symbols.count, 0);
	}
}

static void what_is_cut_off_ends_it(void **state)
{
	struct dump *dump = *state;
	size_t one, two;

	begin_file(dump);
	load(dump, 0x1000, 0x100, 0, "one");
	one = dump->size;
	lines(dump, 0x2000, (struct line[]){{0x2000, 1, "a.js"}, {0x2001, 2, "a.js"}}, 2);
	load(dump, 0x2000, 0x100, 1, "two");
	two = dump->size;
	for (size_t size = 1; size <= two; size++) {
		read_bytes(dump, size);
		assert_true(dump->symbols.count <= 2);
		if (size >= one)
			assert_string_equal(name_at(dump, 0x1000), "one");
	}
	assert_string_equal(name_at(dump, 0x2000), "two");
	/* A record that says that it is shorter than its own head. */
	memset(dump->bytes + one + 4, 0, 4);
	read_bytes(dump, two);
	assert_int_equal(dump->symbols.count, 1);
}

/* As V8 writes them for a script whose name it has let go. */
static void lines_of_garbled_files_are_none(void **state)
{
	struct dump *dump = *state;
	struct mt_source source;
	static const char name[] = "/tmp/a.js", with_zero[] = "1d\0x*\0\0y";

	begin_file(dump);
	for (int i = 0; i < 2; i++) {
		const uint64_t address = i ? 0x2000 : 0x1000;

		begin_record(dump, DEBUG_INFO);
		put64(dump, address);
		put64(dump, 2);
		for (uint32_t line = 0; line < 2; line++) {
			put64(dump, address + line);
			put32(dump, 1 + line);
			put32(dump, 0);
			put(dump, i ? name : with_zero, i ? sizeof(name) : sizeof(with_zero));
		}
		put(dump, "padding", 6);
		end_record(dump);
		load(dump, address, 0x10, (uint64_t)i, "code");
	}
	lines(dump, 0x3000, (struct line[]){{0x3000, 1, "a\nb.js"}}, 1);
	load(dump, 0x3000, 0x10, 2, "code");
	lines(dump, 0x4000, (struct line[]){{0x4000, 1, "a\xdc.js"}}, 1);
	load(dump, 0x4000, 0x10, 3, "code");
	lines(dump, 0x5000, (struct line[]){{0x5000, 1, "\xff"}}, 1);
	load(dump, 0x5000, 0x10, 4, "code");
	read_bytes(dump, dump->size);
	assert_int_equal(dump->symbols.count, 5);
	assert_line(dump, 0x2001, "/tmp/a.js", 2);
	assert_int_equal(dump->symbols.lines.count, 2);
	for (uint64_t address = 0x1000; address <= 0x5000; address += 0x1000)
		assert_int_equal(mt_text_symbols_source_at(&dump->symbols, address, &source),
				 address == 0x2000);
}

/* A record's name, or its lines, have no end in it. */
static void records_keep_within_their_size(void **state)
{
	struct dump *dump = *state;

	begin_file(dump);
	load(dump, 0x1000, 0x100, 0, "unended");
	uint32_t size = 16 + 40 + 3;
	memcpy(dump->bytes + dump->record + 4, &size, sizeof(size));
	dump->size = dump->record + size;
	begin_record(dump, DEBUG_INFO);
	put64(dump, 0x2000);
	put64(dump, UINT64_MAX);
	put64(dump, 0x2000);
	put32(dump, 9);
	put32(dump, 0);
	put_text(dump, "a.js");
	end_record(dump);
	load(dump, 0x2000, 0x100, UINT64_MAX, "two");
	read_bytes(dump, dump->size);
	assert_string_equal(name_at(dump, 0x1000), "");
	assert_string_equal(name_at(dump, 0x2000), "two");
	assert_int_equal(dump->symbols.lines.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(code_has_names),
	    TEST(code_moves_with_its_lines),
	    TEST(code_has_lines),
	    TEST(lines_count_from_where_the_code_began),
	    TEST(lines_of_v8_are_put_right),
	    TEST(other_files_have_nothing),
	    TEST(what_is_cut_off_ends_it),
	    TEST(lines_of_garbled_files_are_none),
	    TEST(records_keep_within_their_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
