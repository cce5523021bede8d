# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever stops at a function, its calls stay in the recording: as many as the program counts itself, in GDB and at
mtdb's prompt.  Triggers have their hits beside it."""
import re

import pytest

SOURCE = """
#include <stdio.h>

static volatile long own, watched;

__attribute__((noinline)) long leaf(long n) { own++; return n * 3; }
__attribute__((noinline)) long visit(long n)
{
	long sum = leaf(n);
	if (n % 10 == 0)
		watched++;
	return sum + leaf(n + 1);
}
__attribute__((noinline)) long outer(long n) { return visit(n) + 1; }

int main(void)
{
	long sum = 0;
	for (long i = 0; i < 40; i++)
		sum += outer(i);
	printf("%ld, own: %ld\\n", sum, own);
	return 0;
}
"""
LINE = 1 + [line == "	if (n % 10 == 0)" for line in SOURCE.splitlines()].index(True)
# Before the triggers, so that their numbers are known, and after.
WAYS = {
    "break": (["break visit"], ["run", "continue", "continue 5", "delete 1", "continue"]),
    "condition": (["break visit if n % 10 == 7"], ["run", "continue", "delete 1", "continue"]),
    "two": (["break visit", "break leaf"], ["run", "continue 9", "continue", "continue", "delete 1 2", "continue"]),
    "tbreak": (["tbreak visit"], ["run", "tbreak leaf", "continue", "continue"]),
    "hbreak": (["tbreak main"], ["run", "thbreak visit", "continue", "thbreak leaf", "continue", "continue"]),
    "line": ([f"break calls.c:{LINE}"], ["run", "continue 7", "delete 1", "continue"]),
    "finish": (["break leaf"], ["run", "finish", "finish", "delete 1", "continue"]),
    "until": (["break visit"], ["run", "until leaf", "advance outer", "delete 1", "continue"]),
    "next": (["break visit"], ["run", "next", "next", "nexti", "delete 1", "continue"]),
    "watch": (["tbreak main"], ["run", "watch -location watched", *["continue"] * 5]),
    "ignored": (["break visit", "ignore 1 12"], ["run", "delete 1", "continue"]),
    "main": (["break main"], ["run", "continue"]),
}
TRIGGERS = {
    "none": ([], {}),
    "entry": (["mtrace trigger visit if n % 10 == 3"], {"visit if n % 10 == 3": 4}),
    "return": (["mtrace trigger leaf return if $_ret % 30 == 0"], {"leaf return if $_ret % 30 == 0": 8}),
    "both": (["mtrace trigger visit if n > 35", "mtrace trigger leaf if n % 10 == 9"],
             {"visit if n > 35": 4, "leaf if n % 10 == 9": 8}),
}


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("triggers", TRIGGERS)
@pytest.mark.parametrize("way", WAYS)
def test_calls_stay(either, compile, tmp_path, way, triggers, level):
    source = tmp_path / "calls.c"
    source.write_text(SOURCE)
    words, hits = TRIGGERS[triggers]
    first, then = WAYS[way]
    lines = either(compile(source, level), "", "mtrace start -size 16M", "set mtrace output /dev/null", *first, *words,
                   *then, "mtrace snapshot all.txt", "mtrace info")
    assert "4840, own: 80" in lines, lines
    for what, count in hits.items():
        assert f"Trigger {list(hits).index(what) + 1}: {what}: {count} hits" in lines, lines
    text = (tmp_path / "all.txt").read_text()
    counts = {name: len(re.findall(rf"^ .*?(?:open|s) +{name}\b", text, re.M)) for name in ("outer", "visit", "leaf")}
    assert counts == {"outer": 40, "visit": 40, "leaf": 80}, text
