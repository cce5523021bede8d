# SPDX-License-Identifier: GPL-3.0-or-later
"""A function at whose first instructions the debugger has breakpoints is recorded all the same, in
GDB and at mtdb's prompt."""
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
    "within": (["break *visit+3 if $rdi == 50"], ["continue"] * 4),
    "within, for once": (["tbreak *visit+3"], ["continue"]),
    "within, taken away": (["break *visit+3"], ["delete 1", "continue"]),
    "at main": (["break main"], ["continue"]),
}
# With breakpoints in the text at stops, a thread that has just been let over one when another one's
# stops the program is told of again: four stops, and seldom five.
WHILE_THERE = ("python [gdb.execute('continue') for _ in range(12) "
               "if gdb.selected_frame().name() == 'visit']")
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
    breaks, after = BREAKS[which]
    if which == "sometimes true" and "always-inserted" in setting:
        after = [WHILE_THERE]
    session = gdb(broken, *([setting] if setting else []), *commands(breaks, after, out))
    assert f"sum {SUM}" in session.lines, session.all
    assert "exited normally" in session.output
    assert counts(out) == (1, CALLS), session.all


@pytest.mark.parametrize("which", BREAKS)
def test_at_the_prompt(mtdb, broken, tmp_path, which):
    out = tmp_path / "calls.json"
    done = subprocess.run([mtdb, broken], input="\n".join(commands(*BREAKS[which], out)) + "\n",
                          text=True, capture_output=True, cwd=tmp_path, timeout=120, check=False)
    assert re.search(rf"^sum {SUM}$", done.stdout, re.M), done.stdout + done.stderr
    assert counts(out) == (1, CALLS), done.stdout + done.stderr


WITHOUT_LOCALS = """
static int n;
void leaf(void) { n++; }
void visit(void) {
	leaf();
	leaf();
}
int main(void) { for (int i = 0; i < 100; i++) visit(); return n != 200; }
"""
NESTED = ["main"] + ["visit", "leaf", "leaf"] * 2 + ["visit"]


@pytest.fixture(name="short", params=[[], ["-fcf-protection"]], ids=["", "endbr64"])
def short_program(compile, tmp_path, request):
    """GDB's breakpoint comes four bytes behind where visit is patched."""
    source = tmp_path / "short.c"
    source.write_text(WITHOUT_LOCALS)
    return compile(source, "-O0", *request.param)


def names_in(lines):
    names = (line.split("open" if " open " in line else "s  ")[-1] for line in lines)
    return [name.split()[0] for name in names if re.match(r" *(main|visit|leaf)\b", name)]


def test_behind_a_prologue(gdb, short):
    session = gdb(short, "mtrace start", "break visit", "run", "continue", "continue", "echo rows\\n",
                  "mtrace history 9", "echo ours\\n", "info breakpoints",
                  "python print(len(gdb.breakpoints()))", "delete", "continue")
    assert names_in(session.between("rows", "ours"))[-8:] == NESTED
    assert session.between("ours")[-3:-1] == ["	breakpoint already hit 3 times", "1"]
    assert "exited normally" in session.output


def test_behind_a_prologue_at_the_prompt(mtdb, short, tmp_path):
    done = subprocess.run([mtdb, short], text=True, capture_output=True, cwd=tmp_path, timeout=120,
                          input="mtrace start\nbreak visit\nrun\ncontinue\ncontinue\n"
                                "mtrace history 9\ndelete\ncontinue\n", check=False)
    assert names_in(done.stdout.splitlines())[-8:] == NESTED, done.stdout
    assert "exited normally" in done.stdout


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
