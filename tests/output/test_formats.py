# SPDX-License-Identifier: GPL-3.0-or-later
"""Random streams of slices: every format tells what was sent, no more and no less."""
import re
import tempfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import fxt
from output import chrome
from output.script import (
    CALL,
    END_LOST,
    END_OPEN,
    END_TIME_ESTIMATED,
    END_UNWOUND,
    GAP,
    INFERRED,
    INLINED,
    SIGNAL,
    SIGSEGV,
    SYSCALL,
    TAIL_CALL,
    TIME_ESTIMATED,
    TRIGGER,
    UNTRACED,
    Script,
)

pytestmark = pytest.mark.sanitize

names = st.one_of(
    st.sampled_from(["main", "f", "std::vector<int>::push_back(int&&)", "operator\"\" _x", "naïve"]),
    st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name),
)
places = st.one_of(st.none(), st.tuples(st.sampled_from(["/src/a.c", "/src/ü.c", "b\\\"c.c"]),
                                        st.integers(0, 2**32 - 1)))
addresses = st.integers(0, 2**64 - 1)
steps = st.one_of(st.just(0), st.integers(1, 10**9))
kinds = st.sampled_from([CALL] * 6 + [INLINED, SYSCALL, UNTRACED, GAP])
flags = st.sampled_from([0, INFERRED, TIME_ESTIMATED, TAIL_CALL, 15])
end_flags = st.sampled_from([0, 0, END_UNWOUND, END_TIME_ESTIMATED, END_LOST, 14])


def begin(draw, script, time):
    """Any slice."""
    kind = draw(kinds)
    if kind in (CALL, INLINED):
        script.begin(time, draw(names), kind, draw(flags), address=draw(addresses),
                     site=draw(addresses), call=draw(places), source=draw(places))
    elif kind == GAP:
        script.begin(time, None, kind, cause=draw(st.integers(0, 6)), lost=draw(steps),
                     told="[lost")
    else:
        told = "[syscall]" if kind == SYSCALL else "[untraced]"
        script.begin(time, None, kind, site=draw(addresses), told=told)


def instant(draw, script, time):
    """A signal or a trigger."""
    if draw(st.booleans()):
        script.instant(time, SIGNAL, SIGSEGV, draw(addresses), address=draw(addresses),
                       source=draw(places), function=draw(names), told="SIGSEGV")
    else:
        script.instant(time, TRIGGER, 0, draw(st.integers(0, 9)), told="trigger")


@st.composite
def scripts(draw):
    """Threads that come and go, each with segments one after the other."""
    script = Script()
    clocks = {}
    for _ in range(draw(st.integers(0, 5))):
        tid = draw(st.integers(1, 3))
        pid = draw(st.integers(1, 2))
        script.thread(pid, tid, draw(st.one_of(st.none(), names)), draw(st.none() | names))
        for _ in range(draw(st.integers(0, 3))):
            time = clocks.get((pid, tid), 0) + draw(steps)
            times = [time]
            for _ in range(draw(st.integers(0, 12))):
                times.append(times[-1] + draw(steps))
            script.segment(times[0], times[-1], draw(st.integers(0, 2)))
            for time in times:
                action = draw(st.sampled_from(["begin", "begin", "end", "end", "instant"]))
                if action == "begin":
                    begin(draw, script, time)
                elif action == "end" and script.open:
                    script.end(time, draw(end_flags))
                elif action == "instant":
                    instant(draw, script, time)
            script.segment_end()
            clocks[pid, tid] = times[-1]
    return script


def check_thread(model, thread):
    """A thread as a timeline tells it."""
    pieces = [(piece.name, piece.begin, piece.end, piece.depth) for piece in thread.slices()]
    wanted = [(piece.name, piece.begin, None if piece.is_open else piece.end, piece.depth)
              for piece in model.pieces]
    pieces = [("[lost" if name.startswith("[lost") else name, *rest) for name, *rest in pieces]
    assert pieces == wanted
    assert [(one.name, one.time, one.depth) for one in thread.instants] == model.instants


def check_timeline(script, trace):
    """All threads, and their names."""
    for key, model in script.threads.items():
        if model.pieces or model.instants or model.name:
            check_thread(model, trace.threads[key])
            assert trace.threads[key].name == model.name
    told = {pid: process.name for pid, process in trace.processes.items()}
    for (pid, _), model in script.threads.items():
        if model.process:
            assert told[pid]


@pytest.fixture(scope="module", name="folder")
def make_folder():
    """A directory for all examples of a property."""
    with tempfile.TemporaryDirectory(prefix="mtrace-") as folder:
        yield folder


ours = settings(max_examples=60, deadline=None,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@ours
@given(script=scripts())
def test_fxt_tells_what_was_sent(script, writer, folder):
    check_timeline(script, fxt.read(writer.write(script, f"{folder}/a.fxt")))


@ours
@given(script=scripts())
def test_json_tells_what_was_sent(script, writer, folder):
    with open(writer.write(script, f"{folder}/a.json"), "rb") as file:
        trace, _ = chrome.parse(file.read())
    check_timeline(script, trace)


@ours
@given(script=scripts())
def test_fxt_and_json_have_the_same_arguments(script, writer, folder):
    binary = fxt.read(writer.write(script, f"{folder}/b.fxt"))
    with open(writer.write(script, f"{folder}/b.json"), "rb") as file:
        text, _ = chrome.parse(file.read())

    def told(trace):
        return [(key, [(one.name, one.category, one.args) for one in [*thread.slices(),
                                                                     *thread.instants]])
                for key, thread in sorted(trace.threads.items())
                if thread.slices() or thread.instants]

    def plain(value):
        return hex(value) if isinstance(value, fxt.Pointer) else value

    for thread in binary.threads.values():
        for one in [*thread.slices(), *thread.instants]:
            one.args = {name: plain(value) for name, value in one.args.items()}
    assert told(binary) == told(text)


LINE = re.compile(r"^ *~?-?(\d+)\.(\d+) (µs|ms|s )(.{11})  (.*)$")
LAST_DECIMAL_NS = {"µs": 1, "ms": 1000, "s ": 1000}


def printable(name):
    """What the history makes of a name: nothing in it controls a terminal."""
    return re.sub("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", "?", name)


def sent(script):
    """(end of the segment, piece, whether the segment ended it) in the order of the script."""
    result, seen, open_pieces, thread, end = [], {}, [], None, 0
    for line in script.lines:
        word, *fields = line.split("\t")
        if word == "thread":
            thread = int(fields[0]), int(fields[1])
        elif word == "segment_begin":
            end = int(fields[1])
        elif word == "begin":
            seen[thread] = seen.get(thread, -1) + 1
            open_pieces.append([end, script.threads[thread].pieces[seen[thread]], False])
            result.append(open_pieces[-1])
        elif word == "end":
            open_pieces.pop()[2] = bool(int(fields[1]) & END_OPEN)
    return result


@ours
@given(script=scripts())
def test_text_tells_what_was_sent(script, writer):
    # A name of blanks alone ends its line with the column before it.
    matches = (LINE.match(line + " " * 13) for line in writer.history(script).split("\n"))
    lines = [match.groups() for match in matches if match and match[4].strip()]
    for (whole, decimals, unit, length, rest), (end, piece, is_open) in zip(lines, sent(script),
                                                                            strict=True):
        last_ns = LAST_DECIMAL_NS[unit]
        assert int(whole + decimals) == (end - piece.begin) // last_ns
        assert rest.startswith("  " * piece.depth + printable(piece.name).rstrip(" "))
        assert (length.strip() == "open") == is_open
