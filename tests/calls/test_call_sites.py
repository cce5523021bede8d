# SPDX-License-Identifier: GPL-3.0-or-later
"""Call events tell who was called; the lines of the calls come from the code.  A line that is told
is the line that single-stepping saw; where the code alone cannot tell, none is told."""
import json

import pytest

from conftest import FIXTURES

LEVELS = ["-O0", "-O1", "-O2", "-Os"]
UNKNOWN = {"twice", "pointed", "compare"}  # two lines; a pointer; called by libc
KNOWN = {"once", "abreast", "hop", "last", "unlikely", "rare", "work", "qsort"}


def line_of(text):
    lines = (FIXTURES / "calls_sites.c").read_text().splitlines()
    return 1 + next(i for i, line in enumerate(lines) if text in line)


def calls_of(run_mtdb, program, out, *options):
    done = run_mtdb("run", "-o", out, "--size", "64M", *options, "--", program)
    assert done.returncode == 0, done.stderr
    events = json.loads(out.read_text())["traceEvents"]
    return [(event["name"], event["args"].get("call")) for event in events
            if event["ph"] == "B" and event.get("cat") in ("call", "inlined")]


def places(calls, names):
    """name -> the lines of calls_sites.c from which it was called."""
    found = {}
    for name, call in calls:
        if name in names and call and "calls_sites.c:" in call:
            found.setdefault(name, set()).add(int(call.rsplit(":", 1)[1]))
    return found


@pytest.mark.parametrize("level", LEVELS)
def test_the_lines_are_those_that_were_stepped(compile, run_mtdb, tmp_path, level):
    program = compile("calls_sites.c", level)
    ours = places(calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls"),
                  KNOWN | UNKNOWN)
    stepped = places(calls_of(run_mtdb, program, tmp_path / "step.json", "-e", "step"),
                     KNOWN | UNKNOWN | {"inlined"})
    for name in KNOWN - {"once"}:
        assert ours[name] == stepped[name] and len(ours[name]) == 1, name
    assert not UNKNOWN & set(ours)
    # What is called from an inlined function is told as the line that it was inlined into.
    assert stepped["once"] == {line_of("return once(x) + 1")}
    assert ours["once"] == stepped["inlined"] == {line_of("= inlined(x)")}


def test_a_call_in_the_cold_part_counts(compile, run_mtdb, tmp_path):
    """rare() is called from code that the compiler put aside."""
    program = compile("calls_sites.c", "-O2")
    calls = calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls")
    assert places(calls, {"rare"})["rare"] == {line_of("return rare(x)")}


def test_without_debug_information_the_address_is_told(compile, run_mtdb, tmp_path):
    program = compile("calls_sites.c", "-O1", "-g0")
    calls = calls_of(run_mtdb, program, tmp_path / "calls.json", "-e", "calls")
    assert all(call and call.startswith("0x") for name, call in calls if name == "hop")
    assert all(call is None for name, call in calls if name == "pointed")
