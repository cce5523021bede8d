/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How triggers are written that are about the time between places. */
#include "unit.h"

#include "session/spec/span.h"
#include "session/spec/trigger.h"

#include <string.h>

static void places_are_split_where_two_dots_stand_between_them(void **state)
{
	static const struct {
		const char *text, *end;
	} cases[] = {
	    {"begin..end", "end"},
	    {"begin .. end", " end"},
	    {"begin", NULL},
	    {".", NULL},
	    {"printf(const char*, ...)", NULL},
	    {"printf(const char*, ...)..end", "end"},
	    {"../a.c:12", NULL},
	    {"../a.c:12..end", "end"},
	    {"../../src/a.c:12..../a.c:13", "../a.c:13"},
	    {"'a..b'", NULL},
	    {"'a..b'..\"c..d\"", "\"c..d\""},
	    {"Ring<(A)1..2>::push", NULL},
	    {"Ring<int, List<a> >::push..Ring<int>::pop", "Ring<int>::pop"},
	    {"f(int)..g(int)", "g(int)"},
	    {"f[1..2]", NULL},
	    {"a::operator<..b", "b"},
	    {"a::operator<<..b::operator>>", "b::operator>>"},
	    {"a::operator-><int>()..b", "b"},
	    {"a::operator<=>..b", "b"},
	    {"<impl A<..>>::f..g", "g"},
	    {"f(..g", "g"},
	    {"*0x1234..*0x5678", "*0x5678"},
	    {"f...g", NULL},
	    {"f..", ""},
	    {"..f", "f"},
	    {"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *end = mt_trigger_split(cases[i].text, strlen(cases[i].text));

		if (!cases[i].end != !end || (end && strcmp(end, cases[i].end) != 0))
			fail_msg("%s: %s", cases[i].text, end ? end : "no end");
	}
}

static void one_way_of_writing_says_the_same_as_another(void **state)
{
	static const struct {
		const char *text, *is;
	} cases[] = {
	    {"a..b > 5ms", "a..b > 5ms"},
	    {"a .. b  > 5ms  if n > 3 ", "a..b > 5ms if n > 3"},
	    {"a..b if n > 3 > 5ms", "a..b > 5ms if n > 3"},
	    {"-slower 5ms a..b", "a..b > 5ms"},
	    {"-ignore 3 a..b if $_duration > 7 > 5us", "a..b > 5us if $_duration > 7"},
	    {"a after 1500us", "a after 1500us"},
	    {"-print $_duration a after 1500us", "a after 1500us"},
	    {"-between 2s a if n", "a after 2s if n"},
	    {"f(int) after 10ms if x == 3", "f(int) after 10ms if x == 3"},
	    {"after after 10ms", "after after 10ms"},
	    {"after 10ms", "after 10ms"}, /* a place, which is nowhere */
	    {"f > 5ms if n == 3", "f if n == 3 > 5ms"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		mt_auto(mt_str) struct mt_str text = {0};
		struct mt_trigger_spec spec;

		assert_no_error(mt_trigger_spec_parse(cases[i].text, false, &spec));
		mt_trigger_spec_describe(&spec, &text);
		assert_string_equal(text.text, cases[i].is);
		mt_trigger_spec_deinit(&spec);
	}
}

static void what_means_nothing_is_refused(void **state)
{
	static const char *const cases[] = {
	    "a..b",
	    "a..",
	    "..b > 5ms",
	    "a..b..c > 5ms",
	    "a..a > 5ms",
	    "a..b > 5",
	    "a..b > 0ms",
	    "a..b return > 5ms",
	    "-return a..b > 5ms",
	    "a..b after 5ms",
	    "-between 5ms a..b > 5ms",
	    "a after 5ms > 3ms",
	    "-slower 3ms a after 5ms",
	    "a return after 5ms",
	    "a after 5",
	    "-between a",
	    "a..b > 5ms if $_ret == 3",
	    "-print $_ret a..b > 5ms",
	    "a > 5ms if $_duration > 3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct mt_trigger_spec spec;
		struct mt_error *error = mt_trigger_spec_parse(cases[i], false, &spec);

		if (!error)
			fail_msg("%s is taken", cases[i]);
		mt_error_destroy(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(places_are_split_where_two_dots_stand_between_them),
	    cmocka_unit_test(one_way_of_writing_says_the_same_as_another),
	    cmocka_unit_test(what_means_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
