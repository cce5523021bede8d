/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How recorded values read. */
#include "unit.h"

#include "trace/recorded_values.h"

#include <string.h>

static void expect(const char *wanted, const struct mt_recorded_value *value, uint64_t bits)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_recorded_value_append(value, bits, &text);
	assert_string_equal(text.text, wanted);
}

static void each_form_has_its_text(void **state)
{
	static const struct {
		char form;
		uint64_t bits;
		const char *text;
	} cases[] = {
	    {MT_VALUE_SIGNED, (uint64_t)INT64_MIN, "-9223372036854775808"},
	    {MT_VALUE_UNSIGNED, UINT64_MAX, "18446744073709551615"},
	    {MT_VALUE_POINTER, 0, "0x0"},
	    {MT_VALUE_POINTER, UINT64_MAX, "0xffffffffffffffff"},
	    {MT_VALUE_BOOL, 0, "false"},
	    {MT_VALUE_BOOL, 1, "true"},
	    {MT_VALUE_BOOL, 7, "7"},
	    {MT_VALUE_CHAR, 'x', "120 'x'"},
	    {MT_VALUE_CHAR, '\'', "39 '\\''"},
	    {MT_VALUE_CHAR, '\n', "10"},
	    {MT_VALUE_CHAR, (uint64_t)-3, "-3"},
	    {MT_VALUE_FLOAT, 0x3fc00000, "1.5"},
	    {MT_VALUE_DOUBLE, 0xc002000000000000, "-2.25"},
	    {'?', 5, "5"}, /* of a later version */
	    {MT_VALUE_ENUM, 3, "3"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i].text,
		       &(struct mt_recorded_value){.form = cases[i].form, .name = ""},
		       cases[i].bits);
}

static void enumerators_have_names(void **state)
{
	static const char names[] = "RED\0"
				    "0\0BLUE\0"
				    "-2\0\0\0"; /* with padding */
	struct mt_recorded_value value = {.form = MT_VALUE_ENUM, .names = names};

	(void)state;
	value.names_bytes = sizeof(names);
	expect("RED", &value, 0);
	expect("BLUE", &value, (uint64_t)-2);
	expect("9", &value, 9);
	/* Cut off anywhere. */
	for (value.names_bytes = 0; value.names_bytes < 6; value.names_bytes++)
		expect("0", &value, 0);
	expect("9", &value, 9);
}

static void strings_begin_within_words(void **state)
{
	static const char bytes[48] = "XXXbutter\"\\\n\t\001\0rest";
	const struct mt_recorded_value value = {.form = MT_VALUE_STRING, .name = ""};
	mt_auto(mt_str) struct mt_str text = {0};
	uint64_t words[6];

	(void)state;
	memcpy(words, bytes, sizeof(words));
	mt_recorded_string_append(&value, 0x1003, words, MT_RECORDED_STRING_WORDS, &text);
	assert_string_equal(text.text, "\"butter\\\"\\\\\\n\\t\\001\"");
	mt_str_clear(&text);
	mt_recorded_string_append(&value, 0x1003, words, 1, &text);
	assert_string_equal(text.text, "\"butte\"...");
	mt_str_clear(&text);
	mt_recorded_string_append(&value, 0x1003, words, 0, &text);
	assert_string_equal(text.text, "0x1003");
	mt_str_clear(&text);
	memset(words, 'x', sizeof(words));
	mt_recorded_string_append(&value, 0x1007, words, MT_RECORDED_STRING_WORDS, &text);
	assert_string_equal(text.text, "\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"...");
}

static void expect_text(const char *wanted, uint64_t length, const uint64_t *words, size_t count)
{
	mt_auto(mt_str) struct mt_str text = {0};

	mt_recorded_text_append(length, words, count, &text);
	assert_string_equal(text.text, wanted);
}

/* 8 times their length, and the address modulo 8. */
static void texts_have_a_length(void **state)
{
	static const char bytes[48] = "XXXbutter\0rest";
	uint64_t words[6];

	(void)state;
	memcpy(words, bytes, sizeof(words));
	expect_text("\"butter\"", 6 * 8 + 3, words, 2);
	expect_text("\"butter\\000r\"", 8 * 8 + 3, words, 2);
	expect_text("\"butte\"...", 6 * 8 + 3, words, 1);
	expect_text("\"\"", 5, words, 0);
	expect_text("\"\"...", 8, words, 0);
	memset(words, 'x', sizeof(words));
	expect_text("\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"", 32 * 8 + 7, words,
		    MT_RECORDED_STRING_WORDS);
	expect_text("\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"...", 33 * 8 + 7, words,
		    MT_RECORDED_STRING_WORDS);
	expect_text("\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"...", UINT64_MAX, words,
		    MT_RECORDED_STRING_WORDS);
}

static void numbers_have_a_limit(void **state)
{
	struct mt_recorded_values values = {0};
	struct mt_recorded_value value = {.number = MT_RECORDED_VALUES_LIMIT, .name = "x"};

	(void)state;
	assert_no_error(mt_recorded_values_add(&values, &value));
	assert_null(mt_recorded_values_find(&values, MT_RECORDED_VALUES_LIMIT));
	assert_null(mt_recorded_values_find(NULL, 0));
	value.number = 5;
	assert_no_error(mt_recorded_values_add(&values, &value));
	assert_null(mt_recorded_values_find(&values, 4));
	assert_string_equal(mt_recorded_values_find(&values, 5)->name, "x");
	mt_recorded_values_deinit(&values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_form_has_its_text),     cmocka_unit_test(enumerators_have_names),
	    cmocka_unit_test(strings_begin_within_words), cmocka_unit_test(texts_have_a_length),
	    cmocka_unit_test(numbers_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
