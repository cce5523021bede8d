# SPDX-License-Identifier: GPL-3.0-or-later
"""What a program says by include/mtrace.h is heard in debuggers, too: at mtdb's prompt and in GDB."""
import collections

import pytest

import fxt
from own_words import FLAGS, LITERAL, ROUNDS, build_program, check_numbers, check_spans, expected, marks_of

TAKEN = "[mtrace: snapshot: all is done, in thread "


@pytest.fixture(name="program")
def program_fixture(compile):
    return build_program(compile, "-O2", "-g")


def hits_of(trace):
    """How often each place was hit."""
    return collections.Counter(one.args["location"] for thread in trace.threads.values()
                               for one in thread.instants if "location" in one.args)


def taken(lines):
    return [line for line in lines if line.startswith("[mtrace: ")]


def test_all_that_is_said(either, program, tmp_path):
    """From the program's start on: in the history, in an exported timeline, and in a snapshot that the
    program asks for itself."""
    said = either(program, ROUNDS, "mtrace start", "run",
                  f"mtrace snapshot {tmp_path}/all.fxt", "mtrace history")
    assert [line.split(", in thread ")[0] for line in taken(said)] == [
        "[mtrace: snapshot: magic_trace_stop_indicator", "[mtrace: snapshot: all is done"]
    trace = fxt.read(tmp_path / "all.fxt")
    assert marks_of(trace) == expected()
    check_spans(trace)
    check_numbers(trace.counters)
    hits = [(one.name, one.args["location"], one.args["reason"]) for thread in trace.threads.values()
            for one in thread.instants if "location" in one.args]
    assert hits == [("snapshot: magic_trace_stop_indicator",) + ("magic_trace_stop_indicator",) * 2,
                    ("snapshot: all is done", "mtrace_snapshot", "all is done")]
    assert sum("*** of the other thread in other" in line for line in said) == ROUNDS
    assert sum("*** snapshot: all is done" in line for line in said) == 1
    before = fxt.read(tmp_path / "trace-2.fxt")
    assert marks_of(before) == expected()
    assert hits_of(before) == {"magic_trace_stop_indicator": 1, "mtrace_snapshot": 1}


def test_from_a_stop_on(either, program, tmp_path):
    """What was said before recording began is not there; the rest is."""
    said = either(program, ROUNDS, "break handle if i == 2", "run",
                  "mtrace start", "continue", f"mtrace snapshot {tmp_path}/all.fxt")
    assert len(taken(said)) == 2, said
    marks = marks_of(fxt.read(tmp_path / "all.fxt"))
    assert marks[LITERAL] == ROUNDS - 3 and marks["of the other thread"] == ROUNDS


def test_a_slow_span(either, program, tmp_path):
    """By a trigger of the user's, as the manual has it."""
    said = either(program, ROUNDS, "mtrace start",
                  "mtrace trigger -max 2 mtrace_begin_literal..mtrace_end > 1ns", "run",
                  f"mtrace snapshot {tmp_path}/all.fxt")
    assert sum(line.startswith("[mtrace: trigger 1, mtrace_end, hit ") for line in said) == 2, said
    trace = fxt.read(tmp_path / "all.fxt")
    check_spans(trace)
    assert hits_of(trace) == {"mtrace_end": 2, "magic_trace_stop_indicator": 1, "mtrace_snapshot": 1}


def test_a_trigger_of_the_users_takes_the_place(either, program):
    """Also one that comes when the program's own is there; when it goes, that one is there again."""
    said = either(program, ROUNDS, "mtrace start", "break close_request",
                  "run", "delete 1", "mtrace trigger mtrace_snapshot", "continue", "mtrace delete 1", "run")
    assert [line.split(" in thread ")[0] for line in taken(said) if "magic" not in line] == [
        "[mtrace: trigger 1, snapshot: all is done, hit 1", "[mtrace: snapshot: all is done,"], said


def test_stops_where_a_snapshot_is_asked_for(either, program):
    """A breakpoint there, and a step over it."""
    said = either(program, ROUNDS, "mtrace start", "break mtrace_snapshot",
                  "run", "continue", "delete 1", "tbreak magic_trace_stop_indicator", "run", "finish", "next",
                  "kill")
    assert sum(line.startswith(TAKEN) for line in said) == 2, said
    stop = next(i for i, line in enumerate(said) if "Breakpoint 1" in line and "mtrace_snapshot" in line and "hit" in line)
    assert not any(line.startswith(TAKEN) for line in said[:stop]), said


def test_values_of_the_users(either, program, tmp_path):
    """They are arguments of a call, as with `mtdb run --args`."""
    either(program, ROUNDS, "mtrace start", "mtrace values mtrace_mark_literal", "run",
           f"mtrace snapshot {tmp_path}/all.fxt")
    trace = fxt.read(tmp_path / "all.fxt")
    assert LITERAL not in marks_of(trace)
    calls = [one.args["arguments"] for thread in trace.threads.values() for one in thread.slices()
             if one.name == "mtrace_mark_literal" and "arguments" in one.args]
    assert sum("a literal of the program" in one for one in calls) == ROUNDS
    check_spans(trace)


@pytest.mark.parametrize("follows", ["child", "parent"])
def test_a_child_that_is_followed(either, compile, follows):
    said = either(compile("mtrace_h_forks.c", *FLAGS, "-O1"), "", f"set follow-fork-mode {follows}",
                  "mtrace start", "run", "mtrace history")
    assert [line.split(", in thread ")[0] for line in taken(said)] == [f"[mtrace: snapshot: of the {follows}"]
    marks = [line.split("***")[1].split(" in main")[0].strip() for line in said if "*** in the " in line]
    assert marks == [f"in the {follows}"], said
