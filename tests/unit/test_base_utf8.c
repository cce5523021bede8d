/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "base/utf8.h"

#define BAD "\xef\xbf\xbd"

static void check(const char *text, size_t limit, const char *wanted)
{
	mt_auto(mt_str) struct mt_str out = {0};

	mt_str_append(&out, ""); /* so that there is a text */
	mt_utf8_append(&out, text, limit);
	assert_string_equal(out.text, wanted);
	assert_false(out.failed);
}

static void good_text_stays(void **state)
{
	(void)state;
	check("", 100, "");
	check("main", 100, "main");
	check("\x7f é € \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf", 100,
	      "\x7f é € \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf");
}

static void bad_bytes_are_replaced(void **state)
{
	(void)state;
	check("a\xff"
	      "b",
	      100, "a" BAD "b");
	check("\x80\xbf", 100, BAD BAD);
	check("\xc0\xaf", 100, BAD BAD);                 /* overlong */
	check("\xe0\x80\x80", 100, BAD BAD BAD);         /* overlong */
	check("\xed\xa0\x80", 100, BAD BAD BAD);         /* a surrogate */
	check("\xf4\x90\x80\x80", 100, BAD BAD BAD BAD); /* above U+10FFFF */
	check("\xf5\x80\x80\x80 \xfe", 100, BAD BAD BAD BAD " " BAD);
	check("\xe2\x82", 100, BAD BAD); /* ends too early */
	check("\xe2\x82x\xc3", 100, BAD BAD "x" BAD);
}

static void long_text_is_cut_between_characters(void **state)
{
	(void)state;
	check("abcdef", 3, "abc");
	check("abcdef", 0, "");
	check("ab€", 5, "ab€");
	check("ab€", 4, "ab");
	check("ab€", 3, "ab");
	check("ab\xff", 5, "ab" BAD);
	check("ab\xff", 4, "ab");
	check("\xff\xff\xff", 7, BAD BAD);
}

static void columns_are_characters(void **state)
{
	(void)state;
	assert_int_equal(mt_utf8_columns("", 0), 0);
	assert_int_equal(mt_utf8_columns("abc", 2), 2);
	assert_int_equal(mt_utf8_columns("1 µs", strlen("1 µs")), 4);
	assert_int_equal(mt_utf8_columns("…", strlen("…")), 1);
}

static void check_shown(const char *text, const char *shown)
{
	mt_auto(mt_str) struct mt_str out = {0};

	mt_str_append(&out, "<");
	mt_utf8_append_shown(&out, text, 100);
	assert_string_equal(out.text + 1, shown);
	assert_int_equal(out.length, strlen(shown) + 1);
}

/* What would speak to a terminal, or turn the order of a line. */
static void what_speaks_to_a_terminal_is_not_shown(void **state)
{
	(void)state;
	check_shown("", "");
	check_shown("price \u00b5\u20ac\U0001f600", "price \u00b5\u20ac\U0001f600");
	check_shown("\x1b[31mred\n\x7f", "?[31mred??");
	check_shown("a\xc2\x9b"
		    "31m\xc2\x80\xc2\xa0",
		    "a?31m?\xc2\xa0");
	check_shown("\u202eevil\u202c \u2066x\u2069\u200f\u061c\u2028", "?evil? ?x????");
	check_shown("\x9b\xff", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void check_lines(const char *text, const char *shown)
{
	mt_auto(mt_str) struct mt_str out = {0};

	mt_utf8_appendf_lines(&out, "%s%d", text, 1);
	assert_int_equal(out.text[--out.length], '1');
	out.text[out.length] = '\0';
	assert_string_equal(out.text, shown);
}

static void lines_stay(void **state)
{
	(void)state;
	check_lines("", "");
	check_lines("a\n\tb ~\n", "a\n\tb ~\n");
	check_lines("a\n\tb\r\x1b[m\v\n", "a\n\tb??[m?\n");
	check_lines("\u00b5\n\u202e\t\x9b", "\u00b5\n?\t\xef\xbf\xbd");
}

static void check_columns(const char *text, size_t first, size_t columns, const char *expected)
{
	mt_auto(mt_str) struct mt_str out = {0};

	mt_utf8_append_columns(&out, text, first, columns);
	assert_string_equal(out.text ? out.text : "", expected);
}

static void columns_are_cut_out(void **state)
{
	(void)state;
	check_columns("1 \u00b5s\nx", 0, SIZE_MAX, "1 \u00b5s");
	check_columns("1 \u00b5s", 2, 1, "\u00b5");
	check_columns("1 \u00b5s", 9, 9, "");
	check_columns("1 \u00b5s", SIZE_MAX, SIZE_MAX, "");
	check_columns("\u4e00\u0301\u00ad\u202e\x1b\t", 0, 80, "??????"); /* wide, or none */
	check_columns("a\x80\xe2\x82", 0, 80, "a???");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_text_stays),
	    cmocka_unit_test(bad_bytes_are_replaced),
	    cmocka_unit_test(long_text_is_cut_between_characters),
	    cmocka_unit_test(columns_are_characters),
	    cmocka_unit_test(columns_are_cut_out),
	    cmocka_unit_test(lines_stay),
	    cmocka_unit_test(what_speaks_to_a_terminal_is_not_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
