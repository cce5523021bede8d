/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Patterns and texts with what Python says of them; tests/expr/test_regex.py asks it itself. */
#include "unit.h"

#include "base/str.h"
#include "expr/regex.h"

#include <string.h>

static void check(const char *pattern, const char *text, enum mt_regex_answer answer)
{
	mt_auto(mt_regex) struct mt_regex regex = {0};

	assert_no_error(mt_regex_compile(pattern, &regex));
	if (mt_regex_match(&regex, text) != answer)
		fail_msg("%s: %s", pattern, text);
}

static void matches_at_the_beginning(void **state)
{
	(void)state;
	check("h.l", "hello", MT_REGEX_YES);
	check("ell", "hello", MT_REGEX_NO);
	check(".*ell", "hello", MT_REGEX_YES);
	check(".*ell", "h\nello", MT_REGEX_NO);
	check("", "", MT_REGEX_YES);
	check("a|b|cd", "cd", MT_REGEX_YES);
	check("(ab){2,3}$", "ababab", MT_REGEX_YES);
	check("(ab){2,3}$", "abababab", MT_REGEX_NO);
	check("(?:a|b)*?c", "abac", MT_REGEX_YES);
	check("x{,2}y", "xxy", MT_REGEX_YES);
	check("x{y}", "x{y}", MT_REGEX_YES);
	check("[]^-]+$", "^]-", MT_REGEX_YES);
	check("[^a-c]", "b", MT_REGEX_NO);
	check("(a*)*b", "aaab", MT_REGEX_YES);
	check("\\x41\\102\\u0043\\.", "ABC.", MT_REGEX_YES);
	check("a\\0", "a", MT_REGEX_NO);
}

static void anchors_promise_the_end(void **state)
{
	(void)state;
	check("a$", "a\n", MT_REGEX_YES);
	check("a$", "a\n\n", MT_REGEX_NO);
	check("a$\\n", "a\n", MT_REGEX_YES);
	check("a$\\n$", "a\n", MT_REGEX_YES);
	check("a\\Z", "a\n", MT_REGEX_NO);
	check("a\\n\\Z", "a\n", MT_REGEX_YES);
	check("$a", "a", MT_REGEX_NO);
	check("(b*|$)^a", "a", MT_REGEX_YES);
	check("a^b", "ab", MT_REGEX_NO);
}

static void characters_may_have_several_bytes(void **state)
{
	(void)state;
	check("^.$", "\u20ac", MT_REGEX_YES);
	check("^.{2}$", "\u20ac", MT_REGEX_NO);
	check("\u00e9+x", "\u00e9\u00e9x", MT_REGEX_YES);
	check("[a\u00e9\u20ac]+$", "\u20aca\u00e9", MT_REGEX_YES);
	check("[a\u00e9]", "\u00e8", MT_REGEX_NO);
	check("[^a]b", "\u00e9b", MT_REGEX_YES);
	check("\\u00e9", "\u00e9", MT_REGEX_YES);
	check("\\w+ ", "a1_ ", MT_REGEX_YES);
	check("\\w+ ", "a\u00e9 ", MT_REGEX_UNDECIDED);
	check("a\\W", "ab\u00e9", MT_REGEX_NO);
	check("[^\\s]", "\u00e9", MT_REGEX_UNDECIDED);
	check(".\\d", "\u00e91", MT_REGEX_YES);
}

static void has_flags(void **state)
{
	(void)state;
	check("(?i)hE[l-m]*O$", "HellO", MT_REGEX_YES);
	check("(?i)[^a]", "A", MT_REGEX_NO);
	check("(?i)k[s]$", "\u212a\u017f", MT_REGEX_YES);
	check("(?ai)k", "\u212a", MT_REGEX_NO);
	check("(?i)i+$", "iI\u0130\u0131", MT_REGEX_YES);
	check("(?s)a.b", "a\nb", MT_REGEX_YES);
	check("(?a)(?s)\\w", "\u00e9", MT_REGEX_NO);
	check("(?a)\\W\\D[\\S]$", "\u00e9\u00e9\u00e9", MT_REGEX_YES);
	check("(?a)[^\\W]", "\u00e9", MT_REGEX_NO);
	check("(?a)[^\\w]", "\u00e9", MT_REGEX_YES);
}

