/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "unit.h"

#include "output/utf8.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(good_text_stays),
	    cmocka_unit_test(bad_bytes_are_replaced),
	    cmocka_unit_test(long_text_is_cut_between_characters),
	    cmocka_unit_test(columns_are_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
