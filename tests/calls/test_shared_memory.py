# SPDX-License-Identifier: GPL-3.0-or-later
"""Children that are processes of their own and share their maker's memory, and those that only look
so: the recording of their maker goes on, with its triggers and libraries, and has none of theirs."""
import collections
import json
import subprocess

import pytest

# Way, and how often a child calls work_of_child(): nobody else does.
WAYS = {"share": 3193, "share-files": 3193, "vfork": 3193, "wait-apart": 3193, "fork": 3193,
        "exec": 465, "vfork-exec": 465, "chain": 4 * 177, "fork-inside": 177 + 5, "outlast": None}
OF_PARENT = 1219  # calls of work() while a child is about
GUESTS = ["vfork", "vfork-exec", "chain"]  # in their parent's ring
ROUNDS = 3


@pytest.fixture(name="program")
def compile_program(compile):
    return compile("calls_shared.c", "-O1", "-D_GNU_SOURCE")


def calls_of(path):
    """{process: how often it called each function}"""
    found = collections.defaultdict(collections.Counter)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if line.startswith('{"ph":"B"'):
                event = json.loads(line.rstrip(",\n"))
                found[event["pid"]][event["name"]] += not event["args"].get("inferred")
            elif '"name":"trigger","cat":"mark"' in line:
                event = json.loads(line.rstrip(",\n"))
                found[event["pid"]]["hits of " + event["args"]["function"]] += 1
    return found


def record(run_mtdb, tmp_path, *words, options=()):
    """What it printed, and {process: its calls}, its own first."""
    words = [str(word) for word in words]
    alone = subprocess.run(words, text=True, capture_output=True, check=False, timeout=60)
    out = tmp_path / "out.json"
    done = run_mtdb("run", "-e", "calls", "--size", "4M", "-o", out, *options, "--", *words)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode), done.stderr
    return sorted(calls_of(out).values(), key=lambda calls: -calls["work"])


@pytest.mark.parametrize("way", WAYS)
def test_counts(program, run_mtdb, tmp_path, way):
    """Libraries are recorded that come when a child has gone."""
    options = ["--modules", program.name, "--modules", "libz.so*"]
    calls, = record(run_mtdb, tmp_path, program, way, ROUNDS, options=options)
    assert calls["work"] == ROUNDS * OF_PARENT
    assert calls["work_of_child"] == (ROUNDS * WAYS[way] if way in GUESTS else 0)
    assert calls["zlibVersion"] == ROUNDS


@pytest.mark.parametrize("way", WAYS)
def test_followed(program, run_mtdb, tmp_path, way):
    """Each has its own."""
    parent, *others = record(run_mtdb, tmp_path, program, way, ROUNDS,
                             options=["--follow-forks", "--modules", program.name])
    assert parent["work"] == ROUNDS * OF_PARENT
    assert parent["work_of_child"] == (ROUNDS * WAYS[way] if way in GUESTS else 0)
    if way not in GUESTS:
        assert all(other["work"] == 0 and other["work_of_child"] for other in others)
    if WAYS[way] and way not in GUESTS:
        assert sum(other["work_of_child"] for other in others) == ROUNDS * WAYS[way]


@pytest.mark.parametrize("way", WAYS)
def test_triggers(program, run_mtdb, tmp_path, way):
    """They come in the parent alone, to the last."""
    calls, = record(run_mtdb, tmp_path, program, way, ROUNDS,
                    options=["--modules", program.name, "--trigger", "round_ends", "--trigger",
                             "work_of_child"])
    assert calls["hits of round_ends"] == ROUNDS


def test_a_child_that_stays(program, run_mtdb, tmp_path):
    """Its parent ends, and it goes on; to the end, though we have gone by then."""
    calls, = record(run_mtdb, tmp_path, program, "orphan", 1,
                    options=["--modules", program.name])
    assert calls["work"] == OF_PARENT and calls["work_of_child"] == 0


@pytest.mark.parametrize("way", ["share", "wait-apart"])
def test_where_kcmp_is_forbidden(program, need, mtdb, tmp_path, way):
    """As in many containers."""
    out = tmp_path / "out.json"
    done = subprocess.run([need("strace"), "-o", tmp_path / "log", "-e", "trace=kcmp", "-e",
                           "inject=kcmp:error=EPERM", mtdb, "run", "-e", "calls", "-o", out,
                           program, way, "2"], text=True, capture_output=True, check=False)
    assert done.returncode == 7, done.stderr
    calls, = calls_of(out).values()
    assert calls["work"] == 2 * OF_PARENT and calls["work_of_child"] == 0
    assert calls["zlibVersion"] == 2
