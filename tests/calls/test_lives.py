# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads, processes, libraries and stacks that come and go: as many calls as the program itself
counts."""
import collections
import json

import pytest

# Way, how often in a short run, and in a long one.
WAYS = [("threads", 400, 4000), ("children", 6, 100), ("libraries", 40, 400),
        ("libraries-beside", 40, 400), ("signals", 30, 1000), ("fibers", 20, 1000),
        ("tails", 2000, 20000)]


def calls_of(path):
    """How often each function was called: what was shown again is no call."""
    calls = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith('{"ph":"B"'):
                event = json.loads(line.rstrip(",\n"))
                if event["cat"] == "call" and not event["args"].get("inferred"):
                    calls[event["name"]] += 1
    return calls


def check(compile, run_mtdb, tmp_path, way, times, level, options=()):
    program = compile("calls_lives.c", level, "-pthread")
    libraries = [compile("calls_lives_library.c", level, "-shared", "-fPIC", output=name)
                 for name in ["first.so", "second.so"]]
    out = tmp_path / "calls.json"
    done = run_mtdb("run", "--engine", "calls", "--follow-forks", *options, "-o", out, "--",
                    program, way, times, *libraries)
    assert done.returncode == 0, done.stderr
    counts = {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}
    calls = calls_of(out)
    assert {name: calls[name] for name in counts} == counts
    assert sum(counts.values()) > times


OWN = ["--modules", "calls_lives", "--modules", "*.so"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("way, times", [(way, short) for way, short, _ in WAYS])
def test_counts(compile, run_mtdb, tmp_path, way, times, level):
    check(compile, run_mtdb, tmp_path, way, times, level, ["--size", "256k", *OWN])


@pytest.mark.parametrize("way", ["libraries-beside", "signals", "fibers"])
def test_counts_with_libc(compile, run_mtdb, tmp_path, way):
    check(compile, run_mtdb, tmp_path, way, 10, "-O1", ["--size", "16M"])


@pytest.mark.soak
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("way, times", [(way, long) for way, _, long in WAYS])
def test_counts_in_the_long_run(compile, run_mtdb, tmp_path, way, times, level):
    check(compile, run_mtdb, tmp_path, way, times, level, ["--size", "4M", *OWN])
