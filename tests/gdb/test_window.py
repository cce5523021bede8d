# SPDX-License-Identifier: GPL-3.0-or-later
"""The history as a list: in GDB's TUI, and at its prompt."""
import re

import pytest

from terminal import Screen

pexpect = pytest.importorskip("pexpect", reason="no pexpect here (package python3-pexpect)")

PROGRAM = """
volatile int *nowhere;
__attribute__((noinline)) int leaf(int x) { return x + 1; }
__attribute__((noinline)) int branch(int x) { return leaf(x) + leaf(x + 1); }
__attribute__((noinline)) int fault(int x) { *nowhere = x; return x; }
int main()
{
	int total = 0;
	for (int i = 0; i < 40; i++)
		total += branch(i);
	return fault(total);
}
"""
FAULT_IS_CALLED = "return fault(total);"
UP, DOWN, PAGE_UP, RIGHT, LEFT = "\x1bOA", "\x1bOB", "\x1b[5~", "\x1bOC", "\x1bOD"


@pytest.fixture(name="program")
def compiled(compile, tmp_path):
    source = tmp_path / "window.c"
    source.write_text(PROGRAM)
    return compile(source, "-O0")


@pytest.mark.parametrize("rows, columns", [(24, 80), (50, 200)])
def test_window(terminal, program, rows, columns):
    screen = Screen(terminal(program, dimensions=(rows, columns)), rows, columns, frame=1)
    screen.wait("(gdb)")
    screen.say("mtrace start", "will be recorded")
    screen.say("run", "SIGSEGV are in")
    screen.say("layout mtrace", lambda: "*** SIGSEGV" in screen.selected)
    screen.say("mtrace window caller", lambda: " fault" in screen.selected)
    screen.say("mtrace window show", lambda: screen.text.count(FAULT_IS_CALLED) == 2)
    screen.say("mtrace w search branch", lambda: " branch" in screen.selected)
    before = screen.place
    screen.say("mtrace w prev", lambda: " branch" in screen.selected and screen.place != before)
    screen.say("mtrace w fold", lambda: screen.selected.startswith(">+"))
    screen.say("mtrace w fold", lambda: screen.selected.startswith("> "))
    screen.say("mtrace w callee", lambda: " leaf" in screen.selected)
    screen.say("focus mtrace", "Focus set to mtrace")
    screen.child.send(UP)
    screen.wait(lambda: " branch" in screen.selected)
    screen.child.send(DOWN)
    screen.wait(lambda: " leaf" in screen.selected)
    before = screen.selected.partition(" leaf")[0]
    screen.child.send(RIGHT * 3)
    screen.wait(lambda: screen.selected and not screen.selected.startswith(before + " leaf"))
    screen.child.send(LEFT * 3)
    screen.wait(lambda: screen.selected.startswith(before + " leaf"))
    before = screen.place
    screen.child.send(PAGE_UP * 3)
    screen.wait(lambda: screen.selected and screen.place != before)
    rows, columns = rows + 6, columns - 10
    screen.resize(rows, columns)
    screen.say("echo resized\\n", lambda: screen.selected)
    screen.say("mtrace start", "is already being recorded")
    screen.say("kill", "killed]")
    screen.child.send("quit\r")
    screen.child.expect(pexpect.EOF)
    screen.child.close()
    assert screen.child.exitstatus == 0


def test_window_follows_stops(terminal, program):
    screen = Screen(terminal(program, dimensions=(40, 120)), 40, 120, frame=1)
    screen.wait("(gdb)")
    screen.say("mtrace start", "will be recorded")
    screen.say("layout mtrace", "nothing was recorded yet")
    screen.say("break branch", "Breakpoint 1 at")
    screen.say("run", lambda: " branch" in screen.selected or " main" in screen.selected)
    first = screen.selected
    screen.say("continue", lambda: screen.selected and screen.selected != first)
    screen.say("layout src", lambda: not screen.selected)
    screen.say("delete", "(gdb) delete")
    screen.say("layout mtrace", lambda: screen.selected)
    screen.say("tui disable", "(gdb)")
    screen.child.send("quit\r")
    screen.child.expect(pexpect.EOF)
    screen.child.close()
    assert screen.child.exitstatus == 0


def test_at_the_prompt(gdb, program):
    session = gdb(program, "mtrace start", "run", "echo =\\n", "mtrace window caller", "echo ==\\n",
                  "mtrace window show", "echo ===\\n", "mtrace context 3", "echo ====\\n",
                  "mtrace context")
    lines = session.between("=", "==")
    assert len(lines) == 11
    selected, = [line for line in lines if line.startswith(">")]
    assert re.search(r" fault\(x=\d+\) +window\.c:11$", selected)
    assert FAULT_IS_CALLED in "\n".join(session.between("==", "==="))
    context = session.between("===", "====")
    assert len(context) == 2 and re.search(r" leaf +\S*  \*\*\* SIGSEGV|\*\*\* SIGSEGV", context[0] + context[1])
    assert len(session.between("====")) == 5


@pytest.mark.parametrize("command, message", [
    ("mtrace window c", "ambiguous: caller or callee"),
    ("mtrace window sideways", 'does not know "sideways"'),
    ("mtrace window search nosuch", "no recorded call has a name like that"),
    ("mtrace window search", "requires a word"),
    ("mtrace window up 0", "number of lines"),
    ("mtrace window fold x", '"x" is one word too many'),
    ("mtrace window thread", "no calls of another thread"),
    ("mtrace window callee", "made no calls that were recorded"),
    ("mtrace context x", "number of calls"),
])
def test_bad_words(gdb, program, command, message):
    assert message in gdb(program, "mtrace start", "run", command).errors


def test_nothing_recorded(gdb, program):
    session = gdb(program, "mtrace window", "mtrace context")
    assert session.errors.count("nothing was recorded yet") == 2


def test_idle_there_is_no_layout(gdb, program):
    """GDB's own list of layouts is what it is without us, until recording is asked for."""
    assert gdb(program, "help layout").output == gdb(program, "help layout", loaded=False).output
    assert "layout mtrace" in gdb(program, "mtrace start", "help layout").output
