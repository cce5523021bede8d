# SPDX-License-Identifier: GPL-3.0-or-later
"""$_streq, $_memeq, $_strlen and $_regex in conditions of triggers: hits equal the program's own count, nothing
is read behind a string, and GDB has the same hits by its own evaluation."""
import json
import re
import string

import pytest

SOURCE = """
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct item { const char *name; char kind[4]; unsigned char raw[8]; };

static volatile int sink;
static long own;

__attribute__((noipa)) int visit(const char *text, struct item *item, int n)
{
	sink = n;
	return text != NULL;
}

int main(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct item item = {"tea", {'f', 'u', 'l', 'l'}, "raw"};
	char text[40] = "";

	munmap(memory + page, page);
	for (int i = 0; i < 300; i++) {
		const char *word = i % 3 == 0 ? "tea" : i % 3 == 1 ? "teapot" : "te";
		char *at = memory + page - strlen(word) - 1; /* the NUL is the page's last byte */

		strcpy(at, word);
		own += strcmp(at, "tea") == 0;
		visit(at, &item, i);
	}
	memcpy(memory + page - 3, "tea", 3); /* without a NUL */
	visit(memory + page - 3, &item, 300);
	visit(NULL, NULL, 301);
	visit((const char *)16, (struct item *)&sink, 302);
	for (int i = 0; i < 30; i++) { /* over the end of a page */
		memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		strcpy(memory + page - i, "a rather long string of words");
		visit(memory + page - i, &item, 400);
	}
	snprintf(text, sizeof(text), "%s", "\\xff\\xfe");
	visit(text, &item, 500);
	visit("\\xc3\\xa9t\\xc3\\xa9", &item, 600);
	printf("own count: %ld\\n", own);
	return 0;
}
"""

CASES = [
    ('$_streq(text, "tea")', 100, 3),
    ('$_streq("tea", text) && n < 1000', 100, 3),
    ('n < 300 && !$_streq(text, "tea")', 200, 0),
    ('$_streq(text, "a rather long string of words")', 30, 2),
    ('$_memeq(text, "tea", 3)', 201, 2),
    ('n < 300 && $_memeq(text, "te", 3)', 100, 0),
    ('n == 1 && $_streq(item->name, "tea")', 1, 0),
    ('n == 1 && $_streq(item->kind, "full")', 1, 0),
    ('n == 1 && $_streq(item->kind, "fuller")', 0, 0),
    ('n == 1 && $_streq(item->raw, "raw")', 1, 0),
    ('n == 1 && ($_streq(item->name, "x") ? 0 : $_streq(item->kind, "full") + 1) == 2', 1, 0),
    ('n == 500 && $_memeq(text, "\\377\\376", 3)', 1, 0),
    ('n == 2 && $_streq(text, "")', 0, 0),
    ('$_strlen(text) == 6', 100, 3),
    ('n < 300 && $_strlen(text) * 2 + $_strlen("é") < 6', 100, 0),
    ('n == 1 && $_strlen(item->kind) == 4 && $_strlen(item->raw) == 3', 1, 0),
    ('n == 400 && $_strlen(text) == 29', 30, 0),
    ('$_streq(text, item->name) && n < 1000', 100, 3),
    ('n < 300 && !$_streq(item->name, text)', 200, 0),
    ('n == 1 && $_streq(item->kind, item->kind) && !$_streq(item->raw, item->kind)', 1, 0),
    ('n == 1 && $_streq(item->kind, "full") + $_streq(item->name, item->name) == 2', 1, 0),
    ('$_memeq(text, item->name, 3)', 201, 2),
    ('n == 301 && $_memeq(text, item, 0)', 1, 0),
    ('n == 1 && $_memeq(item->kind, &item->kind[0], 4)', 1, 0),
    ('$_regex(text, "tea")', 201, 2),
    ('$_regex(text, "tea$")', 100, 3),
    ('n < 300 && $_regex(text, "t(e|ea).*t\\\\Z")', 100, 0),
    ('n < 300 && !$_regex(text, "te[a-z]*t")', 200, 0),
    ('$_regex(text, "(a|the) (rather|very) .*[^o]rds$")', 0, 2),
    ('$_regex(text, "(a|the) (rather|very) .*wo[^o]ds$")', 30, 2),
    ('n == 1 && $_regex(item->kind, "fu{1,2}l*$") && $_regex(item->raw, "[q-s]aw")', 1, 0),
    ('n == 1 && $_regex(item->name, "x|tea") + $_regex(item->kind, "x") == 1', 1, 0),
    ('n == 500 && $_regex(text, ".|\\\\w")', 0, 0),
    ('n == 600 && $_regex(text, "^.t[é€]$")', 1, 0),
    ('n == 600 && $_regex(text, "")', 1, 0),
]


