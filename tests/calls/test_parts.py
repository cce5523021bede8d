# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of a process are patched, and given back, in several stops.  Whoever runs in between, is born there, or comes
to a trigger, has the same program as before and after."""
import collections
import os
import subprocess

import pytest

import fxt
from conftest import FIXTURES
from tests.calls.code import changed, ours

LIBRARIES = ["one", "two", "three"]
TRIGGERS = {"none": [], "often": ["--trigger=rare if n % 7 == 3"], "once": ["--trigger=rare", "--max=1"]}
ROUNDS = 3


@pytest.fixture(name="start")
def make_start(compile):
    """start(how): the program, with texts of which each has a stop for itself."""
    program = compile("calls_parts.c", "-O1", "-pthread", "-D_GNU_SOURCE")
    libraries = [compile("calls_part.c", "-shared", "-fPIC", FIXTURES / "large_text.c", output=f"lib{name}.so")
                 for name in LIBRARIES]

    def start(how):
        return subprocess.Popen([program, how, *libraries], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    return start


@pytest.fixture(name="attach")
def make_attach(compile, mtdb, tmp_path):
    preload = compile("slow_pause.c", "-shared", "-fPIC", "-D_GNU_SOURCE", output="slow_pause.so")

    def attach(process, *options):
        return subprocess.run([mtdb, "attach", "--engine=calls", "--for=100ms", "--size=64k", "-o", tmp_path / "x.fxt", *options,
                               str(process.pid)], env={**os.environ, "LD_PRELOAD": str(preload)}, text=True,
                              capture_output=True, check=False, timeout=120)

    return attach


@pytest.mark.parametrize("triggers", TRIGGERS)
@pytest.mark.parametrize("how", ["threads", "sharers"])
def test_who_runs_in_between(start, attach, how, triggers):
    with start(how) as process:
        assert process.stdout.readline() == "ready\n"
        done = 0
        for _ in range(20 * ROUNDS):
            said = attach(process, *TRIGGERS[triggers])
            assert process.poll() is None, said.stderr
            # A child that has the memory already when the process is taken cannot be recorded.
            if how == "sharers" and said.returncode and "shares its memory" in said.stderr:
                continue
            assert said.returncode == 0, said.stderr
            done += 1
            if done == ROUNDS:
                break
        assert done == ROUNDS
        if how == "threads":
            assert (changed(process.pid), list(ours(process.pid))) == ([], [])
        process.communicate("\n", timeout=60)
        assert process.returncode == 5


@pytest.mark.parametrize("microseconds", [0, 1, 500, 2000, 5000, 10000])
@pytest.mark.parametrize("options", [[], ["--trigger=part", "--max=0"]], ids=["recorded", "trigger"])
def test_a_library_comes_again(compile, attach, tmp_path, options, microseconds):
    """In its old place, before its loader is watched."""
    words = compile("calls_reloaded.c", "-O1"), compile("calls_part.c", "-shared", "-fPIC", output="libagain.so")
    with subprocess.Popen([*words, str(microseconds)], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == "ready\n"
        said = attach(process, *options)
        assert process.poll() is None and said.returncode == 0, said.stderr
        assert "ignoring" not in said.stderr
        assert (changed(process.pid), list(ours(process.pid))) == ([], [])
        out, _ = process.communicate("\n", timeout=60)
        assert process.returncode == 5
    trace = fxt.read(tmp_path / "x.fxt")
    slices = [one for thread in trace.threads.values() for one in thread.slices()]
    names = collections.Counter(one.name for one in slices)
    # The first and the last one may be cut off.
    assert names["work"] and abs(names["work"] - names["part"]) <= 1, (out, names)
    if options:
        # It is set once there is a recording.
        hits = [one.time for one in trace.instants() if one.name == "trigger"]
        after = sum(one.name == "part" and one.begin >= hits[0] for one in slices)
        assert hits and abs(after - len(hits)) <= 1, (out, hits, names)
