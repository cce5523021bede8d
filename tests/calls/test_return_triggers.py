# SPDX-License-Identifier: GPL-3.0-or-later
"""Triggers at the return of functions: by what they return, and how long they took."""
import json

import pytest

from conftest import linked_for


@pytest.fixture(name="record")
def make_record(compile, run_mtdb, tmp_path):
    def record(level, trigger, engine="calls"):
        done = run_mtdb("run", "--engine", engine, "--size", "64k", "--modules", "calls_returns",
                        "-t", trigger, "-o", tmp_path / "x.json",
                        compile("calls_returns.c", level, *linked_for(engine)))
        if done.returncode:
            return done, None
        events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
        return done, [event for event in events if event["ph"] == "i" and
                      "location" in event.get("args", {})]

    return record


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("trigger, hits", [
    ("check return if $_ret < 0", 10),
    ("check return", 1000),
    ("find return if !$_ret", 20),
    ("find return if $_ret && $_ret->len == 77", 1),
    ("both return if $_ret.second == -5", 1),
    ("many return if $_ret.numbers[3] == 9", 1),
    ("tiny return if $_ret == 200", 4),
    ("half return if $_ret > 495.0", 9),
    ("half return if (int)($_ret * 2.0 + 1) % 100 == 51 && $_ret / 3 < 150", 9),
    ("nothing return if sink % 2 == 0 || sink % 2 != 0", 1000),
    ("check return if $rax == 5", 1),
    # By the jump at its end; finish() itself is called as often.
    ("pass_on return if $_ret < 0", 100),
])
def test_hits(record, level, trigger, hits):
    done, seen = record(level, trigger)
    assert done.stdout == "done\n" and len(seen) == hits, done.stderr
    assert "evaluated by mtdb" not in done.stderr


def test_durations(record):
    for trigger in "rest return if $_duration > 20000000", "rest return if $_ret == 2 > 20ms":
        done, hits = record("-O1", trigger)
        assert hits and all(hit["args"]["values"].startswith("took ") for hit in hits), done.stderr
    _, hits = record("-O1", "rest return if $_duration > 3600000000000")
    assert not hits


def test_what_the_program_cannot_evaluate(record):
    """Stops it each time."""
    done, hits = record("-O1", "tiny return if $_ret / 2.0l == 100.5")
    assert "evaluated by mtdb, which takes about 100 us a call" in done.stderr
    assert done.stdout == "done\n" and len(hits) == 4, done.stderr
    done, hits = record("-O1", "half return if $_ret * 2.0l > 990")
    assert done.stdout == "done\n" and len(hits) == 9, done.stderr
    done, hits = record("-O1", "-print $_ret*2 exact return if $_ret > 498.75")
    assert "evaluated by mtdb, which takes about 100 us a call: a long double lies in a register" in done.stderr
    assert [hit["args"]["values"].split(" = ")[1] for hit in hits] == ["998", "999"], done.stderr


@pytest.mark.parametrize("trigger, message", [
    ("nothing return if $_ret", "The function returns nothing."),
    ("check return if i > 3", '"i" is not there any more when the function returns.'),
    ("check if $_ret < 0", 'as in "check return if $_ret < 0"'),
    ("check if $_duration > 5", "$_ret and $_duration are known when a function returns"),
    ("return", 'Function "return" not defined.'),
])
def test_what_means_nothing(record, trigger, message):
    done, _ = record("-O1", trigger)
    assert done.returncode == 2 and message in done.stderr and not done.stdout, done.stderr


def test_another_engine(record):
    done, _ = record("-O1", "check return", engine="step")
    assert done.returncode == 125 and "does not follow calls" in done.stderr
