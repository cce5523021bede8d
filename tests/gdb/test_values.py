# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of calls that are asked for in GDB: what the program prints of them itself."""
import re

import pytest

CALL = r"price_of\(name=\"butter\", count=(\d+)\) = (\d+) "


@pytest.fixture(name="program", params=["-O0", "-O2"])
def program_fixture(compile, request):
    return compile("calls_values.c", request.param, "-pthread")


def calls_in(session):
    """The results are what they are to be."""
    calls = [(int(count), int(price)) for count, price in re.findall(CALL, session.output)]
    assert all(price == 100 * ord("b") + count and count % 1000 < 200 for count, price in calls)
    assert len(set(calls)) == len(calls)
    return calls


@pytest.mark.parametrize("when", ["before", "at a stop"])
def test_values(gdb, program, when):
    values = ["mtrace values depth paint (colour, weight)", "mtrace values -return depth paint"]
    first = [*values, "run"] if when == "before" else ["break main", "run", *values, "continue"]
    session = gdb(program, "mtrace start", *first, "mtrace history 100 depth",
                  "mtrace history 100 paint")
    assert re.findall(r" ((?:depth|paint)\(.*?\) = \w+) ", session.output) == [
        "depth(n=3) = 6", "depth(n=2) = 3", "depth(n=1) = 1", "depth(n=0) = 0",
        "paint(colour=RED, weight=1.5) = GREEN", "paint(colour=BLUE, weight=0.100000001) = BLUE"]


def test_beside_triggers(gdb, program):
    """A trigger at the entry that stops, and one at the return, at the same function."""
    session = gdb(program, "set args 1", "mtrace start -size 1M", "mtrace values price_of",
                  "mtrace trigger -max 1 price_of return if $_ret == 9877",
                  "mtrace trigger -max 1 -stop price_of if count == 170",
                  "mtrace values -return price_of", "run", "mtrace history 100 price_of",
                  "continue", "mtrace info")
    assert len(calls_in(session)) == 99
    assert "price_of(name=\"butter\", count=170) " in session.output
    hits = [line for line in session.lines
            if line.startswith("Trigger ") and line.endswith("1 hit (done)")]
    assert len(hits) == 2


def test_memory_that_is_not_there(gdb, program):
    session = gdb(program, "mtrace start", "mtrace values visit(thing->id)", "run", "mtrace info")
    assert re.search(r"could not be read \d times: Cannot access memory at address 0x",
                     session.output)
    assert session.status == 0


def test_next_run(gdb, program):
    session = gdb(program, "mtrace values 'sma*'", "mtrace start", "run", "run",
                  "mtrace history 10 small")
    assert session.output.count("small(a=-128, b=255, ") == 1


def test_python(gdb, program):
    session = gdb(program, "python mtrace.start()", "python mtrace.values('small(a, b)')",
                  "python mtrace.values('small', results=True)", "run", "mtrace history 10 small")
    assert "small(a=-128, b=255) = 127 " in session.output


def test_tail_calls(gdb, compile):
    """They return what the last function returned; of two that are recorded each has its own."""
    program = compile("calls_tails.c", "-O2")
    session = gdb(program, "mtrace start", "mtrace values -return through narrow", "break main", "run", "continue",
                  "mtrace history 100")
    assert re.findall(r"(?:through|narrow)\(\) = \S+", session.output) == [
        "through() = -1", "narrow() = -1", "through() = 33", "narrow() = 33", "narrow() = -1"], session.output


@pytest.mark.long
def test_stopped_anywhere(gdb, compile):
    """A thread that is put back to an entry whose event is in the ring enters once."""
    session = gdb(compile("calls_stopped.c", "-O2", "-pthread"), "set args 60",
                  "mtrace start -size 64M", "mtrace values small", "break tick",
                  "python gdb.breakpoints()[-1].commands = 'silent\\ncontinue'", "break done", "run",
                  "mtrace stats small", "mtrace grep --first=1 'small(n >= 0)'",
                  "mtrace grep --last=1 'small(n >= 0)'", "print count", "continue")
    told = int(re.search(r"\$1 = (\d+)", session.output)[1])
    first, last = (int(n) for n in re.findall(r" > small\(n=(\d+)\)", session.output))
    assert last == told - 1
    assert int(re.search(r"s +(\d+) .* work \(calls_stopped", session.output)[1]) == last - first + 1
