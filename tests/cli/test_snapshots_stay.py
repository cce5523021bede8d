# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots that were taken stay, whatever ends mtdb before the timeline is written."""
import collections
import os
import re
import resource
import shutil
import signal
import subprocess

import pytest

import fxt

LIMIT = 2_000_000  # bytes of a file: rings are smaller, the recording of all would be larger


@pytest.fixture(name="start")
def start_fixture(compile, mtdb, tmp_path):
    program = compile("kept.c", "-O1", "-fno-optimize-sibling-calls")

    def run(*words, count=5, **options):
        return subprocess.Popen([mtdb, "run", "-e", "calls", "-s", "64k", "-t", "tick", *words, "--", program,
                                 str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, cwd=tmp_path, text=True,
                                env={**os.environ, "TMPDIR": str(tmp_path)}, **options)
    return run


def read_kept(run_mtdb, path, written=False):
    if not written:
        done = run_mtdb("decode", "-o", path.with_suffix(".fxt"), path)
        assert done.returncode == 0 and "truncated" not in done.stderr, done.stderr
    trace = fxt.read(path.with_suffix(".fxt"))
    slices = [piece.name for thread in trace.threads.values() for piece in thread.slices()]
    return collections.Counter(slices), [one for one in trace.instants() if one.name == "snapshot"]


def asked(child):
    """Sends SIGUSR1, and waits for mtdb's word of it."""
    child.send_signal(signal.SIGUSR1)
    said = next(line for line in child.stderr if "snapshot" in line)
    return int(re.fullmatch(r"mtdb: snapshot (\d+) was taken\n", said)[1])


def test_killed(start, run_mtdb, tmp_path):
    (tmp_path / "x.fxt").write_text("old")
    with start("-o", "x.fxt") as child:
        assert child.stdout.readline() == "ready\n"
        kept, = tmp_path.glob("x.fxt.*.perf")
        assert asked(child) == 6, "and those before it are written: the program goes on sooner"
        child.kill()
    assert (tmp_path / "x.fxt").read_text() == "old"
    counts, snapshots = read_kept(run_mtdb, kept)
    assert len(snapshots) == 6 and (counts["tick"], counts["work"], counts["main"]) == (5, 1000, 1)


def test_nothing_is_left_over(start, tmp_path):
    with start("-o", "x.fxt") as child:
        assert child.communicate("")[0] == "ready\ndone\n" and child.returncode == 3
    assert os.listdir(tmp_path) == ["x.fxt"]


def test_usr1_takes_one(start, run_mtdb, tmp_path):
    """The program does not get it, and is not ended by it."""
    with start("-o", "x.fxt") as child:
        assert child.stdout.readline() == "ready\n"
        assert [asked(child), asked(child)] == [6, 7]
        kept, = tmp_path.glob("x.fxt.*.perf")
        assert len(read_kept(run_mtdb, kept)[1]) == 7, "each is there when it was taken"
        assert child.communicate("")[0] == "done\n" and child.returncode == 3
    counts, snapshots = read_kept(run_mtdb, tmp_path / "x.fxt", written=True)
    assert len(snapshots) == 7 and (counts["tick"], counts["main"]) == (5, 1)


@pytest.mark.parametrize("words", [[], ["-t", "tick"], ["--max=1"]])
def test_usr1_goes_on_attached(start, mtdb, compile, run_mtdb, tmp_path, words):
    """Also for who waits for a trigger: it was not hit."""
    with subprocess.Popen([compile("kept.c", "-O1"), "0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        assert program.stdout.readline() == "ready\n"
        with subprocess.Popen([mtdb, "attach", "-e", "calls", "-o", "x.fxt", *words, str(program.pid)], text=True,
                              stderr=subprocess.PIPE, cwd=tmp_path) as child:
            next(line for line in child.stderr if "recording process" in line)
            assert [asked(child), asked(child)] == [1, 2]
            child.send_signal(signal.SIGINT)
            said = child.communicate()[1]
            assert child.returncode == 0, said
        assert program.communicate("")[0] == "done\n"
    assert len(read_kept(run_mtdb, tmp_path / "x.fxt", written=True)[1]) == 3


def test_a_directory_goes(start, run_mtdb, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with start("-o", "folder/x.fxt") as child:
        assert child.stdout.readline() == "ready\n"
        shutil.rmtree(folder)
        out, said = child.communicate("")
    assert out == "done\n" and child.returncode == 125
    kept, = tmp_path.glob("mtrace.*.perf")
    assert f"what was recorded is in {kept}" in said
    counts, snapshots = read_kept(run_mtdb, kept)
    assert counts["tick"] == len(snapshots) == 5


def test_a_full_disk(start, run_mtdb, tmp_path):
    """The program does not notice."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))

    with start("-o", "x.fxt", count=1000, preexec_fn=limit) as child:
        out, said = child.communicate("")
    assert out == "ready\ndone\n" and child.returncode == 125
    kept, = tmp_path.glob("x.fxt.*.perf")
    assert re.search(r"process \d+ goes on untraced", said) and f"what was recorded is in {kept.name}" in said
    counts, snapshots = read_kept(run_mtdb, kept)
    assert 10 < len(snapshots) < 1000 and counts["tick"] >= len(snapshots) - 1 and not (tmp_path / "x.fxt").exists()


def test_space_is_bounded(start, run_mtdb, tmp_path):
    """Where it ends, the last snapshot is taken all the same; what was left out is counted."""
    with start("-o", "x.fxt", "-r", "x.perf", "--space=1M", count=400) as child:
        out, said = child.communicate("")
    assert out == "ready\ndone\n" and child.returncode == 3
    assert said.count("may take no more than 1:") == 1
    left_out = int(re.search(r"(\d+) snapshots were not taken, for lack of space", said)[1])
    counts, snapshots = read_kept(run_mtdb, tmp_path / "x.fxt", written=True)
    assert left_out + len(snapshots) == 400 and left_out > 10 and len(snapshots) > 1
    assert counts["work"] >= 200 * len(snapshots) - 200
    assert (tmp_path / "x.perf").stat().st_size < 2_000_000
    wrong = run_mtdb("run", "--space=x", "--", "true")
    assert wrong.returncode == 125 and "is not a size" in wrong.stderr


def test_no_calls_leave_nothing(start, tmp_path):
    with start("-o", "x.fxt", "--functions=nosuch", "--pending") as child:
        child.communicate("")
    assert not list(tmp_path.glob("*.perf"))
