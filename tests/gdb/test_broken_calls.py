# SPDX-License-Identifier: GPL-3.0-or-later
"""A function at whose first instruction the debugger has a breakpoint is recorded all the same,
in GDB and at mtdb's prompt."""
import collections
import json
import re
import subprocess

import pytest

CALLS = 400
SUM = 4 * 3 * sum(range(100))
BREAKS = {
    "always false": (["break visit if n > 1000"], []),
    "sometimes true": (["break visit if n == 50"], ["continue"] * 4),
    "ignored": (["break visit", "ignore 1 1000"], []),
    "taken away": (["break visit"], ["delete 1", "continue"]),
    "for once": (["tbreak visit"], ["continue"]),
    "another within": (["break *visit+3 if $rdi > 1000", "break visit if n > 1000"], []),
    "at main": (["break main"], ["continue"]),
}
# The text is right again behind each stop, and at the end.
SETTINGS = [""] + [pytest.param(setting, marks=pytest.mark.long) for setting in
                   ("set breakpoint always-inserted on", "set displaced-stepping on")]


@pytest.fixture(name="broken", scope="session")
def broken_program(compile):
    return compile("gdb_broken.c", "-O2", "-pthread")


def counts(path):
    names = collections.Counter()
    for event in json.loads(path.read_text())["traceEvents"]:
        if event["ph"] == "B" and not event["args"].get("inferred"):
            names[event["name"]] += 1
    return names["main"], names["visit"]


def commands(breaks, after, out):
    return ["mtrace start", *breaks, "break done", "run", *after, f"mtrace snapshot {out}",
            "delete", "continue"]


@pytest.mark.parametrize("which", BREAKS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_in_gdb(gdb, broken, tmp_path, which, setting):
    out = tmp_path / "calls.json"
    session = gdb(broken, *([setting] if setting else []), *commands(*BREAKS[which], out))
    assert f"sum {SUM}" in session.lines, session.all
    assert "exited normally" in session.output
    # GDB's own breakpoint within the bytes of a jump takes that out.
    expected = 0 if which == "another within" else CALLS
    assert counts(out) == (1, expected), session.all


@pytest.mark.parametrize("which", BREAKS)
def test_at_the_prompt(mtdb, broken, tmp_path, which):
    out = tmp_path / "calls.json"
    done = subprocess.run([mtdb, broken], input="\n".join(commands(*BREAKS[which], out)) + "\n",
                          text=True, capture_output=True, cwd=tmp_path, timeout=120, check=False)
    assert re.search(rf"^sum {SUM}$", done.stdout, re.M), done.stdout + done.stderr
    expected = 0 if which == "another within" else CALLS
    assert counts(out) == (1, expected), done.stdout + done.stderr


FORKS = """
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) int visit(int n) { return n * 3; }
__attribute__((noipa)) static int sum(int k) { int all = 0; for (int i = 0; i < 100; i++) all += visit(i + k); return all; }
int main(void)
{
	int all = sum(1), status, children = 0;

	for (int i = 0; i < 5; i++) {
		pid_t child = fork();

		if (!child)
			_exit(sum(2) == 15450 ? 7 : 1);
		waitpid(child, &status, 0);
		children += status == 7 << 8;
		all += sum(3);
	}
	printf("%d, %d children\\n", all, children);
	return 0;
}
"""


@pytest.mark.parametrize("setting", SETTINGS)
def test_children_of_it(gdb, compile, tmp_path, setting):
    """A child has neither the breakpoints nor the patches; its parent keeps both."""
    source = tmp_path / "forks.c"
    source.write_text(FORKS)
    session = gdb(compile(source, "-O2"), *([setting] if setting else []), "mtrace start",
                  "break visit if n > 1000", "run")
    assert "93900, 5 children" in session.lines, session.all


def test_children_of_it_at_the_prompt(mtdb, compile, tmp_path):
    source = tmp_path / "forks.c"
    source.write_text(FORKS)
    done = subprocess.run([mtdb, compile(source, "-O2")], text=True, capture_output=True,
                          input="mtrace start\nbreak visit if n > 1000\nrun\n", cwd=tmp_path,
                          timeout=120, check=False)
    assert "93900, 5 children" in done.stdout, done.stdout + done.stderr
