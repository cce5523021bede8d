# SPDX-License-Identifier: GPL-3.0-or-later
"""Stops at any moment: every thread's backtrace is whole, and the program's sums are right."""
import pathlib
import re

import pytest

SCRIPT = pathlib.Path(__file__).with_name("interrupts.py")


def check_storm(gdb, program, count, timeout):
    session = gdb(program, "set pagination off", "handle SIGUSR1 nostop noprint pass",
                  "mtrace start", "tbreak branch", "run",
                  f"python import os; os.environ['COUNT'] = '{count}'", f"source {SCRIPT}",
                   "python os.kill(gdb.selected_inferior().pid, 10)", "continue",
                  timeout=timeout)
    stacks, lost = map(int, re.search(r"(\d+) stacks, (\d+) lost", session.all).groups())
    assert stacks >= count and lost == 0, session.all[-3000:]
    assert "5 of 5 sums are right" in session.lines
    assert "exited normally" in session.output


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_stops_at_any_moment(gdb, compile, level):
    check_storm(gdb, compile("debugged_threads.c", level, "-pthread"), 100, 300)


@pytest.mark.soak
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_a_thousand_stops(gdb, compile, level):
    check_storm(gdb, compile("debugged_threads.c", level, "-pthread"), 1000, 1800)
