# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work tells how far it is, and Ctrl-C ends it: not GDB, nor the program, nor the recording."""
import re

import pytest

from gdb_terminal import PROMPT, say


def interrupt(child, command, progress, may_be_short=False):
    """Type Ctrl-C as soon as the command says how far it is; what GDB said then.  None: it was done
    before it said anything."""
    child.sendline(command)
    child.expect_exact(command)
    awaited = [re.escape(f"[mtrace: {progress}: ")] + [PROMPT] * may_be_short
    if child.expect(awaited):
        return None
    child.sendintr()
    child.expect(PROMPT)
    return child.before


def test_looking_back(terminal, compile, tmp_path):
    """All that decodes or copies a large ring, and then once more to its end."""
    child = terminal(compile("debugged_long.c", "-O1"))
    child.expect(PROMPT)
    for command in ("mtrace start -size 512M", "break done", "run"):
        say(child, command)
    for command, progress in (("mtrace save x.perf", "copying the rings"),
                              ("mtrace snapshot x.fxt", "decoding"),
                              ("mtrace history 100000000 square", "decoding")):
        said = interrupt(child, command, progress, may_be_short=command.startswith("mtrace save"))
        if said is None:
            (tmp_path / "x.perf").unlink()
            continue
        assert "Quit" in said and "Traceback" not in said
        assert "main" in say(child, "bt") and "jmp" not in say(child, "x/4i square")
    assert "Snapshots: 0" in say(child, "mtrace info")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("x.")]
    said = interrupt(child, "python mtrace.snapshot('x.fxt')", "decoding")
    assert "KeyboardInterrupt" in said
    assert "square" in say(child, "mtrace history 3")
    assert "Recording saved to x.perf." in say(child, "mtrace save x.perf")
    assert "exited normally" in say(child, "continue")


@pytest.mark.soak
def test_the_end_of_a_program(terminal, compile, tmp_path):
    """The timeline that is written by itself; what it is made of stays."""
    child = terminal(compile("debugged_long.c", "-O1"))
    child.expect(PROMPT)
    for command in ("set mtrace on-exit on", "mtrace start -size 512M"):
        say(child, command)
    said = interrupt(child, "run", "decoding")
    assert "mtrace: decoding: interrupted" in said
    assert not list(tmp_path.glob("trace*"))
    assert " square " in say(child, "mtrace history 3 square")


def test_planning_at_a_programs_start(terminal, need):
    """GDB itself has 100,000 functions and their returns.  The signal goes to the program."""
    child = terminal(need("gdb"))
    child.expect(PROMPT)
    say(child, "mtrace start")
    said = interrupt(child, "run --version", "planning the files")
    assert "received signal SIGINT" in said
    assert re.search(r'is no longer being recorded, since planning was interrupted', said)
    assert "Nothing is being recorded" in say(child, "mtrace info")
    assert "Recording the calls of process" in say(child, "mtrace start")
    assert "exited normally" in say(child, "continue")
    assert " exit" in say(child, "mtrace history 3")


@pytest.mark.soak
def test_planning_for_a_program_that_runs(terminal, need):
    child = terminal(need("gdb"))
    child.expect(PROMPT)
    for command in ("catch syscall write", "run --version", "delete"):
        say(child, command)
    before = say(child, "x/8i $pc")
    assert "Quit" in interrupt(child, "mtrace start", "planning the files")
    assert "Nothing is being recorded" in say(child, "mtrace info")
    assert say(child, "x/8i $pc") == before
    assert "Recording the calls of process" in say(child, "mtrace start")
    assert "exited normally" in say(child, "continue")
