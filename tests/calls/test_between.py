# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers that the time from one place to another hits, and that between two calls of a function:
as often as the program counts itself, by its clock within that time and around it."""
import json
import subprocess

import pytest

from conftest import come_along, line_of
from tests.calls.code import changed
from tests.calls.hits import hits_in

RANGE = "begin_request..end_request > 20ms"


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(level, trigger, mode, *options):
        program = compile("calls_between.c", level, "-pthread")
        return run_mtdb("run", "--engine", "calls", "--size", "64k", *options, "--modules",
                        "calls_between", "-t", trigger, "-o", tmp_path / "x.json", program, mode)

    return record


@pytest.mark.parametrize("mode, trigger, least", [
    ("one", RANGE, 1), ("threads", RANGE, 8), ("lonely", RANGE, 0), ("nested", RANGE, 1),
    ("iterations", "one_iter after 20ms", 2), ("iterations", "-between 20ms one_iter", 2)])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hits(record, tmp_path, level, mode, trigger, least):
    """Of 1000 requests in each thread one is slow; busy machines have more."""
    done = record(level, trigger, mode)
    assert done.returncode == 0, done.stderr
    within, around = [int(word) for word in done.stdout.split()]
    assert least <= within <= len(hits_in(tmp_path / "x.json")) <= around, done.stderr
    assert "evaluated by mtdb" not in done.stderr


@pytest.mark.parametrize("condition", [
    "n == 777", "n == 777 && $_streq(name, \"tea\")", "n == 777 && $_duration > 20000000",
    "n == 777 && $_duration / 2.0l > 10000000"])
def test_conditions(record, tmp_path, condition):
    """They are about where the time ends."""
    for trigger in f"{RANGE} if {condition}", f"begin_request..end_request if {condition} > 20ms":
        done = record("-O1", trigger, "threads")
        assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == 8, done.stderr
        assert ("evaluated by mtdb" in done.stderr) == ("2.0l" in condition)
    done = record("-O1", f"{RANGE} if {condition} && $_duration > 3600000000000", "one")
    assert done.returncode == 0 and not hits_in(tmp_path / "x.json"), done.stderr


@pytest.mark.parametrize("trigger, hits", [
    ("-every 1000 begin_request..end_request > 1ns", 8),
    ("-ignore 7998 -slower 1ns begin_request..end_request", 2),
    ("-max 3 begin_request..end_request > 1ns", 3),
    ("-rate 1/h begin_request..end_request > 1ns", 1),
    ("-every 999 end_request after 1ns", 8),
    ("-every 8 end_request after 1ns", 999),  # threads are halted wherever they are
    ("-max 2 begin_request..end_request > 20ms if n / 2.0l > 388", 2)])
def test_limits(record, tmp_path, trigger, hits):
    done = record("-O1", trigger, "threads")
    assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == hits, done.stderr


def test_how_long_it_took(record, tmp_path):
    done = record("-O1", f"-print n -print '$_duration > 20000000' {RANGE} if n == 777", "one",
                  "--timestamps", "full")
    assert "n = 777, $_duration > 20000000 = 1" in done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    marks = [event for event in events if event["ph"] == "i"
             and event.get("args", {}).get("values", "").startswith("took ")]
    assert len(marks) == 1 and " ms, n = 777" in marks[0]["args"]["values"]


def test_several_at_one_place(record, tmp_path):
    """Each is hit for itself, whatever stands in front of which."""
    triggers = [RANGE + " if n == 777", "end_request if n == 5", "end_request > 1h",
                "-max 1 end_request", "end_request return if $_ret == 6 + 't'",
                "begin_request if n == 7", "begin_request..now > 1h",
                "end_request after 20ms if n == 777"]
    for order in triggers, triggers[::-1]:
        options = [word for trigger in order[1:] for word in ("-t", trigger)]
        done = record("-O1", order[0], "one", *options)
        numbers = [hit["args"]["number"] for hit in hits_in(tmp_path / "x.json")]
        order = [*order[1:], order[0]]  # as record() gives them
        counts = [numbers.count(order.index(trigger) + 1) for trigger in triggers]
        assert counts == [1, 1, 0, 1, 1, 1, 0, 1], done.stderr


@pytest.mark.parametrize("trigger, message", [
    ("begin_request..end_request", 'it is the time that counts, as in "begin_request..end_request >'),
    ("begin_request..begin_request > 5ms", "both places are the same"),
    ("a..b..c > 5ms", '".." stands between two places'),
    ("a..b return > 5ms", "not at its return"),
    ("a..b > 5ms if $_ret", "$_ret is known when a function returns"),
    ("a after 5ms > 5ms", "only one of them is possible"),
    ("nosuch..end_request > 5ms", 'Function "nosuch" not defined.'),
    ("begin_request..nosuch > 5ms", 'Function "nosuch" not defined.'),
    ("nosuch after 5ms", 'Function "nosuch" not defined.'),
    ("inlined..end_request > 5ms", "It was inlined wherever it is called."),
    ("begin_request..end_request > 5ms if nosuch", 'No symbol "nosuch" in current context.'),
    ("puts..end_request > 5ms", "where it begins: it is not at a function's entry that is rec"),
    ("begin_request..puts > 5ms", "where it ends: it is not at a function's entry that is rec"),
    ("calls_between.c:{line}..end_request > 5ms", "where it begins: it is not at a function's en"),
    ("calls_between.c:{line} after 5ms", "where it ends: it is not at a function's entry"),
    ("calls_between.c:{entry}..end_request > 5ms", "both places are the same"),
])
def test_what_means_nothing(record, trigger, message):
    trigger = trigger.format(line=line_of("calls_between.c", "usleep(slow_us)"),
                             entry=line_of("calls_between.c", "int end_request"))
    done = record("-O1", trigger, "one")
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not done.stdout


def test_pending(record, tmp_path):
    for trigger in "nosuch..end_request > 1ns", "begin_request..nosuch > 1ns":
        done = record("-O1", trigger, "one", "--pending")
        assert done.returncode == 0 and not hits_in(tmp_path / "x.json"), done.stderr


def test_another_engine(compile, run_mtdb, tmp_path):
    done = run_mtdb("run", "--engine", "step", "-t", RANGE, "-o", tmp_path / "x.json",
                    compile("calls_between.c", "-O1", "-pthread"), "one")
    assert done.returncode == 125 and "the engine step does not measure times" in done.stderr


def test_attach(compile, mtdb, tmp_path):
    program = compile("calls_between.c", "-O2", "-pthread")
    with subprocess.Popen([program, "wait"], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        command = [mtdb, "attach", "--engine", "calls", "--size", "64k", "-o", tmp_path / "x.json"]
        for trigger in RANGE, "end_request after 20ms":
            done = subprocess.run([*command, "-t", "-max 1 " + trigger, str(process.pid)],
                                  capture_output=True, text=True, check=False, timeout=90)
            assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == 1, done.stderr
            assert not changed(process.pid)
            come_along(process.pid)
        done = subprocess.run([*command, "-t", "nosuch..end_request > 5ms", str(process.pid)],
                              capture_output=True, text=True, check=False, timeout=90)
        assert done.returncode == 2 and 'Function "nosuch" not defined.' in done.stderr
        assert not changed(process.pid)
        come_along(process.pid)
        process.kill()
