# SPDX-License-Identifier: GPL-3.0-or-later
"""Threads, processes, libraries and stacks that come and go: as many calls as the program itself
counts."""
import collections
import json

import pytest

from tests.calls import counted

# Way, how often in a short run, and in a long one.
WAYS = [("threads", 400, 4000), ("children", 6, 100), ("libraries", 40, 400),
        ("libraries-beside", 40, 400), ("signals", 30, 1000), ("fibers", 20, 1000),
        ("tails", 2000, 20000)]


# Who calls whom; those that are not named here may be inlined, and are None.
CALLERS = {
    # fiber: in place of yield_from, which nobody saw again after the switch.
    "leaf": {"node", "dive", "jump", "reload", "library_work", "yield_from", "schedule", "ping",
             "fiber"},
    "node": {"node", "brief", "forked", "by_vfork", "breed", "go_on", "handler", "get_signals",
             "fiber", "pong"},
    "brief": {None}, "breed": {None}, "go_on": {None}, "get_signals": {None}, "schedule": {None},
    "forked": {"by_fork", None}, "by_fork": {"breed"}, "by_vfork": {"breed"},
    "reload": {"library_work"}, "library_leave": {None},
    "library_work": {"library_work", "reload", None},
    "handler": {"get_signals", "dive"}, "jump": {"get_signals"}, "dive": {"dive", "jump"},
    "fiber": {None}, "yield_from": {"yield_from", "fiber"},
    "ping": {None, "pong"}, "pong": {"ping"},
}


def calls_of(path):
    """How often each function was called; what was shown again is no call.  Each stands in one
    that calls it, or took the place of one."""
    calls, stacks = collections.Counter(), collections.defaultdict(list)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if match := counted.END.match(line):
                stacks[int(match[1])].pop()
            elif line.startswith('{"ph":"B"'):
                event = json.loads(line.rstrip(",\n"))
                stack, name, args = stacks[event["tid"]], event["name"], event["args"]
                caller = next((one for one in reversed(stack) if one in CALLERS), None)
                if name in CALLERS and not args.get("inferred"):
                    calls[name] += 1
                    assert args.get("tail_call") or caller in CALLERS[name], (stack, name)
                stack.append(name)
    return calls


def trace(compile, run_mtdb, tmp_path, way, times, level, options=()):
    """The program's own counts, and ours."""
    program = compile("calls_lives.c", level, "-pthread")
    libraries = [compile("calls_lives_library.c", level, "-shared", "-fPIC", output=name)
                 for name in ["first.so", "second.so"]]
    out = tmp_path / "calls.json"
    done = run_mtdb("run", "--engine", "calls", *options, "-o", out, "--", program, way, times,
                    *libraries)
    assert done.returncode == 0, done.stderr
    counts = {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}
    return counts, calls_of(out)


def check(*where, options):
    counts, calls = trace(*where, ["--follow-forks", *options])
    assert {name: calls[name] for name in counts} == counts
    assert sum(counts.values()) > 50


OWN = ["--modules", "calls_lives", "--modules", "*.so"]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("way, times", [(way, short) for way, short, _ in WAYS])
def test_counts(compile, run_mtdb, tmp_path, way, times, level):
    # How much a thread does beside the others depends on how busy the machine is.
    check(compile, run_mtdb, tmp_path, way, times, level, options=["--size", "4M", *OWN])


def test_children_that_are_not_followed(compile, run_mtdb, tmp_path):
    counts, calls = trace(compile, run_mtdb, tmp_path, "children", 4, "-O1", OWN)
    assert calls["by_fork"] == counts["by_fork"] == 16 and counts["forked"] == 16
    assert calls["forked"] == 0
    # A vfork child's calls are its parent's, in whose memory it runs.
    assert counts["node"] - calls["node"] == 4 * (2 + 3 + 4 + 5)


@pytest.mark.parametrize("way", ["libraries-beside", "signals", "fibers"])
def test_counts_with_libc(compile, run_mtdb, tmp_path, way):
    check(compile, run_mtdb, tmp_path, way, 10, "-O1", options=["--size", "16M"])


@pytest.mark.soak
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("way, times", [(way, long) for way, _, long in WAYS])
def test_counts_in_the_long_run(compile, run_mtdb, tmp_path, way, times, level):
    check(compile, run_mtdb, tmp_path, way, times, level, options=["--size", "4M", *OWN])
