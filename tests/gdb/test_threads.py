# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots at triggers are taken while the other threads run on."""
import re


def test_rings_of_running_threads_are_whole(gdb, compile):
    """A torn event would show as a call of the wrong function, or at the wrong depth."""
    program = compile("debugged_threads.c", "-O1", "-pthread")
    session = gdb(program, "set mtrace buffer-size 64k", "set mtrace output x%n.txt",
                  "handle SIGUSR1 nostop noprint pass", "mtrace start",
                  "mtrace trigger -max 5 round_of if x % 100 == 7", "tbreak round_of if x == 993",
                  "run", "python import os; os.kill(gdb.selected_inferior().pid, 10)", "delete",
                  "continue")
    assert "5 of 5 sums are right" in session.lines
    assert "Snapshots: 5" in session.lines or (gdb.directory / "x5.txt").exists()
    parents = {"leaf": {"branch", "tree", "leaping"}, "branch": {"tree"},
               "leap": {"leap", "leaping"}}
    seen = 0
    for number in range(1, 6):
        stack = []
        for line in (gdb.directory / f"x{number}.txt").read_text().splitlines():
            match = re.match(r"(\s*~?-?[0-9.]+ \S+ +(?:open|~?[0-9.]+ \S+|) +)(\w+)\b(.*)", line)
            if not match or "***" in line or " tail call" in line:
                continue
            depth = (len(match[1]) - 29) // 2
            del stack[depth:]
            if stack and len(stack) == depth and match[2] in parents:
                seen += 1
                assert stack[-1] in parents[match[2]], line
            stack += [None] * (depth - len(stack)) + [match[2]]
    assert seen > 100


def test_the_current_thread_alone(gdb, compile):
    """Before run the first one; later the one that is selected, and none that comes after."""
    program = compile("debugged_threads.c", "-O1", "-pthread")
    quiet = "handle SIGUSR1 nostop noprint pass"
    session = gdb(program, quiet, "mtrace start -threads current", "tbreak leaping", "run",
                  "mtrace snapshot first.txt", "python first = gdb.selected_inferior().pid",
                  "python chosen = gdb.selected_thread().ptid[1]", "mtrace stop",
                  "mtrace start -threads current", "tbreak leaping", "continue",
                  "mtrace snapshot chosen.txt", "python print('threads', first, chosen)", "kill")
    first, chosen = [line.split()[1:] for line in session.lines if line.startswith("threads")][0]
    for name, thread in (("first", first), ("chosen", chosen)):
        text = (gdb.directory / f"{name}.txt").read_text()
        assert re.findall(r"^Thread (\d+)", text, re.M) == [thread], session.all
