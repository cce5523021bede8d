/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/str.h"

#include "unit.h"

static void test_appends(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_append(&text, "one");
	mt_str_append_bytes(&text, " two three", 4);
	mt_str_append_bytes(&text, NULL, 0);
	mt_str_appendf(&text, " %d-%s", 3, "four");
	assert_string_equal(text.text, "one two 3-four");
	assert_int_equal(text.length, strlen("one two 3-four"));
	assert_false(text.failed);
}

static void test_clear_keeps_the_storage(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_clear(&text);
	assert_null(text.text);
	mt_str_append(&text, "something");
	char *storage = text.text;
	mt_str_clear(&text);
	assert_string_equal(text.text, "");
	mt_str_append(&text, "else");
	assert_ptr_equal(text.text, storage);
	assert_string_equal(text.text, "else");
}

static void test_without_memory_it_stays_failed(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str text = {0};

	mt_str_append(&text, "before");
	mt_str_append_bytes(&text, "", SIZE_MAX / 2);
	assert_true(text.failed);
	mt_str_append(&text, "after");
	assert_string_equal(text.text, "before");
}

static void test_long_texts_are_whole(void **state)
{
	(void)state;
	mt_auto(mt_str) struct mt_str text = {0};

	for (int i = 0; i < 5000; i++)
		mt_str_appendf(&text, "%04d", i);
	assert_int_equal(text.length, 20000);
	assert_memory_equal(text.text + 4 * 4321, "4321", 4);
}

static void test_sizes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint64_t size;
	} good[] = {
	    {"0", 0},           {"4096", 4096},     {"64k", 64 << 10},   {"16M", 16 << 20},
	    {"1G", 1ull << 30}, {"2T", 2ull << 40}, {"16MiB", 16 << 20}, {"16MB", 16 << 20},
	    {"12B", 12},        {"1g", 1ull << 30}, {"16mib", 16 << 20},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		uint64_t size = 1;
		assert_no_error(mt_parse_size(good[i].text, &size));
		assert_int_equal(size, good[i].size);
	}
}

static void test_bad_sizes(void **state)
{
	(void)state;
	static const char *const bad[] = {"",     "k",   "-1",   " 1",  "+1",  "1x", "1kk",
					  "1.5M", "1 M", "0x10", "1Mi", "1iB", "M16"};
	uint64_t size = 77;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_error(mt_parse_size(bad[i], &size), MT_ERROR_USAGE, "is not a size");
	assert_error(mt_parse_size("99999999999999999999", &size), MT_ERROR_USAGE, "too large");
	assert_error(mt_parse_size("99999999999T", &size), MT_ERROR_USAGE, "too large");
	assert_int_equal(size, 77);
}

static void test_durations(void **state)
{
	static const char *const bad[] = {"",       "2",    "s",     "0s",  "-1s", "2 s",
					  "2sec",   "1.5",  ".s",    "1.s", ".5s", "1..5s",
					  "1.5.5s", "0.0s", "0.1ns", "1,5s"};
	uint64_t ns = 0;

	(void)state;
	assert_no_error(mt_parse_duration("500ms", &ns));
	assert_int_equal(ns, 500000000);
	assert_no_error(mt_parse_duration("2s", &ns));
	assert_int_equal(ns, 2000000000);
	assert_no_error(mt_parse_duration("1m", &ns));
	assert_int_equal(ns, 60000000000);
	assert_no_error(mt_parse_duration("3h", &ns));
	assert_int_equal(ns, 3 * 3600000000000);
	assert_no_error(mt_parse_duration("0.1s", &ns));
	assert_int_equal(ns, 100000000);
	assert_no_error(mt_parse_duration("1.5ms", &ns));
	assert_int_equal(ns, 1500000);
	assert_no_error(mt_parse_duration("0.25h", &ns));
	assert_int_equal(ns, 900000000000);
	assert_no_error(mt_parse_duration("2.0000000000000000000000001s", &ns));
	assert_int_equal(ns, 2000000000);
	assert_no_error(mt_parse_duration("20µs", &ns));
	assert_int_equal(ns, 20000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_error(mt_parse_duration(bad[i], &ns), MT_ERROR_USAGE, "is not a time");
	assert_error(mt_parse_duration("99999999999999999999h", &ns), MT_ERROR_USAGE, "too long");
	assert_error(mt_parse_duration("99999999h", &ns), MT_ERROR_USAGE, "too long");
}

static void test_numbers(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "-3", "3x", " 3", "2", "11", "99999999999999999999"};
	uint64_t value = 0;

	assert_no_error(mt_parse_number("3", "count", 3, 10, &value));
	assert_int_equal(value, 3);
	assert_no_error(mt_parse_number("10", "count", 3, 10, &value));
	assert_int_equal(value, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_error(mt_parse_number(bad[i], "count", 3, 10, &value), MT_ERROR_USAGE,
			     "is not a valid count; expected a whole number from 3 to 10");
	assert_int_equal(value, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_appends),
	    cmocka_unit_test(test_clear_keeps_the_storage),
	    cmocka_unit_test(test_without_memory_it_stays_failed),
	    cmocka_unit_test(test_long_texts_are_whole),
	    cmocka_unit_test(test_sizes),
	    cmocka_unit_test(test_durations),
	    cmocka_unit_test(test_bad_sizes),
	    cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
