# SPDX-License-Identifier: GPL-3.0-or-later
"""Recording was asked for, and GDB loads, reloads and adds files of symbols, in every state of a
program: it is not asked for what only a process has."""
import re
import shutil

import pytest


def make(compile, tmp_path):
    """Two programs, the first a file of its own that can be changed."""
    first = tmp_path / "program"
    shutil.copy(compile("deep.c", "-O0"), first)
    return first, compile("debugged_watch.c", "-O0")


STATES = {
    "none": (["mtrace start"], []),
    "exited": (["mtrace start"], ["run fault", "kill"]),
    "live": (["mtrace start"], ["break a", "run fault"]),
    "second": (["mtrace start"], ["break a", "run fault", "add-inferior", "inferior 2",
                                  "mtrace start"]),
}


@pytest.mark.parametrize("state", STATES)
def test_files(gdb, compile, tmp_path, state):
    first, second = make(compile, tmp_path)
    before, reached = STATES[state]
    session = gdb(None, *before, f"file {first}", *reached, f"add-symbol-file {second} 0x10000",
                  f"file {second}", "nosharedlibrary", "sharedlibrary", "symbol-file", "file",
                  f"file {second}", "delete", "run", "mtrace history 3 leaf", "echo DONE\\n")
    assert "DONE" in session.lines and "0 87" in session.lines, session.all
    assert re.search(r" leaf\b", session.output)


def test_a_program_that_was_built_anew(gdb, compile, tmp_path):
    first, second = make(compile, tmp_path)
    session = gdb(first, "mtrace start", "break a", "run fault",
                  f"shell cp {second} {tmp_path}/new; touch -d tomorrow {tmp_path}/new; "
                  f"mv {tmp_path}/new {first}", "delete", "run", "mtrace history 3 leaf")
    assert "0 87" in session.lines and re.search(r" leaf\b", session.output), session.all


def test_a_core_file(gdb, compile, tmp_path):
    first, second = make(compile, tmp_path)
    gdb(first, "run fault", f"generate-core-file {tmp_path}/x.core", loaded=False)
    session = gdb(first, "mtrace start", f"core-file {tmp_path}/x.core",
                  f"add-symbol-file {second} 0x10000", "bt", "core-file", f"file {second}", "run",
                  "mtrace history 3 leaf")
    assert "0 87" in session.lines and re.search(r" leaf\b", session.output), session.all
