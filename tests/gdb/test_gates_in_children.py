# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers that the program evaluates itself, in children that are followed and in several inferiors: as many hits as
the programs' own loops have."""
import re

import pytest

PROGRAM = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int work(int x) { __asm__ volatile(""); return x + 1; }
__attribute__((noinline)) int more(int x) { return work(x) * 2; }
__attribute__((noinline)) void pause_here(void) { __asm__ volatile(""); }

static int calls(int count)
{
	int sum = 0;
	for (int i = 0; i < count; i++)
		sum += more(i);
	return sum;
}

int main(int argc, char **argv)
{
	int sum = calls(50), status = 0;
	pause_here();
	pid_t child = fork();
	if (!child) {
		printf("child: %d\\n", calls(100));
		fflush(stdout);
		_exit(0);
	}
	sum += calls(30);
	if (argc == 1)
		waitpid(child, &status, 0);
	printf("parent: %d, %d\\n", sum, status);
	return 0;
}
"""
TRIGGERS = ["mtrace start", "set mtrace output /dev/null", "mtrace trigger work if x % 10 == 3",
            "mtrace trigger more return if $_ret == 8"]
WORK, MORE = "Trigger 1: work if x % 10 == 3: {} hits", "Trigger 2: more return if $_ret == 8: {} hits"


@pytest.fixture(name="forks")
def forks_fixture(compile, tmp_path):
    source = tmp_path / "forks.c"
    source.write_text(PROGRAM)
    return compile(source, "-O1")


@pytest.mark.parametrize("mode, work, more", [("parent", 8, 2), ("child", 15, 2)])
def test_a_child_that_is_followed(either, forks, mode, work, more):
    lines = either(forks, "lets-go", f"set follow-fork-mode {mode}", *TRIGGERS, "mtrace values more", "run",
                   "mtrace info", "mtrace history 1 more")
    assert WORK.format(work) in lines and MORE.format(more) in lines, lines
    assert f"{mode}: {3480 if mode == 'parent' else 10100}" in "\n".join(lines).replace(", 0", "")
    last = 29 if mode == "parent" else 99
    assert any(f"more(x={last})" in line for line in lines), lines


def test_both_are_kept(gdb, forks):
    """One after the other."""
    session = gdb(None, f"file {forks}", "set args lets-go", "set detach-on-fork off", *TRIGGERS, "run",
                  "echo first\\n", "mtrace info", "inferior 2", "continue", "echo second\\n", "mtrace info")
    first = session.between("first", "second")
    assert WORK.format(8) in first and MORE.format(2) in first
    second = session.between("second")
    assert WORK.format(18) in second and MORE.format(3) in second
    assert "parent: 3480, 0" in session.lines and "child: 10100" in session.lines


def test_two_inferiors(gdb, forks):
    """The program evaluates for the one that runs, while the other stands somewhere."""
    session = gdb(forks, *TRIGGERS, "break pause_here", "run", f"add-inferior -exec {forks}", "inferior 2",
                  "mtrace start", "run", "echo both\\n", "mtrace info", "continue", "inferior 1", "continue",
                  "echo done\\n", "mtrace info")
    both = session.between("both", "done")
    assert WORK.format(10) in both and MORE.format(2) in both, session.all
    done = session.between("done")
    assert WORK.format(16) in done and MORE.format(4) in done, session.all
    assert not re.search("evaluated by GDB|sees no calls", session.all)
    assert session.lines.count("parent: 3480, 0") == 2