static void refuse(const char *pattern, enum mt_error_code code, const char *why)
{
	mt_auto(mt_regex) struct mt_regex regex = {0};

	assert_error(mt_regex_compile(pattern, &regex), code, why);
}

static void says_what_is_wrong(void **state)
{
	(void)state;
	refuse("(a", MT_ERROR_USAGE, "missing ), unterminated subpattern");
	refuse("a)", MT_ERROR_USAGE, "unbalanced parenthesis");
	refuse("[a", MT_ERROR_USAGE, "unterminated character set");
	refuse("[]", MT_ERROR_USAGE, "unterminated character set");
	refuse("[b-a]", MT_ERROR_USAGE, "bad character range");
	refuse("[\\d-a]", MT_ERROR_USAGE, "bad character range");
	refuse("*", MT_ERROR_USAGE, "nothing to repeat");
	refuse("^*", MT_ERROR_USAGE, "nothing to repeat");
	refuse("a**", MT_ERROR_USAGE, "multiple repeat");
	refuse("a{3,2}", MT_ERROR_USAGE, "min repeat greater than max repeat");
	refuse("\\q", MT_ERROR_USAGE, "bad escape \\q");
	refuse("a\\", MT_ERROR_USAGE, "bad escape (end of pattern)");
	refuse("\\x4", MT_ERROR_USAGE, "incomplete escape \\x");
	refuse("\\777", MT_ERROR_USAGE, "outside of range 0-0o377");
	refuse("\xc3", MT_ERROR_USAGE, "not valid UTF-8");
	refuse("\xc0\xaf", MT_ERROR_USAGE, "not valid UTF-8");
	refuse("(a)\\1", MT_ERROR_UNSUPPORTED, "references to groups");
	refuse("(?=a)", MT_ERROR_UNSUPPORTED, "groups that begin with (?=");
	refuse("(?m)a", MT_ERROR_UNSUPPORTED, "groups that begin with (?m");
	refuse("a(?i)", MT_ERROR_UNSUPPORTED, "groups that begin with (?i");
	refuse("(?i)\u00e9", MT_ERROR_UNSUPPORTED, "with the flag i");
	refuse("\\bx", MT_ERROR_UNSUPPORTED, "\\b is not supported");
	refuse("a*+", MT_ERROR_UNSUPPORTED, "possessive");
	refuse("[\u00e0-\u00ff]", MT_ERROR_UNSUPPORTED, "ranges of characters outside ASCII");
	refuse("[^\u00e9]", MT_ERROR_UNSUPPORTED, "with characters outside ASCII");
}

static void is_bounded(void **state)
{
	mt_auto(mt_str) struct mt_str deep = {0};

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		mt_str_append(&deep, "(");
	refuse(deep.text, MT_ERROR_UNSUPPORTED, "too large");
	refuse("a{99999999999999999999}", MT_ERROR_UNSUPPORTED, "too large");
	refuse("((((a{9}){9}){9}){9}){9}", MT_ERROR_UNSUPPORTED, "too large");
	refuse("(?:a|b)*a(?:a|b){12}c", MT_ERROR_UNSUPPORTED, "more than 256 states");
	check("(?:a|b)*a(?:a|b){5}c", "bababbbbbc", MT_REGEX_YES);
	check("(?:a{0}){5}b", "b", MT_REGEX_YES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(matches_at_the_beginning),
	    cmocka_unit_test(anchors_promise_the_end),
	    cmocka_unit_test(characters_may_have_several_bytes),
	    cmocka_unit_test(has_flags),
	    cmocka_unit_test(says_what_is_wrong),
	    cmocka_unit_test(is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
