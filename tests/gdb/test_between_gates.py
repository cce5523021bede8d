# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers that the time between places hits: in GDB and at mtdb's prompt."""
import re

import pytest

from conftest import line_of

RANGE = "begin_request..end_request > 20ms"


@pytest.fixture(name="debug")
def debug_fixture(either, compile):
    return lambda level, *words: either(compile("calls_between.c", level, "-pthread"), *words)


def hits_of(lines, number):
    """That `mtrace info` said last."""
    found = [line for line in lines if line.startswith(f"Trigger {number}: ")]
    return int(re.search(r": (\d+) hits?( \(done\))?$", found[-1]).group(1)), "\n".join(lines)


def counts_of(lines):
    """The program's own; GDB writes into its line, too."""
    return [int(number) for number in
            next(filter(None, (re.search(r"^(\d+) (\d+)\b", line) for line in lines))).groups()]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hits_are_the_programs_own(debug, level):
    """Of 8000 requests in 8 threads; what the debugger does at hits is not the program's time."""
    lines = debug(level, "threads", "mtrace start -size 64k",
                  f"mtrace trigger {RANGE} if n == 777 && $_duration > 20000000",
                  "mtrace trigger begin_request if n % 500 == 0", "run", "mtrace info")
    hits, log = hits_of(lines, 1)
    assert hits == 8, log
    assert hits_of(lines, 2)[0] == 16, log


def test_iterations(debug):
    lines = debug("-O1", "iterations", "mtrace start",
                  "mtrace trigger -print n -print '$_duration > 20000000' one_iter after 20ms",
                  "run", "mtrace info")
    hits, log = hits_of(lines, 1)
    within, around = counts_of(lines)
    assert 2 <= within <= hits <= around, log
    assert "  n = 300" in lines and "  n = 600" in lines, log
    assert lines.count("  $_duration > 20000000 = 1") == hits, log
    assert "Trigger 1: a snapshot at each hit of one_iter after 20ms." in lines


@pytest.mark.parametrize("mode", ["lonely", "nested"])
def test_begins_without_ends(debug, mode):
    lines = debug("-O1", mode, "mtrace start", f"mtrace trigger {RANGE}", "run", "mtrace info")
    hits, log = hits_of(lines, 1)
    within, around = counts_of(lines)
    assert within <= hits <= around, log


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_stop_and_time_at_the_prompt(debug, level):
    """What a user does while the program is stopped is not measured."""
    lines = debug(level, "one", "mtrace start",
                  "mtrace trigger -stop begin_request..end_request > 20ms if n == 777",
                  "mtrace trigger begin_request..now > 2s",
                  f"break {line_of('calls_between.c', 'const long inside')} if n == 5", "run", "shell sleep 2.5",
                  "continue", "backtrace 2", "print n", "print $_duration > 20000000", "finish",
                  "continue", "mtrace info")
    text = "\n".join(lines)
    assert re.search(r"#0 .*end_request \(n=(n@entry=)?777.*\n#1 .* request \(n=", text), text
    assert "$1 = 777" in lines and "$2 = 1" in lines, text
    assert any(line.startswith("Value returned") for line in lines), text
    assert hits_of(lines, 1)[0] == 1 and hits_of(lines, 2)[0] == 0, text
    assert counts_of(lines), text


def test_limits(debug):
    lines = debug("-O1", "one", "mtrace start",
                  "mtrace trigger -ignore 10 -every 300 -max 2 begin_request..end_request > 1ns",
                  "run", "mtrace info")
    assert ("Trigger 1: begin_request..end_request > 1ns, after 10 hits, one of 300: "
            "2 hits (done)") in lines


def test_what_cannot_be_measured(debug):
    line = line_of("calls_between.c", "usleep(slow_us)")
    triggers = {"nosuch..end_request > 5ms": 'Function "nosuch" not defined',
                "inlined..end_request > 5ms": "inlined: it was inlined wherever it is called",
                f"calls_between.c:{line}..end_request > 5ms":
                f"calls_between.c:{line}: it is not at the entry of a function",
                f"begin_request..calls_between.c:{line} > 5ms":
                "it is not at the entry of a function",
                "end_request..begin_request > 5ms if n / 2.0l > 3":
                "it computes with floating-point numbers of 16 bytes",
                "end_request after 5ms": None,
                "now..end_request > 5ms": "another trigger is at the same place"}
    lines = debug("-O1", "one", "mtrace start", "break begin_request if n == 5", "run",
                  *("mtrace trigger " + trigger for trigger in triggers), "mtrace info",
                  "mtrace trigger a..b", "continue", "mtrace info")
    text = "\n".join(lines)
    for number, (trigger, why) in enumerate(triggers.items(), 1):
        assert (f"Trigger {number} sees no calls: {why}." in lines) == (why is not None), text
        assert f"Trigger {number}: {trigger}: 0 hits" in lines, text
        assert why is None or f"  sees no calls: {why}" in lines, text
    assert any("from one place to another it is the time that counts" in line for line in lines)
    assert hits_of(lines, 6)[0] >= 1, text
