# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers that calls hit which take long: as often as the program counts itself, by its clock
within such calls and around them; and nothing else of it changes."""
import json
import subprocess

import pytest

from conftest import FIXTURES, come_along
from tests.calls.code import changed
from tests.calls.hits import hits_in


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(level, trigger, mode, *options):
        program = compile("calls_slow.cpp", level, "-pthread")
        return run_mtdb("run", "--engine", "calls", "--size", "64k", *options, "--modules",
                        "calls_slow", "-t", trigger, "-o", tmp_path / "x.json", program, mode)

    return record


def counts_of(done):
    return [int(word) for word in done.stdout.split()]


@pytest.mark.parametrize("mode, function, least", [
    ("one", "handle", 1), ("threads", "handle", 15), ("nest", "nest", 5), ("deep", "nest", 1),
    ("throw", "handle", 1), ("jump", "handle", 1), ("switch", "handle", 2), ("pass", "pass_on", 1),
    ("end", "handle", 1), ("fork", "handle", 1), ("alarms", "handle", 1)])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_hits(record, tmp_path, level, mode, function, least):
    done = record(level, function + " > 20ms", mode)
    assert done.returncode == 0, done.stderr
    within, around = counts_of(done)
    assert least <= within <= len(hits_in(tmp_path / "x.json")) <= around, done.stderr
    assert "too many" not in done.stderr


def test_full_stamps(record, tmp_path):
    done = record("-O1", "handle > 20ms", "one", "--timestamps", "full")
    within, around = counts_of(done)
    assert 1 <= within <= len(hits_in(tmp_path / "x.json")) <= around, done.stderr


def test_chosen_calls(record, tmp_path):
    """By a condition when they begin."""
    done = record("-O1", "handle if ms > 10 && end == 0 > 20ms", "throw")
    assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == 1, done.stderr
    done = record("-O1", "handle if ms < 10 > 1h", "one")
    assert done.returncode == 0 and not hits_in(tmp_path / "x.json"), done.stderr


def test_call_is_whole(record, tmp_path):
    """The snapshot has the call that it was taken for, and its duration."""
    done = record("-O1", "handle > 20ms", "one")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    hit = next(event for event in events if event.get("name") == "trigger")
    begun = [event["ts"] for event in events if event["ph"] == "B" and event.get("name") == "handle"
             and event["ts"] <= hit["ts"]]
    ended = [event["ts"] for event in events if event["ph"] == "E" and event["ts"] <= hit["ts"]]
    assert begun and max(begun) <= max(ended), done.stderr
    marks = [event for event in events if event["ph"] == "i"
             and event["args"].get("values", "").startswith("took ")]
    assert len(marks) == len(hits_in(tmp_path / "x.json"))


def test_calls_that_never_return_are_told(record):
    done = record("-O1", "handle > 20ms", "throw")
    assert ('at least 19 calls for the trigger "handle > 20ms" were not measured: they ended by '
            "an exception, longjmp() or a jump to another function") in done.stderr
    assert "they had begun before" not in done.stderr


@pytest.mark.parametrize("trigger, message", [
    ("handle > 5", 'invalid trigger "handle > 5": "5" is not a time; expected a number with a '),
    ("handle if x > 5", 'No symbol "x" in current context.'),
    ("handle if x > 5ms", 'No symbol "x" in current context.'),
    ("handle if > 5ms", 'no condition after "if"'),
    ("nosuch > 5ms", 'the trigger "nosuch > 5ms": Function "nosuch" not defined.'),
    ("handle if (long double) ms / 2 > 3 > 5ms", "cannot measure the calls for the trigger"),
])
def test_what_means_nothing(record, trigger, message):
    done = record("-O1", trigger, "pass")
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert not done.stdout


def test_what_is_no_function(record):
    source = (FIXTURES / "calls_slow.cpp").read_text()
    line = source[:source.index("end_by(end);\n\twithin")].count("\n") + 1
    done = record("-O1", f"calls_slow.cpp:{line} > 5ms", "pass")
    assert done.returncode == 2 and not done.stdout
    assert "it is not at a function's entry that is recorded" in done.stderr


def test_several_at_one_place(record, tmp_path):
    """Each is hit for itself; all of these are hit once."""
    done = record("-O1", "handle > 20ms", "one", "-t", "handle if ms > 10 > 20ms", "-t",
                  "handle if ms == 40", "-t", "handle > 1h")
    within, around = counts_of(done)
    assert within + 2 <= len(hits_in(tmp_path / "x.json")) <= around + 2, done.stderr


def test_beside_one_without_time(record, tmp_path):
    for first, second in ("finish > 20ms", "finish"), ("finish", "finish > 20ms"):
        done = record("-O1", first, "pass", "-t", second)
        assert len(hits_in(tmp_path / "x.json")) >= 102, done.stderr


def test_another_engine(compile, run_mtdb, tmp_path):
    done = run_mtdb("run", "--engine", "step", "-t", "handle > 5ms", "-o", tmp_path / "x.json",
                    compile("calls_slow.cpp", "-O1", "-pthread"), "pass")
    assert done.returncode == 125 and "does not follow calls" in done.stderr


def test_returns_that_cannot_be_patched(compile, run_mtdb, tmp_path):
    """Are told before the program begins."""
    program = compile("calls_slow_left.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "-t", "hidden > 5ms", "-o", tmp_path / "x.json",
                    program)
    assert done.returncode == 2 and not done.stdout
    assert 'cannot measure the calls for the trigger "hidden > 5ms"' in done.stderr
    done = run_mtdb("run", "--engine", "calls", "-t", "partly > 5ms", "-o", tmp_path / "x.json",
                    program)
    assert done.returncode == 0 and done.stdout == "done\n"
    assert 'calls for the trigger "partly > 5ms" that end at 2 of its 3 ends' in done.stderr


def test_attach_and_kill(compile, mtdb, tmp_path):
    program = compile("calls_slow.cpp", "-O2", "-pthread")
    with subprocess.Popen([program, "wait"], text=True, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        command = [mtdb, "attach", "--engine", "calls", "--size", "64k", "-t", "handle > 20ms",
                   "-o", tmp_path / "x.json", str(process.pid)]
        for _ in range(2):
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
            assert done.returncode == 0 and len(hits_in(tmp_path / "x.json")) == 1, done.stderr
            assert not changed(process.pid)
            come_along(process.pid)
            with subprocess.Popen([*command[:-1], "--max", "0", command[-1]],
                                  stderr=subprocess.PIPE, text=True) as tracer:
                while "recording" not in tracer.stderr.readline():
                    pass
                tracer.kill()
            come_along(process.pid)
        process.kill()
