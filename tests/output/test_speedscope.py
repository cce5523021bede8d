# SPDX-License-Identifier: GPL-3.0-or-later
"""speedscope's format: the same calls as mtdb stats counts, in profiles that balance."""
import collections
import json
import shutil

import pytest


@pytest.fixture(name="recorded", scope="module")
def recorded_fixture(compile, run_mtdb, tmp_path_factory):
    folder = tmp_path_factory.mktemp("speedscope")
    program = compile("stats.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    done = run_mtdb("run", "-e", "calls", "--timestamps=full", "--events=sched", "-r", folder / "x.perf", "-o",
                    folder / "x.speedscope.json", "--", program)
    assert done.returncode == 0 and "ui.perfetto.dev" not in done.stderr, done.stderr
    return folder / "x.perf"


def check(text):
    """What speedscope refuses else; returns how often each frame is opened, and how long it was open."""
    trace = json.loads(text)
    frames, calls, times = trace["shared"]["frames"], collections.Counter(), collections.Counter()
    for profile in trace["profiles"]:
        assert (profile["type"], profile["unit"]) == ("evented", "nanoseconds")
        last, stack = profile["startValue"], []
        for event in profile["events"]:
            assert last <= event["at"] <= profile["endValue"] and event["frame"] < len(frames)
            last = event["at"]
            name = frames[event["frame"]]["name"]
            if event["type"] == "O":
                stack.append((event["frame"], last))
                calls[name] += 1
            else:
                frame, begin = stack.pop()
                assert frame == event["frame"] and event["type"] == "C"
                times[name] += last - begin
        assert not stack
    return trace, calls, times


def test_calls_and_times(run_mtdb, recorded):
    trace, calls, times = check(recorded.with_suffix(".speedscope.json").read_text())
    assert trace["$schema"].startswith("https://www.speedscope.app/") and trace["name"].endswith("/stats")
    names = [profile["name"].rpartition(" (")[0] for profile in trace["profiles"]]
    assert names == ["stats"] * 2, "a profile a thread"
    theirs = {row["name"]: row for row in json.loads(run_mtdb("stats", "--json", "-n", "0", recorded).stdout)["functions"]}
    for name, count in {"main": 1, "work": 15, "leaf": 100, "depth": 40, "other": 1}.items():
        assert calls[name] == count == theirs[name]["calls"]
        assert name == "depth" or times[name] == theirs[name]["total_ns"]
    frame, = [frame for frame in trace["shared"]["frames"] if frame["name"] == "work"]
    assert frame["file"].endswith("/stats.c") and frame["line"] == theirs["work"]["line"]


def test_ways_to_ask_for_it(run_mtdb, recorded, tmp_path):
    same = recorded.with_suffix(".speedscope.json").read_text()
    assert run_mtdb("decode", "-f", "speedscope", "-o", "-", recorded).stdout == same
    shutil.copy(recorded, tmp_path)
    assert run_mtdb("decode", "-f", "speedscope", "x.perf", cwd=tmp_path).returncode == 0
    assert (tmp_path / "x.speedscope.json").read_text() == same
    assert run_mtdb("run", "-e", "calls", "-f", "speedscope", "--", "true", cwd=tmp_path).returncode == 0
    check((tmp_path / "trace.speedscope.json").read_text())


@pytest.mark.sanitize
def test_a_cut_recording(run_mtdb, recorded, tmp_path):
    cut = tmp_path / "cut.perf"
    cut.write_bytes(recorded.read_bytes()[:recorded.stat().st_size // 2])
    done = run_mtdb("decode", "-f", "speedscope", "-o", "-", cut)
    assert done.returncode == 0 and "is truncated" in done.stderr
    check(done.stdout)
