# SPDX-License-Identifier: GPL-3.0-or-later
"""A call that lasts over many snapshots is one slice."""
import collections
import subprocess

import pytest

import fxt

FUNCTIONS = ["main", "serve", "request", "handle"]


@pytest.fixture(name="record")
def make_recording(compile, mtdb, tmp_path):
    program = compile("requests.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")

    def run(*options, threads=()):
        out = tmp_path / "out.fxt"
        done = subprocess.run([mtdb, "run", "-o", out, *options, "--", program, *threads], check=True,
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        counted = {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}
        return fxt.read(out), counted
    return run


def slices_of(trace):
    return [piece for thread in trace.threads.values() for piece in thread.slices()
            if piece.name in FUNCTIONS]


@pytest.mark.parametrize("engine", ["calls", "step"])
@pytest.mark.parametrize("trigger", ["handle", "request"])
def test_counts_are_the_programs(record, engine, trigger):
    trace, counted = record("-e", engine, "-t", trigger)
    slices = slices_of(trace)
    assert collections.Counter(piece.name for piece in slices) == counted
    assert not any(piece.args.get("inferred") for piece in slices)
    snapshots = [int(instant.args["number"]) for instant in trace.instants() if instant.name == "snapshot"]
    assert snapshots == list(range(1, counted[trigger] + 1))


def test_of_threads_that_run_on(record):
    """All of them are in each snapshot, whoever comes to the trigger."""
    trace, counted = record("-e", "calls", "-t", "request", threads=["two"])
    assert collections.Counter(piece.name for piece in slices_of(trace)) == counted


def test_what_is_lost_ends_them(record):
    """A ring that is too small for what lies between two snapshots: then it is said."""
    trace, counted = record("-e", "calls", "-s", "16k", "-t", "-every 25 request")
    pieces = [piece for thread in trace.threads.values() for piece in thread.slices()]
    lost = [piece for piece in pieces if piece.name == "[lost: the trace ring was full]"]
    mains = [piece for piece in pieces if piece.name == "main"]
    assert len(lost) == 2 and all(piece.args["bytes_lost"] > 0 for piece in lost)
    assert len(mains) == 3 and all(piece.args["inferred"] for piece in mains)
    assert sum(piece.name == "handle" for piece in pieces) < counted["handle"]
    for before, gap, after in zip(mains, lost, mains[1:]):
        assert before.begin < before.end <= gap.begin < gap.end <= after.begin
