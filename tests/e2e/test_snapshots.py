# SPDX-License-Identifier: GPL-3.0-or-later
"""When snapshots are taken: at triggers of all kinds, and at Ctrl-C."""
import re
import subprocess

import pexpect
import pytest

import fxt
from conftest import line_of, wait_until
from terminal import keep_output
from tests.processes import state_of
from watchdog import descendants

STATIC = ["-O1", "-fPIE", "-static-pie"]


def address_of(program, function):
    """From nm, another reader than ours."""
    table = subprocess.run(["nm", program], text=True, capture_output=True, check=True).stdout
    return int(re.search(rf"^([0-9a-f]+) . {function}$", table, re.M)[1], 16)


def check_hits(run, count):
    """So many triggers, each with its snapshot, and the callers of each known."""
    triggers = run.instants("trigger")
    assert len(triggers) == count
    assert {one.args["function"] for one in triggers} == {"hit"}
    # A snapshot's mark stands in the threads that ran since the one before.
    assert {one.args["number"] for one in run.instants("snapshot")} >= set(range(1, count + 1))
    for thread in run.trace.threads.values():
        outermost = "main" if thread is run.main else "body"
        assert all(outermost in piece.path() for piece in thread.find("hit"))


def test_at_a_function(traced, compile):
    check_hits(traced(compile("events.c", *STATIC), "hits", options=["-t", "hit"]), 3)


def test_at_a_line(traced, compile):
    place = f"events.c:{line_of('events.c', 'the line')}"
    check_hits(traced(compile("events.c", *STATIC), "hits", options=["-t", place]), 3)


def test_at_an_address(traced, compile):
    program = compile("events.c", "-O1", "-no-pie", "-static")
    place = f"*{address_of(program, 'hit'):#x}"
    check_hits(traced(program, "hits", options=["-t", place]), 3)


def test_at_an_offset(traced, compile):
    check_hits(traced(compile("events.c", *STATIC), "hits", options=["-t", "*hit+0"]), 3)


def test_in_threads(traced, compile):
    check_hits(traced(compile("events.c", *STATIC), "threads", options=["-t", "hit"]), 6)


def test_two_triggers_have_numbers(traced, compile):
    run = traced(compile("events.c", *STATIC), "hits", options=["-t", "hit", "-t", "after"])
    assert [one.args["number"] for one in run.instants("trigger")] == [1, 1, 1, 2]
    assert run.main.find("main")[0].parent.name == "__libc_start_call_main"


def test_a_crash_after_a_trigger_has_its_callers(traced, compile):
    run = traced(compile("deep.c", *STATIC), "fault", options=["-t", "b"])
    assert run.status == 139
    assert run.open_names() == ["main", "a", "b", "c"]


@pytest.fixture(name="session")
def session_at_terminal(mtdb, tmp_path, compile):
    """session("handles") -> a program that runs in a terminal under mtdb."""

    def start(mode):
        program = compile("interrupted.c", *STATIC)
        words = ["run", "--engine=step", "-o", str(tmp_path / "out.fxt"), "--", str(program), mode]
        child = pexpect.spawn(str(mtdb), words, preexec_fn=keep_output, timeout=120,
                              encoding="utf-8")
        child.expect("ready")
        return child

    return start


def end_of(child, tmp_path):
    """Its exit status, and the timeline."""
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, fxt.read(tmp_path / "out.fxt")


def names_open(thread):
    return [piece.name for piece in thread.open_at_end()]


def test_ctrl_c_ends_a_program_as_it_would(session, tmp_path):
    child = session("dies")
    child.sendintr()
    status, trace = end_of(child, tmp_path)
    assert status == 130
    thread, = trace.threads.values()
    assert {one.name for one in thread.instants} == {"SIGINT", "snapshot", "exit"}
    assert "main" in names_open(thread)


def test_ctrl_c_takes_a_snapshot_of_a_program_that_goes_on(session, tmp_path):
    child = session("handles")
    child.sendintr()
    child.expect("caught")
    child.sendintr()
    child.expect("caught")
    status, trace = end_of(child, tmp_path)
    assert status == 6
    thread, = trace.threads.values()
    names = [one.name for one in thread.instants]
    assert names.count("SIGINT") == 2
    assert names.count("snapshot") >= 2
    assert thread.find("handler")


def test_ctrl_c_while_the_program_waits(session, tmp_path):
    child = session("waits")
    tracee, = descendants(child.pid)
    # Between steps it is stopped; in write() it may sleep for a moment.
    wait_until(lambda: {state_of(tracee) for _ in range(100)} == {"S"})
    child.sendintr()
    status, trace = end_of(child, tmp_path)
    assert status == 130
    thread, = trace.threads.values()
    assert names_open(thread)[-1] in ("[syscall]", "pause")
