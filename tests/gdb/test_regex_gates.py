# SPDX-License-Identifier: GPL-3.0-or-later
"""$_regex in conditions that the program evaluates: as often as Python says, and GDB's own breakpoint."""
import json
import re

import pytest

WORDS = ["GET /index.html", "GET /a/b?x=1", "POST /form", "PUT /x", "get /", "", "GET", "HEAD /größe", "GET /größe\n",
         "DELETE /1234567890", "OPTIONS *", " GET /"] + [f"GET /item/{number}" for number in range(40)]
PATTERNS = [r"GET /", r"(GET|POST) /[a-z]*$", r".*[0-9]{2}$", r"[^ ]* /[^/]*/\\d+", r".*\\u00f6..$",
            r"GET /item/1?[02468]\\Z", r"\\s*GET", r"(?i)get", r"(?as)HEAD /gr\\W\\u00df\\w"]

UTF_8 = "set target-charset UTF-8"  # whatever the locale; mtdb knows no other


@pytest.fixture(name="program")
def program_fixture(compile, tmp_path):
    source = tmp_path / "words.c"
    words = ",".join(json.dumps(word, ensure_ascii=False) for word in WORDS)
    functions = "\n".join(f"__attribute__((noipa)) void handle{number}(const char *request) {{ sink += {number} "
                          "+ request[0]; }" for number in range(len(PATTERNS)))
    calls = ", ".join(f"handle{number}(words[i])" for number in range(len(PATTERNS)))
    source.write_text(f"""
static volatile int sink;
static const char *const words[] = {{{words}}};
{functions}
int main(void)
{{
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		{calls};
	return 0;
}}
""")
    return compile(source, "-O1")


def wanted(pattern):
    return len([word for word in WORDS if re.match(pattern.replace("\\\\", "\\"), word)])


def test_hits_are_pythons(either, program):
    triggers = [f'handle{number} if $_regex(request, "{pattern}")' for number, pattern in enumerate(PATTERNS)]
    lines = either(program, "", UTF_8, "mtrace start", *[f"mtrace trigger {trigger}" for trigger in triggers], "run",
                   "mtrace info")
    for number, pattern in enumerate(PATTERNS):
        hits = wanted(pattern)
        assert hits
        assert f"Trigger {number + 1}: {triggers[number]}: {hits} hit{'' if hits == 1 else 's'}" in lines, \
            "\n".join(lines)
    assert "evaluated by" not in "\n".join(lines)


def test_hits_are_those_of_gdbs_breakpoint(gdb, program):
    for pattern in PATTERNS[1:4]:
        said = gdb(program, UTF_8, f'break handle0 if $_regex(request, "{pattern}")', "ignore 1 1000", "run",
                   "info breakpoints").all
        assert f"already hit {wanted(pattern)} time" in said, said


def test_what_is_not_known_here(either, program):
    """GDB evaluates it, and mtdb says that it cannot."""
    lines = either(program, "", UTF_8, "mtrace start", 'mtrace trigger handle0 if $_regex(request, "(?m)GET")', "run",
                   "mtrace info")
    trigger = 'Trigger 1: handle0 if $_regex(request, "(?m)GET")'
    why = "$_regex: groups that begin with (?m are not supported"
    if f"  evaluated by GDB, about 200 us a call: {why}" in lines:
        assert f"{trigger}: {wanted('(?m)GET')} hits" in lines
    else:
        assert f"  evaluated by mtdb, about 100 us a call: {why}" in lines
        assert f"  could not be evaluated {len(WORDS)} times: {why}" in lines and f"{trigger}: 0 hits" in lines


def test_characters_that_are_not_known(either, program):
    lines = either(program, "", UTF_8, "mtrace start", r'mtrace trigger handle0 if $_regex(request, "HEAD /\\w+$")', "run",
                   "mtrace info")
    assert r'Trigger 1: handle0 if $_regex(request, "HEAD /\\w+$"): 0 hits' in lines, "\n".join(lines)
    assert r"  could not be evaluated 1 time: $_regex: whether \w, \d or \s fits a character outside ASCII is not known; " \
        "with (?a) in front of the pattern, it does not" in lines