@pytest.fixture(name="program", params=["-O0", "-O2"])
def program_fixture(compile, tmp_path, request):
    source = tmp_path / "strings.c"
    source.write_text(SOURCE)
    return compile(source, request.param)


@pytest.mark.parametrize("condition, hits, failed", CASES)
def test_in_the_program(run_mtdb, program, tmp_path, condition, hits, failed):
    done = run_mtdb("run", "--engine", "calls", "--size", "64k", "--modules", "strings*",
                    "-t", f"visit if {condition}", "-o", tmp_path / "x.json", program)
    assert done.stdout == "own count: 100\n"
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert len([event for event in events
                if event["ph"] == "i" and event["name"] == "trigger"]) == hits, done.stderr
    assert "evaluated by mtdb" not in done.stderr
    told = re.search(r"could not be evaluated (\d+) times: Cannot access", done.stderr)
    assert int(told.group(1) if told else 0) == failed, done.stderr


def test_characters_that_are_not_known(run_mtdb, program, tmp_path):
    done = run_mtdb("run", "--engine", "calls", "--modules", "strings*", "-t",
                    'visit if n == 600 && $_regex(text, "\\\\w")', "-o", tmp_path / "x.json", program)
    assert "could not be evaluated 1 times: $_regex: whether \\w, \\d or \\s fits a character outside" in done.stderr


@pytest.mark.parametrize("condition, why, hits", [
    ('n == 2 && $_regex("tea", "t")', "$_regex is compiled with a literal as its pattern", 1),
    ('n == 3 && $_regex(text, item->name)', "$_regex is compiled with a literal as its pattern", 1),
    ('n == 3 && $_regex(text, "%s|tea")' % (string.ascii_lowercase * 7),
     "$_regex is compiled with patterns of up to 4096 transitions", 1),
    ('n == 3 && $_streq("tea", "tea")', "$_streq is not compiled with two literals", 1),
    ('n == 6 && $_memeq(text, item->name, n - 3)', "$_memeq is compiled with one literal", 1),
    ('n == 3 && !$_streq(text, "%s")' % ("x" * 64), "$_streq is compiled with literals of up to 63 bytes", 1),
])
def test_evaluated_by_mtdb(run_mtdb, program, tmp_path, condition, why, hits):
    done = run_mtdb("run", "--engine", "calls", "--modules", "strings*", "-t",
                    f"visit if {condition}", "-o", tmp_path / "x.json", program)
    assert f"evaluated by mtdb, which takes about 100 us a call: {why}" in done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert len([event for event in events
                if event["ph"] == "i" and event["name"] == "trigger"]) == hits


@pytest.mark.parametrize("condition, message", [
    ('$_streq(text)', "$_streq requires 2 arguments."),
    ('$_memeq(text, "a")', "$_memeq requires 3 arguments."),
    ('$_streq(n, "a")', "Trying to read string with inappropriate type `int'."),
    ('$_regex(text)', "$_regex requires 2 arguments."),
    ('$_regex(n, "a")', "Trying to read string with inappropriate type `int'."),
    ('$_regex(text, 1)', "Trying to read string with inappropriate type `int'."),
    ('$_regex(text, "(a")', "$_regex: missing ), unterminated subpattern"),
    ('n && $_regex(text, "a") && $_regex(text, "(?=a)")', "$_regex: groups that begin with (?= are not supported"),
    ('n == $_gthread', "$_gthread is known to a debugger alone."),
    ('n == visit(text, item, n)', "Functions of the program are not called."),
    ('$_streq(nosuch, "a")', 'No symbol "nosuch" in current context.'),
])
def test_what_means_nothing(run_mtdb, program, tmp_path, condition, message):
    done = run_mtdb("run", "-t", f"visit if {condition}", "-o", tmp_path / "x.json", program)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr
