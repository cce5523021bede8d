# SPDX-License-Identifier: GPL-3.0-or-later
"""Watchpoints: the same scripts, given to GDB and to mtdb's prompt."""
import subprocess

import pytest

from tests.cli.same import same, words_of

MOVES = "break moves\nrun\n"
# Locations that move with what leads to them.
PLACES = [
    ("", MOVES + "watch list[at]\n" + "c\n" * 5 + "info watchpoints\n"),
    ("", MOVES + "watch head->value\nwatch head->next\ninfo watchpoints\n" + "c\n" * 7),
    ("", MOVES + "watch -l head->value\nwatch -location *head->next\nwatch *(int *)&flags\ninfo watchpoints\n"
         + "c\n" * 7),
    ("", MOVES + "set var list[1] = 10\nset var list[0] = 10\nwatch list[at]\n" + "c\n" * 4),
    ("", MOVES + "watch at + flags\nc\nc\nc\nwatch &list[at]\nwatch &at\ndelete\n"),
    ("", MOVES + "watch *(int *)0\nc\nc\nwatch ((struct node *)0)->value\n"),
    ("", MOVES + "delete\nwatch head->value\n" + "c\n" * 6 + "info watchpoints\n"),
]
# What GDB does with them besides.
WAYS = [
    ("", MOVES + "watch list[2] if at > 1\nwatch flags if flags & 4\ninfo watchpoints\nc\nc\nc\n"),
    ("", MOVES + "awatch list[2]\nc\nc\nc\nc\n"),
    ("", MOVES + "rwatch head\n" + "c\n" * 4),
    ("", MOVES + "rwatch at\nawatch at\nwatch at\nc\nc\nc\n"),
    ("", MOVES + "watch at\nbreak 54\nbreak 55\nc\nc\ninfo breakpoints\nc\n"),
    ("", MOVES + "watch at\nc\nrun\nc\nc\nkill\ninfo watchpoints\n"),
    ("", "watch at\nwatch list[2]\ninfo watchpoints\nrun\nc\nc\n"),
    ("", MOVES + "watch at\nwatch head\nwatch flags\nwatch ratio\nwatch shared\nc\ninfo watchpoints\n"),
    ("", MOVES + "watch at thread 1\nwatch flags if flags == 5 thread 1\nwatch flags thread 9\ninfo watchpoints\nc\nc\n"
         "info breakpoints 177\ninfo watchpoints 177\ninfo watchpoints x\n"),
    ("", MOVES + "watch shared\n" + "c\n" * 6 + "info watchpoints\nc\n"),
    ("", "watch 1\nwatch 1 + 2\n" + MOVES + "watch 5\nwatch -l 5\nwatch\nwatch nothing\nwatch at +\nrwatch\nrwatch 1\n"
         "watch -l\nwatch -locationx at\nwatch -l at + 1\nwatch at if nothing\nwatch depth_of\n"),
    ("", "watch $rip\nwatch -l $rip\n"),
]
# Locals, whose frames end.
FRAMES = [
    ("", "break depth_of if n == 1\nrun\nwatch depth\n" + "c\n" * 5),
    ("", "break depth_of if n == 0\nrun\nup\nwatch depth\nfinish\nbt\n" + "c\n" * 5),
    ("", "break depth_of if n == 0\nrun\nwatch depth\nwatch n\nwatch shared\n" + "c\n" * 5 + "info watchpoints\n"),
    ("", "break depth_of if n == 0\nrun\nwatch depth\nwatch shared\nrun\ninfo watchpoints\nkill\ninfo watchpoints\n"),
    ("", "break main\nrun\nwatch argc\nwatch thread\nc\nc\nc\n"),
    ("", "break other\nrun\nwatch i\nc\nc\nc\nc\nc\nc\n"),
]
# By looking behind each instruction.
STEPS = [
    ("", "break in_register\nrun\nnext\nwatch sum\nc\nc\nc\nc\ninfo watchpoints\n"),
    ("", "break in_register\nrun\nwatch $rax\nc\nc\ninfo watchpoints\nrwatch $rax\nawatch sum\n"),
    ("", MOVES + "watch wide\nc\nc\ninfo watchpoints\nrwatch wide\n"),
    ("", MOVES + "set can-use-hw-watchpoints 0\nshow can-use-hw-watchpoints\nwatch at\nrwatch at\nawatch at\nc\nc\n"
         "set can-use-hw-watchpoints 1\nwatch list[1]\ninfo watchpoints\n"),
    ("", MOVES + "set can-use-hw-watchpoints 0\nwatch flags\n" + "next\n" * 11 + "break 71\nc\nc\nfinish\n"
         "set can-use-hw-watchpoints 1\n"),
]
# In a debugger of their own each, where numbers begin anew.
NUMBERED = [
    ("", MOVES + "watch flags\ncondition 2 flags & 4\nc\nc\ninfo watchpoints\ndelete\nrwatch flags\n"
         "info watchpoints\n"),
    ("", MOVES + "watch at\nignore 2 1\nc\nc\ninfo watchpoints\ndelete 2\ninfo watchpoints\n"),
    ("", MOVES + "watch at\ndisable 2\nnext\nnext\nnext\nenable 2\nc\n"),
    ("", MOVES + "watch at\nset var at = 1\nc\nwatch list[2]\ndisable 3\nset var list[2] = 3\nenable 3\nc\nc\n"),
    ("", MOVES + "awatch at\nawatch head\nawatch flags\nawatch ratio\nawatch shared\nc\ndelete 6\nc\n"),
    ("", "break depth_of\nrun\nwatch depth if n == 1\ncondition 2 nothing\ncondition 2 n == 2\nc\nc\nc\nc\nc\n"),
]


@pytest.fixture(scope="module")
def program(compile):
    return compile("debug_watch.c", "-O0", "-pthread")


@pytest.mark.usefixtures("debug_registers")
@pytest.mark.parametrize("scripts", [PLACES + WAYS, FRAMES + STEPS, *([one] for one in NUMBERED)])
def test_same(need, mtdb, program, scripts):
    lines = same(need("gdb"), mtdb, [*words_of(scripts), program])
    assert any(line.startswith("New value = ") for line in lines)


def test_who_changed_it(mtdb, program):
    """With each instruction looked behind, GDB names the wrong thread now and then."""
    words = ["set can-use-hw-watchpoints 0", "break other", "run", "watch shared", "delete 1", *["continue"] * 6]
    done = subprocess.run([mtdb, "-batch", *[word for line in words for word in ("-ex", line)], program],
                          capture_output=True, text=True, timeout=300, check=True)
    lines = done.stdout.splitlines()
    hits = [line.split()[1] for line in lines if "hit Watchpoint 2: shared" in line]
    assert hits == ["2"] * 3 + ["3"] * 3
    assert [line for line in lines if line.startswith("New value")] == [f"New value = {n}" for n in (1, 2, 3, 5, 7, 9)]
