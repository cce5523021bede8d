/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/fuzzy.h"

#include "unit.h"

static void fits_letters_in_their_order(void **state)
{
	(void)state;
	assert_int_not_equal(mt_fuzzy_score("parse_line", "pl"), MT_FUZZY_NONE);
	assert_int_not_equal(mt_fuzzy_score("parse_line", "parse_line"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("parse_line", "lp"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("parse_line", "parse_lines"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("", "x"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("anything", ""), 0);
	assert_int_equal(mt_fuzzy_score("anything", "  "), 0);
}

static void wants_every_word_in_any_order(void **state)
{
	(void)state;
	assert_int_not_equal(mt_fuzzy_score("shop::price(int)", "price shop"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("shop::price(int)", "price stop"), MT_FUZZY_NONE);
}

static void minds_capitals_where_they_are_typed(void **state)
{
	(void)state;
	assert_int_not_equal(mt_fuzzy_score("ParseLine", "parseline"), MT_FUZZY_NONE);
	assert_int_not_equal(mt_fuzzy_score("ParseLine", "PL"), MT_FUZZY_NONE);
	assert_int_equal(mt_fuzzy_score("parseline", "PL"), MT_FUZZY_NONE);
}

static void assert_better(const char *query, const char *better, const char *worse)
{
	if (mt_fuzzy_score(better, query) <= mt_fuzzy_score(worse, query))
		fail_msg("\"%s\": %s (%d) is not before %s (%d)", query, better,
			 mt_fuzzy_score(better, query), worse, mt_fuzzy_score(worse, query));
}

static void ranks_as_people_would(void **state)
{
	(void)state;
	assert_better("main", "main", "domain");
	assert_better("pl", "parse_line", "people");
	assert_better("pl", "ParseLine", "people");
	assert_better("free", "xmalloc_free", "find_related_element");
	assert_better("foo", "fobar::foo", "f_o_xo");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fits_letters_in_their_order),
	    cmocka_unit_test(wants_every_word_in_any_order),
	    cmocka_unit_test(minds_capitals_where_they_are_typed),
	    cmocka_unit_test(ranks_as_people_would),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
