# SPDX-License-Identifier: GPL-3.0-or-later
"""A call that lasts over many snapshots is one slice."""
import collections
import pathlib
import re
import sqlite3
import subprocess

import pytest

import fxt
import pftrace
from conftest import linked_for
from output import chrome

MANUAL = pathlib.Path(__file__).parents[2] / "docs" / "man" / "mtdb.1.md"
FUNCTIONS = ["main", "serve", "request", "handle"]


@pytest.fixture(name="record")
def make_recording(compile, mtdb, tmp_path):
    def run(engine, *options, threads=()):
        out = tmp_path / "out.fxt"
        program = compile("requests.c", "-O1", "-fno-optimize-sibling-calls", "-pthread", *linked_for(engine))
        done = subprocess.run([mtdb, "run", "-o", out, "-e", engine, *options, "--", program, *threads], check=True,
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
    trace, counted = record(engine, "-t", trigger)
    slices = slices_of(trace)
    assert collections.Counter(piece.name for piece in slices) == counted
    assert not any(piece.args.get("inferred") for piece in slices)
    snapshots = [int(instant.args["number"]) for instant in trace.instants() if instant.name == "snapshot"]
    assert snapshots == list(range(1, counted[trigger] + 1))


def test_of_threads_that_run_on(record):
    """All of them are in each snapshot, whoever comes to the trigger."""
    trace, counted = record("calls", "-t", "request", threads=["two"])
    assert collections.Counter(piece.name for piece in slices_of(trace)) == counted


def test_what_is_lost_ends_them(record):
    """A ring that is too small for what lies between two snapshots: then it is said."""
    trace, counted = record("calls", "-s", "16k", "-t", "-every 25 request")
    pieces = [piece for thread in trace.threads.values() for piece in thread.slices()]
    lost = [piece for piece in pieces if piece.name == "[lost: the trace ring was full]"]
    mains = [piece for piece in pieces if piece.name == "main"]
    assert len(lost) == 2 and all(piece.args["bytes_lost"] > 0 for piece in lost)
    assert len(mains) == 3 and all(piece.args["inferred"] for piece in mains)
    assert sum(piece.name == "handle" for piece in pieces) < counted["handle"]
    for before, gap, after in zip(mains, lost, mains[1:]):
        assert before.begin < before.end <= gap.begin < gap.end <= after.begin


def calls_of(pieces, name):
    """How many calls of a function there are, by the manual's query."""
    query = re.search(r"^ +(SELECT .* WHERE name = )'serve'$", MANUAL.read_text(encoding="utf-8"), re.M)[1]
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE slice (id INTEGER PRIMARY KEY, name TEXT, arg_set_id INTEGER)")
    database.create_function("extract_arg", 2, lambda number, key: pieces[number].args.get(key))
    database.executemany("INSERT INTO slice VALUES (?, ?, ?)",
                         [(number + 1, piece.name, number) for number, piece in enumerate(pieces)])
    return database.execute(query + "?", [name]).fetchone()[0]


@pytest.mark.parametrize("words", [(), ("two",)])
def test_pieces_of_a_call_have_one_number(compile, mtdb, tmp_path, words):
    """The program's own count, though each of these is in several pieces."""
    program = compile("calls_lost.c", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    files = [tmp_path / f"out.{ending}" for ending in ("fxt", "pftrace", "json")]
    done = subprocess.run([mtdb, "run", "-e", "calls", "-s", "16k", "-t", "take", "-r", tmp_path / "x.perf",
                           "-o", files[0], "--", program, *words], check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    counted = {name: int(count) for name, count in map(str.split, done.stdout.splitlines())}
    for file in files[1:]:
        subprocess.run([mtdb, "decode", "-o", file, tmp_path / "x.perf"], check=True, capture_output=True)
    traces = [fxt.read(files[0]), pftrace.read(files[1]), chrome.parse(files[2].read_bytes())[0]]
    for trace in traces:
        pieces = [piece for thread in trace.threads.values() for piece in thread.slices()]
        assert sum(piece.name.startswith("[lost") for piece in pieces) >= 2 * len(words) + 2
        assert {name: calls_of(pieces, name) for name in counted} == counted
        for name, calls in counted.items():
            found = [piece for piece in pieces if piece.name == name]
            assert len(found) > calls, f"{name} is not cut"
            # Only the first piece may have been seen to begin.
            numbers = collections.Counter(piece.args["call_id"] for piece in found if not piece.args.get("inferred"))
            assert all(count == 1 for count in numbers.values())
        assert not any("call_id" in piece.args for piece in pieces if piece.name.startswith(("busy", "[lost")))
