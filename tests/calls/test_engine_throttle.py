# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that fill the rings are taken out while the program runs, and the others are not."""
import collections
import json
import subprocess

import pytest

LATE = 1000


@pytest.mark.parametrize("level, options", [
    ("-O0", ["--size", "1M"]), ("-O2", ["--size", "1M"]),
    ("-Os", ["--timestamps", "full", "--size", "2M"]),
])
def test_a_hot_leaf(compile, run_mtdb, tmp_path, level, options):
    program = compile("calls_hot.c", level, "-pthread")
    plain = subprocess.run([program, "x"], capture_output=True, text=True, check=True)
    done = run_mtdb("run", "--engine", "calls", "--throttle", *options, "--modules", "calls_hot",
                    "-o", tmp_path / "x.json", program, "x")
    assert done.stdout == plain.stdout and done.returncode == 0
    assert done.stderr.count("throttled, not recorded from now on: hot\n") == 1
    assert done.stderr.endswith("throttled functions, not recorded to the end: hot\n")

    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    begun = collections.Counter(event["name"] for event in events if event["ph"] == "B")
    assert begun["late"] == 2 * LATE and begun["run"] == 2
    marks = [event for event in events if event.get("name") == "throttled"]
    assert [mark["args"]["function"] for mark in marks] == ["hot"]
    # The last line of each of the two rings has times that are estimates.
    assert sum(event["ph"] == "B" and event["name"] == "hot" and event["ts"] > marks[0]["ts"]
               for event in events) <= 2 * 15


def test_what_fills_no_ring_stays(compile, run_mtdb, tmp_path):
    program = compile("calls_killed.c", "-O1")
    done = run_mtdb("run", "--engine", "calls", "--throttle=1", "--modules", "calls_killed", "-o",
                    tmp_path / "x.json", program, "exit", "5000")
    assert "throttled" not in done.stderr
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    assert sum(event["ph"] == "B" and event["name"] == "mark" for event in events) == 5000


@pytest.mark.parametrize("words", [
    ["python3", "-c", "def f(n): return n if n < 2 else f(n-1) + f(n-2)\nprint(f(21))"],
    ["perl", "-e", "my $s = 0; for (1..300000) { $s += length(sprintf('%d', $_)) } print $s"],
    ["sqlite3", ":memory:", "with recursive n(i) as (select 1 union all select i+1 from n where "
                            "i<200000) select sum(i), count(distinct i%7) from n;"],
])
def test_real_programs(need, run_mtdb, tmp_path, words):
    """At the strictest setting, where nearly all that is called much goes."""
    need(words[0])
    plain = subprocess.run(words, capture_output=True, text=True, check=True)
    done = run_mtdb("run", "--engine", "calls", "--throttle=60", "-o", tmp_path / "x.fxt", *words)
    assert done.stdout == plain.stdout and done.returncode == 0
    assert "throttled" in done.stderr


@pytest.mark.parametrize("value", ["0", "x", "1e9"])
def test_a_value_that_makes_no_sense(run_mtdb, value):
    done = run_mtdb("run", f"--throttle={value}", "true")
    assert done.returncode == 125 and "number of seconds" in done.stderr
