# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands show of programs that nobody here wrote agrees, with rings that have all of a
run and with some that do not."""
import collections
import json
import shutil

import pytest

import fxt

PROGRAMS = {
    "awk": ["awk", "BEGIN { for (i = 0; i < 300; i++) a[i % 17] = a[i % 17] i; print length(a[3]) }"],
    "bash": ["bash", "-c", "f() { x=$(echo $1 | cat); }; trap 'echo hi' USR1; f 1; f 2; kill -USR1 $$"],
    "perl": ["perl", "-e", "sub f { my $n = shift; die 'x' if !$n; f($n - 1) } for (1 .. 20) { eval { f(9) } }"],
    "python3": ["/usr/bin/python3", "-S", "-c",
                "import threading\n"
                "def f(n):\n"
                "    if not n: raise ValueError\n"
                "    f(n - 1)\n"
                "def work():\n"
                "    try: f(20)\n"
                "    except ValueError: sum(i for i in range(30))\n"
                "threads = [threading.Thread(target=work) for _ in range(3)]\n"
                "[thread.start() for thread in threads]\n"
                "[thread.join() for thread in threads]\n"],
}
FIBER = "f = Fiber.new { 3.times { |i| Fiber.yield i } }; 4.times { f.resume }"


def record(run_mtdb, tmp_path, command, *options):
    """The timeline, and the path of the recording."""
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    done = run_mtdb("run", "-e", "calls", *options, "-r", tmp_path / "x.perf", "-o", tmp_path / "x.fxt", "--",
                    *command)
    assert done.returncode == 0, done.stderr
    return fxt.read(tmp_path / "x.fxt"), tmp_path / "x.perf"


def own_calls(trace):
    """Those whose beginning was seen, by function."""
    return collections.Counter(one.name for one in trace.slices()
                               if one.category == "call" and not one.args.get("inferred"))


@pytest.mark.parametrize("size", ["16k", "4M"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_timeline_and_statistics(run_mtdb, tmp_path, name, size):
    trace, recording = record(run_mtdb, tmp_path, PROGRAMS[name], "--follow-forks", "--size", size)
    calls = own_calls(trace)
    done = run_mtdb("stats", "--json", "-n", "0", recording)
    counted = collections.Counter()
    for function in json.loads(done.stdout)["functions"]:
        if function["category"] == "call":
            counted[function["name"]] += function["calls"]
    assert +counted == calls and calls.total() > 100
    for thread in trace.threads.values():
        (end,) = [one.time for one in thread.instants if one.name == "exit"]
        assert all((one.end or one.begin) <= end for one in thread.slices())


def test_fibers_of_ruby(run_mtdb, tmp_path):
    """They are switched by a few instructions that no symbol calls a function, to one that returns to zero."""
    trace, _ = record(run_mtdb, tmp_path, ["ruby", "--disable-gems", "-e", FIBER], "--size", "1M")
    tracks = [thread for thread in trace.threads.values() if thread.name.startswith("coroutine ")]
    assert len(tracks) == 1
    calls = collections.Counter(one.name for one in tracks[0].slices())
    assert calls["rb_fiber_yield_kw"] + calls["rb_fiber_yield"] == 3
    resumes = [one for one in trace.slices() if one.name in ("rb_fiber_resume_kw", "rb_fiber_resume")]
    assert len(resumes) == 4 and not set(map(id, resumes)) & set(map(id, tracks[0].slices()))
