# SPDX-License-Identifier: GPL-3.0-or-later
"""Perfetto's protobuf format: it tells what the .fxt of the same recording does."""
import gzip
import subprocess

import pytest
from hypothesis import given

import fxt
import pftrace
from output.script import END_OPEN, EXIT, SIGNAL, Script
from output.test_formats import check_timeline, make_folder, ours, scripts  # noqa: F401
from output.test_limits import CALL_LEVELS, more_names_than_places, nest, one_thread, unnest


def told(trace):
    """All that a trace tells."""
    threads = {
        key: (thread.name,
              [(one.name, one.category, one.begin, one.end, one.depth, one.args) for one in thread.slices()],
              [(one.name, one.category, one.time, one.depth, one.args) for one in thread.instants])
        for key, thread in trace.threads.items() if thread.slices() or thread.instants}
    names = {pid: process.name for pid, process in trace.processes.items() if process.name}
    return threads, names, dict(trace.counters)


def check_same(path):
    """PATH.pftrace and PATH.fxt; returns what they tell."""
    same = told(pftrace.read(path.with_suffix(".pftrace")))
    assert same == told(fxt.read(path.with_suffix(".fxt")))
    return same


@ours
@given(script=scripts())
@pytest.mark.sanitize
def test_it_tells_what_was_sent(script, writer, folder):
    trace = pftrace.read(writer.write(script, f"{folder}/a.pftrace"))
    check_timeline(script, trace)
    assert told(trace) == told(fxt.read(writer.write(script, f"{folder}/a.fxt")))


@pytest.mark.sanitize
def test_more_names_than_places(writer, tmp_path):
    """The table of strings begins anew, and no number gets a second meaning."""
    script = more_names_than_places()
    for ending in "fxt", "pftrace":
        writer.write(script, tmp_path / f"a.{ending}")
    check_same(tmp_path / "a")
    trace = pftrace.read(tmp_path / "a.pftrace")
    assert 5 < trace.records["cleared"] < 20
    assert trace.slices()[-1].args["call"] == "/a.c:70000"


@pytest.mark.sanitize
def test_few_names_are_told_once(writer, tmp_path):
    script = one_thread()
    for time in range(20_000):
        script.call(time, f"name{time % 5000}", time)
    script.segment_end()
    trace = pftrace.read(writer.write(script, tmp_path / "a.pftrace"))
    assert trace.records["cleared"] == 1 and 5000 < trace.records["interned"] < 5100


@pytest.mark.sanitize
@pytest.mark.parametrize("depth", [CALL_LEVELS, CALL_LEVELS + 1, 513, 600])
def test_deep_calls(writer, tmp_path, depth):
    script = one_thread()
    nest(script, depth)
    script.instant(999, SIGNAL, 10, told="SIGUSR1")
    unnest(script, depth, 1000)
    script.call(5000, "after", 5001)
    script.begin(5002, "open")
    script.end(5003, END_OPEN)
    script.segment_end()
    for ending in "fxt", "pftrace":
        writer.write(script, tmp_path / f"a.{ending}")
    threads, _, _ = check_same(tmp_path / "a")
    (_, slices, instants), = threads.values()
    assert len(slices) == min(depth, CALL_LEVELS + 1) + 2 and slices[-1][3] is None
    assert [name for name, *_ in instants] == ["SIGUSR1"]


@pytest.mark.sanitize
def test_long_and_odd_texts(writer, tmp_path):
    script = one_thread()
    script.call(1, "ü" * 20_000, 2, source=("/" + "x" * 40_000, 2**32 - 1), call=("y" * 40_000, 7))
    script.call(2, b"\xff\xfe", 3)
    script.instant(2**62, EXIT, told="exit")
    script.segment_end()
    for ending in "fxt", "pftrace":
        writer.write(script, tmp_path / f"a.{ending}")
    check_same(tmp_path / "a")


def test_a_wrong_file_is_no_trace(writer, tmp_path):
    """The reader of these tests sees what is broken."""
    script = Script()
    script.thread(1, 2, "t", "p")
    script.segment(0, 9)
    script.call(1, "f", 2)
    script.segment_end()
    data = writer.write(script, tmp_path / "a.pftrace").read_bytes()
    assert len(pftrace.parse(data).slices()) == 1
    for cut in range(1, len(data)):
        try:
            trace = pftrace.parse(data[:cut])
        except (pftrace.PftraceError, KeyError):
            continue
        assert all(piece.end is None for piece in trace.slices())
    with pytest.raises(pftrace.PftraceError):
        pftrace.parse(data + b"\x08\x01")


@pytest.fixture(scope="module", name="recorded")
def record(compile, mtdb, tmp_path_factory):
    """Threads, snapshots, arguments and results."""
    folder = tmp_path_factory.mktemp("pftrace")
    program = compile("requests.c", "-g", "-O1", "-fno-optimize-sibling-calls", "-pthread")
    subprocess.run([mtdb, "run", "-e", "calls", "-t", "-every 50 request", "--args", "handle",
                    "--returns", "main", "--args", "serve", "-o", folder / "x.fxt", "-r", folder / "x.perf", "--",
                    program, "two"], check=True, capture_output=True)
    return folder / "x.perf"


def check_decoded(path, run_mtdb):
    """What both formats tell of a recording."""
    for ending in "fxt", "pftrace":
        done = run_mtdb("decode", "-o", path.with_suffix(f".{ending}"), path)
        assert done.returncode == 0, done.stderr
    return check_same(path.with_suffix(""))


def test_counters_and_tracks(compile, run_mtdb, tmp_path, perf_events):
    """Those of counters lie below their threads; calls are as they were."""
    path = tmp_path / "x.perf"
    done = run_mtdb("run", "-e", "calls", "--events", "faults", "--counter", "page-faults", "--counter",
                    "task-clock", "--modules", "tracks", "-o", tmp_path / "x.fxt", "-r", path, "--",
                    compile("tracks.c", "-O1", "-pthread"))
    assert path.exists(), done.stderr
    threads, _, counters = check_decoded(path, run_mtdb)
    assert any(name.startswith("task-clock of tracks") and len(values) > 1
               for name, values in counters.items())
    assert len(threads) == 2
    assert any(name == "page fault" for _, slices, instants in threads.values()
               for name, *_ in slices + instants)


def test_of_a_recording(recorded, run_mtdb):
    threads, names, _ = check_decoded(recorded, run_mtdb)
    args = [one[-1] for _, slices, _ in threads.values() for one in slices]
    assert any(one.get("file", "").endswith("requests.c") and one["line"] for one in args)
    assert any("arguments" in one for one in args) and any("call" in one for one in args)
    assert any("result" in one for one in args)
    assert any(instants for _, _, instants in threads.values())
    assert names


def test_names_of_the_format(recorded, run_mtdb, tmp_path):
    plain, packed, piped = (tmp_path / name for name in ("a.pftrace", "a.pftrace.gz", "a.bin"))
    for words in (["-o", plain], ["-o", packed], ["-f", "pftrace", "-o", piped]):
        assert run_mtdb("decode", *words, recorded).returncode == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes() == piped.read_bytes()
    assert run_mtdb("run", "-e", "calls", "-f", "pftrace", "--", "true", cwd=tmp_path).returncode == 0
    pftrace.read(tmp_path / "trace.pftrace")
